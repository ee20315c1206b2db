// circuit.mjs - speed of extracted circuits, in Node: cells per second of automata on grids of several sizes - the Game of
// Life, random circuits of some 40 gates on 4 and 8 channels - and examples per second of a network of 6 x 8,000 gates. Each
// figure is the best of many rounds, each long enough to time. --c also compiles the output of toC() and times it, on one
// thread.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as sn from 'sinter';
import * as logic from 'sinter/logic';
import { draw, gameOfLife, randomCells } from '../js/test/circuitcases.mjs';
import { randomAutomaton, randomBits, randomNetwork } from './logic-cases.mjs';

const withC = process.argv.includes('--c');
await sn.init({ threads: 2 });

/** The best time of a call, in ms. */
const best = (f, rounds = 12) => {
  let least = Infinity;
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    f();
    least = Math.min(least, performance.now() - start);
  }
  return least;
};

/* ---- automata ---- */

const AUTOMATA = {
  'life, wrap': logic.circuitOf(gameOfLife('wrap')),
  'life, zero': logic.circuitOf(gameOfLife('zero')),
  'random, 4 channels': randomAutomaton(4, 40),
  'random, 8 channels': randomAutomaton(8, 40),
};

/** The steps of one round: about 10 ms at 10^10 cells a second. */
const stepsOf = (size) => Math.max(1, Math.round(1e8 / (size * size)));

const cellsASecond = (circuit, size) => {
  const channels = circuit.automaton.channels;
  const runner = circuit.runner({ width: size, height: size });
  runner.write(randomCells(draw(1), channels * size * size));
  const steps = stepsOf(size);
  runner.step(steps);
  runner.read(0);
  const reading = best(() => runner.read(0));
  const ms = best(() => {
    runner.step(steps);
    runner.read(0);
  }) - reading;
  runner.dispose();
  return (size * size * steps) / ms / 1e6;
};

const PROGRAM = (circuit, size) => `#define _POSIX_C_SOURCE 199309L
${circuit.toC()}
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
int main(void) {
  const long n = ${size}, words = circuit_words(n, n), steps = ${stepsOf(size)};
  uint64_t *a = malloc(8 * words), *b = malloc(8 * words);
  unsigned s = 1;
  double best = 1e9;
  for (long i = 0; i < words; i++) a[i] = ((uint64_t)(s = s * 1664525u + 1013904223u) << 32) ^ (s * 22695477u);
  for (int k = 0; k < 12; k++) {
    const double start = now();
    for (long i = 0; i < steps; i++) { circuit_step(a, b, n, n); uint64_t *x = a; a = b; b = x; }
    if (now() - start < best) best = now() - start;
  }
  printf("%.2f", n * n * steps / best / 1e9);
  return a[words / 2] == 1;
}
`;

const inC = (circuit, size) => {
  const folder = mkdtempSync(join(tmpdir(), 'circuit-'));
  writeFileSync(join(folder, 'circuit.c'), PROGRAM(circuit, size));
  execFileSync('cc', ['-std=c11', '-O3', '-march=native', '-o', join(folder, 'circuit'), join(folder, 'circuit.c')]);
  const shown = execFileSync(join(folder, 'circuit')).toString();
  rmSync(folder, { recursive: true });
  return shown;
};

for (const [name, circuit] of Object.entries(AUTOMATA))
  for (const size of [512, 1024, 2048]) {
    const c = withC ? `  C, one thread ${inC(circuit, size).padStart(6)}` : '';
    console.log(`${name.padEnd(20)} ${String(circuit.gates).padStart(3)} gates  ${String(size).padStart(4)} x ${size}` +
      `  ${cellsASecond(circuit, size).toFixed(2).padStart(6)} G cells/s${c}`);
  }

/* ---- a network ---- */

const circuit = randomNetwork();
for (const words of [16, 32, 64, 128]) {
  const x = randomBits(words);
  const run = () => sn.tidy(() => sn.eval(circuit.evaluator.run(x)));
  run();
  const ms = best(run);
  console.log(`network of ${circuit.gates} gates, blocks of ${String(words).padStart(3)} words  ${(32 * 512 / ms / 1e3).toFixed(2)} M examples/s`);
  x.dispose();
}
process.exit(0);
