// Programs: their steps in order, with pipelines that are shared by their text and compiled in the background. A run is one
// submission, with a single pass over all dispatches (one pass per dispatch while profiling), in which loops of known length
// are unrolled into rounds. Only a loop whose test is computed on the device is split: after 4 rounds, then 8 .. 64 more, the
// host asks the device whether the loop goes on; rounds beyond its end dispatch no workgroups.
//
// The bindings of a dispatch change only if the caller's buffers do. Bind groups are kept by their buffers, because making one
// takes longer than everything else in a dispatch.

import type { Buffers, TrackedBuffer } from './buffers.js';
import type { Flight } from './flight.js';
import type { Order } from './order.js';
import { Pipelines, type Compilation } from './pipelines.js';
import { lostFailure, type Failure, type DeviceState } from './devicestate.js';
import type { ReadBack } from './readback.js';
import type { Variants } from './variants.js';
import type { Clock, Watch } from './watch.js';

/** Words of sn_device_step: kind, number; then of sn_dispatch: text, bindings, their count, constants, their count,
 *  workgroups (3), gate, asks for rounds, name. */
const STEP_WORDS = 13;
const BINDING_WORDS = 6;
/** Kinds of steps. */
const [DISPATCH, ROUNDS, WHILE, END, VARIANT] = [0, 1, 2, 3, 4];
/** Numbers that stand for the buffers of the gates and of partial totals (src/wgsl/frame.h). */
const GATES = 0xfffffffe;
const PARTS = 0xfffffffd;
/** Bytes from the numbers of one round to those of the next; bytes of the numbers of one round. */
const ROUND_BYTES = 256;
const ROUND_NUMBERS = 64;
/** The most lists of buffers for which a dispatch keeps bind groups. */
const MOST_KEPT = 8;
/** For loops that test: the rounds before the device is first asked, and the most rounds between later questions. */
const LEAST_ROUNDS_AHEAD = 4;
const MOST_ROUNDS_AHEAD = 64;

interface Binding {
  /** The number of the buffer in the program. */
  buffer: number;
  offset: number;
  /** In bytes; 0: the whole buffer. */
  size: number;
  writes: boolean;
  /** The offset in odd rounds of the loop at depth `level`. */
  oddOffset: number;
  level: number;
}

interface Dispatch {
  kind: 'dispatch';
  /** The name of its kernel. */
  name: string;
  compilation: Compilation;
  /** The kinds of its bindings, in the letters of pipelines.ts. */
  kinds: string;
  layout: GPUBindGroupLayout;
  bindings: Binding[];
  words: number[];
  constants: GPUBuffer | null;
  groups: [number, number, number];
  /** The word of the gates that holds its workgroups; 0: it does not depend on a gate. */
  gate: number;
  asksRounds: boolean;
  /** Bind groups by the buffers that are bound, then by which rounds are odd; a training step's buffers take turns. */
  made: Map<string, GPUBindGroup[]>;
  /** The bind groups for the buffers of run `run`. */
  current: GPUBindGroup[];
  run: number;
  /** Variants, one of which may be faster; empty once that is decided. */
  others: Dispatch[];
}

type Step = Dispatch | { kind: 'rounds'; count: number; body: Step[] } | { kind: 'while'; flag: number; body: Step[] };

interface Program {
  steps: Step[];
  dispatches: Dispatch[];
  /** Lists that steps are appended to, the innermost last. */
  open: Step[][];
  gateWords: number;
  /** The first buffers are the caller's, the last one is the arena, and those between are outputs made for the run. */
  nArguments: number;
  hasWhile: boolean;
  isReady: boolean;
  gates: GPUBuffer | null;
  rounds: GPUBuffer | null;
  parts: GPUBuffer | null;
}

/** A run while it is encoded. */
interface Encoding {
  program: Program;
  buffers: (TrackedBuffer | null)[];
  encoder: GPUCommandEncoder;
  pass: GPUComputePassEncoder;
  pipeline: GPUComputePipeline | null;
  clock: Clock | null;
  /** Dispatches in the current submission. */
  dispatches: number;
  /** The current round of each enclosing loop, outermost first; the index of its numbers among all rounds; rounds counted so
   *  far. */
  levels: number[];
  at: number;
  counted: number;
}

const withOthers = ({ dispatches }: Program): Dispatch[] => dispatches.flatMap((dispatch) => [dispatch, ...dispatch.others]);

/** The outputs made for a run. */
const made = ({ nArguments }: Program, buffers: (TrackedBuffer | null)[]): TrackedBuffer[] => buffers.slice(nArguments, -1).filter((tracked) => tracked !== null);

function fail(program: Program, buffers: (TrackedBuffer | null)[], failure: Failure): void {
  for (const tracked of made(program, buffers)) tracked.failure = failure;
}

/** Calls note with the rounds of the enclosing loops, for every round, in the order in which they are counted. */
function visitRounds(steps: readonly Step[], levels: number[], note: (levels: readonly number[]) => void): void {
  for (const step of steps) {
    if (step.kind === 'while') visitRounds(step.body, levels, note);
    if (step.kind !== 'rounds') continue;
    for (let round = 0; round < step.count; round++) {
      levels.push(round);
      note(levels);
      visitRounds(step.body, levels, note);
      levels.pop();
    }
  }
}

export class Programs {
  readonly #state: DeviceState;
  readonly #memory: WebAssembly.Memory;
  readonly #buffers: Buffers;
  readonly #order: Order;
  readonly #readBack: ReadBack;
  readonly #watch: Watch;
  readonly #flight: Flight;
  readonly #variants: Variants;
  readonly #pipelines: Pipelines;
  readonly #list: (Program | null)[] = [null]; // number 0 is none
  /** Runs encoded so far. */
  #encodings = 0;

  constructor(
    state: DeviceState,
    memory: WebAssembly.Memory,
    buffers: Buffers,
    order: Order,
    readBack: ReadBack,
    watch: Watch,
    flight: Flight,
    variants: Variants,
  ) {
    this.#state = state;
    this.#memory = memory;
    this.#buffers = buffers;
    this.#order = order;
    this.#readBack = readBack;
    this.#watch = watch;
    this.#flight = flight;
    this.#variants = variants;
    this.#pipelines = new Pipelines(state);
  }

  begin(gateWords: number, nArguments: number): number {
    const steps: Step[] = [];
    const later = { hasWhile: false, isReady: false, gates: null, rounds: null, parts: null };
    return this.#list.push({ steps, dispatches: [], open: [steps], gateWords, nArguments, ...later }) - 1;
  }

  /** Makes the device's parts of all programs again, on another device. */
  renew(): void {
    this.#pipelines.renew();
    for (const program of this.#list) {
      if (!program) continue;
      program.isReady = false;
      for (const dispatch of withOthers(program)) Object.assign(dispatch, this.#parts(dispatch.compilation.code, dispatch.kinds, dispatch.words));
    }
  }

  /** The parts of a dispatch that belong to the device. */
  #parts(code: string, kinds: string, words: readonly number[]): Pick<Dispatch, 'compilation' | 'layout' | 'constants' | 'made' | 'current'> {
    const compilation = this.#pipelines.of(code, kinds);
    return { compilation, layout: this.#pipelines.layout(kinds), constants: this.#uniform(words), made: new Map(), current: [] };
  }

  #words(at: number, count: number): number[] {
    return Array.from(new Uint32Array(this.#memory.buffer, at, count));
  }

  #text(at: number): string {
    const bytes = new Uint8Array(this.#memory.buffer);
    return new TextDecoder().decode(bytes.slice(at, bytes.indexOf(0, at)));
  }

  #uniform(words: readonly number[]): GPUBuffer | null {
    if (words.length === 0) return null;
    const size = Math.ceil(words.length / 4) * 16;
    const buffer = this.#state.device.createBuffer({ size, usage: GPUBufferUsage.UNIFORM, mappedAtCreation: true });
    new Uint32Array(buffer.getMappedRange()).set(words);
    buffer.unmap();
    return buffer;
  }

  /** Adds an sn_device_step to a program; at: its address in the core's memory. */
  add(number: number, at: number): void {
    const program = this.#list[number]!;
    const words = this.#words(at, STEP_WORDS);
    const [kind, count] = words as [number, number];
    const list = program.open.at(-1)!;
    if (kind === DISPATCH) {
      const dispatch = this.#dispatch(words.slice(2));
      void dispatch.compilation.done; // beside what follows
      list.push(dispatch);
      program.dispatches.push(dispatch);
    } else if (kind === ROUNDS || kind === WHILE) {
      const body: Step[] = [];
      list.push(kind === ROUNDS ? { kind: 'rounds', count, body } : { kind: 'while', flag: count, body });
      program.open.push(body);
      program.hasWhile ||= kind === WHILE;
    } else if (kind === VARIANT) {
      program.dispatches.at(-1)!.others.push(this.#dispatch(words.slice(2)));
    } else if (kind === END) {
      program.open.pop();
    }
  }

  #dispatch(words: readonly number[]): Dispatch {
    const [text, at, nBindings, constants, nConstants, x, y, z, gate, asksRounds, name] = words as [
      number, number, number, number, number, number, number, number, number, number, number,
    ];
    const all = this.#words(at, nBindings * BINDING_WORDS);
    const bindings = Array.from({ length: nBindings }, (_, i): Binding => {
      const [buffer, offset, size, writes, oddOffset, level] = all.slice(i * BINDING_WORDS) as [
        number, number, number, number, number, number,
      ];
      return { buffer, offset, size, writes: writes !== 0, oddOffset, level };
    });
    const kinds = `${bindings.map(({ writes }) => (writes ? 'w' : 'r')).join('')}${nConstants > 0 ? 'c' : ''}${asksRounds ? 'd' : ''}`;
    const own = this.#words(constants, nConstants);
    return {
      kind: 'dispatch',
      name: this.#text(name),
      kinds,
      bindings,
      words: own,
      ...this.#parts(this.#text(text), kinds, own),
      groups: [x, y, z],
      gate,
      asksRounds: asksRounds !== 0,
      run: 0,
      others: [],
    };
  }

  /** Replaces each dispatch that has variants by its fastest one. */
  async #choose({ dispatches }: Program): Promise<void> {
    for (const dispatch of dispatches.filter(({ others }) => others.length > 0)) {
      const list = [dispatch, ...dispatch.others];
      const { compilation, constants, groups, words } = list[await this.#variants.choose(list)]!;
      for (const each of list) if (each.constants !== constants) each.constants?.destroy();
      Object.assign(dispatch, { compilation, constants, groups, words, made: new Map(), current: [], others: [] });
    }
  }

  forget(number: number): void {
    const program = this.#list[number]!;
    const { gates, rounds, parts } = program;
    this.#list[number] = null;
    this.#order.do(() => {
      for (const { constants } of withOthers(program)) constants?.destroy();
      gates?.destroy();
      rounds?.destroy();
      parts?.destroy();
    });
  }

  /** Makes a program's buffers besides the constants, before its first run: gates, partial totals, and numbers of rounds. */
  #prepare(program: Program): void {
    if (program.gateWords > 0) {
      const words = new Uint32Array(program.gateWords);
      words[0] = 1;
      for (const { gate, groups } of program.dispatches) if (gate) words.set(groups, gate + 3);
      const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.INDIRECT | GPUBufferUsage.COPY_SRC;
      program.gates = this.#state.device.createBuffer({ size: words.byteLength, usage, mappedAtCreation: true });
      new Uint32Array(program.gates.getMappedRange()).set(words);
      program.gates.unmap();
    }
    const size = Math.max(0, ...program.dispatches.flatMap(({ bindings }) => bindings.map((each) => (each.buffer === PARTS ? each.size : 0))));
    if (size > 0) program.parts = this.#state.device.createBuffer({ size, usage: GPUBufferUsage.STORAGE });
    if (program.dispatches.some(({ asksRounds }) => asksRounds)) {
      const numbers: number[] = new Array<number>(ROUND_BYTES / 4).fill(0);
      visitRounds(program.steps, [], (levels) => {
        for (let i = 0; i < ROUND_BYTES / 4; i++) numbers.push(levels[i] ?? 0);
      });
      program.rounds = this.#uniform(numbers);
    }
    program.isReady = true;
  }

  #group({ program, buffers, levels }: Encoding, dispatch: Dispatch): GPUBindGroup {
    const { bindings, layout, constants, asksRounds } = dispatch;
    if (dispatch.run !== this.#encodings) {
      const key = bindings.map(({ buffer }) => buffers[buffer]?.id ?? 0).join();
      if (dispatch.made.size >= MOST_KEPT && !dispatch.made.has(key)) dispatch.made.clear();
      dispatch.current = dispatch.made.get(key) ?? [];
      dispatch.made.set(key, dispatch.current);
      dispatch.run = this.#encodings;
    }
    let odd = 0;
    bindings.forEach(({ oddOffset, offset, level }, i) => {
      if (oddOffset !== offset && levels[level]! % 2 === 1) odd |= 1 << i;
    });
    const found = dispatch.current[odd];
    if (found) return found;
    const entries = bindings.map(({ buffer, offset, size, oddOffset }, binding): GPUBindGroupEntry => ({
      binding,
      resource:
        buffer === GATES || buffer === PARTS
          ? { buffer: (buffer === GATES ? program.gates : program.parts)! }
          : { buffer: buffers[buffer]!.buffer, offset: odd & (1 << binding) ? oddOffset : offset, size },
    }));
    if (constants) entries.push({ binding: entries.length, resource: { buffer: constants } });
    if (asksRounds) entries.push({ binding: entries.length, resource: { buffer: program.rounds!, size: ROUND_NUMBERS } });
    return (dispatch.current[odd] = this.#state.device.createBindGroup({ layout, entries }));
  }

  #encode(e: Encoding, dispatch: Dispatch): void {
    const pipeline = dispatch.compilation.pipeline!;
    if (e.clock?.turn(dispatch.name)) this.#turn(e);
    if (pipeline !== e.pipeline) e.pass.setPipeline((e.pipeline = pipeline));
    e.pass.setBindGroup(0, this.#group(e, dispatch), dispatch.asksRounds ? [e.at * ROUND_BYTES] : []);
    e.dispatches++;
    if (dispatch.gate) e.pass.dispatchWorkgroupsIndirect(e.program.gates!, dispatch.gate * 4);
    else e.pass.dispatchWorkgroups(...dispatch.groups);
  }

  /** Encodes steps. Yields the word of a gate whenever it has to know whether that gate is open; next() takes the answer. */
  *#walk(e: Encoding, steps: readonly Step[]): Generator<number, void, boolean> {
    for (const step of steps) {
      if (step.kind === 'dispatch') this.#encode(e, step);
      else if (step.kind === 'rounds') yield* this.#rounds(e, step.count, step.body);
      else yield* this.#while(e, step.flag, step.body);
    }
  }

  *#rounds(e: Encoding, count: number, body: readonly Step[]): Generator<number, void, boolean> {
    const around = e.at;
    for (let round = 0; round < count; round++) {
      e.levels.push(round);
      e.at = ++e.counted;
      yield* this.#walk(e, body);
      e.levels.pop();
    }
    e.at = around;
  }

  *#while(e: Encoding, flag: number, body: readonly Step[]): Generator<number, void, boolean> {
    const { counted } = e;
    let ahead = LEAST_ROUNDS_AHEAD;
    do {
      for (let i = 0; i < ahead; i++) {
        e.counted = counted; // its rounds have no numbers of their own
        yield* this.#walk(e, body);
      }
      ahead = Math.min(2 * ahead, MOST_ROUNDS_AHEAD);
    } while (yield flag);
  }

  #open(e: Pick<Encoding, 'encoder' | 'pass' | 'pipeline' | 'clock' | 'dispatches'>): void {
    e.clock = this.#watch.clock();
    e.encoder = this.#state.device.createCommandEncoder();
    e.pass = e.encoder.beginComputePass(e.clock?.pass() ?? {});
    e.pipeline = null;
    e.dispatches = 0;
  }

  /** Starts another pass, which has times of its own. */
  #turn(e: Encoding): void {
    e.pass.end();
    e.pass = e.encoder.beginComputePass(e.clock!.pass());
    e.pipeline = null;
  }

  #submit(e: Encoding): void {
    e.pass.end();
    e.clock?.resolve(e.encoder);
    this.#state.device.queue.submit([e.encoder.finish()]);
    this.#watch.submitted(e.clock, e.dispatches);
    this.#flight.submitted();
  }

  #begin(program: Program, buffers: (TrackedBuffer | null)[]): Encoding {
    if (!program.isReady) this.#prepare(program);
    this.#encodings++;
    const e = { program, buffers, levels: [], at: 0, counted: 0 } as unknown as Encoding;
    this.#open(e);
    return e;
  }

  async #runInParts(program: Program, buffers: (TrackedBuffer | null)[]): Promise<void> {
    await Promise.all(program.dispatches.map(({ compilation }) => compilation.done));
    await this.#choose(program);
    const refused = this.#refusal(program);
    if (refused) {
      fail(program, buffers, refused);
      return;
    }
    await this.#flight.room;
    const e = this.#begin(program, buffers);
    const walk = this.#walk(e, program.steps);
    for (let part = walk.next(true); !part.done; ) {
      this.#submit(e);
      const flag = await this.#readBack.take({ buffer: program.gates!, failure: null }, part.value * 4, 4, 'a loop');
      this.#open(e);
      part = walk.next(new Uint32Array(flag)[0] !== 0);
    }
    this.#submit(e);
  }

  #runWhole(program: Program, buffers: (TrackedBuffer | null)[]): void {
    const e = this.#begin(program, buffers);
    this.#walk(e, program.steps).next(true);
    this.#submit(e);
  }

  #refusal(program: Program): Failure | null {
    return program.dispatches.find(({ compilation }) => compilation.failure)?.compilation.failure ?? null;
  }

  /** Submits a program on buffers, given by their numbers in a list of the core. Returns why it cannot; then nothing has
   *  changed. */
  run(number: number, list: number, count: number): Failure | null {
    const program = this.#list[number]!;
    const { lost } = this.#state;
    const refused = lost ? lostFailure(lost) : this.#refusal(program);
    if (refused) return refused;
    const numbers = this.#words(list, count);
    const tracked = (of: number[]): (TrackedBuffer | null)[] => of.map((each) => this.#buffers.get(each));
    const failure = tracked(numbers.slice(0, program.nArguments)).find((each) => each?.failure)?.failure ?? null;
    if (!failure) for (const each of numbers.slice(program.nArguments)) if (each) this.#buffers.emptied(each);
    const buffers = tracked(numbers);
    const run = ++this.#state.runs;
    for (const each of made(program, buffers)) Object.assign(each, { run, failure });
    if (failure) return null;
    const waits =
      this.#order.waits ||
      this.#flight.room !== null ||
      program.hasWhile ||
      program.dispatches.some(({ compilation, others }) => !compilation.isDone || others.length > 0);
    // If the device is lost meanwhile, reading the results reports that.
    if (waits) this.#order.wait(() => this.#runInParts(program, buffers).catch(() => {}));
    else this.#runWhole(program, buffers);
    return null;
  }
}
