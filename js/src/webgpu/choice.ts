// Programs compiled for 'auto': for the CPU at once, and for the device beside it. At the first call both are timed on copies
// of its arguments, by turns, and the faster one is kept; until that is known, calls run on the CPU. Reading values waits for
// it, so that the two have the machine to themselves. A program stays where it is put: its state goes over once.
//
// Results that are read at once, before the choice, keep the CPU: those of the device cannot be.
//
// Invariant: what goes wrong with the device before, is no error here: the CPU is kept, and says why.

import { SinterError, internals, keep, type Choice, type ChoiceInfo, type Device, type DeviceName, type Tensor } from '../index.js';

type Program = internals.Program;

/** What all choices share: one is timed at a time. */
export interface Timing {
  under: Promise<void> | null;
  /** Set while a choice reads a value itself. */
  isReading: boolean;
  note(choice: ChoiceInfo): void;
}

/** Times that each side is measured, by turns; the least one counts. */
const TURNS = 3;
/** A measurement is of so many calls that it takes this long, of few, and of those whose copies fit in this. */
const LEAST_MS = 4;
const MOST_CALLS = 16;
const MOST_BYTES = 64 * 2 ** 20;
/** A side that takes so many times as long in the first turn is not measured again. */
const HOPELESS = 3;

interface Side {
  device: DeviceName;
  program: Program;
  inputs: Tensor[];
  calls: number;
  ms: number;
}

const size = (tensors: readonly Tensor[]): number => tensors.reduce((sum, t) => sum + t.size * 8, 0);

export class TimedChoice implements Choice {
  readonly #timing: Timing;
  readonly #lost: () => string;
  readonly #follow: (t: Tensor, choice: TimedChoice) => void;
  readonly #op: string;
  readonly #donated: readonly boolean[];
  #here: Program | null;
  #there: Program | null = null;
  #make: (() => Program) | null;
  #chosen: DeviceName = 'cpu';
  #isDecided = false;

  constructor(
    timing: Timing,
    lost: () => string,
    follow: (t: Tensor, choice: TimedChoice) => void,
    ...[op, here, donated, make]: Parameters<Device['choose']>
  ) {
    this.#timing = timing;
    this.#lost = lost;
    this.#follow = follow;
    this.#op = op;
    this.#here = here;
    this.#donated = donated;
    this.#make = make;
  }

  of(inputs: readonly Tensor[]): Program {
    if (this.#make) this.#begin(inputs);
    const isThere = this.#there !== null && inputs.some((t) => t.device !== 'cpu');
    if (!isThere && this.#chosen !== 'cpu' && this.#lost()) this.#keep('cpu', this.#lost());
    return isThere || this.#chosen !== 'cpu' ? this.#there! : this.#here!;
  }

  made(outputs: readonly Tensor[]): void {
    if (!this.#isDecided) for (const t of outputs) this.#follow(t, this);
  }

  /** A result is read at once. */
  stay(): void {
    if (!this.#isDecided) this.#keep('cpu', 'results are read at once, before the device was chosen');
  }

  release(): void {
    this.#there?.release();
    this.#there = this.#here = this.#make = null;
    this.#chosen = 'cpu';
  }

  #keep(device: DeviceName, reason: string, times: { cpuMs?: number; deviceMs?: number } = {}): void {
    this.#chosen = device;
    this.#isDecided = true;
    this.#timing.note({ op: this.#op, device, ...times, reason });
  }

  /** At the first call: compiles for the device, and has both timed where the arguments lie here. */
  #begin(inputs: readonly Tensor[]): void {
    const make = this.#make!;
    this.#make = null;
    try {
      this.#there = make();
      if (inputs.some((t) => t.device !== 'cpu')) {
        this.#keep('webgpu', 'arguments lie there');
        return;
      }
      const sides = (['cpu', 'webgpu'] as const).map((device): Side => ({
        device,
        program: device === 'cpu' ? this.#here! : this.#there!,
        inputs: this.#copies(inputs, device),
        calls: 1,
        ms: Infinity,
      })) as [Side, Side];
      const before = this.#timing.under ?? Promise.resolve();
      const own = before.then(() => this.#time(sides)).finally(() => {
        if (this.#timing.under === own) this.#timing.under = null;
      });
      this.#timing.under = own;
    } catch (error) {
      this.#refused(error);
    }
  }

  #refused(error: unknown): void {
    if (!(error instanceof SinterError)) throw error;
    this.#keep('cpu', error.message);
  }

  #copies(tensors: readonly Tensor[], device: DeviceName): Tensor[] {
    return tensors.map((t) => keep(internals.copyOf(t, device)));
  }

  async #time([here, there]: [Side, Side]): Promise<void> {
    const sides = [here, there];
    try {
      for (const side of sides) await this.#measure(side); // pipelines, code, memory
      for (const side of sides) {
        const ms = await this.#measure(side);
        const fits = Math.floor(MOST_BYTES / Math.max(1, size(side.inputs)));
        side.calls = Math.max(1, Math.min(MOST_CALLS, fits, Math.ceil(LEAST_MS / ms)));
        side.ms = ms;
      }
      for (let turn = 0; turn < TURNS && there.ms < HOPELESS * here.ms && here.ms < HOPELESS * there.ms; turn++)
        for (const side of sides) side.ms = Math.min(side.ms, await this.#measure(side));
      if (!this.#there || this.#isDecided) return; // released, or read at once
      const times = { cpuMs: here.ms, deviceMs: there.ms };
      this.#keep(there.ms < here.ms ? 'webgpu' : 'cpu', 'measured', times);
    } catch (error) {
      this.#refused(error);
    } finally {
      for (const { inputs } of sides) for (const t of inputs) t.dispose();
    }
  }

  /** Milliseconds of one of a few calls in a row. */
  async #measure({ device, program, inputs, calls }: Side): Promise<number> {
    const given = Array.from({ length: calls }, () => inputs.map((t, i) => (this.#donated[i] ? keep(internals.copyOf(t, device)) : t)));
    const made: Tensor[] = [];
    const all = given.flat();
    await this.#read(all);
    const begin = performance.now();
    let last: Tensor[] = [];
    for (const each of given) {
      if (!this.#here) throw new SinterError('disposed', this.#op, 'the function was disposed of');
      last = keep(program.run(each));
      made.push(...last);
    }
    await this.#read(last);
    const ms = (performance.now() - begin) / calls;
    for (const t of [...made, ...all.filter((one) => !inputs.includes(one))]) t.dispose();
    return ms;
  }

  /** Until tensors have their values: the smallest of them is read. */
  async #read(tensors: readonly Tensor[]): Promise<void> {
    const smallest = tensors.reduce<Tensor | null>((least, t) => (least && least.size <= t.size ? least : t), null);
    if (!smallest) return;
    this.#timing.isReading = true;
    const data = smallest.data();
    this.#timing.isReading = false;
    await data;
  }
}
