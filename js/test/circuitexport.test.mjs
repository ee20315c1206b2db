// Circuits in other languages compute the same: C is compiled and run, JavaScript imported, Verilog read by the small
// evaluator below, which knows assignments of ~ & | ^ and nothing else.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as sn from '../dist/index.js';
import * as logic from '../dist/logic.js';
import { draw, evaluate, gameOfLife, randomCells, randomCircuit, step } from './circuitcases.mjs';
import { assertThrows } from './support.mjs';

await sn.init({ threads: 2 });
const folder = mkdtempSync(join(tmpdir(), 'circuit-'));
after(() => rmSync(folder, { recursive: true }));

const below = draw(19);
const feedForward = logic.circuitOf(randomCircuit(below, { inputs: 10, gates: 80, outputs: 8 }));
const constants = logic.circuitOf({ inputs: 3, gates: [[0, 0, 0], [15, 1, 1], [12, 2, 2]], outputs: [3, 4, 5, 1], automaton: null });
const automaton = (channels, boundary, fire = 1) =>
  logic.circuitOf(randomCircuit(below, { inputs: 9 * channels, gates: 60, outputs: channels, automaton: { channels, boundary, fire } }));

const compiled = (name, source) => {
  writeFileSync(join(folder, `${name}.c`), source);
  execFileSync('cc', ['-std=c11', '-O1', '-Wall', '-Wextra', '-Werror', '-fsanitize=undefined', '-o', join(folder, name), join(folder, `${name}.c`)]);
  return (input) => execFileSync(join(folder, name), { input });
};

/** 64 random examples, and what the outputs are. */
const examples = ({ data }) => {
  const bits = randomCells(below, 64 * data.inputs);
  const rows = Array.from({ length: 64 }, (_, i) => evaluate(data, bits.slice(i * data.inputs, (i + 1) * data.inputs)));
  return { bits, rows };
};

test('C of words of 64', () => {
  for (const [i, circuit] of [feedForward, constants].entries()) {
    const { bits, rows } = examples(circuit);
    const run = compiled(`words${i}`, `${circuit.toC()}
#include <stdio.h>
int main(void) {
  uint64_t in[${circuit.inputs}] = {0}, out[${circuit.outputs}];
  for (int e = 0; e < 64; e++) for (int k = 0; k < ${circuit.inputs}; k++) in[k] |= (uint64_t)getchar() << e;
  circuit(in, out);
  for (int e = 0; e < 64; e++) for (int k = 0; k < ${circuit.outputs}; k++) putchar(out[k] >> e & 1);
}
`);
    assert.deepEqual([...run(bits)], rows.flat());
  }
});

test('C and JavaScript of automata, on grids of any size', async () => {
  const sizes = [[5, 7], [16, 64], [70, 65], [33, 100], [9, 128], [1, 1]];
  const list = [gameOfLife('wrap'), gameOfLife('zero')].map((data) => logic.circuitOf(data));
  for (const [i, circuit] of [...list, automaton(3, 'zero'), automaton(2, 'wrap')].entries()) {
    const { channels } = circuit.automaton;
    const run = compiled(`grid${i}`, `${circuit.toC()}
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  long width, height;
  if (scanf("%ld %ld ", &width, &height) != 2) return 1;
  const long n = ${channels} * width * height, words = circuit_words(width, height);
  unsigned char *cells = malloc(n);
  uint64_t *now = malloc(8 * words), *next = malloc(8 * words);
  for (long i = 0; i < n; i++) cells[i] = (unsigned char)(getchar() - '0');
  circuit_pack(cells, now, width, height);
  for (int i = 0; i < 5; i++) {
    circuit_step(now, next, width, height);
    uint64_t *swap = now;
    now = next, next = swap;
  }
  circuit_unpack(now, cells, width, height);
  for (long i = 0; i < n; i++) putchar(cells[i]);
  free(cells), free(now), free(next);
}
`);
    const file = join(folder, `grid${i}.mjs`);
    writeFileSync(file, circuit.toJavaScript());
    const module = await import(file);
    for (const [width, height] of sizes) {
      const cells = randomCells(below, channels * width * height);
      let want = cells;
      for (let k = 0; k < 5; k++) want = step(circuit.data, want, width, height);
      assert.deepEqual(new Uint8Array(run(`${width} ${height} ${cells.join('')}`)), want, `C ${i} ${[width, height]}`);
      assert.deepEqual(module.run(cells, width, height, 5), want, `JavaScript ${i} ${[width, height]}`);
    }
  }
});

test('cells that fire at random', async () => {
  const flip = logic.circuitOf({ inputs: 9, gates: [[12, 4, 4]], outputs: [9], automaton: { channels: 1, boundary: 'zero', fire: 0.6 } });
  const run = compiled('fire', `${flip.toC()}
#include <stdio.h>
int main(void) {
  static uint64_t now[4 * 1002], next[4 * 1002];
  static unsigned char cells[128 * 1000];
  uint64_t seed = 3;
  circuit_step(now, next, 1000, 128, &seed);
  circuit_unpack(next, cells, 1000, 128);
  long n = 0;
  for (int i = 0; i < 128000; i++) n += cells[i];
  printf("%ld", n);
}
`);
  assert.ok(Math.abs(Number(run('')) / 128000 - 0.6) < 0.01);
  writeFileSync(join(folder, 'fire.mjs'), flip.toJavaScript());
  const module = await import(join(folder, 'fire.mjs'));
  const share = module.run(new Uint8Array(300 * 300), 300, 300, 1).reduce((sum, cell) => sum + cell, 0) / 90000;
  assert.ok(Math.abs(share - 0.6) < 0.02);
});

test('JavaScript of words of 32', async () => {
  for (const [i, circuit] of [feedForward, constants].entries()) {
    const file = join(folder, `words${i}.mjs`);
    writeFileSync(file, circuit.toJavaScript());
    const module = await import(file);
    const { bits, rows } = examples(circuit);
    const input = Array.from({ length: circuit.inputs }, (_, k) => rows.slice(0, 32).reduce((word, _, e) => word | (bits[e * circuit.inputs + k] << e), 0));
    const out = module.circuit(input);
    for (let e = 0; e < 32; e++) assert.deepEqual([...out].map((word) => (word >>> e) & 1), rows[e]);
  }
});

/** The outputs of a module of assignments in order. */
const simulate = (verilog, bits) => {
  const header = /module circuit\(input wire \[(\d+):0\] in, output wire \[(\d+):0\] out\);/.exec(verilog);
  assert.equal(Number(header[1]), bits.length - 1);
  const values = { in: [...bits], g: [], out: [] };
  for (const [, wire, at, text] of verilog.matchAll(/assign (\w+)\[(\d+)\] = ([^;]*);/g)) {
    assert.match(text, /^[\w[\]'~&|^() ]+$/);
    const known = text.replace(/1'b([01])/g, '$1').replace(/(in|g)\[(\d+)\]/g, (_, name, i) => {
      assert.ok(values[name][i] !== undefined, `${name}[${i}] is used before it is assigned`);
      return values[name][i];
    });
    values[wire][at] = Function(`return (${known}) & 1`)();
  }
  assert.match(verilog, /endmodule\n$/);
  return values.out;
};

test('Verilog', () => {
  for (const circuit of [feedForward, constants, logic.circuitOf(gameOfLife())]) {
    const { bits, rows } = examples(circuit);
    const verilog = circuit.toVerilog();
    rows.forEach((row, e) => assert.deepEqual(simulate(verilog, bits.slice(e * circuit.inputs, (e + 1) * circuit.inputs)), row));
  }
});

test('Graphviz and SVG have every gate and every wire', () => {
  for (const circuit of [feedForward, logic.circuitOf(gameOfLife())]) {
    const dot = circuit.toGraphviz();
    assert.equal(dot.match(/^ {2}g\d+ \[label=/gm).length, circuit.gates);
    const { gates } = circuit.data;
    const wires = gates.reduce((n, [f]) => n + (f === 0 || f === 15 ? 0 : [3, 5, 10, 12].includes(f) ? 1 : 2), 0);
    assert.equal(dot.match(/-> g/g).length, wires);
    assert.equal(dot.match(/-> out/g).length, circuit.outputs);
    const svg = circuit.toSvg();
    assert.equal(svg.match(/<path/g).length, wires + circuit.outputs);
    assert.ok(!/NaN|undefined/.test(svg));
  }
  const inputs = 5000;
  const many = { inputs, gates: Array.from({ length: inputs - 1 }, (_, i) => [1, i, i + 1]), outputs: Array.from({ length: inputs - 1 }, (_, i) => inputs + i), automaton: null };
  assertThrows(() => logic.circuitOf(many).toSvg(), sn.SinterError, { op: 'circuit.toSvg' });
});
