// break-lines.mjs - divides minified code into lines again, because Node prints the line where an error was thrown. Each of
// several statements or members of a class begins a line, and so does each element of a long list.
import { parseAst } from 'rolldown/parseAst';

const LONG = 240; // characters of a list that does not stay on one line

/** For each type of node, the list whose elements each begin a line. */
const LISTS = {
  Program: 'body',
  BlockStatement: 'body',
  ClassBody: 'body',
  StaticBlock: 'body',
  SwitchStatement: 'cases',
  SwitchCase: 'consequent',
  ArrayExpression: 'elements',
  ObjectExpression: 'properties',
  VariableDeclaration: 'declarations',
  ExportNamedDeclaration: 'specifiers',
};

const ofStatements = ({ type }) => /^(Program|Block|Class|Static|Switch)/.test(type);

const collectStarts = (node, starts) => {
  const list = node[LISTS[node.type]];
  const isLong = node.end - node.start > LONG;
  const broken = isLong || (ofStatements(node) && list?.length > 1) ? list : null;
  for (const value of Object.values(node)) {
    for (const child of [value].flat()) {
      if (!child?.type) continue;
      if (broken && value === broken) starts.push(child.start);
      collectStarts(child, starts);
    }
  }
};

/** Returns the same program with line breaks. */
export const breakLines = (code) => {
  const starts = [];
  collectStarts(parseAst(code), starts);
  starts.sort((a, b) => a - b);
  const ends = [...starts.slice(1), code.length];
  return code.slice(0, starts[0]) + starts.map((start, i) => code.slice(start, ends[i])).join('\n');
};
