// The page's end of the worker of rules. A program that takes too long ends the worker; the next question starts another one.

import { Rpc, openPatiently } from '../../compiler/rpc.ts';
import type { Answers, Proof, Result, Rule, RulesMethods, Source } from './protocol.ts';
import type { Example } from './examples.ts';

const CHECK_MS = 10_000;
const RUN_MS = 20_000;

export class Reasoner {
  private readonly rpc = new Rpc<RulesMethods>(
    () => new Worker(new URL('../workers/rules.ts', import.meta.url), { type: 'module', name: 'rules' }),
  );
  private opened: Promise<Example[]> | null = null;

  /** The package's examples, once the library is loaded. */
  open(): Promise<Example[]> {
    if (this.opened === null || !this.rpc.alive) {
      this.opened = openPatiently((limitMs) => this.rpc.ask('open', [], limitMs));
      this.opened.catch(() => this.end());
    }
    return this.opened;
  }

  async check(source: Source): Promise<void> {
    await this.open();
    return this.rpc.ask('check', [source], CHECK_MS);
  }

  async run(source: Source): Promise<Result> {
    await this.open();
    return this.rpc.ask('run', [source], RUN_MS);
  }

  async rules(source: Source): Promise<Rule[]> {
    await this.open();
    return this.rpc.ask('rules', [source], RUN_MS);
  }

  async query(source: Source, query: string): Promise<Answers> {
    await this.open();
    return this.rpc.ask('query', [source, query], RUN_MS);
  }

  async explain(source: Source, fact: string): Promise<Proof | null> {
    await this.open();
    return this.rpc.ask('explain', [source, fact], RUN_MS);
  }

  end(): void {
    this.rpc.end();
    this.opened = null;
  }
}
