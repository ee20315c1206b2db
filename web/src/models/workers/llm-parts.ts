// Where the time goes while a language model writes. A decoder's step is a sequence of kernels. A norm precedes each half of a
// block, and the output; so the kernels between two norms are attention and feed-forward in turn.

import type { Profile, Span } from 'sinter';
import type { Part } from '../protocol.ts';

/** One run of a kernel: the spans of all threads in it. */
interface Turn {
  name: string;
  step: number;
  begin: number;
  end: number;
}

const isNorm = ({ name }: Turn): boolean => name.includes('rsqrt');

function turnsOf(spans: readonly Span[]): Turn[] {
  const turns: Turn[] = [];
  for (const { name, step, begin, end } of [...spans].sort((a, b) => a.begin - b.begin)) {
    const last = turns.at(-1);
    if (last?.step === step && last.name === name && begin < last.end) last.end = Math.max(last.end, end);
    else turns.push({ name, step, begin, end });
  }
  return turns;
}

/** The runs of a program: each begins where the numbers of the kernels start again. */
function runsOf(turns: readonly Turn[]): Turn[][] {
  const runs: Turn[][] = [];
  turns.forEach((turn, i) => {
    if (i === 0 || turn.step < turns[i - 1].step) runs.push([]);
    runs.at(-1)?.push(turn);
  });
  return runs;
}

export function partsOf({ spans, workers }: Profile, layers: number): Part[] {
  const sums = new Map<string, number>();
  const add = (name: string, ms: number): void => void sums.set(name, (sums.get(name) ?? 0) + ms);
  for (const run of runsOf(turnsOf(spans))) {
    const norms = run.filter(isNorm).length;
    const isKnown = norms === 2 * layers + 1;
    let seen = 0;
    for (const turn of run) {
      if (isNorm(turn)) seen++;
      const part = seen === 0 ? 'Embedding, angles' : seen === norms ? 'Output' : seen % 2 === 1 ? 'Attention' : 'Feed-forward';
      const name = isNorm(turn) ? 'Norms' : isKnown ? part : turn.name.includes('matmul') ? 'Products' : 'Other kernels';
      add(name, turn.end - turn.begin);
    }
  }
  const gaps = workers[0]?.gaps;
  if (gaps) {
    add('Between kernels', gaps.dispatch + gaps.compile);
    add('Choosing tokens, JavaScript', gaps.host);
  }
  return [...sums].map(([name, ms]) => ({ name, ms })).sort((a, b) => b.ms - a.ms);
}
