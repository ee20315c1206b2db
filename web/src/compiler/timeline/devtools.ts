// Writes a profile as tracks for the browser's own tools: a lane per thread in the Performance panel, by measures with the
// details that Chromium's DevTools look for. Recording there while the program runs shows the kernels beside everything else.

import type { Profiled } from '../protocol.ts';

/** More measures at once would block the page. */
const MOST = 20_000;
const COLOURS = ['primary', 'primary-light', 'secondary', 'secondary-light', 'tertiary', 'tertiary-light'];

/** Writes the slices between two moments of the profile, but at most MOST; returns how many. properties: what to say about a
 *  slice. */
export function writeTracks(data: Profiled, from: number, to: number, properties: (slice: number) => [string, string][]): number {
  const { begin, end, worker, kernel, kernels, step } = data;
  const own = Array.from(begin, (_, slice) => slice).filter((slice) => end[slice] > from && begin[slice] < to).slice(0, MOST);
  const zero = data.epoch - performance.timeOrigin;
  const names = new Set<string>();
  for (const slice of own) {
    const { name } = kernels[kernel[slice]];
    names.add(name);
    performance.measure(name, {
      start: Math.max(0, zero + begin[slice]),
      end: Math.max(0, zero + end[slice]),
      detail: {
        devtools: {
          dataType: 'track-entry',
          trackGroup: 'Sinter',
          track: `Thread ${worker[slice] + 1}`,
          color: COLOURS[step[slice] % COLOURS.length],
          properties: properties(slice),
          tooltipText: name,
        },
      },
    });
  }
  // DevTools have recorded them, so the page's own list of measures need not grow.
  for (const name of names) performance.clearMeasures(name);
  return own.length;
}
