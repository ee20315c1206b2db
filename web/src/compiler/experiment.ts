// Measures the effect of a switch: the same program in two labs that differ in nothing else, sampled in turn, so that other
// load on the machine affects both. The figure is the median ratio over all rounds.

import type { Rest } from '../views/rest.ts';
import { Lab } from './lab.ts';
import type { Engine, Figures, Further, PassesOff } from './protocol.ts';

export interface Setting {
  engine: Engine;
  off: PassesOff;
  further?: Further;
}

export interface Effect {
  /** Time of the second setting divided by that of the first. */
  run: number;
  compile: number;
  /** The interquartile range of the run ratios. */
  spread: number;
  /** For both settings: figures, and milliseconds per run. */
  figures: readonly [Figures, Figures];
  runMs: readonly [number, number];
}

/** Few rounds, but enough for a median, because the user waits for a dozen comparisons. */
const ROUNDS = 5;
/** Rounds that are not counted, in which caches adapt to the two labs. */
const FIRST_ROUNDS = 1;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** The interquartile range. */
function spreadOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))];
  return at(0.75) - at(0.25);
}

export class Experiment {
  private readonly labs = new Set<Lab>();
  private readonly first: Lab;
  private readonly runs: number[] = [];
  private readonly compiles: number[] = [];
  private stopped = false;

  constructor(
    private readonly source: string,
    private readonly base: Setting,
    /** Measures only while the tab is shown. */
    private readonly resting: Rest,
  ) {
    this.first = this.lab(base.engine);
  }

  /** Prepares the program with the base setting. */
  async open(): Promise<void> {
    await this.first.prepare(this.source, this.base.off, this.base.further);
  }

  /** The median times of the base setting, in ms. */
  get times(): { runMs: number; compileMs: number; rounds: number } {
    return { runMs: median(this.runs), compileMs: median(this.compiles), rounds: this.runs.length };
  }

  async compare({ engine, off, further }: Setting): Promise<Effect> {
    await this.resting.wait();
    const second = this.lab(engine);
    try {
      await second.prepare(this.source, off, further);
      const figures = [await this.first.figures(), await second.figures()] as const;
      const ratios: { run: number; compile: number }[] = [];
      const runs: [number[], number[]] = [[], []];
      for (let round = -FIRST_ROUNDS; round < ROUNDS; round++) {
        await this.resting.wait();
        if (this.stopped) break;
        const a = await this.first.sample();
        const b = await second.sample();
        if (round < 0) continue;
        this.runs.push(a.runMs);
        this.compiles.push(a.compileMs);
        runs[0].push(a.runMs);
        runs[1].push(b.runMs);
        ratios.push({ run: b.runMs / a.runMs, compile: b.compileMs / a.compileMs });
      }
      return {
        run: median(ratios.map(({ run }) => run)),
        compile: median(ratios.map(({ compile }) => compile)),
        spread: spreadOf(ratios.map(({ run }) => run)),
        figures,
        runMs: [median(runs[0]), median(runs[1])],
      };
    } finally {
      second.close();
      this.labs.delete(second);
    }
  }

  /** Ends all labs; open questions are rejected. */
  stop(): void {
    this.stopped = true;
    for (const lab of this.labs) lab.close();
  }

  private lab(engine: Engine): Lab {
    const lab = new Lab(engine);
    this.labs.add(lab);
    return lab;
  }
}
