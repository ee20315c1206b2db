// The questions to the worker of the race between the CPU and the graphics processor.

export type Racer = 'cpu' | 'webgpu';

export interface RaceOpened {
  threads: number;
  /** The name of the graphics processor; null if there is none. */
  adapter: string | null;
  /** Why there is none, or ''. */
  why: string;
}

export interface RaceMethods {
  open(): Promise<RaceOpened>;
  /** Makes the model of a width on both sides; returns its floating-point operations and weights. */
  prepare(width: number): Promise<{ flops: number; weights: number }>;
  /** Milliseconds of a training step. */
  sample(racer: Racer): Promise<number>;
}

/** The model: square layers of the chosen width, and the batch. */
export const RACE = { batch: 64, layers: 2 };
/** The widths of the slider. */
export const WIDTHS = [32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048] as const;
