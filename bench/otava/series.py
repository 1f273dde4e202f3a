"""Series in which it is known what changed: the same on every machine."""

import math
import random


def all_series():
    """Name to values; the name says what is in it."""
    return {
        "nothing": _noise([(100, 10.0)], 0.05, 1),
        "nothing-long": _noise([(300, 2.5)], 0.08, 2),
        "step-up-10": _noise([(30, 5.0), (30, 5.5)], 0.02, 3),
        "step-down-10": _noise([(40, 5.0), (30, 4.5)], 0.03, 4),
        "step-50-noisy": _noise([(35, 1.0), (35, 1.5)], 0.15, 5),
        "step-2": _noise([(40, 7.0), (40, 7.14)], 0.004, 6),
        "two-steps": _noise([(30, 3.0), (25, 3.4), (35, 3.1)], 0.03, 7),
        "bump-of-10": _noise([(60, 9.0), (10, 11.0), (60, 9.0)], 0.03, 8),
        "bump-of-4": _noise([(60, 9.0), (4, 12.0), (60, 9.0)], 0.03, 9),
        "outliers": _outliers(_noise([(100, 4.0)], 0.03, 10), [20, 41, 77]),
        "step-and-outliers": _outliers(_noise([(50, 4.0), (50, 4.6)], 0.03, 11), [20, 41, 77]),
        "new-3": _noise([(50, 6.0), (3, 7.2)], 0.02, 12),
        "new-6": _noise([(50, 6.0), (6, 7.2)], 0.02, 13),
        "ramp": [value * (1 + 0.004 * at) for at, value in enumerate(_noise([(80, 8.0)], 0.02, 14))],
        "long": _noise([(90, 20.0), (60, 22.0), (120, 19.0), (80, 21.0)], 0.04, 15),
        "heavy": _heavy(120, 0.03, 16),
        "two-modes": _modes(120, 17),
        "steadier": _noise([(60, 5.0)], 0.1, 18) + _noise([(60, 5.0)], 0.01, 19),
        "depends": _depends(120, 0.6, 0.05, 20),
    }


def _noise(segments, spread, seed):
    generator = random.Random(seed)
    return [level * math.exp(generator.gauss(0, spread)) for points, level in segments for _ in range(points)]


def _outliers(values, places):
    return [value * 2.5 if at in places else value for at, value in enumerate(values)]


def _heavy(points, spread, seed):
    generator = random.Random(seed)
    chi = lambda: math.sqrt(sum(generator.gauss(0, 1) ** 2 for _ in range(3)))  # noqa: E731
    return [3 * math.exp(spread * generator.gauss(0, 1) / chi()) for _ in range(points)]


def _modes(points, seed):
    generator = random.Random(seed)
    return [(12 if generator.random() < 0.2 else 10) * math.exp(generator.gauss(0, 0.01)) for _ in range(points)]


def _depends(points, phi, spread, seed):
    generator = random.Random(seed)
    values, last = [], generator.gauss(0, spread)
    for _ in range(points):
        values.append(10 * math.exp(last))
        last = phi * last + math.sqrt(1 - phi * phi) * generator.gauss(0, spread)
    return values
