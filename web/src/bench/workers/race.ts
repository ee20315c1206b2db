// Trains the model of the race on the CPU and on the graphics processor, a few steps of each in turn.

import * as sn from 'sinter';
import { answer } from '../../compiler/workers/answer.ts';
import { describe } from '../../compiler/workers/source.ts';
import { graphicsDevice, whyNoDevice } from '../../program/workers/device.ts';
import { RACE, type RaceMethods, type RaceOpened, type Racer } from '../race-protocol.ts';

/** A sample is the shortest of some steps that together take about this long. */
const SAMPLE_MS = 60;
const MOST_STEPS = 20;

interface Runner {
  step: sn.TrainStep<unknown, sn.Tensor[]>;
  state: sn.TrainState<unknown>;
  batch: sn.Tensor[];
}

const runners = new Map<Racer, Runner>();

/** Awaits init before anything is prepared. A lost device is requested again. */
async function open(): Promise<RaceOpened> {
  const { threads } = await sn.init({ device: await graphicsDevice() });
  const { device } = sn.info();
  return { threads, adapter: device?.adapter ?? null, why: device === null ? whyNoDevice() : '' };
}

async function make(width: number, device: Racer): Promise<Runner> {
  const { linear, relu, sequential } = sn.nn;
  const model = sequential(...Array.from({ length: RACE.layers }, () => [linear(width, width), relu()] as const).flat());
  const loss = (params: never, x: sn.Tensor): sn.Tensor => model.apply(params, x).sub(x).square().mean();
  // A learning rate of 0, so that every step does the same work.
  const step = sn.trainStep(loss as never, sn.optim.sgd({ lr: 0 }), { device }) as unknown as Runner['step'];
  const state = sn.tidy(() => step.init(model.init(sn.random.key(0))));
  const x = sn.tidy(() => sn.random.normal(sn.random.key(1), [RACE.batch, width]));
  const runner = { step, state, batch: [await x.to(device)] };
  if (device !== 'cpu') x.dispose();
  await advance(runner);
  return runner;
}

/** Runs a step, and waits until its loss can be read; returns the milliseconds. */
async function advance(runner: Runner): Promise<number> {
  const begin = performance.now();
  const { state, loss } = runner.step(runner.state, ...runner.batch);
  runner.state = state;
  try {
    await loss.data();
  } finally {
    loss.dispose();
  }
  return performance.now() - begin;
}

function close(): void {
  for (const { step, state, batch } of runners.values()) {
    step.dispose();
    sn.dispose([state, batch]);
  }
  runners.clear();
}

async function prepare(width: number): Promise<{ flops: number; weights: number }> {
  close();
  await sn.init();
  const racers: Racer[] = sn.info().device === null ? ['cpu'] : ['cpu', 'webgpu'];
  for (const racer of racers) runners.set(racer, await make(width, racer));
  // Products per layer: forward, for the weights' gradients, and, except for the first layer, for the inputs' gradients.
  const products = 3 * RACE.layers - 1;
  return { flops: 2 * products * RACE.batch * width ** 2, weights: RACE.layers * (width ** 2 + width) };
}

async function sample(racer: Racer): Promise<number> {
  const runner = runners.get(racer);
  if (runner === undefined) throw new Error('nothing is prepared');
  let best = Infinity;
  const end = performance.now() + SAMPLE_MS;
  for (let steps = 0; steps < MOST_STEPS && (steps === 0 || performance.now() < end); steps++) best = Math.min(best, await advance(runner));
  return best;
}

answer<RaceMethods>({ open, prepare, sample }, describe);
