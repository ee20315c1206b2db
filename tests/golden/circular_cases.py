"""Writes tests/golden/circular.h: sine, cosine and tangent of float64 arguments that are hard to reduce.

    python3 tests/golden/circular_cases.py        (needs mpmath: Debian's python3-mpmath)

Beside plain large numbers these are, for exponents over the whole range, a float64 that comes very near to a
multiple of pi/2: what is left of it begins up to 62 bits below its last one. A value is two doubles, the nearest
one and what it lacks.
"""
import pathlib
from mpmath import mp, mpf, sin, cos, tan

mp.prec = 1400
half_pi = mp.pi / 2
PLAIN = ['1e10', '1e15', '1e22', '1e100', '1e300', '0x1p30', '0x1.fffffffffffffp29', '0x1p53', '0x1p54', '0x1p80',
         '0x1p860', '0x1.fffffffffffffp859', '0x1p1023', '0x1.fffffffffffffp1023', '-0x1.8p900']
EXPONENTS = [-24, -23, *range(-20, 972, 31), 796, 797, 798, 970, 971]


def nearest(exponent):
    """A 53-bit m for which m 2^exponent is near to a multiple of pi/2: the last denominator below 2^53 of the
    continued fraction of 2^exponent / (pi/2), times what makes it 53 bits long."""
    ratio = mpf(2) ** exponent / half_pi
    k, before, x = 1, 0, ratio
    while True:
        x = 1 / (x - mp.floor(x))
        k, before = int(mp.floor(x)) * k + before, k
        if k >= 2 ** 53:
            return before * ((2 ** 53 - 1) // before)


def pair(value):
    head = float(value)
    return f'{head.hex()}, {float(value - mpf(head)).hex()}'


def arguments():
    yield from (float.fromhex(text) if 'x' in text else float(text) for text in PLAIN)
    for exponent in EXPONENTS:
        yield float(nearest(exponent)) * 2.0 ** exponent


def row(x):
    values = ', '.join(f'{{{pair(f(mpf(x)))}}}' for f in (sin, cos, tan))
    return f'{{{x.hex()}, {{{values}}}}},'


head = '/* Written by tests/golden/circular_cases.py: x, and its sine, cosine and tangent in two doubles each. */\n'
pathlib.Path(__file__).with_name('circular.h').write_text(head + '\n'.join(map(row, arguments())) + '\n')
