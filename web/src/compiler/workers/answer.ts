// The worker's end: calls the method that a message names, and sends back what it returns or throws.

import type { Answer, Problem } from '../protocol.ts';

type Method = (...args: never[]) => unknown;

/** Methods run one after the other, in the order of the questions. */
export function answer<M>(
  methods: { [K in keyof M]: Method },
  describe: (error: unknown) => Problem,
  transfer: (value: unknown) => Transferable[] = () => [],
): void {
  let last: Promise<void> = Promise.resolve();
  const carryOut = async (id: number, method: keyof M, args: never[]): Promise<void> => {
    try {
      const value: unknown = await methods[method](...args);
      const sent: Answer = { id, ok: true, value };
      self.postMessage(sent, { transfer: transfer(value) });
    } catch (error) {
      const sent: Answer = { id, ok: false, problem: describe(error) };
      self.postMessage(sent);
    }
  };
  self.onmessage = ({ data }: MessageEvent<{ id: number; method: keyof M; args: never[] }>) => {
    last = last.then(() => carryOut(data.id, data.method, data.args));
  };
}
