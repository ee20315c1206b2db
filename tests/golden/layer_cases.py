"""Writes layers.json: results of PyTorch's layers (1.13 or later) in float64, for js/test/layers.test.mjs. Parameters and
inputs are sines, so that they need not be stored. Run it again only when cases change: python3 tests/golden/layer_cases.py
"""

import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.append(str(Path(__file__).parents[2] / 'bench'))
from torch_resnet import resnet8


def sines(seed, *shape):
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64) * 0.7 + seed).sin().mul(0.6).reshape(shape)


def flat(t):
    return t.detach().reshape(-1).tolist()


def batch_norm():
    """Three training batches (n, h, w, channels), then one that is judged by the running statistics."""
    layer = torch.nn.BatchNorm2d(3, eps=1e-3, momentum=0.2).double()
    with torch.no_grad():
        layer.weight.copy_(sines(1, 3))
        layer.bias.copy_(sines(2, 3))
    kept = {'y': [], 'mean': [], 'variance': []}
    for i in range(4):
        layer.train(i < 3)
        x = (sines(3 + i, 4, 2, 2, 3) * (i + 1) + i).permute(0, 3, 1, 2).requires_grad_()
        y = layer(x)
        kept['y'].append(flat(y.permute(0, 2, 3, 1)))
        kept['mean'].append(flat(layer.running_mean))
        kept['variance'].append(flat(layer.running_var))
        if i == 2:
            (y * sines(9, 4, 2, 2, 3).permute(0, 3, 1, 2)).sum().backward()
            kept['grads'] = {'x': flat(x.grad.permute(0, 2, 3, 1)), 'weight': flat(layer.weight.grad), 'bias': flat(layer.bias.grad)}
        layer.zero_grad()
    return kept


def attention(heads, mask, causal):
    """(2, 5, 8) through four projections (in, out) with biases."""
    x = sines(1, 2, 5, 8)
    weights = [sines(2 + i, 8, 8) for i in range(4)]
    biases = [sines(6 + i, 8) for i in range(4)]
    q, k, v = [(x @ w + b).reshape(2, 5, heads, -1).transpose(1, 2) for w, b in zip(weights[:3], biases)]
    scores = q @ k.transpose(-1, -2) / (8 // heads) ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(2, 5, 8)
    return flat(y @ weights[3] + biases[3])


def resnet():
    """Losses of steps on batches (4, 8, 8, 3), and running statistics of the last batch norm."""
    net = resnet8().double()
    layers = [layer for layer in net.modules() if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear))]
    with torch.no_grad():
        for i, layer in enumerate(layers):
            shape = layer.weight.shape  # (out, in, ...), from sines (..., in, out)
            turned = sines(i, *shape[2:], shape[1], shape[0]) / 8
            layer.weight.copy_(turned.permute(-1, -2, *range(turned.dim() - 2)))
        layers[-1].bias.zero_()
    optimizer = torch.optim.SGD(net.parameters(), lr=1 / 256, momentum=0.9)
    losses = []
    for step in range(6):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(sines(step, 4, 8, 8, 3).permute(0, 3, 1, 2)), torch.arange(4) * 3 % 10)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    last = net[5].past[1]
    return {'losses': losses, 'mean': flat(last.running_mean), 'variance': flat(last.running_var)}


seen = torch.tensor([[True, True, True, False, True], [True, False, True, True, True]])[:, None, None]
x = sines(1, 2, 5, 6, 4)
image = x.permute(0, 3, 1, 2)
channels_last = lambda y: flat(y.permute(0, 2, 3, 1))
depthwise = sines(2, 3, 3, 1, 8)  # (kh, kw, 1, channels * 2)
transposed = sines(3, 3, 2, 5, 4)  # (kh, kw, out, in)
line = sines(1, 2, 7, 3)
one = sines(2, 3, 3, 4)  # (size, in, out)
cases = {
    'batchNorm': batch_norm(),
    'resnet': resnet(),
    'attention': attention(2, None, False),
    'attentionCausal': attention(4, None, True),
    'attentionMasked': attention(2, seen, False),
    'groupNorm': channels_last(F.group_norm(image, 2, sines(4, 4), sines(5, 4), 1e-3)),
    'rmsNorm': flat(x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * sines(4, 4)),
    'depthwiseConv2d': channels_last(F.conv2d(image, depthwise.permute(3, 2, 0, 1), sines(4, 8), stride=2, padding=1, groups=4)),
    'convTranspose2d': channels_last(F.conv_transpose2d(image, transposed.permute(3, 2, 0, 1), sines(4, 5), stride=2)),
    'conv1d': flat(F.conv1d(line.transpose(1, 2), one.permute(2, 1, 0), sines(4, 4), dilation=2).transpose(1, 2)),
    'swiglu': flat(F.silu(x @ sines(2, 4, 3) + sines(4, 3)) * (x @ sines(3, 4, 3) + sines(5, 3))),
    'geglu': flat(F.gelu(x @ sines(2, 4, 3) + sines(4, 3)) * (x @ sines(3, 4, 3) + sines(5, 3))),
}
Path(__file__).with_name('layers.json').write_text(json.dumps(cases) + '\n')
