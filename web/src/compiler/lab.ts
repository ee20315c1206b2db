// The page's end of a lab: a core with one configuration, in a worker of its own. A lab that was ended or got stuck starts
// again with the next question.

import type { Tuning } from 'sinter';
import type { Engine, Figures, Further, LabMethods, Loading, Opened, PassesOff, Problem, Profiled, Sample } from './protocol.ts';
import type { Report } from './report.ts';
import { Rpc, openPatiently } from './rpc.ts';

/** A program that takes longer than INSPECT_MS to trace counts as endless. Compiling it may take PREPARE_MS. */
const INSPECT_MS = 10_000;
const PREPARE_MS = 60_000;

export class Lab {
  private readonly rpc = new Rpc<LabMethods>(
    () => new Worker(new URL('./workers/lab.ts', import.meta.url), { type: 'module', name: 'lab' }),
    (loading) => this.onLoading(loading),
  );
  private opened: Promise<Opened> | null = null;

  constructor(
    private readonly engine: Engine,
    /** Called while a program waits for its data. */
    private readonly onLoading: (loading: Loading) => void = () => undefined,
  ) {}

  open(): Promise<Opened> {
    if (this.opened === null || !this.rpc.alive) {
      this.opened = openPatiently((limitMs) => this.rpc.ask('open', [this.engine], limitMs));
    }
    return this.opened;
  }

  async inspect(source: string, off: PassesOff, further: Further = {}): Promise<Report> {
    await this.open();
    return this.rpc.ask('inspect', [source, off, further], INSPECT_MS);
  }

  kernelsBehind(source: string, off: PassesOff, pass: string): Promise<number> {
    return this.rpc.ask('kernelsBehind', [source, off, pass], INSPECT_MS);
  }

  wat(kernel: number): Promise<string> {
    return this.rpc.ask('wat', [kernel], INSPECT_MS);
  }

  wgsl(kernel: number): Promise<string> {
    return this.rpc.ask('wgsl', [kernel], INSPECT_MS);
  }

  c(): Promise<string> {
    return this.rpc.ask('c', [], INSPECT_MS);
  }

  js(): Promise<string> {
    return this.rpc.ask('js', [], INSPECT_MS);
  }

  async prepare(source: string, off: PassesOff, further: Further = {}): Promise<number> {
    await this.open();
    return this.rpc.ask('prepare', [source, off, further], PREPARE_MS);
  }

  figures(): Promise<Figures> {
    return this.rpc.ask('figures', [], PREPARE_MS);
  }

  async tune(source: string, { off, further = {} }: { off: PassesOff; further?: Further }): Promise<Tuning> {
    await this.open();
    return this.rpc.ask('tune', [source, off, further], PREPARE_MS);
  }

  tuneOn(): Promise<Tuning> {
    return this.rpc.ask('tuneOn', [], PREPARE_MS);
  }

  async profile(source: string, { off, further = {} }: { off: PassesOff; further?: Further }, runs: number): Promise<Profiled> {
    await this.open();
    return this.rpc.ask('profile', [source, off, further, runs], PREPARE_MS);
  }

  async numerics(source: string): Promise<Problem | null> {
    await this.open();
    return this.rpc.ask('numerics', [source], INSPECT_MS);
  }

  trace(form: 'chrome' | 'speedscope'): Promise<string> {
    return this.rpc.ask('trace', [form], INSPECT_MS);
  }

  bandwidth(): Promise<number> {
    return this.rpc.ask('bandwidth', [], INSPECT_MS);
  }

  sample(): Promise<Sample> {
    return this.rpc.ask('sample', [], PREPARE_MS);
  }

  close(): void {
    this.rpc.end();
    this.opened = null;
  }
}
