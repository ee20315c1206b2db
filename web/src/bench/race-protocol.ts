// Questions to the worker of the race between the CPU and the graphics processor.

export type Racer = 'cpu' | 'webgpu';

export interface RaceOpened {
  threads: number;
  /** The name of the graphics processor; null: there is none. */
  adapter: string | null;
  /** Why there is none. */
  why: string;
}

export interface RaceMethods {
  open(): Promise<RaceOpened>;
  /** Makes the model of a width on both; its floating-point operations. */
  prepare(width: number): Promise<{ flops: number; weights: number }>;
  /** Milliseconds of a training step. */
  sample(racer: Racer): Promise<number>;
}

/** The model: two layers from a width to itself, and a batch. */
export const RACE = { batch: 64, layers: 2 };
/** Widths of the slider. */
export const WIDTHS = [32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048] as const;
