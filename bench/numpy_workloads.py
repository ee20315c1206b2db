"""numpy_workloads.py - the workloads that NumPy has, as a variant of bench/run.mjs: --variants native,wasm,numpy,
and of bench/ops-vs-numpy.mjs. Answers the commands info and time; values of the arguments do not matter here."""
import numpy as np

from line_workloads import serve


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


def softmax(m, n):
    x = rand(m, n)

    def call():
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)
    return call


def layer_norm(m, n):
    x = rand(m, n)

    def call():
        centred = x - x.mean(1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(1, keepdims=True) + np.float32(1e-5))
    return call


def fused(n):
    x, y, z = rand(n), rand(n), rand(n)
    return lambda: x / (1 + np.exp(-(x * y + z))) - y * y / 2


KINDS = {
    "op": op,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "fused": fused,
    "matmul": matmul,
    "relu": unary(lambda x: np.maximum(x, 0)),
    "eager_relu": unary(lambda x: np.maximum(x, 0)),
    "tanh": unary(np.tanh),
    "add": add,
    "sum": unary(np.sum),
}
serve("numpy " + np.__version__, KINDS)
