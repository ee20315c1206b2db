// Tables of answers to queries, and of the joins of rules.

import { create } from '../../views/dom.ts';
import { count, milliseconds, plural, scaled } from '../../views/format.ts';
import type { Answers, Rule } from './protocol.ts';

const ON: Record<Rule['joins'][number]['on'], string> = {
  facts: 'rows of bits, once for each fact',
  bits: 'words of bits',
  tensors: 'whole tensors',
};

const row = (cells: readonly (string | Node)[], tag: 'th' | 'td' = 'td'): HTMLTableRowElement =>
  create('tr', '', ...cells.map((cell) => create(tag, '', cell)));

function table(head: readonly string[], rows: readonly HTMLTableRowElement[]): HTMLTableElement {
  const header = row(head, 'th');
  for (const cell of header.cells) cell.scope = 'col';
  return create('table', '', create('thead', '', header), create('tbody', '', ...rows));
}

/** The answers of a query; a button in each row calls `why` with its fact. */
export function answersTable({ text, columns, rows, facts, count: all }: Answers, why: (fact: string) => void): HTMLElement {
  const title = create('p', 'query', create('code', '', text), ` ${columns.length === 0 ? (all > 0 ? 'yes' : 'no') : plural(all, 'answer')}`);
  const box = create('div', 'answers', title);
  if (columns.length > 0) {
    const made = rows.map((cells, i) => {
      const button = create('button', 'quiet', 'why');
      button.type = 'button';
      button.setAttribute('aria-label', `Why ${cells.join(', ')}`);
      button.addEventListener('click', () => why(facts[i]));
      return row([...cells.map(String), button]);
    });
    box.append(table([...columns, ''], made));
    if (rows.length < all) box.append(create('p', 'foot', `The first ${count(rows.length)}.`));
  } else if (all > 0) {
    const button = create('button', 'quiet', 'why');
    button.type = 'button';
    button.addEventListener('click', () => why(facts[0]));
    title.append(' ', button);
  }
  return box;
}

export function joinsTable(rules: readonly Rule[]): HTMLElement {
  const rows = rules.flatMap(({ line, text, joins, ms, kernels }) => {
    const head = row([create('code', '', text.replace(/\s+/gu, ' ')), `line ${line}, ${plural(kernels, 'kernel')}`, '', milliseconds(ms)]);
    head.className = 'rule';
    const own = joins.map(({ text: join, points, on, ms: joinMs }) => row([create('code', '', join), ON[on], scaled(points), milliseconds(joinMs)]));
    return [head, ...own];
  });
  return table(['Rule, and its einsums', 'On', 'Points', 'ms'], rows);
}
