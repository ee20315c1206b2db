// Tests what the device computes, for debugging (setDebug(1) and more). The first run of each program is repeated on the CPU
// with copies of its arguments, and the results are compared. So a wrong driver is found with the kernels and values that are
// really used.
//
// Invariant: values are read only after the test, and after a failed test no value of the device is returned.

import { SinterError, internals, keep, type Device, type Tensor } from '../index.js';
import type { Timing } from './choice.js';

type Program = internals.Program;

/** The largest error of a float, relative to the largest value in its tensor: sums have other orders, and functions other
 *  builds. */
const SHARE = 2 ** -10;
/** The share of elements that may differ: rounding can change the result of a comparison, and all that depends on it. */
const ODD_ONES = 0.01;

interface Found {
  at: number;
  count: number;
}

/** How many elements differ, and the index of the first. */
function difference(here: ArrayLike<number>, there: ArrayLike<number>, isInexact: boolean): Found {
  let most = 0;
  for (let i = 0; i < here.length; i++) if (Number.isFinite(here[i])) most = Math.max(most, Math.abs(here[i]!));
  const bound = isInexact ? SHARE * most : 0;
  const found = { at: -1, count: 0 };
  for (let i = 0; i < here.length; i++) {
    const [x, y] = [here[i]!, there[i]!];
    if (x === y || (Number.isNaN(x) && Number.isNaN(y)) || Math.abs(x - y) <= bound) continue;
    if (found.count++ === 0) found.at = i;
  }
  return found;
}

export class SelfTest {
  readonly #timing: Timing;
  readonly #tell: (text: string) => void;
  readonly #op: string;
  readonly #there: Program;
  readonly #make: () => Program;

  constructor(timing: Timing, tell: (text: string) => void, ...[op, there, make]: Parameters<Device['test']>) {
    this.#timing = timing;
    this.#tell = tell;
    this.#op = op;
    this.#there = there;
    this.#make = make;
  }

  /** Runs the program. The results are compared later, and reads wait for that. */
  run(inputs: readonly Tensor[]): Tensor[] {
    const copy = (t: Tensor): Tensor => keep(internals.copyOf(t, 'webgpu'));
    const given = inputs.map(copy);
    const outputs = this.#there.run(inputs);
    const made = outputs.map(copy);
    const before = this.#timing.under ?? Promise.resolve();
    const own = before
      .then(() => this.#compare(given, made))
      .finally(() => {
        if (this.#timing.under === own) this.#timing.under = null;
      });
    this.#timing.under = own;
    return outputs;
  }

  async #compare(given: readonly Tensor[], made: readonly Tensor[]): Promise<void> {
    const own: Tensor[] = [...given, ...made];
    const values = async (t: Tensor): Promise<ArrayLike<number>> => {
      this.#timing.isReading = true;
      const data = t.data();
      this.#timing.isReading = false;
      return data;
    };
    const brought = async (t: Tensor): Promise<Tensor> => {
      this.#timing.isReading = true;
      const copy = t.to('cpu');
      this.#timing.isReading = false;
      return keep(await copy);
    };
    let here: Program | null = null;
    try {
      const inputs: Tensor[] = [];
      for (const t of given) inputs.push(await brought(t));
      own.push(...inputs);
      here = this.#make();
      const wanted = keep(here.run(inputs));
      own.push(...wanted);
      for (const [i, t] of made.entries()) {
        const [want, got] = [await values(wanted[i]!), await values(t)];
        const { at, count } = difference(want, got, internals.isFloat(t.dtype));
        if (count <= ODD_ONES * t.size) continue;
        this.#tell(
          `a self-test of ${this.#op} failed: result ${i}, ${String(t)}, has ${count} wrong elements; ${at} is ${got[at]}, on the CPU ${want[at]}`,
        );
        return;
      }
    } catch (error) {
      if (!(error instanceof SinterError)) throw error;
      // Programs that do not exist for the CPU are not tested. Failures on the device are reported to whoever reads the values.
    } finally {
      here?.release();
      for (const t of own) t.dispose();
    }
  }
}
