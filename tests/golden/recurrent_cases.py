"""Writes recurrent.json: results and gradients of PyTorch's LSTM and GRU (1.13 or later), in float64, for
js/test/recurrent.test.mjs. Inputs are sines, so that they need not be stored. Run it again only when cases change:
python3 tests/golden/recurrent_cases.py
"""

import json
from pathlib import Path

import torch

INPUTS, SIZE, BATCH, TIME = 3, 4, 2, 5


def sines(seed, *shape):
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64) * 0.7 + seed).sin().mul(0.6).reshape(shape)


def case(kind):
    gates = {'lstm': 4, 'gru': 3}[kind]
    values = {
        'input': sines(1, INPUTS, gates * SIZE), 'hidden': sines(2, SIZE, gates * SIZE), 'bias': sines(3, gates * SIZE),
        'newBias': sines(4, SIZE), 'x': sines(5, BATCH, TIME, INPUTS), 'h': sines(6, BATCH, SIZE), 'c': sines(7, BATCH, SIZE),
    }
    unused = {'lstm': ['newBias'], 'gru': ['c']}[kind]
    wrt = {name: value.requires_grad_() for name, value in values.items() if name not in unused}
    late = torch.zeros(gates * SIZE, dtype=torch.float64)
    if kind == 'gru':
        late = torch.cat([late[:2 * SIZE], wrt['newBias']])
    weights = [wrt['input'].T, wrt['hidden'].T, wrt['bias'], late]
    state = [wrt[name][None] for name in ('h', 'c') if name in wrt]
    hidden = state if kind == 'lstm' else state[0]
    # bias, layers, dropout, training, bidirectional, batch first
    y, *end = getattr(torch, kind)(wrt['x'], hidden, weights, True, 1, 0.0, False, False, True)
    loss = (y * sines(8, *y.shape)).sum() + sum((each * each).sum() for each in end)
    grads = torch.autograd.grad(loss, list(wrt.values()))
    flat = lambda t: t.detach().reshape(-1).tolist()
    return {'y': flat(y), 'end': [flat(each) for each in end], 'grads': {name: flat(g) for name, g in zip(wrt, grads)}}


target = Path(__file__).with_name('recurrent.json')
target.write_text(json.dumps({kind: case(kind) for kind in ('lstm', 'gru')}, indent=1) + '\n')
