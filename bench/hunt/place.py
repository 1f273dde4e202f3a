"""Where everything runs."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """The program that is examined, the one that serves, and the cores of both sides."""

    program: str
    server: str
    client_cores: frozenset[int]
    server_cores: frozenset[int]
    # Before each command: what gives it priority over everything else on the machine.
    before: tuple[str, ...] = ()

    def argv(self, words):
        """A command of the program that is examined."""
        return [*self.before, self.program, *words]


def here(program, server=None, *, ahead=False):
    """Client and server on a core each, where there are two; `ahead` of whatever else runs there, if that is allowed."""
    cores = sorted(os.sched_getaffinity(0))
    before = ("chrt", "--fifo", "10") if ahead else ()
    return Place(program, server or program, frozenset({cores[0]}), frozenset({cores[-1]}), before)
