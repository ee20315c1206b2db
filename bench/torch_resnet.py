"""torch_resnet.py - resnet.mjs in PyTorch, for torch_workloads.py and tests/golden/layer_cases.py."""
from torch import nn, relu


class Block(nn.Module):
    """Two 3 x 3 convolutions beside a way past them; more channels come with half the side, and a convolution of 1 x 1 past."""

    def __init__(self, before, after):
        super().__init__()
        same = before == after

        def conv(inputs, size, stride):
            return nn.Conv2d(inputs, after, size, stride, size // 2, bias=False)

        self.main = nn.Sequential(conv(before, 3, 1 if same else 2), nn.BatchNorm2d(after), nn.ReLU(),
                                  conv(after, 3, 1), nn.BatchNorm2d(after))
        self.past = nn.Identity() if same else nn.Sequential(conv(before, 1, 2), nn.BatchNorm2d(after))

    def forward(self, x):
        return relu(self.main(x) + self.past(x))


def resnet8():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                         Block(16, 16), Block(16, 32), Block(32, 64),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
