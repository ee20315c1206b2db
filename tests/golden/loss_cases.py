"""Writes losses.json: values and gradients of PyTorch's losses (1.13 or later) in float64, for js/test/losses.test.mjs. Inputs
are sines, so that they need not be stored. Run it again only when cases change:  python3 tests/golden/loss_cases.py
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as F


def sines(seed, *shape):
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64) * 0.7 + seed).sin().mul(0.6).reshape(shape)


def case(f, *inputs):
    """Per reduction the value, and the gradients of its sum by all inputs."""
    kept = {}
    for reduction in ('mean', 'sum', 'none'):
        own = [x.clone().requires_grad_() for x in inputs]
        y = f(*own, reduction)
        grads = torch.autograd.grad(y.sum(), own)
        kept[reduction] = [y.detach().reshape(-1).tolist(), *[g.reshape(-1).tolist() for g in grads]]
    return kept


a, b = sines(1, 4, 5) * 3, sines(2, 4, 5) * 3
bools = (torch.arange(20).reshape(4, 5) % 3 == 0).double()
labels = torch.tensor([0, 4, 2, 1])
weights = torch.tensor([1.0, 0.5, 2.0, 0.25, 3.0]).double()
p = (sines(3, 4, 5) * 4).softmax(-1)
p = torch.where(torch.arange(20).reshape(4, 5) == 7, torch.zeros(()).double(), p)


def entropy(target, **options):
    return lambda x, reduction: F.cross_entropy(x, target, reduction=reduction, **options)


def kl(x, reduction):
    rows = F.kl_div(x.log_softmax(-1), p, reduction='none').sum(-1)
    return {'none': rows, 'sum': rows.sum(), 'mean': rows.mean()}[reduction]


def angle(x, y, reduction):
    return F.cosine_embedding_loss(x, y, torch.ones(4), reduction=reduction)


paths = torch.tensor([[1, 2, 2, 3], [3, 3, 1, 0], [4, 0, 0, 0]])
frames, counts = torch.tensor([9, 7, 3]), torch.tensor([4, 3, 1])
sounds = sines(5, 3, 9, 5) * 4


def ctc(targets, frames, counts, blank=0):
    def f(x, reduction):
        logs = x.log_softmax(-1).transpose(0, 1)
        return F.ctc_loss(logs, targets, frames, counts, blank=blank, reduction=reduction)
    return f


cases = {
    'mse': case(lambda x, y, reduction: F.mse_loss(x, y, reduction=reduction), a, b),
    'mae': case(lambda x, y, reduction: F.l1_loss(x, y, reduction=reduction), a, b),
    'huber': case(lambda x, y, reduction: F.huber_loss(x, y, reduction=reduction, delta=0.7), a, b),
    'binaryCrossEntropy': case(lambda x, reduction: F.binary_cross_entropy_with_logits(x, bools, reduction=reduction), a * 20),
    'klDivergence': case(kl, a),
    'cosine': case(angle, a, b),
    'entropy': case(entropy(labels), a),
    'entropyIgnored': case(entropy(labels, ignore_index=4), a),
    'entropyWeighted': case(entropy(labels, weight=weights), a),
    'entropySmooth': case(entropy(labels, label_smoothing=0.1), a),
    'entropyAll': case(entropy(labels, label_smoothing=0.1, weight=weights, ignore_index=2), a),
    'distribution': case(entropy(p), a),
    'distributionAll': case(entropy(p, label_smoothing=0.2, weight=weights), a),
    'ctc': case(ctc(paths, frames, counts), sounds),
    'ctcBlank': case(ctc(torch.tensor([[0, 1], [2, 2], [3, 0]]), torch.tensor([9, 9, 9]), torch.tensor([2, 2, 2]), blank=4), sounds),
}
Path(__file__).with_name('losses.json').write_text(json.dumps(cases) + '\n')
