"""numpy_workloads.py - the workloads that NumPy has, as a variant of bench/run.mjs: --variants native,wasm,numpy.
Answers the commands info and time; values of the arguments do not matter here."""
import json
import sys
import time

import numpy as np

WARM_UP_MS, SAMPLE_MS = 100, 1


def rand(*shape):
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


def matmul(m, k, n):
    a, b = rand(m, k), rand(k, n)
    return lambda: a @ b


def unary(f):
    def make(n):
        x = rand(n)
        return lambda: f(x)
    return make


def add(n):
    x, y = rand(n), rand(n)
    return lambda: x + y


KINDS = {
    "matmul": matmul,
    "relu": unary(lambda x: np.maximum(x, 0)),
    "eager_relu": unary(lambda x: np.maximum(x, 0)),
    "tanh": unary(np.tanh),
    "add": add,
    "sum": unary(np.sum),
}
kept = {}


def run(call, ms, per_sample):
    samples, begin = [], time.perf_counter()
    start = begin
    while len(samples) < 3 or (start - begin) * 1e3 < ms:
        for _ in range(per_sample):
            call()
        end = time.perf_counter()
        samples.append((end - start) * 1e3 / per_sample)
        start = end
    return samples


def answer(line):
    command, *words = line.split()
    if command == "info":
        return {"isa": "numpy " + np.__version__}
    if command != "time":
        return {"error": "no such command"}
    text = " ".join(words[1:])
    if words[1] not in KINDS:
        return {"ms": []}
    if text not in kept:
        call = KINDS[words[1]](*map(int, words[2:]))
        warm = sorted(run(call, WARM_UP_MS, 1))
        kept[text] = call, int(SAMPLE_MS / warm[len(warm) // 2]) + 1
    call, per_sample = kept[text]
    return {"ms": run(call, float(words[0]), per_sample)}


for request in sys.stdin:
    print(json.dumps(answer(request)), flush=True)
