// Programs of a function with device 'auto': compiled for the CPU at once, and for the device as well. At the first call both
// are timed in turns on copies of the arguments, and the faster one is kept. Until then calls run on the CPU. Reading values
// waits for the timing, so that it has the machine to itself. The choice is final, so the state of a program moves to the
// device only once.
//
// If a result is read synchronously before the choice, the CPU is kept, because results on the device cannot be read so.
//
// Invariant: a failure of the device before the choice is not an error. The CPU is kept, and the reason is noted.

import { DisposedError, SinterError, internals, keep, type Choice, type ChoiceInfo, type Device, type DeviceName, type Tensor } from '../index.js';

type Program = internals.Program;

/** State shared by all choices. Only one is timed at a time. */
export interface Timing {
  under: Promise<void> | null;
  /** True while a choice itself reads a value. */
  isReading: boolean;
  note(choice: ChoiceInfo): void;
}

/** How often each side is measured, in turns; the shortest time counts. */
const TURNS = 3;
/** A measurement makes enough calls to take LEAST_MS, but at most MOST_CALLS, and only as many as have copies of arguments
 *  within MOST_BYTES. */
const LEAST_MS = 4;
const MOST_CALLS = 16;
const MOST_BYTES = 64 * 2 ** 20;
/** A side that takes this many times as long in the first turn is not measured again. */
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

  /** Called when a result is read synchronously. */
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

  /** At the first call: compiles for the device, and starts the timing if the arguments are on the CPU. */
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

  /** Milliseconds per call, over several calls in a row. */
  async #measure({ device, program, inputs, calls }: Side): Promise<number> {
    const given = Array.from({ length: calls }, () => inputs.map((t, i) => (this.#donated[i] ? keep(internals.copyOf(t, device)) : t)));
    const made: Tensor[] = [];
    const all = given.flat();
    await this.#read(all);
    const begin = performance.now();
    let last: Tensor[] = [];
    for (const each of given) {
      if (!this.#here) throw new DisposedError(this.#op, 'the function was disposed of');
      last = keep(program.run(each));
      made.push(...last);
    }
    await this.#read(last);
    const ms = (performance.now() - begin) / calls;
    for (const t of [...made, ...all.filter((one) => !inputs.includes(one))]) t.dispose();
    return ms;
  }

  /** Waits until tensors are computed, by reading the smallest of them. */
  async #read(tensors: readonly Tensor[]): Promise<void> {
    const smallest = tensors.reduce<Tensor | null>((least, t) => (least && least.size <= t.size ? least : t), null);
    if (!smallest) return;
    this.#timing.isReading = true;
    const data = smallest.data();
    this.#timing.isReading = false;
    await data;
  }
}
