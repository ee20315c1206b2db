// The visible part of a drawing: screen = (world - centre) * scale + half the size of the view.

export interface Size {
  width: number;
  height: number;
}

export interface Place {
  x: number;
  y: number;
}

const MAX_SCALE = 2.5;
/** Fitting a small graph into the view does not enlarge it beyond this scale. */
const FIT_SCALE = 1;
const MARGIN = 24;
/** A graph that would have a scale below READABLE when fitted is first shown in part, at scale READING. */
const READABLE = 0.33;
const READING = 0.75;

export class Camera {
  x = 0;
  y = 0;
  scale = 1;
  view: Size = { width: 1, height: 1 };
  world: Size = { width: 1, height: 1 };

  /** Shows the whole drawing, centred. */
  fit(): void {
    this.scale = Math.min(FIT_SCALE, this.whole);
    this.x = this.world.width / 2;
    this.y = this.world.height / 2;
  }

  /** Shows the whole drawing if it is readable, otherwise the part around and below a place. */
  begin(at: Place): void {
    if (this.whole >= READABLE) return this.fit();
    this.scale = READING;
    this.x = at.x;
    this.y = at.y + (0.5 - 0.12) * (this.view.height / this.scale);
  }

  /** The scale at which the whole drawing is visible. */
  private get whole(): number {
    const across = (this.view.width - 2 * MARGIN) / this.world.width;
    const down = (this.view.height - 2 * MARGIN) / this.world.height;
    return Math.max(0.01, Math.min(across, down));
  }

  toWorld(at: Place): Place {
    return {
      x: (at.x - this.view.width / 2) / this.scale + this.x,
      y: (at.y - this.view.height / 2) / this.scale + this.y,
    };
  }

  toScreen(at: Place): Place {
    return {
      x: (at.x - this.x) * this.scale + this.view.width / 2,
      y: (at.y - this.y) * this.scale + this.view.height / 2,
    };
  }

  /** Moves the view by pixels of the screen. */
  pan(dx: number, dy: number): void {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.keepInSight();
  }

  /** Zooms so that what is under `at` stays there. */
  zoom(factor: number, at: Place = { x: this.view.width / 2, y: this.view.height / 2 }): void {
    const before = this.toWorld(at);
    const least = Math.min(0.5, 0.6 * this.whole);
    this.scale = Math.min(MAX_SCALE, Math.max(least, this.scale * factor));
    const after = this.toWorld(at);
    this.x += before.x - after.x;
    this.y += before.y - after.y;
    this.keepInSight();
  }

  centre(at: Place): void {
    this.x = at.x;
    this.y = at.y;
  }

  private keepInSight(): void {
    this.x = Math.min(this.world.width, Math.max(0, this.x));
    this.y = Math.min(this.world.height, Math.max(0, this.y));
  }
}
