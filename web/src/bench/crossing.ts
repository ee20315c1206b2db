// Finds where two curves of times over widths cross: between two widths, linearly interpolated on logarithmic axes.

export interface Point {
  width: number;
  cpu: number;
  gpu: number;
}

export interface Crossing {
  width: number;
  ms: number;
  /** The faster one for larger widths. */
  above: 'cpu' | 'gpu';
}

/** The last crossing; null if one of them is always faster. */
export function crossingOf(points: readonly Point[]): Crossing | null {
  const sorted = [...points].sort((a, b) => a.width - b.width);
  const gap = ({ cpu, gpu }: Point): number => Math.log(cpu / gpu);
  for (let i = sorted.length - 1; i > 0; i--) {
    const [low, high] = [sorted[i - 1], sorted[i]];
    const [from, to] = [gap(low), gap(high)];
    if (Math.sign(from) === Math.sign(to) || to === 0) continue;
    const share = from / (from - to);
    const between = (a: number, b: number): number => Math.exp(Math.log(a) + share * (Math.log(b) - Math.log(a)));
    return { width: between(low.width, high.width), ms: between(low.cpu, high.cpu), above: to > 0 ? 'gpu' : 'cpu' };
  }
  return null;
}
