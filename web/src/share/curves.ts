// The course of a training as figures: CSV for spreadsheets, and JSON that includes the program.

import type { History } from '../state/history.ts';
import type { RunOf } from '../inside/runs.ts';

const NAMES = ['steps', 'loss', 'mean', 'norm', 'rate', 'ms'] as const;
const HEADS = { steps: 'step', loss: 'loss', mean: 'running mean of the loss', norm: 'gradient norm', rate: 'learning rate', ms: 'milliseconds of a step' };

/** A line for each point; a value that is unknown or not finite is left empty. */
export function curvesAsCsv(history: History): string {
  const lines = history.steps.map((_, i) => NAMES.map((name) => history[name][i] ?? '').join(','));
  return `${[NAMES.map((name) => HEADS[name]).join(','), ...lines].join('\r\n')}\r\n`;
}

export function curvesAsJson(history: History, run: RunOf): string {
  const columns = Object.fromEntries(NAMES.map((name) => [name === 'steps' ? 'step' : name, history[name]]));
  return `${JSON.stringify({ program: run.title, settings: run.settings, text: run.text, columns }, null, 1)}\n`;
}
