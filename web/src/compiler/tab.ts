// The Compiler tab: a program with its stages, kernels, memory, source and switches. Loaded when it is first opened, so that
// the training page starts without it.

import '../style/code.css';
import '../style/graph.css';
import '../style/compiler.css';
import { ProgramEditor } from '../program/editor.ts';
import { PROGRAMS } from '../program/list.ts';
import { shown } from '../program/shown.ts';
import { create, element, inside, setText } from '../views/dom.ts';
import { bytes, count, loading, plural, scaled, significant, withHint } from '../views/format.ts';
import { Rest } from '../views/rest.ts';
import { Tabs } from '../views/tabs.ts';
import { Experiment } from './experiment.ts';
import { Lab } from './lab.ts';
import panel from './panel.html?raw';
import type { Engine, Further, Opened, Problem } from './protocol.ts';
import { allNodes, isForDevice, type Report } from './report.ts';
import { ProblemError } from './rpc.ts';
import { CodeView } from './views/code-view.ts';
import { KernelsView } from './views/kernels.ts';
import { Selection } from './selection.ts';
import { linkedLines } from './views/linked-lines.ts';
import { MemoryView } from './views/memory.ts';
import { SourceView } from './views/source.ts';
import { StagesView } from './views/stages.ts';
import { FIRST_ENGINE, Switches } from './views/switches.ts';
import { TimeView } from './views/time.ts';
import { TuningView } from './views/tuning.ts';

/** Compiling starts after a pause of about a typed word. */
const TYPING_MS = 350;
/** A compilation that takes longer is announced. */
const LONG_MS = 400;
const NOT_RUN = 'Not run yet.';

export interface Surroundings {
  /** Called before a measurement: nothing else should use the cores. */
  quiet(): void;
}

export class CompilerTab {
  private readonly selection = new Selection();
  private readonly editor: ProgramEditor;
  private readonly stages: StagesView;
  private readonly kernels: KernelsView;
  private readonly memory: MemoryView;
  private readonly time: TimeView;
  private readonly tuning: TuningView;
  /** By the id of the view that contains each. */
  private readonly sources: Readonly<Record<string, SourceView>>;
  private readonly switches: Switches;
  private readonly numericsBox: HTMLInputElement;
  private readonly measureButton: HTMLButtonElement;
  private lab: Lab;
  private typing: number | undefined;
  /** The number of the newest compilation; answers for older ones are dropped. */
  private asked = 0;
  private isCompiling = false;
  private report: Report | null = null;
  private experiment: Experiment | null = null;
  private readonly resting = new Rest();
  /** Whether another program was chosen while the tab was hidden. */
  private isStale = false;
  private view = 'view-stages';

  constructor(
    root: HTMLElement,
    private readonly surroundings: Surroundings,
  ) {
    root.innerHTML = panel;
    this.editor = new ProgramEditor(
      element('program-editor'),
      (text) => {
        shown.edit(text, this);
        this.edited();
      },
      linkedLines(this.selection),
    );
    this.stages = new StagesView(new CodeView(element('stage-text'), 'The stage as text'), this.selection, (pass) =>
      this.lab.kernelsBehind(this.text, this.switches.current.off, pass),
    );
    this.kernels = new KernelsView(new CodeView(element('kernel-code'), 'Code of the kernel'), (kernel, language) => this.lab[language](kernel), this.selection);
    this.memory = new MemoryView(this.selection, (memoryBudget) =>
      this.lab.inspect(this.text, this.switches.current.off, { ...this.switches.current.further, memoryBudget }),
    );
    this.time = new TimeView(
      {
        lab: () => this.lab,
        profile: (runs) => this.lab.profile(this.text, this.switches.current, runs),
        quiet: () => this.surroundings.quiet(),
        measure: ({ options = {} }) => this.measureChange(options),
      },
      this.selection,
    );
    this.tuning = new TuningView({
      begin: () => this.lab.tune(this.text, this.switches.current),
      goOn: async () => {
        await this.resting.wait();
        return this.lab.tuneOn();
      },
      end: () => void this.compile(),
      quiet: () => this.surroundings.quiet(),
    });
    this.sources = {
      'view-js': new SourceView(
        { id: 'js', label: 'The program as JavaScript', language: 'js', file: 'program.js', type: 'text/javascript' },
        () => this.lab.js(),
      ),
      'view-c': new SourceView(
        { id: 'c', label: 'The program as C', language: 'c', file: 'program.c', type: 'text/x-c' },
        () => this.lab.c(),
      ),
    };
    this.switches = new Switches(({ engine }) => {
      this.forgetMeasurements();
      this.changeEngine(engine);
    });
    this.lab = this.makeLab(this.switches.current.engine);
    this.measureButton = element<HTMLButtonElement>('measure');
    this.measureButton.addEventListener('click', () => void this.measure());
    this.numericsBox = element<HTMLInputElement>('check-numerics');
    this.numericsBox.addEventListener('change', () => void this.compile());
    const tabs = new Tabs(inside(root, '[role=tablist]'), (view) => this.chooseView(view));
    tabs.show(this.view);
    this.followProgram(root);
  }

  /** All tabs show the same program: a program chosen or edited elsewhere is shown here, and the other way round. */
  private followProgram(root: HTMLElement): void {
    const select = element<HTMLSelectElement>('example');
    for (const [label, learns] of [['Programs that learn', true], ['Programs to look at', false]] as const) {
      const group = create('optgroup', '');
      group.label = label;
      for (const { name, title } of PROGRAMS.filter((each) => each.learns === learns)) {
        const option = create('option', '', title);
        option.value = name;
        group.append(option);
      }
      select.append(group);
    }
    select.addEventListener('change', () => shown.choose(select.value).catch(() => (select.value = shown.entry.name)));
    shown.subscribe((program, change, by) => {
      const { name, isTrusted } = program;
      select.value = name;
      if (by === this) return;
      if (change !== 'settings') this.editor.follow(program, change);
      this.forgetMeasurements();
      clearTimeout(this.typing);
      this.isStale = isTrusted && root.hidden;
      if (!isTrusted) this.wait();
      else if (!root.hidden) void this.compile();
    });
  }

  /** The program's text. Throws if it came with an address and the user has not allowed it to run. */
  private get text(): string {
    if (shown.program?.isTrusted === false) throw new Error(NOT_RUN);
    return this.editor.text;
  }

  /** Shows that the program waits for the user's permission to run. */
  private wait(): void {
    this.sayProblem(null, NOT_RUN);
    this.measureButton.disabled = true;
  }

  /** Called when another tab is opened: measurements pause. */
  rest(): void {
    this.resting.begin();
  }

  /** Called when the tab is shown again. */
  wake(): void {
    this.resting.wake();
    if (this.isStale) void this.compile();
    this.isStale = false;
  }

  private edited(): void {
    clearTimeout(this.typing);
    this.forgetMeasurements();
    this.typing = window.setTimeout(() => void this.compile(), TYPING_MS);
  }

  private makeLab(engine: Engine): Lab {
    return new Lab(engine, ({ received, total }) => {
      if (this.isCompiling) this.sayProblem(null, loading(received, total));
    });
  }

  private engineKey = JSON.stringify(FIRST_ENGINE);

  /** A core keeps its engine for life, so another engine needs another lab. */
  private changeEngine(engine: Engine): void {
    const key = JSON.stringify(engine);
    if (key !== this.engineKey) {
      this.engineKey = key;
      this.lab.close();
      this.lab = this.makeLab(engine);
    }
    void this.compile();
  }

  private async compile(): Promise<void> {
    clearTimeout(this.typing);
    const turn = ++this.asked;
    if (shown.program?.isTrusted === false) return this.wait();
    const { lab } = this;
    this.isCompiling = true;
    const long = setTimeout(() => {
      if (turn === this.asked) this.sayProblem(null, 'Compiling…');
    }, LONG_MS);
    try {
      const opened = await lab.open();
      this.switches.show(opened);
      if (opened.device !== null && 'reason' in opened.device) this.switches.refuseDevice(opened.device.reason);
      const report = await lab.inspect(this.text, this.switches.current.off, this.switches.current.further);
      if (turn !== this.asked) return;
      this.showReport(report, opened);
      if (this.numericsBox.checked) await this.checkNumerics(turn);
      element('compile-summary').dataset.turn = String(turn);
    } catch (error) {
      if (turn === this.asked) this.showProblem(error);
    } finally {
      clearTimeout(long);
      if (turn === this.asked) this.isCompiling = false;
    }
  }

  private async checkNumerics(turn: number): Promise<void> {
    const problem = await this.lab.numerics(this.text);
    if (turn !== this.asked) return;
    if (problem === null) return this.sayProblem(null, 'All values are finite.');
    this.sayProblem(problem);
    if (problem.line !== null) this.selection.choose({ what: 'line', line: problem.line });
  }

  private showReport(report: Report, { device }: Opened): void {
    this.report = report;
    const adapter = device !== null && 'adapter' in device ? ` for ${device.adapter}` : '';
    this.sayProblem(null, `Compiled${adapter} in ${significant(report.compileMs, 2)} ms. Edit it: everything follows.`);
    const [first, last] = [report.stages[0], report.stages.at(-1)].map((stage) => (stage ? allNodes(stage).length : 0));
    const parts = [
      `${count(first)} → ${plural(last, 'node')}`,
      plural(report.kernels.length, 'kernel'),
      scaled(report.flops, 'FLOP'),
      bytes(report.bytes),
      ...(isForDevice(report) ? [plural(report.kernels.reduce((sum, { dispatches }) => sum + dispatches, 0), 'dispatch', 'dispatches')] : []),
    ];
    setText(element('compile-summary'), parts.join(' · '));
    this.selection.open(report);
    this.stages.show(report);
    this.kernels.show(report);
    this.memory.show(report);
    this.time.show(report);
    this.tuning.show(report);
    this.measureButton.disabled = false;
    void this.sources[this.view]?.show(report);
  }

  /** Shows a problem. The last report stays, so that a typing error does not empty the page. */
  private showProblem(error: unknown): void {
    const problem: Problem =
      error instanceof ProblemError
        ? error.problem
        : { name: 'Error', message: String(error), hint: '', line: null, column: null };
    if (problem.name === 'Cancelled') return;
    const at = problem.name === 'SyntaxError' ? this.editor.syntaxError() : null;
    this.sayProblem({ ...problem, line: at?.line ?? problem.line, column: at?.column ?? problem.column });
    if (this.report === null) setText(element('compile-summary'), 'not compiled');
    this.measureButton.disabled = true;
  }

  private sayProblem(problem: Problem | null, otherwise = ''): void {
    const line = element('program-problem');
    line.classList.toggle('problem', problem !== null);
    this.editor.mark(problem);
    if (problem === null) {
      setText(line, otherwise);
      return;
    }
    const where = problem.line === null ? '' : `Line ${problem.line}: `;
    setText(line, `${where}${problem.name}: ${withHint(problem)}`);
  }

  private chooseView(view: string): void {
    this.view = view;
    if (view === 'view-stages') this.stages.opened();
    if (this.report !== null) void this.sources[view]?.show(this.report);
  }

  /** The time with further options, relative to that without them. */
  private async measureChange(further: Further): Promise<number> {
    this.surroundings.quiet();
    const experiment = new Experiment(this.text, this.switches.current, this.resting);
    try {
      await experiment.open();
      return (await experiment.compare({ ...this.switches.current, further })).run;
    } finally {
      experiment.stop();
    }
  }

  private forgetMeasurements(): void {
    this.experiment?.stop();
    this.experiment = null;
    this.switches.clearEffects();
    setText(this.measureButton, 'Measure each');
    setText(element('measure-note'), 'Each switch alone, against all the others as they are.');
  }

  private async measure(): Promise<void> {
    if (this.experiment !== null) return this.forgetMeasurements();
    this.surroundings.quiet();
    this.switches.clearEffects();
    const comparisons = this.switches.comparisons();
    const experiment = new Experiment(this.text, this.switches.current, this.resting);
    this.experiment = experiment;
    setText(this.measureButton, 'Stop');
    const note = element('measure-note');
    try {
      setText(note, 'Getting warm…');
      await experiment.open();
      for (const [i, comparison] of comparisons.entries()) {
        setText(note, `Measuring ${comparison.name}, ${i + 1} of ${comparisons.length}…`);
        const effect = await experiment.compare(comparison.other);
        if (this.experiment !== experiment) return;
        this.switches.setEffect(comparison, effect);
      }
      const { runMs, compileMs, rounds } = experiment.times;
      setText(note, `As it is: a run takes ${significant(runMs)} ms, compiling ${significant(compileMs)} ms. Medians of ${rounds} rounds, both sides in turn.`);
    } catch (error) {
      if (this.experiment !== experiment) return;
      setText(note, `Stopped: ${error instanceof Error ? error.message : String(error)}`);
    }
    experiment.stop();
    this.experiment = null;
    setText(this.measureButton, 'Measure each');
  }
}
