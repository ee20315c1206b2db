// Finds where to cut a graph in order to train its end. All nodes that depend on the trained weights lie after the cut. The
// values that they read from before it are computed once for each example.

import type { OnnxFile, OnnxNode } from 'sinter/onnx';

export interface Split {
  /** The values that cross the cut. If they are only the graph's inputs, nothing lies before the cut. */
  cut: string[];
  /** The scores: the output, or the input of a softmax that makes the output. */
  scores: string;
}

/** Ops that compute shapes. Shapes are computed in the part that needs them. */
const SHAPES = new Set(['Shape', 'Size']);
/** Ops after the scores that do not change their order. */
const ENDS = new Set(['Softmax', 'LogSoftmax', 'Identity']);

const uses = ({ inputs, inside }: OnnxNode): string[] => [...inputs, ...inside];

function scoresOf({ nodes, outputs }: OnnxFile, makers: ReadonlyMap<string, number>): string {
  let name = outputs[0].name;
  for (let i = 0; i < nodes.length; i++) {
    const maker = makers.get(name);
    if (maker === undefined || !ENDS.has(nodes[maker].op)) break;
    name = nodes[maker].inputs[0];
  }
  return name;
}

export function splitAt(file: OnnxFile, trained: ReadonlySet<string>): Split {
  const { nodes } = file;
  const makers = new Map(nodes.flatMap(({ outputs }, i) => outputs.map((name) => [name, i] as const)));
  const entering = new Set(file.inputs.map(({ name }) => name));
  /** Sets of nodes: those that depend on the trained weights; on an input; and on an input only through its shape. */
  const [live, fed, shaped] = [new Set<number>(), new Set<number>(), new Set<number>()];
  const isIn = (set: ReadonlySet<number>, name: string): boolean => set.has(makers.get(name) ?? -1);
  nodes.forEach((node, i) => {
    const names = uses(node);
    if (names.some((name) => trained.has(name) || isIn(live, name))) live.add(i);
    const varying = names.filter((name) => entering.has(name) || isIn(fed, name));
    if (varying.length > 0) fed.add(i);
    if (SHAPES.has(node.op) || (varying.length > 0 && varying.every((name) => isIn(shaped, name)))) shaped.add(i);
  });
  const scores = scoresOf(file, makers);
  const cut = new Set<string>();
  const seen = new Set<string>();
  const pending = nodes.flatMap((node, i) => (live.has(i) ? uses(node) : []));
  while (pending.length > 0) {
    const name = pending.pop() as string;
    if (seen.has(name) || isIn(live, name)) continue;
    seen.add(name);
    if (entering.has(name)) cut.add(name);
    else if (isIn(shaped, name)) pending.push(...uses(nodes[makers.get(name) as number]));
    else if (isIn(fed, name)) cut.add(name);
  }
  return { cut: [...cut], scores };
}
