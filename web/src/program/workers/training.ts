// Checks a program that learns, makes it for given settings, and builds the step that trains it. Errors are sentences that name
// the part that is missing or wrong.

import * as sn from 'sinter';
import type { Card, Context, Data, Program, Settings, View } from 'playground';
import { SourceError } from '../../compiler/workers/source.ts';
import type { Exports } from './evaluate.ts';

export type State = sn.TrainState<unknown>;
type Batch = readonly sn.Tensor[];
export type Step = sn.TrainStep<unknown, sn.Tensor[]>;

/** A program as its text exports it. */
export interface Module {
  settings: Settings;
  labels: Record<string, string>;
  lesson: Card[];
  /** owned: the scope of the tensors that the program makes before its first await. Without a scope, the garbage collector
   *  frees them. */
  make(settings: Settings, owned?: sn.Scope): Promise<Training>;
}

/** The model's answer to an input. */
export type Predict = (params: unknown, x: sn.Tensor, context: { state: unknown }) => sn.Tensor;

/** A program made for some settings, with defaults for everything that it left out. */
export interface Training {
  about: string;
  loss: Program['loss'];
  data: Data & { batch(step: number): Batch };
  stepsPerEpoch: number;
  optimizer: sn.optim.Optimizer;
  /** The initial parameters, and the initial state of a model that has one. */
  init(key: sn.Tensor): { params: unknown; state?: unknown };
  /** null if the program gives no answer to an input. */
  predict: Predict | null;
  metrics: Record<string, (params: unknown, context: Context) => sn.Tensor>;
  views: View[];
  /** The names of the modules that make up the model; empty for a model of another kind. */
  layers: readonly string[];
  /** The most steps per second. */
  pace: number;
}

const STEPS_PER_EPOCH = 100;
const SETTINGS = ['sizes', 'batch', 'learningRate', 'seed'];

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const said = (value: unknown): string =>
  value === undefined ? 'missing' : value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;

/** Throws an error that says what is wrong with a part of a program. */
function expect(isRight: boolean, part: string, wanted: string, value: unknown): asserts isRight {
  if (!isRight) throw new SourceError(`${part} must be ${wanted}; it is ${said(value)}`);
}

export function readSettings(given: unknown): Settings {
  if (given === undefined) return {};
  expect(isObject(given), 'the exported settings', 'an object', given);
  for (const [name, value] of Object.entries(given)) {
    expect(SETTINGS.includes(name), `the setting ${name}`, `one of ${SETTINGS.join(', ')}`, value);
    const isRight = name === 'sizes' ? Array.isArray(value) && value.every(Number.isFinite) : Number.isFinite(value);
    expect(isRight, `the setting ${name}`, name === 'sizes' ? 'an array of numbers' : 'a number', value);
  }
  return given;
}

function readLesson(given: unknown): Card[] {
  if (given === undefined) return [];
  expect(Array.isArray(given), 'the exported lesson', 'an array of cards', given);
  given.forEach((card: unknown, i) => {
    expect(isObject(card) && typeof card.text === 'string', `card ${i + 1} of the lesson`, 'an object with a text', card);
    expect(card.check === undefined || typeof card.check === 'function', `check of card ${i + 1}`, 'a function', card.check);
  });
  return given as Card[];
}

function readData(given: unknown): Training['data'] {
  const data: unknown = typeof given === 'function' ? { batch: given } : given;
  expect(isObject(data) && typeof data.batch === 'function', 'data', 'a function of the step, or an object with one called batch', given);
  const { batch } = data as unknown as Data;
  const checked = (step: number): Batch => {
    const made: unknown = batch.call(data, step);
    expect(Array.isArray(made) && made.every((each) => each instanceof sn.Tensor), 'a batch', 'an array of tensors', made);
    return made;
  };
  return Object.assign(Object.create(data) as Training['data'], { batch: checked });
}

function readViews(given: unknown): View[] {
  if (given === undefined) return [];
  expect(Array.isArray(given), 'views', 'an array', given);
  for (const view of given as unknown[]) {
    const isView = isObject(view) && ['plane', 'picture', 'curves'].includes(String(view.kind));
    expect(isView, 'a view', "of kind 'plane', 'picture' or 'curves'", isObject(view) ? view.kind : view);
  }
  return given as View[];
}

function readMetrics(given: unknown): Training['metrics'] {
  if (given === undefined) return {};
  expect(isObject(given), 'metrics', 'an object of functions', given);
  for (const [name, metric] of Object.entries(given)) expect(typeof metric === 'function', `the metric ${name}`, 'a function', metric);
  return given as Training['metrics'];
}

function isModule(model: unknown): model is sn.nn.AnyModule {
  return isObject(model) && typeof model.init === 'function' && typeof model.apply === 'function';
}

const answering =
  (model: sn.nn.AnyModule): Predict =>
  (params, x, { state }) =>
    model.hasState === true ? model.apply(params, x, { state })[0] : model.apply(params, x);

function read(given: unknown): Training {
  expect(isObject(given), 'what the default export returns', 'an object with model, loss, data and optimizer', given);
  const { about = 'A program', model, loss, data: set, optimizer, predict, metrics, views, pace = Infinity } = given as unknown as Program;
  expect(isModule(model) || typeof model === 'function', 'model', 'a module of sn.nn, or a function that makes parameters from a key', model);
  expect(typeof loss === 'function', 'loss', 'a function of the parameters and a batch', loss);
  expect(isObject(optimizer) && typeof optimizer.update === 'function', 'optimizer', 'one of sn.optim', optimizer);
  expect(predict === undefined || typeof predict === 'function', 'predict', 'a function', predict);
  expect(typeof pace === 'number' && pace > 0, 'pace', 'a number above 0', pace);
  expect(typeof about === 'string', 'about', 'a text', about);
  const data = readData(set);
  return {
    about,
    loss,
    data,
    stepsPerEpoch: data.stepsPerEpoch ?? STEPS_PER_EPOCH,
    optimizer,
    init: (key) => {
      if (!isModule(model)) return { params: model(key) };
      return model.hasState === true ? model.init(key) : { params: model.init(key) as unknown };
    },
    predict: predict ?? (isModule(model) ? answering(model) : null),
    metrics: readMetrics(metrics),
    views: readViews(views),
    layers: isModule(model) ? (model.layers ?? []).map(({ name = 'layer' }) => name) : [],
    pace,
  };
}

/** Checks what a program exports. */
export function moduleOf(exports: Exports): Module {
  const { default: make, settings, labels = {}, lesson } = exports;
  expect(typeof make === 'function', 'the default export', 'a function that returns model, loss, data and optimizer', make);
  return {
    settings: readSettings(settings),
    labels: labels as Record<string, string>,
    lesson: readLesson(lesson),
    make: async (all, owned) => {
      let made: unknown;
      const call = (): void => void (made = (make as (settings: Settings) => unknown)(all));
      if (owned === undefined) call();
      else owned.run(call);
      return read(await made);
    },
  };
}

/** Wraps the optimizer so that its state also holds the last rate and the norm of the last gradient. */
function watched(optimizer: sn.optim.Optimizer): sn.optim.Optimizer {
  return {
    get lr() {
      return optimizer.lr;
    },
    set lr(value) {
      optimizer.lr = value;
    },
    init: (params) => ({ ...optimizer.init(params), rate: sn.zeros([]), norm: sn.zeros([]) }),
    update: (grads, { rate: _, norm: __, ...state }, params, lr) => {
      const squares = sn.tree.leaves(grads).map((g) => (g as sn.Tensor).square().sum());
      const norm = squares.reduce((sum, x) => sum.add(x)).sqrt();
      const rate = typeof optimizer.lr === 'function' ? optimizer.lr(state.count) : (lr as sn.Tensor);
      const next = optimizer.update(grads, state, params, lr);
      return { ...next, state: { ...next.state, rate, norm } };
    },
  };
}

/** The parameters after an update of the state, at the optimizer's current rate. */
export function updated({ optimizer }: Training, grads: unknown, { params, optimizer: memory }: State): unknown {
  const { rate: _, norm: __, ...own } = memory as unknown as Record<string, unknown>;
  return optimizer.update(grads, own as never, params).params;
}

/** Forward, backward and update as one compiled program. */
export const stepOf = ({ loss, optimizer }: Training, options?: sn.StepOptions): Step =>
  sn.trainStep(loss, watched(optimizer), options) as unknown as Step;

/** The first state: initial parameters, running statistics, and a key for the random numbers of training. */
export function begin({ init }: Training, step: Step, seed: number): State {
  return sn.tidy(() => {
    const key = sn.random.key(seed);
    const { params, state } = init(key);
    return step.init(params, { state, key });
  });
}
