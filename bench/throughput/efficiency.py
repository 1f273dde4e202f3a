"""Requests per second of the client's own CPU time, against wrk and against the floor, which is a bare io_uring loop
that records nothing: with keep-alive and with a connection per request.

The client has one core, the server another, and the server has time to spare: what is compared is what a request
costs the client. Every round holds every tool at every number of connections once, in random order; a ratio is
taken within a round.
"""

from dataclasses import dataclass

from lib import trial
from lib.load import Load
from lib.stats import median, ratio, spread
from lib.table import at_least, at_most, interval, number, percent, render

REFERENCE = "wrk"
FLOOR = "floor"
# Of what the floor does with its CPU time: what measuring may cost.
FLOOR_TARGET = {16: 0.95, 64: 0.95, 400: 0.95}
CONNECTIONS = (1, 16, 64, 400)
MEMORY_AT = 64
MEMORY_TARGET_MB = 8

# design targets: (driver, keep-alive) -> least ratio to wrk by connections.
TARGETS = {
    ("prony io_uring", True): {1: 1.25, 16: 1.35, 64: 1.45, 400: 1.45},
    ("prony epoll", True): {16: 1.25, 64: 1.25, 400: 1.25},
    ("prony io_uring", False): {1: 1.05, 16: 1.05, 64: 1.05, 400: 1.05},
}


@dataclass(frozen=True)
class Cell:
    """What is compared within itself only."""

    connections: int
    keepalive: bool

    def __str__(self):
        return f"{self.connections} connections{'' if self.keepalive else ', closed each time'},"


def jobs(tools, *, keepalive=True, fresh=True, connections=CONNECTIONS):
    """Every (cell, tool); the floor has keep-alive only."""
    kinds = [kind for kind, wanted in ((True, keepalive), (False, fresh)) if wanted]
    every = [(Cell(count, kind), tool) for kind in kinds for count in connections for tool in tools]
    return [(cell, tool) for cell, tool in every if cell.keepalive or tool.name != FLOOR]


def run_one(seconds, start_server, client_core, cell, tool):
    """One run against a server of its own: no connection of the run before is left over on its port."""
    with start_server() as server:
        load = Load(server.url, cell.connections, seconds, keepalive=cell.keepalive)
        one = trial.run(tool, load, {client_core}, server)
    one.server_answered = server.answered
    return one


def tables(runs, reference=REFERENCE):
    """The tables, as text, of (round, cell, trial)."""
    texts = []
    for keepalive, title in ((True, "Keep-alive"), (False, "A connection for each request")):
        cells = sorted({cell for _, cell, _ in runs if cell.keepalive == keepalive}, key=lambda cell: cell.connections)
        if cells:
            texts.append(f"{title}: answers per second of the client's CPU time\n\n{_table(cells, runs, reference)}")
    return texts


def _table(cells, runs, reference):
    head = ["tool, connections", "per CPU-s", "spread", f"ratio to {reference}", "95 % interval", f"to {FLOOR}"]
    head += ["95 % interval", "client busy", "server busy"]
    head += ["peak MB", "own MB", "failed", "server counted", "target"]
    rows = []
    for cell in cells:
        names = list(dict.fromkeys(one.tool for _, at, one in runs if at == cell))
        for name in sorted(names, key=lambda name: (name not in (reference, FLOOR), not name.startswith("prony"), name)):
            rows.append(_row(cell, name, [(number, one) for number, at, one in runs if at == cell], reference))
    return render(head, rows)


def _values(runs, name):
    """Answers per CPU second by round."""
    return {number: one.requests_per_cpu_s() for number, one in runs if one.tool == name and one.said}


def _ratio(values, others):
    """The median of the ratios within a round, and its interval."""
    return ratio([(value, others[number]) for number, value in values.items() if value and others.get(number)])


def _row(cell, name, runs, reference):
    values = _values(runs, name)
    label = f"{name}, {cell.connections}"
    good = [value for value in values.values() if value]
    if not good:
        return [label, "no result", *["–"] * 12]
    middle, bounds = _ratio(values, _values(runs, reference))
    of_floor, floor_bounds = _ratio(values, _values(runs, FLOOR))
    mine = [one for _, one in runs if one.tool == name and one.said]
    peak_mb = median([one.peak_bytes for one in mine]) / 1e6
    own_mb = median([one.own_peak_bytes for one in mine]) / 1e6
    return [
        label,
        f"{median(good):,.0f}",
        percent(spread(good)),
        number(middle),
        interval(bounds),
        number(of_floor),
        interval(floor_bounds),
        percent(median([one.cpu_s / one.wall_s for one in mine])),
        percent(median([one.server_cpu_s / one.wall_s for one in mine])),
        number(peak_mb, 1),
        number(own_mb, 1),
        str(sum(one.said.failed for one in mine)),
        _beyond(mine),
        _target(cell, name, middle if reference == REFERENCE else None, of_floor, own_mb),
    ]


def _beyond(trials):
    """Answers by the server's count beyond those that the tool says, the median; up to one a connection is in flight."""
    beyond = [one.server_answered - one.said.answered - one.said.failed for one in trials if one.server_answered is not None]
    return f"{median(beyond):+,.0f}" if beyond else "–"


def _target(cell, name, middle, of_floor, own_mb):
    texts = []
    least = TARGETS.get((name, cell.keepalive), {}).get(cell.connections)
    if least:
        texts.append(at_least(middle, least))
    if name == "prony io_uring" and cell.keepalive and cell.connections in FLOOR_TARGET:
        texts.append(f"floor {at_least(of_floor, FLOOR_TARGET[cell.connections])}")
    if name.startswith("prony") and cell.keepalive and cell.connections == MEMORY_AT:
        texts.append(at_most(own_mb, MEMORY_TARGET_MB, " MB"))
    return ", ".join(texts)
