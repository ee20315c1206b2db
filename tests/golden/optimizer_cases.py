"""Writes optimizers.json: parameters after 1, 10 and 50 steps of PyTorch's optimizers (1.13 or later), in float64, and the
rates of its schedules, for js/test/optim.test.mjs. Parameters and gradients are sines, so that they need not be stored.
Run it again only when cases change:  python3 tests/golden/optimizer_cases.py
"""

import json
from pathlib import Path

import torch

SHAPES = {'weight': (4, 3), 'bias': (3,)}
STEPS = 50


def sines(seed, *shape):
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64) * 0.7 + seed).sin().mul(0.6).reshape(shape)


def run(kind, options, clip=None):
    params = {name: sines(k, *shape).requires_grad_() for k, (name, shape) in enumerate(SHAPES.items())}
    optimizer = getattr(torch.optim, kind)(list(params.values()), **options)
    kept = []
    for step in range(1, STEPS + 1):
        for k, p in enumerate(params.values()):
            p.grad = sines(3 * step + k, *p.shape) * (1 + step % 5)
        if clip:
            torch.nn.utils.clip_grad_norm_(list(params.values()), clip)
        optimizer.step()
        if step in (1, 10, STEPS):
            kept.append({name: p.detach().reshape(-1).tolist() for name, p in params.items()})
    return kept


def rates(kind, lr, options):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    schedule = getattr(torch.optim.lr_scheduler, kind)(optimizer, **options)
    kept = []
    for _ in range(40):
        kept.append(optimizer.param_groups[0]['lr'])
        optimizer.step()
        schedule.step()
    return kept


cases = {
    'adam': run('Adam', {'lr': 0.02}),
    'adamDecay': run('Adam', {'lr': 0.02, 'weight_decay': 0.1, 'betas': (0.8, 0.95), 'eps': 1e-3}),
    'adamw': run('AdamW', {'lr': 0.02}),
    'adamwClipped': run('AdamW', {'lr': 0.02, 'weight_decay': 0.3, 'betas': (0.8, 0.95)}, clip=1.5),
    'rmsprop': run('RMSprop', {'lr': 0.02}),
    'rmspropDecay': run('RMSprop', {'lr': 0.02, 'alpha': 0.9, 'eps': 1e-3, 'weight_decay': 0.1}),
    'adagrad': run('Adagrad', {}),
    'adagradDecay': run('Adagrad', {'lr': 0.05, 'eps': 1e-3, 'weight_decay': 0.1}),
    'sgd': run('SGD', {'lr': 0.02, 'weight_decay': 0.1}),
    'momentum': run('SGD', {'lr': 0.02, 'momentum': 0.9}),
    'nesterov': run('SGD', {'lr': 0.02, 'momentum': 0.9, 'nesterov': True, 'weight_decay': 0.1}),
}
schedules = {
    'cosine': rates('CosineAnnealingLR', 0.1, {'T_max': 39, 'eta_min': 0.01}),
    'step': rates('StepLR', 0.1, {'step_size': 7, 'gamma': 0.5}),
    'exponential': rates('ExponentialLR', 0.1, {'gamma': 0.9}),
    'linear': rates('LinearLR', 0.1, {'start_factor': 0.25, 'end_factor': 1.0, 'total_iters': 10}),
    'oneCycle': rates('OneCycleLR', 0.1, {'max_lr': 0.1, 'total_steps': 50}),
}
path = Path(__file__).with_name('optimizers.json')
path.write_text(json.dumps({'cases': cases, 'schedules': schedules}) + '\n')
