// Runs the text of a program, and returns what there is to train or to inspect.

import { SourceError } from '../../compiler/workers/source.ts';
import type { ProgramText } from '../../state/protocol.ts';
import { run, type Exports, type Print, type RunOptions } from './evaluate.ts';
import { begin, moduleOf, readSettings, stepOf, type Module } from './training.ts';

/** Whether there is something to train. */
export const learns = ({ default: make }: Exports): boolean => make !== undefined;

/** Runs the text of a program that learns. null for a script, which prints, has nothing to train, and has run to its end. */
export async function readProgram({ text, name }: ProgramText, { print, sinter }: Pick<RunOptions, 'print' | 'sinter'> = {}): Promise<Module | null> {
  let hasPrinted = false;
  const heard: Print = (level, line) => {
    hasPrinted = true;
    print?.(level, line);
  };
  const exports = await run(text, { name, hasLimit: true, sinter, print: heard });
  if (learns(exports)) return moduleOf(exports);
  if (hasPrinted && exports.program === undefined) return null;
  throw new SourceError('there is nothing to train here: a program that learns has a default export. The Compiler tab takes this one apart');
}

/** What the Compiler tab inspects: a function and its arguments. For a program that learns, that is its training step, with
 *  the settings of the page's fields in place of its own. */
export async function toLookAt(source: string): Promise<{ program: (...args: unknown[]) => unknown; inputs: unknown[] }> {
  const exports = await run(source);
  if (!learns(exports)) {
    const { program, inputs } = exports;
    if (typeof program !== 'function') throw new SourceError('there is no function called program, and no default export');
    if (!Array.isArray(inputs)) throw new SourceError('there is no array called inputs');
    return { program: program as () => unknown, inputs };
  }
  const module = moduleOf(exports);
  const settings = { ...module.settings, ...readSettings(exports.settingsOfFields) };
  const training = await module.make(settings);
  const step = stepOf(training);
  return { program: step as unknown as () => unknown, inputs: [begin(training, step, settings.seed ?? 0), ...training.data.batch(0)] };
}
