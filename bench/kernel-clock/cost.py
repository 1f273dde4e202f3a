"""The client's CPU time per request with `--kernel-clock off` and with `auto`.

Both are run in every round, in random order and against a server of their own; a difference is taken within a round.
"""

from dataclasses import dataclass

from lib import tools, trial
from lib.load import Load
from lib.stats import median, signed_rank_interval, spread
from lib.table import interval, number, percent, render

DRIVERS = ("io_uring", "epoll")
CLOCKS = ("off", "auto")


@dataclass(frozen=True)
class Cell:
    """What is compared within itself only."""

    driver: str
    connections: int
    # None: a closed loop, as fast as it goes.
    rate: int | None

    def __str__(self):
        load = f"{self.rate:,}/s" if self.rate else f"{self.connections} connections"
        return f"{self.driver}, {load}"


# As fast as it goes, one departure in 64 is asked about; at a low rate every one is.
CELLS = [Cell(driver, 64, rate) for rate in (None, 2_000) for driver in DRIVERS]


class Clocked(tools.Prony):
    """prony with a choice of the kernel's clock."""

    def __init__(self, program, driver, clock):
        super().__init__(program, driver)
        self.clock = clock
        self.name = clock

    def argv(self, load):
        return [*super().argv(load), "--kernel-clock", self.clock]


def jobs(program):
    """Every (cell, tool)."""
    return [(cell, Clocked(program, cell.driver, clock)) for cell in CELLS for clock in CLOCKS]


def run_one(seconds, server, client_core, cell, tool):
    """One run."""
    load = Load(server.url, cell.connections, seconds, rate=cell.rate)
    return trial.run(tool, load, {client_core}, server)


def us_per_request(one):
    """CPU time of the client per answer, its start and end included."""
    per_cpu_s = one.requests_per_cpu_s()
    return 1e6 / per_cpu_s if per_cpu_s else None


def differences(runs, cell):
    """µs per request that stamps cost, one for each round that has both."""
    costs = {clock: {number: us_per_request(one) for number, at, one in runs if at == cell and one.tool == clock} for clock in CLOCKS}
    both = [(costs["off"].get(number), cost) for number, cost in costs["auto"].items()]
    return [cost - without for without, cost in both if cost and without]


def table(runs):
    """The table, as text, of (round, cell, trial)."""
    head = ["driver, load", "off µs", "spread", "auto µs", "spread", "cost µs", "95 % interval", "peak MB off", "auto"]
    return render(head, [_row(cell, runs) for cell in CELLS])


def _row(cell, runs):
    mine = [one for _, at, one in runs if at == cell and one.said]
    row, peaks = [str(cell)], []
    for clock in CLOCKS:
        values = [value for one in mine if one.tool == clock and (value := us_per_request(one))]
        row += [number(median(values)), percent(spread(values))] if values else ["no result", "–"]
        peaks.append(number(median([one.peak_bytes for one in mine if one.tool == clock]) / 1e6, 1) if values else "–")
    costs = differences(runs, cell)
    row += [number(median(costs)), interval(signed_rank_interval(costs))] if costs else ["–", "–"]
    return row + peaks
