"""Medians, spreads, ratios and their intervals, as `docs/measuring.md` describes them."""

import math

# 95 % of a normal distribution lie within this many standard deviations.
Z_95 = 1.959964
# With fewer pairs, no choice of Walsh averages covers 95 %.
LEAST_PAIRS = 6


def quantile(values, q):
    """The nearest rank: a value that occurred."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]


def median(values):
    """The middle one, or the mean of the two in the middle."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def spread(values):
    """Distance of the quartiles as a share of the median; None below four values."""
    if len(values) < 4:
        return None
    ordered = sorted(values)
    half = len(ordered) // 2
    return (median(ordered[-half:]) - median(ordered[:half])) / median(ordered)


def ratio(pairs):
    """Of (value, reference) pairs: the median ratio, and the Hodges-Lehmann interval or None."""
    logs = [math.log(value / reference) for value, reference in pairs if value > 0 and reference > 0]
    if not logs:
        return None, None
    bounds = signed_rank_interval(logs)
    interval = None if bounds is None else tuple(math.exp(bound) for bound in bounds)
    return math.exp(median(logs)), interval


def signed_rank_interval(differences, z=Z_95):
    """Bounds among the averages of all pairs, i <= j, at the ranks of the signed-rank test."""
    n = len(differences)
    if n < LEAST_PAIRS:
        return None
    walsh = sorted((differences[i] + differences[j]) / 2 for i in range(n) for j in range(i, n))
    cut = math.floor(n * (n + 1) / 4 - z * math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
    return walsh[max(cut, 0)], walsh[len(walsh) - max(cut, 0) - 1]
