// Every op on the device once more, as by a driver that takes NaN for a number where it compiles: of a choice by a comparison of
// the same two it makes a minimum or a maximum, which gives the other one where one is NaN, and a - a is 0. NVIDIA's does both.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { globals } from 'webgpu';

const { GPUDevice } = globals;
let changes = 0;

const HELPERS = `
fn folded_nan(a: f32) -> bool { return (bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u; }
fn folded_min(a: f32, b: f32) -> f32 { return select(select(select(a, b, b < a), b, folded_nan(a)), a, folded_nan(b)); }
fn folded_max(a: f32, b: f32) -> f32 { return select(select(select(a, b, b > a), b, folded_nan(a)), a, folded_nan(b)); }
`;

/** A function's text, as such a driver has it. */
const foldedFunction = (text) => {
  const tests = new Map();
  return text.split('\n').map((line) => {
    const [, name, value] = /^\s*let (\w+) = (.*);$/.exec(line) ?? [];
    if (!name) return line;
    const difference = /^(\w+) - \1$/.exec(value);
    const test = /^(\S+) (<=?) (\S+)$/.exec(value);
    const choice = /^select\((\S+), (\S+), (\w+)\)$/.exec(value);
    if (test) tests.set(name, [test[1], test[3]]);
    const sides = choice && tests.get(choice[3]);
    let folded = null;
    if (difference) folded = '0.0';
    else if (sides && sides[0] === choice[2] && sides[1] === choice[1]) folded = `folded_min(${sides})`;
    else if (sides && sides[0] === choice[1] && sides[1] === choice[2]) folded = `folded_max(${sides})`;
    if (folded === null) return line;
    changes += 1;
    return `  let ${name} = ${folded};`;
  }).join('\n');
};

const original = GPUDevice.prototype.createShaderModule;
GPUDevice.prototype.createShaderModule = function folding({ code }) {
  const functions = code.split(/^(?=fn |@compute)/m);
  return original.call(this, { code: functions.map(foldedFunction).join('') + HELPERS });
};

after(() => assert.ok(changes > 20, `${changes} changes`));

await import('./ops.test.mjs');
