// What a program itself wants to show during training: its figures, and its views - planes, pictures and lines, computed from
// the current parameters. They are updated a few times a second, by the clock: however long a step takes, they take a small
// share of the time.

import * as sn from 'sinter';
import type { Context, Curves, Picture, Plane, View } from 'playground';
import { SourceError } from '../compiler/workers/source.ts';
import type { Drawing, FromTrainer } from '../state/protocol.ts';
import type { CheckedCards } from './cards.ts';
import type { Examiner } from './examiner.ts';
import type { Session } from './session.ts';

const METRICS_MS = 300;
const VIEWS_MS = 50;
/** The pause after an update is this many times as long as the update took. */
const PATIENCE = 6;
/** The number of points along each side of a plane. */
const SIDE = 64;
const MOST_SIDE = 1024;

type Ask = (session: Session) => Drawing;
type Run = sn.EvalStep<unknown, sn.Tensor[], unknown, sn.Tensor>;

const numbers = (t: sn.Tensor): Float32Array<ArrayBuffer> =>
  sn.tidy(() => Float32Array.from(sn.astype(t, 'float32').dataSync() as Float32Array));

/** Compiles a function of the parameters and further tensors. */
function compiled(f: (params: unknown, ...rest: sn.Tensor[]) => unknown, what: string): Run {
  return sn.evalStep((params: unknown, ...rest: unknown[]) => {
    const made = f(params, ...(rest.slice(0, -1) as sn.Tensor[]));
    if (!(made instanceof sn.Tensor)) throw new SourceError(`${what} must give a tensor`);
    return made;
  }) as unknown as Run;
}

function grid(extent: number): sn.Tensor {
  const at = (i: number): number => extent * ((2 * (i + 0.5)) / SIDE - 1);
  const places = Float32Array.from({ length: 2 * SIDE * SIDE }, (_, i) => {
    const row = Math.floor(i / 2 / SIDE);
    return i % 2 === 0 ? at(Math.floor(i / 2) % SIDE) : -at(row);
  });
  return sn.tensor(places, { shape: [SIDE * SIDE, 2] });
}

function pointsOf({ points, title }: Plane): ((session: Session) => Float32Array<ArrayBuffer>) | null {
  if (points === undefined) return null;
  if (points instanceof sn.Tensor) {
    const fixed = numbers(points);
    return () => fixed;
  }
  const run = compiled(points, `points of ${title}`);
  return ({ state }) => numbers(run(state));
}

function plane(view: Plane): Ask {
  const { extent = 1, values, classes, title } = view;
  const places = grid(extent);
  const run = values && compiled((params, at) => sn.reshape(values(params, at as sn.Tensor), [SIDE * SIDE]), `values of ${title}`);
  const points = pointsOf(view);
  const sides = classes === undefined ? null : numbers(classes);
  return (session) => ({
    kind: 'plane',
    extent,
    side: SIDE,
    values: run ? numbers(run(session.state, places)) : null,
    points: points?.(session) ?? null,
    classes: sides,
  });
}

function picture({ image, title }: Picture): Ask {
  const run = compiled(image, `the image of ${title}`);
  return ({ state }) => {
    const made = run(state);
    const [height = 0, width = 0, colours = 1] = made.shape;
    const fits = made.ndim === 2 || (made.ndim === 3 && colours === 3);
    if (!fits || height > MOST_SIDE || width > MOST_SIDE)
      throw new SourceError(`the image of ${title} must be (height, width) or (height, width, 3), at most ${MOST_SIDE} wide and high; it is (${made.shape.join(', ')})`);
    return { kind: 'picture', height, width, colours, pixels: numbers(made) };
  };
}

function curves({ x, lines, title }: Curves): Ask {
  const along = numbers(x);
  const asked = Object.entries(lines).map(([name, line]) => {
    if (line instanceof sn.Tensor) {
      const fixed = numbers(line);
      return { name, at: () => fixed };
    }
    const run = compiled(line, `the line ${name} of ${title}`);
    return { name, at: ({ state }: Session) => numbers(run(state)) };
  });
  return (session) => ({ kind: 'curves', x: along, lines: asked.map(({ name, at }) => ({ name, values: at(session) })) });
}

const ASK = (view: View): Ask => (view.kind === 'plane' ? plane(view) : view.kind === 'picture' ? picture(view) : curves(view));

export class OwnExaminer implements Examiner {
  private readonly metrics: [name: string, run: Run][];
  private readonly views: Ask[];
  private measuredAt = -1;
  private measureNext = 0;
  private shownAt = -1;
  private showNext = 0;

  constructor(
    private readonly session: Session,
    private readonly cards: CheckedCards,
    private readonly post: (message: FromTrainer) => void,
  ) {
    const { metrics, views } = session.training;
    this.metrics = Object.entries(metrics).map(([name, metric]) => [
      name,
      sn.evalStep((params: unknown, context: sn.StepContext) => metric(params, context as Context)) as unknown as Run,
    ]);
    this.views = views.map((view) => ASK(view));
  }

  rehearse(): void {
    sn.tidy(() => {
      for (const [, run] of this.metrics) run(this.session.state);
      for (const ask of this.views) ask(this.session);
    });
  }

  atRest(): void {
    this.look();
    this.measure();
  }

  get due(): boolean {
    return this.session.steps !== this.measuredAt && performance.now() >= this.measureNext;
  }

  advance(): void {
    this.quick();
  }

  quick(): void {
    this.measure();
    this.cards.check();
  }

  get wantsToShow(): boolean {
    return this.views.length > 0 && this.session.steps !== this.shownAt && performance.now() >= this.showNext;
  }

  show(): void {
    this.look();
  }

  classify(): null {
    return null;
  }

  dispose(): void {
    for (const [, run] of this.metrics) run.dispose();
  }

  private measure(): void {
    const begin = performance.now();
    const { steps: step, state } = this.session;
    const values = this.metrics.map(([name, run]) => {
      const value = sn.tidy(() => run(state).item());
      return { name, value };
    });
    for (const { name, value } of values) this.cards.figures[name] = value;
    if (values.length > 0) this.post({ type: 'figures', step, values });
    const accuracy = values.find(({ name }) => name === 'accuracy');
    if (accuracy !== undefined && step !== this.measuredAt && step > 0)
      this.post({ type: 'evaluation', evaluation: { step, accuracy: accuracy.value, count: 0, whole: false, sample: null, loss: null } });
    this.measuredAt = step;
    const end = performance.now();
    this.measureNext = end + Math.max(METRICS_MS, PATIENCE * (end - begin));
  }

  private look(): void {
    const begin = performance.now();
    this.shownAt = this.session.steps;
    if (this.views.length > 0) this.post({ type: 'views', drawings: sn.tidy(() => this.views.map((ask) => ask(this.session))) });
    const end = performance.now();
    this.showNext = end + Math.max(VIEWS_MS, PATIENCE * (end - begin));
  }
}
