"""numpy_workloads.py - the workloads that NumPy has, as a variant of bench/run.mjs: --variants native,wasm,numpy,
and of bench/ops-vs-numpy.mjs. Answers the commands info and time; values of the arguments do not matter here."""
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


# Rows of the op table under the names they have here; the others have the same name or none.
NAMES = {
    "neg": "negative", "round": "rint", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "div": "divide", "sub": "subtract",
    "mul": "multiply", "pow": "power", "atan2": "arctan2", "shift_left": "left_shift",
}
# What users of NumPy write where it has no function.
WRITTEN = {
    "relu": lambda x: np.maximum(x, 0),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(x, np.float32(0)),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, np.float32(0))),
}


def op(_number, n, name, arity, dtype, lo, hi):
    f = WRITTEN.get(name) or getattr(np, NAMES.get(name, name), None)
    if f is None or name == "identity":
        return None
    r = np.random.default_rng(0)
    kind = np.dtype(dtype)
    xs = [r.uniform(lo, hi, n) for _ in range(arity)]
    xs = [x < (lo + hi) / 2 if kind == bool else x.astype(kind) for x in xs]
    if name == "where":
        xs[0] = xs[0] < (lo + hi) / 2
    return lambda: f(*xs)


KINDS = {
    "op": op,
    "matmul": matmul,
    "relu": unary(lambda x: np.maximum(x, 0)),
    "eager_relu": unary(lambda x: np.maximum(x, 0)),
    "tanh": unary(np.tanh),
    "add": add,
    "sum": unary(np.sum),
}
kept = {}


def value(word):
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word


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
        call = KINDS[words[1]](*map(value, words[2:]))
        if call is None:
            return {"ms": []}
        warm = sorted(run(call, WARM_UP_MS, 1))
        kept[text] = call, int(SAMPLE_MS / warm[len(warm) // 2]) + 1
    call, per_sample = kept[text]
    return {"ms": run(call, float(words[0]), per_sample)}


for request in sys.stdin:
    print(json.dumps(answer(request)), flush=True)
