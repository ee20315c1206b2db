// jsSource: gathers what is known of a traced function, and has sinter/source write it as JavaScript.

import { SinterError, UnsupportedError } from './errors.js';
import { parameterNames, resultKind } from './origin.js';
import { checkFunctionName, type Program } from './program.js';
import { tensorNames, type TreeShape } from './pytree.js';
import { loadSource } from './runtime/files.js';
import { WRITER, type Writers } from './writer.js';
import type { moduleText } from './source/module.js';

function writer(): typeof moduleText {
  let cause: unknown;
  try {
    if (!(globalThis as Writers)[WRITER]) loadSource();
  } catch (error) {
    cause = error;
  }
  const write = (globalThis as Writers)[WRITER];
  if (write) return write;
  throw new UnsupportedError('jsSource', 'what writes JavaScript is not loaded', {
    hint: "import 'sinter/source' before; pages that do not write any need not download it",
    cause,
  });
}

/** The program as the text of a module, with a function called name. f: the function that was traced; args: the shape of
 *  its list of arguments. */
export function jsSource(program: Program, f: (...args: never) => unknown, args: TreeShape, result: TreeShape, name: string): string {
  checkFunctionName('jsSource', name);
  const list = args.kind === 'array' ? args.items : [];
  const traced = {
    graph: program.graph(),
    parameters: parameterNames(f, list.length),
    places: list.map((each) => tensorNames(each)),
    result,
    resultPlaces: tensorNames(result),
    kind: resultKind(f),
    captured: program.captured().map((t) => ({ dtype: t.dtype, shape: t.shape, values: () => t.dataSync() })),
  };
  const text = writer()(traced, name);
  if (text === null) throw new SinterError('argument', 'jsSource', `${name} is a word of JavaScript, or of what is written`);
  return text;
}
