// The webcam, while it is in use. Its pictures stay in the page.

import { create } from '../views/dom.ts';

function end(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

export class Camera {
  readonly video = create('video', 'camera');
  private stream: MediaStream | null = null;
  /** Counts starts and stops: a stream that was asked for before one of them is not wanted any more. */
  private turn = 0;

  constructor() {
    this.video.muted = true;
    this.video.playsInline = true;
    this.video.hidden = true;
    this.video.setAttribute('aria-label', 'What the camera sees');
  }

  get isOn(): boolean {
    return this.stream !== null;
  }

  get size(): [number, number] {
    return [this.video.videoWidth || 1, this.video.videoHeight || 1];
  }

  /** Whether it is on now: meanwhile it may have been stopped, or started for somebody else. */
  async start(): Promise<boolean> {
    const devices = navigator.mediaDevices as MediaDevices | undefined;
    if (devices === undefined) throw new Error('This page may not use a camera: that needs https.');
    this.stop();
    const { turn } = this;
    let stream: MediaStream;
    try {
      stream = await devices.getUserMedia({ video: true });
    } catch (error) {
      throw new Error(`There is no camera to use: ${error instanceof Error ? error.message : String(error)}.`);
    }
    if (turn !== this.turn) {
      end(stream);
      return false;
    }
    this.stream = stream;
    this.video.srcObject = stream;
    this.video.hidden = false;
    await this.video.play().catch((error: unknown) => {
      if (turn === this.turn) throw error;
    });
    return turn === this.turn;
  }

  stop(): void {
    this.turn++;
    if (this.stream !== null) end(this.stream);
    this.stream = null;
    this.video.srcObject = null;
    this.video.hidden = true;
  }
}
