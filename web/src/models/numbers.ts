// Parses numbers that a visitor types or drops: JSON of nested arrays, or values separated by commas, blanks and line ends.

const MOST_SHOWN = 30;

function flat(value: unknown, into: number[]): void {
  for (const pending = [value]; pending.length > 0; ) {
    const each = pending.pop();
    if (Array.isArray(each)) for (let i = each.length - 1; i >= 0; i--) pending.push(each[i] as unknown);
    else if (typeof each === 'number') into.push(each);
    else if (typeof each === 'boolean') into.push(Number(each));
    else throw new Error(`${JSON.stringify(each)?.slice(0, MOST_SHOWN) ?? 'nothing'} is no number.`);
  }
}

/** All numbers of a text. */
export function numbersIn(text: string): number[] {
  const found: number[] = [];
  if (/^\s*\[/.test(text)) {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch (error) {
      throw new Error(`This is no JSON: ${error instanceof Error ? error.message : String(error)}.`);
    }
    flat(parsed, found);
    return found;
  }
  for (const word of text.split(/[\s,;]+/)) {
    if (word === '') continue;
    const value = Number(word);
    if (Number.isNaN(value) && word !== 'NaN') throw new Error(`"${word.slice(0, MOST_SHOWN)}" is no number.`);
    found.push(value);
  }
  return found;
}

export interface LabelledRows {
  /** The number of values in each row. */
  width: number;
  values: Float32Array;
  labels: Uint32Array;
  /** In the order of their first appearance, or the numbers of the outputs. */
  classes: string[];
}

/** Lines of numbers with the class in the last column. A first line of column names is left out. */
export function labelledRows(text: string): LabelledRows {
  const rows = text.split(/\r?\n/).flatMap((line, i) => (line.trim() === '' ? [] : [{ number: i + 1, cells: line.trim().split(/[,;\t]/).map((cell) => cell.trim()) }]));
  const isHeader = (cells: string[]): boolean => cells.slice(0, -1).some((cell) => cell === '' || Number.isNaN(Number(cell)));
  if (rows.length > 1 && isHeader(rows[0].cells)) rows.shift();
  if (rows.length === 0) throw new Error('There are no lines: each has numbers and, last, its class.');
  const width = rows[0].cells.length - 1;
  if (width < 1) throw new Error('A line has numbers and, last, its class, with commas between them.');
  const classes: string[] = [];
  const values = new Float32Array(rows.length * width);
  const labels = new Uint32Array(rows.length);
  rows.forEach(({ number, cells }, i) => {
    if (cells.length !== width + 1) throw new Error(`Line ${number} has ${cells.length} columns, line ${rows[0].number} has ${width + 1}.`);
    cells.slice(0, -1).forEach((cell, k) => {
      const value = Number(cell);
      if (cell === '' || Number.isNaN(value)) throw new Error(`Line ${number}: "${cell.slice(0, MOST_SHOWN)}" is no number.`);
      values[i * width + k] = value;
    });
    const name = cells[width];
    if (name === '') throw new Error(`Line ${number} has no class.`);
    if (!classes.includes(name)) classes.push(name);
    labels[i] = classes.indexOf(name);
  });
  // If all classes are whole numbers from 0 on, they are the numbers of the outputs themselves.
  const numbers = classes.map(Number);
  if (!numbers.every((each) => Number.isInteger(each) && each >= 0 && each < 1000)) return { width, values, labels, classes };
  const own = labels.map((label) => numbers[label]);
  return { width, values, labels: own, classes: Array.from({ length: Math.max(...numbers) + 1 }, (_, i) => String(i)) };
}
