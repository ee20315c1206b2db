"""Writes torch.json and torch.bin: values and gradients of PyTorch (1.13 or later), in float64, for
js/test/torch.test.mjs. Run it again only when cases change:  python3 tests/golden/torch_cases.py

Inputs are multiples of 2^-14 in [-2, 2): float32 holds them exactly, so one set of values judges both
dtypes. A case's function has the layouts and options of the package and returns y; stored are y and the
gradients of sum(y r) by all float inputs, r being the last input. Beside each stands what its error
depends on: `terms`, how many products an element sums, and `size`, the largest sum of their absolute
values. A function that is linear in each input gives both: evaluated at ones, and at absolute values.
"""
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
HERE = pathlib.Path(__file__).parent
random = np.random.RandomState(4)
cases, blob = [], bytearray()


def draw(shape):
    """Elements differ by more than rounding does: a largest one is the same one in every dtype."""
    return (random.choice(65536, math.prod(shape), replace=False) - 32768).astype(np.int16).reshape(shape)


def put(array):
    blob.extend(b"\0" * (-len(blob) % array.itemsize))
    place = len(blob)
    blob.extend(array.tobytes())
    return place


def evaluate(f, arrays):
    """y and the gradients of sum(y r), as flat tensors; r is the last of the arrays."""
    inputs = [a.clone().requires_grad_(a.is_floating_point()) for a in arrays[:-1]]
    y = f(*inputs)
    wanted = [x for x in inputs if x.requires_grad]
    grads = torch.autograd.grad((y * arrays[-1]).sum(), wanted, allow_unused=True)
    grads = [torch.zeros_like(x) if g is None else g for g, x in zip(grads, wanted)]
    return [t.detach().contiguous().reshape(-1) for t in (y, *grads)]


def largest(t):
    return float(f"{float(t.max()):.4g}") if t.numel() else 0.0


def case(op, f, shapes, options=None, labels=None, positive=(), stages=None, terms=None):
    """stages, terms: of a function that is not linear, how many sums follow each other, of how many."""
    raw = [draw(shape) for shape in shapes]
    arrays = [torch.from_numpy(a.astype(np.float64)) / 16384 for a in raw]
    for i in positive:
        raw[i] = np.abs(raw[i] // 2) + 8192
        arrays[i] = torch.from_numpy(raw[i].astype(np.float64)) / 16384
    if labels is not None:
        arrays.append(torch.from_numpy(labels))
    y = f(*arrays)
    raw_r = draw(tuple(y.shape))
    r = torch.from_numpy(raw_r.astype(np.float64)) / 16384
    values = evaluate(f, [*arrays, r])
    if stages:
        biggest = max([1.0, *(largest(t.abs()) for t in (*values, *arrays, r))])
        errors = [{"terms": terms, "size": stages * biggest} for _ in values]
    elif op == "maxPool2d":  # picks elements: no rounding but where windows overlap
        at_ones, at_sizes = evaluate(f, [*arrays, torch.ones_like(r)]), evaluate(f, [*arrays, r.abs()])
        errors = [{"terms": largest(a), "size": largest(b)} for a, b in zip(at_ones, at_sizes)]
        errors[0]["size"] = 0
    else:
        at_ones = evaluate(f, [torch.ones_like(a) for a in (*arrays, r)])
        at_sizes = evaluate(f, [a.abs() for a in (*arrays, r)])
        errors = [{"terms": max(1, terms or largest(a)), "size": largest(b)} for a, b in zip(at_ones, at_sizes)]
    cases.append({
        "op": op,
        "options": options or {},
        "inputs": [{"shape": list(a.shape), "at": put(a)} for a in raw],
        **({} if labels is None else {"labels": {"shape": list(labels.shape), "values": labels.reshape(-1).tolist()}}),
        "r": put(raw_r),
        "shape": list(y.shape),
        "values": [{"at": put(v.numpy()), **error} for v, error in zip(values, errors)],
    })


# ---- products -------------------------------------------------------------------------------------

def matmul(turn_a, turn_b):
    def f(a, b):
        return torch.matmul(a.transpose(-1, -2) if turn_a else a, b.transpose(-1, -2) if turn_b else b)
    return f


for a, b, turns in [
    ((3, 5), (5, 4), ""), ((5, 3), (5, 4), "a"), ((3, 5), (4, 5), "b"), ((5, 3), (4, 5), "ab"),
    ((1, 1), (1, 1), ""), ((7, 1), (1, 9), ""), ((1, 33), (33, 1), ""), ((17, 13), (13, 11), ""),
    ((2, 3, 4), (2, 4, 5), ""), ((2, 4, 3), (2, 5, 4), "ab"), ((2, 3, 4), (4, 5), ""), ((4, 3), (2, 3, 5), ""),
    ((2, 1, 3, 4), (3, 4, 2), ""), ((1, 2, 3, 4), (3, 1, 5, 4), "b"), ((5,), (5,), ""), ((5,), (5, 3), ""),
    ((3, 5), (5,), ""), ((2, 3, 5), (5,), ""), ((5,), (2, 5, 3), ""), ((3, 0), (0, 2), ""), ((2, 70), (70, 3), ""),
]:
    case("matmul", matmul("a" in turns, "b" in turns), [a, b], {"turns": turns})

SIZES = dict(zip("abcdeijklmoxy", (2, 3, 4, 2, 3, 3, 4, 2, 5, 3, 4, 2, 3)))
for spec in """ij,jk->ik ji,kj->ki ij,kj->ik bij,bjk->bik bij,bkj->bki ij->ji ij->j ij-> ii-> ii->i iij->ji ijij->
    i,i-> i,j->ij i,j->ji i,i->i ij,ij->ij ij,ij->i ij,ji-> ijk,jil->kl ijkl,klm->ijm abci,abcj->abij ab,cd->abcd
    abcd,cd->ab ab,bc,cd->ad ab,bc,ca-> i,ij,j-> ij,jk,kl,lm->im bi,bo,io->b abc,cd,de,eb->a ijx,jky->ik
    ...ij,...jk->...ik ...i->... i...->...i ...i,i->... b...d,b...e->b...de""".split():
    shapes = []
    for k, term in enumerate(spec.split("->")[0].split(",")):
        extra = (2, 3)[k:]  # '...' of the second operand broadcasts
        before, dots, after = term.partition("...")
        shapes.append((*(SIZES[c] for c in before), *(extra if dots else ()), *(SIZES[c] for c in after)))
    case("einsum", lambda *x, spec=spec: torch.einsum(spec, *x), shapes, {"spec": spec})

# ---- convolutions and pools -----------------------------------------------------------------------


def sides(size, window, stride, dilation, padding, i):
    if padding == "valid":
        return 0, 0
    if padding != "same":
        return tuple(padding[i])
    missing = max(0, (-(-size // stride) - 1) * stride + (window - 1) * dilation + 1 - size)
    return missing // 2, missing - missing // 2


def first_channels(x, layout):
    return x if layout.startswith("NC") else torch.movedim(x, -1, 1)


def restored(y, layout):
    return y if layout.startswith("NC") else torch.movedim(y, 1, -1)


def conv(axes, strides, padding, dilation, groups, layout):
    def f(x, w):
        x = first_channels(x, layout)
        pads = [sides(x.shape[2 + i], w.shape[i], strides[i], dilation[i], padding, i) for i in range(axes)]
        x = F.pad(x, [n for pair in reversed(pads) for n in pair])
        weight = w.permute(axes + 1, axes, *range(axes))
        run = (F.conv1d, F.conv2d, F.conv3d)[axes - 1]
        return restored(run(x, weight, stride=strides, dilation=dilation, groups=groups), layout)
    return f


def conv_case(axes, shape, filter, strides=1, padding="valid", dilation=1, groups=1, layout=None):
    layout = layout or "N" + "DHW"[-axes:] + "C"
    strides, dilation = [([n] * axes if isinstance(n, int) else n) for n in (strides, dilation)]
    options = dict(strides=strides, padding=padding, dilation=dilation, groups=groups, layout=layout)
    case(f"conv{axes}d", conv(axes, strides, padding, dilation, groups, layout), [shape, filter], options)


conv_case(1, (2, 9, 3), (3, 3, 4))
conv_case(1, (1, 9, 2), (3, 2, 2), strides=2, padding="same")
conv_case(1, (1, 10, 2), (2, 2, 3), dilation=3, padding=[[2, 0]])
conv_case(1, (2, 4, 8), (3, 2, 4), groups=2, padding="same", layout="NCW")
conv_case(1, (1, 7, 3), (1, 3, 2))
conv_case(2, (2, 5, 6, 3), (3, 3, 3, 4))
conv_case(2, (1, 6, 5, 3), (3, 3, 3, 4), padding="same")
conv_case(2, (1, 7, 6, 2), (3, 2, 2, 3), strides=[2, 3], padding="same")
conv_case(2, (1, 7, 8, 2), (3, 3, 2, 2), strides=2, padding=[[1, 0], [2, 1]])
conv_case(2, (1, 8, 7, 2), (2, 3, 2, 2), dilation=[3, 2])
conv_case(2, (1, 8, 7, 2), (2, 2, 2, 2), dilation=2, strides=2, padding="same")
conv_case(2, (1, 5, 5, 6), (3, 3, 2, 6), groups=3, padding="same")
conv_case(2, (2, 5, 4, 4), (3, 3, 1, 4), groups=4, padding="same")
conv_case(2, (1, 6, 5, 3), (3, 3, 1, 6), groups=3, strides=2)
conv_case(2, (1, 5, 6, 3), (3, 2, 1, 3), groups=3, dilation=2, padding=[[1, 1], [0, 1]])
conv_case(2, (2, 3, 5, 6), (3, 3, 3, 4), padding="same", layout="NCHW")
conv_case(2, (1, 4, 6, 5), (3, 3, 2, 4), groups=2, strides=2, layout="NCHW", padding=[[1, 1], [1, 1]])
conv_case(2, (1, 3, 5, 6), (3, 3, 1, 3), groups=3, layout="NCHW", padding="same")
conv_case(2, (2, 3, 4, 5), (1, 1, 5, 6))
conv_case(2, (1, 6, 6, 2), (1, 1, 2, 3), strides=2)
conv_case(2, (1, 4, 4, 3), (4, 4, 3, 5))
conv_case(3, (1, 4, 5, 4, 2), (2, 3, 2, 2, 2))
conv_case(3, (1, 2, 4, 3, 5), (2, 2, 3, 1, 2), groups=2, padding="same", layout="NCDHW")
conv_case(3, (1, 5, 4, 5, 1), (2, 2, 2, 1, 2), strides=[2, 1, 2], dilation=[1, 2, 1])


def transposed(strides, pads, dilation, groups, layout):
    def f(x, w):
        weight = w.permute(3, 2, 0, 1)
        x = first_channels(x, layout)
        y = F.conv_transpose2d(x, weight, stride=strides, dilation=dilation, groups=groups)
        size = y.shape
        (top, bottom), (left, right) = pads
        return restored(y[:, :, top:size[2] - bottom, left:size[3] - right], layout)
    return f


for shape, filter, strides, padding, dilation, groups, layout in [
    ((1, 3, 4, 2), (3, 3, 4, 2), [1, 1], "valid", [1, 1], 1, "NHWC"),
    ((2, 3, 3, 2), (3, 2, 3, 2), [2, 3], "valid", [1, 1], 1, "NHWC"),
    ((1, 3, 4, 3), (3, 3, 2, 3), [2, 2], [[1, 1], [1, 0]], [1, 1], 1, "NHWC"),
    ((1, 3, 3, 4), (2, 3, 3, 4), [2, 1], "valid", [2, 1], 2, "NHWC"),
    ((1, 4, 3, 3), (3, 3, 1, 4), [2, 2], [[0, 1], [1, 2]], [1, 1], 4, "NCHW"),
]:
    pads = padding if padding != "valid" else [[0, 0], [0, 0]]
    options = dict(strides=strides, padding=padding, dilation=dilation, groups=groups, layout=layout)
    case("convTranspose2d", transposed(strides, pads, dilation, groups, layout), [shape, filter], options)


def pool(kind, window, strides, padding, dilation, layout):
    def f(x):
        x = first_channels(x, layout)
        pads = [sides(x.shape[2 + i], window[i], strides[i], dilation[i], padding, i) for i in (0, 1)]
        flat = [n for pair in reversed(pads) for n in pair]
        if kind == "maxPool2d":
            y = F.max_pool2d(F.pad(x, flat, value=-math.inf), window, strides, dilation=dilation)
        else:  # padding does not count: count_include_pad=False, which takes as much on both sides only
            assert all(before == after for before, after in pads)
            y = F.avg_pool2d(x, window, strides, [pads[0][0], pads[1][0]], count_include_pad=False)
        return restored(y, layout)
    return f


for kind, shape, window, strides, padding, dilation, layout in [
    ("maxPool2d", (2, 6, 4, 3), [2, 2], [2, 2], "valid", [1, 1], "NHWC"),
    ("maxPool2d", (1, 7, 5, 2), [3, 2], [2, 1], "same", [1, 1], "NHWC"),
    ("maxPool2d", (1, 2, 7, 8), [3, 3], [2, 2], [[1, 0], [1, 2]], [1, 1], "NCHW"),
    ("maxPool2d", (1, 8, 8, 2), [2, 3], [1, 2], "valid", [2, 3], "NHWC"),
    ("maxPool2d", (1, 3, 4, 2), [1, 1], [1, 1], "valid", [1, 1], "NHWC"),
    ("avgPool2d", (2, 6, 4, 3), [2, 2], [2, 2], "valid", [1, 1], "NHWC"),
    ("avgPool2d", (1, 7, 5, 2), [3, 3], [1, 2], "same", [1, 1], "NHWC"),
    ("avgPool2d", (1, 2, 7, 8), [4, 3], [2, 2], [[2, 2], [1, 1]], [1, 1], "NCHW"),
    ("avgPool2d", (1, 3, 4, 2), [3, 4], [3, 4], "valid", [1, 1], "NHWC"),
]:
    options = dict(window=window, strides=strides, padding=padding, dilation=dilation, layout=layout)
    case(kind, pool(kind, window, strides, padding, dilation, layout), [shape], options,
         terms=math.prod(window) if kind == "avgPool2d" else None)

# ---- norms, softmax, losses -----------------------------------------------------------------------

EPS = 1e-3


def batch_norm(axis):
    def f(x, weight, bias):
        return torch.movedim(F.batch_norm(torch.movedim(x, axis, 1), None, None, weight, bias, True, 0.1, EPS), 1, axis)
    return f


def folded_norm(axis):
    def f(x, mean, variance, weight, bias):
        wide = [n if i == axis % x.dim() else 1 for i, n in enumerate(x.shape)]
        mean, variance, weight, bias = (t.reshape(wide) for t in (mean, variance, weight, bias))
        return (x - mean) / torch.sqrt(variance + EPS) * weight + bias  # F.batch_norm has no gradient by mean
    return f


for shape, axis in [((6, 3), -1), ((3, 4, 3, 2), -1), ((3, 2, 3, 4), 1)]:
    c = shape[axis]
    rows = math.prod(shape) // c
    case("batchNorm", batch_norm(axis), [shape, (c,), (c,)], {"axis": axis, "eps": EPS}, stages=4, terms=rows)
    case("batchNorm", folded_norm(axis), [shape, (c,), (c,), (c,), (c,)], {"axis": axis, "eps": EPS, "given": True},
         positive=(2,), stages=4, terms=rows)

for shape in [(4, 7), (2, 3, 16), (5, 1)]:
    n = shape[-1]
    case("layerNorm", lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, EPS), [shape, (n,), (n,)], {"eps": EPS},
         stages=4, terms=math.prod(shape))
for shape, axis in [((4, 7), -1), ((3, 5, 2), 1), ((2, 40), -1)]:
    case("softmax", lambda x: torch.softmax(x, axis), [shape], {"axis": axis}, stages=3, terms=shape[axis])
    case("logSoftmax", lambda x: torch.log_softmax(x, axis), [shape], {"axis": axis}, stages=3, terms=shape[axis])
for shape in [(5, 4), (2, 3, 6)]:
    chosen = random.randint(0, shape[-1], shape[:-1])
    case("softmaxCrossEntropy", lambda x, c: F.cross_entropy(torch.movedim(x, -1, 1), c, reduction="none"), [shape],
         labels=chosen, stages=3, terms=shape[-1])
    case("softmaxCrossEntropy", lambda x, p: -(p * torch.log_softmax(x, -1)).sum(-1), [shape, shape], stages=3,
         terms=shape[-1])

# ---- attention ------------------------------------------------------------------------------------


def attention(causal, scale, masked):
    def f(q, k, v, *mask):
        shared = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(shared, 1) for x in (k, v))
        scores = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
        if masked == "added":
            scores = scores + mask[0]
        if masked == "seen":
            scores = torch.where(mask[0] > 0, scores, torch.tensor(-math.inf, dtype=scores.dtype))
        if causal:
            allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
            scores = scores.masked_fill(~allowed, -math.inf)
        return torch.softmax(scores, -1) @ v
    return f


for batch, heads, shared, tokens, sources, size, causal, scale, masked in [
    (1, 1, 1, 1, 1, 1, False, None, None), (2, 2, 2, 5, 5, 4, False, None, None), (1, 2, 2, 6, 6, 3, True, None, None),
    (1, 2, 2, 4, 7, 3, False, 0.7, None), (2, 4, 2, 5, 5, 3, False, None, None), (1, 6, 1, 4, 4, 2, True, 0.3, None),
    (1, 2, 1, 5, 6, 3, False, None, "added"), (1, 2, 2, 6, 6, 3, True, None, "added"),
    (1, 2, 1, 6, 5, 3, False, None, "seen"), (1, 1, 1, 4, 6, 2, True, None, None), (1, 1, 1, 6, 4, 2, True, None, None),
]:
    shapes = [(batch, heads, tokens, size), (batch, shared, sources, size), (batch, shared, sources, size + 1)]
    options = {"causal": causal, "masked": masked, **({"scale": scale} if scale else {})}
    labels = None
    if masked == "added":
        shapes.append((heads, tokens, sources))
    if masked == "seen":
        labels = random.randint(0, 2, (tokens, sources))
        labels[:, 0] = 1  # a row that sees nothing is NaN
    case("attention", attention(causal, scale, masked), shapes, options, labels=labels, stages=6, terms=sources * size)

(HERE / "torch.bin").write_bytes(blob)
lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
(HERE / "torch.json").write_text(f'{{"torch":"{torch.__version__}","cases":[\n{lines}\n]}}\n')
print(f"{len(cases)} cases, {len(blob)} + {len(lines)} bytes")
