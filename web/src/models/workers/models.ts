// The worker of the Models tab. It holds one model at a time. The reader of a kind of file is loaded with the first such file.

import * as sn from 'sinter';
import { answer } from '../../compiler/workers/answer.ts';
import { describe } from '../../compiler/workers/source.ts';
import type { Facts, Maker as Makes, Making, Message, ModelsMethods, Sampling } from '../protocol.ts';
import type { GgufModel } from './gguf-model.ts';
import { Maker } from './making.ts';
import type { OnnxModel } from './onnx-model.ts';
import type { Tuning } from './tuning.ts';

/** The magic number of a GGUF file: GGUF. */
const GGUF = [0x47, 0x47, 0x55, 0x46];
const MADE_NAMES: Record<Makes, string> = { digits: 'digits.onnx', writer: 'sonnets.gguf' };

let onnx: OnnxModel | null = null;
let gguf: GgufModel | null = null;
let tuning: Tuning | null = null;
const makers = new Map<Makes, Maker>();

async function forget(): Promise<void> {
  tuning?.dispose();
  onnx?.dispose();
  await gguf?.dispose();
  tuning = onnx = gguf = null;
}

/** Loads a file. If it cannot be read, the current model stays as it is, with what it has learnt. */
async function load(name: string, file: Blob): Promise<Facts> {
  const first = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  if (GGUF.every((byte, i) => first[i] === byte)) {
    // Its weights may be large, so the current ones are released as soon as the file has proved to be one.
    gguf = await (await import('./gguf-model.ts')).GgufModel.load(name, file, forget);
    return gguf.facts;
  }
  const { OnnxModel } = await import('./onnx-model.ts');
  const opened = new OnnxModel(name, new Uint8Array(await file.arrayBuffer()));
  await forget();
  onnx = opened;
  return onnx.facts;
}

const RECIPES = {
  digits: async () => (await import('./digits.ts')).digits(),
  writer: async () => (await import('./writer.ts')).writer(),
};

async function make(which: Makes, ms: number): Promise<Making> {
  const maker = makers.get(which) ?? new Maker(await RECIPES[which]());
  makers.set(which, maker);
  return maker.make(ms);
}

async function take(which: Makes): Promise<{ facts: Facts; file: Blob }> {
  const maker = makers.get(which);
  if (maker === undefined) throw new Error('There is no model in the making.');
  makers.delete(which);
  try {
    const file = new Blob([await maker.file()]);
    return { facts: await load(MADE_NAMES[which], file), file };
  } finally {
    maker.dispose();
  }
}

function loadedOnnx(): OnnxModel {
  if (onnx === null) throw new Error('No ONNX file is loaded.');
  return onnx;
}

function loadedGguf(): GgufModel {
  if (gguf === null) throw new Error('No GGUF file is loaded.');
  return gguf;
}

function loadedTuning(): Tuning {
  if (tuning === null) throw new Error('Nothing is being trained.');
  return tuning;
}

answer<ModelsMethods>(
  {
    open: async () => (await sn.init()).threads,
    load,
    make,
    take,
    run: (given: Parameters<ModelsMethods['run']>[0]) => loadedOnnx().run(given),
    times: (given: Parameters<ModelsMethods['times']>[0]) => loadedOnnx().times(given),
    tune: async (...args: Parameters<ModelsMethods['tune']>) => {
      const { Tuning } = await import('./tuning.ts');
      tuning?.dispose();
      tuning = null;
      tuning = new Tuning(loadedOnnx(), ...args);
      return tuning.facts;
    },
    tuneOn: (ms: number) => loadedTuning().on(ms),
    digits: async (...args: Parameters<ModelsMethods['digits']>) => (await import('./digits.ts')).digitExamples(...args),
    tuned: () => {
      const bytes = loadedTuning().file();
      loadedOnnx().renew(bytes);
      return bytes;
    },
    write: (messages: readonly Message[], sampling: Sampling) => loadedGguf().write(messages, sampling),
    writeOn: (ms: number) => loadedGguf().writeOn(ms),
    writeEnd: () => loadedGguf().writeEnd(),
    parts: () => loadedGguf().parts(),
  },
  describe,
);
