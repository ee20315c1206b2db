// The questions to the two kinds of workers of a measurement.

export interface Engine {
  threads: number;
  relaxedSimd: boolean;
  jit: boolean;
}

/** Milliseconds per call: as compiled, and without fusion; null if the case is not measured so. */
export interface Times {
  fused: number;
  plain: number | null;
}

export interface BenchMethods {
  open(): Engine;
  /** Compiles a case, lets the engine settle on its code, and returns first times. */
  prepare(id: string): Times;
  sample(): Times;
}

export interface PeakMethods {
  /** GFLOP/s of one core with 128-bit multiply-adds. */
  peak(fused: boolean, forMs: number): number;
}
