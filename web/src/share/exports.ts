// Exports as files: the program as a page of its own, and the course of its training. Loaded when it is first used.

import type { RunOf } from '../inside/runs.ts';
import { entry } from '../program/list.ts';
import type { ShownProgram } from '../program/shown.ts';
import type { History } from '../state/history.ts';
import { download } from '../views/download.ts';
import { bytes, count } from '../views/format.ts';
import { curvesAsCsv, curvesAsJson } from './curves.ts';
import { pageFile } from './page-file.ts';

/** Throws for a program that only the Compiler tab shows: its page would have nothing to train. */
function fileOf(program: ShownProgram): Promise<string> {
  const known = entry(program.name);
  if (known?.learns === false && !program.isChanged) throw new Error(`${known.title} is a program to look at: a page of its own has nothing to train`);
  return pageFile(program);
}

/** Returns a message for the user, as the other two functions do. */
export async function savePage(program: ShownProgram): Promise<string> {
  const html = await fileOf(program);
  download(`sinter-${program.name}.html`, 'text/html', html);
  return `One file of ${bytes(html.length)}: a double click opens it, without a network. It trains on one thread.`;
}

export async function copyPage(program: ShownProgram): Promise<string> {
  const html = await fileOf(program);
  await navigator.clipboard.writeText(html);
  return `Copied: ${bytes(html.length)} of HTML.`;
}

export function saveCurves(history: History, run: RunOf, form: 'csv' | 'json'): string {
  if (history.steps.length === 0) return 'There are no figures before the first step.';
  if (form === 'csv') download('sinter-curves.csv', 'text/csv', curvesAsCsv(history));
  else download('sinter-curves.json', 'application/json', curvesAsJson(history, run));
  return `Saved ${count(history.steps.length)} points of each curve.`;
}
