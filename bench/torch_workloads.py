"""torch_workloads.py - the workloads in PyTorch, on 2 threads, as a variant of bench/run.mjs: --variants native,torch.
Values of the arguments do not matter here."""
import torch
from torch.nn import functional

from line_workloads import serve
from torch_resnet import resnet8

THREADS = 2
torch.set_num_threads(THREADS)


def rand(*shape):
    return torch.rand(*shape) * 2 - 1


def unary(f):
    def make(*shape):
        x = rand(*shape)
        return lambda: f(x)
    return make


def matmul(m, k, n):
    a, b = rand(m, k), rand(k, n)
    return lambda: a @ b


def add(n):
    x, y = rand(n), rand(n)
    return lambda: x + y


def fused(n):
    x, y, z = rand(n), rand(n), rand(n)
    return lambda: torch.sigmoid(x * y + z) * x - y * y / 2


def mlp(batch, *widths):
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    return trained(net, torch.optim.Adam(net.parameters(), 1e-3), rand(batch, widths[0]), widths[-1])


def trained(net, optimizer, x, classes):
    y = torch.arange(len(x)) % classes

    def step():
        optimizer.zero_grad()
        functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return step


def linear_gelu(m, k, n):
    x, weight, bias = rand(m, k), rand(n, k), rand(n)
    return lambda: functional.gelu(functional.linear(x, weight, bias))


def conv(side, channels):
    x, weight = rand(1, channels, side, side), rand(channels, channels, 3, 3)
    return lambda: functional.conv2d(x, weight, padding=1)


def attention(heads, tokens, size):
    q, k, v = (rand(1, heads, tokens, size) for _ in range(3))
    return lambda: torch.softmax(q @ k.transpose(-1, -2) / 8, -1) @ v


def cnn(batch):
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(7 * 7 * 32, 10))
    return trained(net, torch.optim.SGD(net.parameters(), 1e-3), rand(batch, 1, 28, 28), 10)


def cross_entropy(rows, classes):
    logits, labels = rand(rows, classes), torch.arange(rows) % classes
    return lambda: functional.cross_entropy(logits, labels, reduction="none")


def resnet(batch, layout="contiguous_format"):
    memory = {"memory_format": getattr(torch, layout)}
    net = resnet8().to(**memory)
    return trained(net, torch.optim.SGD(net.parameters(), 0.01, momentum=0.9), rand(batch, 3, 32, 32).contiguous(**memory), 10)


serve("torch " + torch.__version__, {
    "mlp": mlp,
    "matmul": matmul,
    "linear_gelu": linear_gelu,
    "conv": conv,
    "attention": attention,
    "cnn": cnn,
    "resnet": resnet,
    "relu": unary(torch.relu),
    "eager_relu": unary(torch.relu),
    "tanh": unary(torch.tanh),
    "add": add,
    "sum": unary(torch.sum),
    "gelu": unary(functional.gelu),
    "softmax": unary(lambda x: torch.softmax(x, -1)),
    "layer_norm": unary(lambda x: functional.layer_norm(x, x.shape[-1:])),
    "fused": fused,
    "cross_entropy": cross_entropy,
}, THREADS)
