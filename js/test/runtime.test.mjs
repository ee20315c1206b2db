// Parts of the runtime that the machine at hand never asks for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SinterError, ShapeError, errorOfStatus } from '../../build/js/errors.js';
import { ownMemory, sharedMemory } from '../../build/js/runtime/memory.js';
import { hasRelaxedSimd, hasSimd } from '../../build/js/runtime/probe.js';
import { Order } from '../../build/js/webgpu/order.js';
import { assertThrows } from './support.mjs';

const GIB = (1 << 30) / 65536;

/** An engine that grants shared memories up to a maximum. */
const engine = (most, asked) => (descriptor) => {
  asked.push(descriptor.maximum);
  if (descriptor.maximum > most) throw new RangeError('could not allocate memory');
  return new WebAssembly.Memory({ ...descriptor, maximum: descriptor.initial });
};

test('the maximum of a memory is negotiated downward, shared or not', () => {
  for (const [make, kind] of [[sharedMemory, SharedArrayBuffer], [ownMemory, ArrayBuffer]]) {
    const asked = [];
    const { memory, bytes } = make(engine(GIB, asked));
    assert.ok(memory.buffer instanceof kind);
    assert.equal(bytes, 2 ** 30);
    assert.deepEqual(asked, [4 * GIB, 2 * GIB, GIB]);
    assert.equal(make(engine(GIB / 32, [])).bytes, 2 ** 25);
  }
});

test('no shared memory at all is null, no memory at all an error', () => {
  const asked = [];
  assert.equal(sharedMemory(engine(0, asked)), null);
  assert.equal(asked.at(-1), GIB / 32);
  assertThrows(() => ownMemory(engine(0, asked)), SinterError, { code: 'memory' });
});

test('probes answer', () => {
  assert.equal(hasSimd(), true);
  assert.equal(typeof hasRelaxedSimd(), 'boolean');
});

test('errors are of their classes and have what they are given', () => {
  const details = { shapes: [[2, 3], [4]], hint: 'transpose one', file: 'matmul.c', line: 7 };
  const error = errorOfStatus(1, 'matmul', 'inner dimensions differ: a (2, 3), b (4,)', details);
  assert.ok(error instanceof ShapeError);
  assert.equal(error.message, 'matmul: inner dimensions differ: a (2, 3), b (4,) (transpose one)');
  assert.deepEqual({ ...error }, { code: 'shape', op: 'matmul', ...details });
  assert.deepEqual({ ...new SinterError('internal', '', 'it broke') },
    { code: 'internal', op: '', shapes: [], hint: '', file: '', line: 0 });
  for (const [status, code] of [[2, 'dtype'], [3, 'memory'], [4, 'argument'], [5, 'unsupported'], [6, 'worker'], [99, 'internal']]) {
    assert.equal(errorOfStatus(status, 'f', 'x').code, code);
  }
});

test('a command that fails while it waits is reported, and those behind it are executed', async () => {
  const [reported, done] = [[], []];
  const order = new Order((error) => reported.push(error.message));
  order.wait(() => Promise.reject(new Error('first')));
  order.do(() => { throw new Error('second'); });
  order.do(() => done.push('third'));
  await new Promise((resolve) => order.wait(resolve));
  assert.deepEqual([reported, done], [['first', 'second'], ['third']]);
  await new Promise((resolve) => { setTimeout(resolve); });
  assert.equal(order.waits, false);
});
