// Steps through the rewrites of a pass: the rule, what it says, the value it removes and the one that replaces it.

import { RULES } from 'virtual:rules';
import { create, element, setText } from '../../views/dom.ts';
import type { Rewrite, Stage } from '../report.ts';

const named = (rule: string): string => rule.replaceAll('_', ' ');

export class RewritesView {
  private stages: readonly [Stage, Stage] | null = null;
  private at = -1;
  private readonly bar = element('rewrites');
  private readonly text = element('rewrite-text');

  /** onStep: called when a single rewrite is shown; null: all rewrites of the pass. */
  constructor(private readonly onStep: (rewrite: Rewrite | null) => void) {
    element('rewrite-back').addEventListener('click', () => this.step(-1));
    element('rewrite-on').addEventListener('click', () => this.step(1));
    element('rewrites').addEventListener('keydown', (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by !== undefined) this.step(by);
    });
  }

  get shown(): Rewrite | null {
    return this.stages?.[1].rewrites[this.at] ?? null;
  }

  /** Shows the rewrites of a pass; hides the bar if the pass has none. */
  show(before: Stage | undefined, after: Stage): void {
    const same = this.stages?.[1] === after;
    this.bar.hidden = before === undefined || after.rewrites.length === 0;
    if (same) return;
    this.stages = before === undefined ? null : [before, after];
    this.at = -1;
    this.say();
  }

  private step(by: number): void {
    const count = this.stages?.[1].rewrites.length ?? 0;
    this.at = Math.max(-1, Math.min(count - 1, this.at + by));
    this.say();
    this.onStep(this.shown);
  }

  private say(): void {
    const { stages, shown } = this;
    if (stages === null) return;
    const [before, after] = stages;
    const total = after.rewrites.length;
    element<HTMLButtonElement>('rewrite-back').disabled = this.at < 0;
    element<HTMLButtonElement>('rewrite-on').disabled = this.at === total - 1;
    this.bar.dataset.at = String(this.at);
    if (shown === null) {
      const counts = new Map<string, number>();
      for (const { rule } of after.rewrites) counts.set(rule, (counts.get(rule) ?? 0) + 1);
      const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4);
      return setText(this.text, `${total} ${total === 1 ? 'rewrite' : 'rewrites'}: ${most.map(([rule, times]) => (times === 1 ? named(rule) : `${named(rule)} × ${times}`)).join(', ')}${counts.size > 4 ? ' …' : ''}`);
    }
    const op = (stage: Stage, id: number): string => `%${id} ${stage.nodes[id]?.op ?? ''}`;
    const words = RULES[shown.rule];
    this.text.replaceChildren(
      create('span', 'muted', `${this.at + 1} of ${total} `),
      create('strong', '', named(shown.rule)),
      ` ${op(before, shown.from)} → ${op(after, shown.to)}`,
      ...(words === undefined ? [] : [create('span', 'muted', ` · ${words}`)]),
    );
  }
}
