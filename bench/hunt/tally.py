"""What was checked how often, what was wrong, and whether that is more than chance."""

import math
from collections import defaultdict
from dataclasses import dataclass, field

from lib.table import render

# A check that may fail by chance is called a fault where chance alone does it less often than this.
LEVEL = 1e-3


@dataclass
class Fault:
    """One wrong number."""

    check: str
    where: str
    said: str
    truth: str
    command: str

    def __str__(self):
        return f"{self.check}: {self.where}\n  said   {self.said}\n  truth  {self.truth}\n  again  {self.command}"


@dataclass
class Count:
    """Of one check."""

    tried: int = 0
    missed: int = 0
    # The share that may miss by chance; None: none may.
    allowed: float | None = None


@dataclass
class Tally:
    """All checks."""

    counts: dict[str, Count] = field(default_factory=lambda: defaultdict(Count))
    faults: list[Fault] = field(default_factory=list)

    def exact(self, check, holds, where, said, truth, command):
        """A check that may never fail."""
        self._note(check, holds, None, where, said, truth, command)

    def chance(self, check, holds, allowed, where, said, truth, command):
        """A check that may fail in a share of `allowed`."""
        self._note(check, holds, allowed, where, said, truth, command)

    def _note(self, check, holds, allowed, where, said, truth, command):
        count = self.counts[check]
        count.tried += 1
        count.allowed = allowed
        if not holds:
            count.missed += 1
            self.faults.append(Fault(check, where, str(said), str(truth), command))

    def wrong(self):
        """The names of the checks that failed more often than they may."""
        return [name for name, count in self.counts.items() if failed(count)]

    def table(self):
        """All of it, as text."""
        rows = [
            [name, count.tried, count.missed, f"{100 * (count.allowed or 0):g} %", "FAULT" if failed(count) else "holds"]
            for name, count in sorted(self.counts.items())
        ]
        return render(["figure", "checked", "wrong", "may be", "verdict"], rows)


def failed(count):
    """Whether a check failed more often than chance allows."""
    if count.allowed is None:
        return count.missed > 0
    return tail(count.tried, count.missed, count.allowed) < LEVEL


def tail(tried, missed, share):
    """The probability of so many misses or more."""
    if not missed:
        return 1.0
    return sum(math.comb(tried, k) * share**k * (1 - share) ** (tried - k) for k in range(missed, tried + 1))
