// Exports a profile for speedscope.app.

import type { Profile } from '../index.js';
import { checkProfile } from './given.js';

/** A file for speedscope.app, with one profile per worker. */
export function toSpeedscope(profile: Profile): Record<string, unknown> {
  checkProfile('toSpeedscope', profile, ['workers', 'spans']);
  const { spans, workers, totalMs } = profile;
  const names = [...new Set(spans.map(({ name }) => name))];
  const frame = new Map(names.map((name, i) => [name, i]));
  const events = (worker: number): Record<string, unknown>[] =>
    spans
      .filter((span) => span.worker === worker)
      .sort((a, b) => a.begin - b.begin)
      .flatMap(({ name, begin, end }) => [
        { type: 'O', frame: frame.get(name), at: begin },
        { type: 'C', frame: frame.get(name), at: end },
      ]);
  return {
    $schema: 'https://www.speedscope.app/file-format-schema.json',
    shared: { frames: names.map((name) => ({ name })) },
    profiles: workers.map(({ worker }) => ({
      type: 'evented',
      name: worker === 0 ? 'worker 0 (caller)' : `worker ${worker}`,
      unit: 'milliseconds',
      startValue: 0,
      endValue: totalMs,
      events: events(worker),
    })),
  };
}
