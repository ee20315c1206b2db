// break-lines.mjs - code without whitespace, made lines again: Node prints the line where an error was thrown. A line
// begins with each statement and member of a class, and with each element of a long list.
import { parseAst } from 'rolldown/parseAst';

const LONG = 240; // characters of a list that does not stay on one line

/** What stands in a list of a node and begins a line each. */
const LISTS = {
  Program: 'body',
  BlockStatement: 'body',
  ClassBody: 'body',
  StaticBlock: 'body',
  SwitchCase: 'consequent',
  ArrayExpression: 'elements',
  ObjectExpression: 'properties',
  VariableDeclaration: 'declarations',
  ExportNamedDeclaration: 'specifiers',
};

const isExpression = ({ type }) => !/^(Program|Block|Class|Static|Switch)/.test(type);

const collectStarts = (node, starts) => {
  const broken = !isExpression(node) || node.end - node.start > LONG ? node[LISTS[node.type]] : null;
  for (const value of Object.values(node)) {
    for (const child of [value].flat()) {
      if (!child?.type) continue;
      if (value === broken) starts.push(child.start);
      collectStarts(child, starts);
    }
  }
};

/** The same program. */
export const breakLines = (code) => {
  const starts = [];
  collectStarts(parseAst(code), starts);
  starts.sort((a, b) => a - b);
  const ends = [...starts.slice(1), code.length];
  return code.slice(0, starts[0]) + starts.map((start, i) => code.slice(start, ends[i])).join('\n');
};
