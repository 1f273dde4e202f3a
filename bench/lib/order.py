"""The order of the runs: every round holds every run once, shuffled, so that a drift of the machine meets all alike."""

import random


def rounds(jobs, count, seed):
    """`count` rounds of `jobs`, each in an order drawn from `seed`: (round, job)."""
    chance = random.Random(seed)
    for number in range(1, count + 1):
        shuffled = list(jobs)
        chance.shuffle(shuffled)
        for job in shuffled:
            yield number, job


def fresh_seed():
    """A seed that can be typed again."""
    return random.SystemRandom().randrange(2**32)
