"""Requests per second of the client's own CPU time, against wrk: with keep-alive and with a connection per request.

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


def jobs(tools, *, keepalive=True, fresh=True):
    """Every (cell, tool)."""
    kinds = [kind for kind, wanted in ((True, keepalive), (False, fresh)) if wanted]
    return [(Cell(count, kind), tool) for kind in kinds for count in CONNECTIONS for tool in tools]


def run_one(cell, tool, seconds, start_server, client_core):
    """One run against a server of its own: no connection of the run before is left over on its port."""
    with start_server() as server:
        load = Load(server.url, cell.connections, seconds, keepalive=cell.keepalive)
        return trial.run(tool, load, {client_core}, server)


def tables(runs):
    """The tables, as text, of (round, cell, trial)."""
    texts = []
    for keepalive, title in ((True, "Keep-alive"), (False, "A connection for each request")):
        cells = sorted({cell for _, cell, _ in runs if cell.keepalive == keepalive}, key=lambda cell: cell.connections)
        if cells:
            texts.append(f"{title}: answers per second of the client's CPU time\n\n{_table(cells, runs)}")
    return texts


def _table(cells, runs):
    head = ["tool, connections", "per CPU-s", "spread", "ratio to wrk", "95 % interval", "client busy", "server busy"]
    head += ["peak MB", "failed", "target"]
    rows = []
    for cell in cells:
        names = list(dict.fromkeys(one.tool for _, at, one in runs if at == cell))
        for name in sorted(names, key=lambda name: (name != REFERENCE, not name.startswith("prony"), name)):
            rows.append(_row(cell, name, [(number, one) for number, at, one in runs if at == cell]))
    return render(head, rows)


def _row(cell, name, runs):
    values = {number: one.requests_per_cpu_s() for number, one in runs if one.tool == name}
    reference = {number: one.requests_per_cpu_s() for number, one in runs if one.tool == REFERENCE}
    label = f"{name}, {cell.connections}"
    good = [value for value in values.values() if value]
    if not good:
        return [label, "no result", *["–"] * 8]
    pairs = [(value, reference[number]) for number, value in values.items() if value and reference.get(number)]
    middle, bounds = ratio(pairs)
    mine = [one for _, one in runs if one.tool == name and one.said]
    peak_mb = median([one.peak_bytes for one in mine]) / 1e6
    return [
        label,
        f"{median(good):,.0f}",
        percent(spread(good)),
        number(middle),
        interval(bounds),
        percent(median([one.cpu_s / one.wall_s for one in mine])),
        percent(median([one.server_cpu_s / one.wall_s for one in mine])),
        number(peak_mb, 1),
        str(sum(one.said.failed for one in mine)),
        _target(cell, name, middle, peak_mb),
    ]


def _target(cell, name, middle, peak_mb):
    texts = []
    least = TARGETS.get((name, cell.keepalive), {}).get(cell.connections)
    if least:
        texts.append(at_least(middle, least))
    if name.startswith("prony") and cell.keepalive and cell.connections == MEMORY_AT:
        texts.append(at_most(peak_mb, MEMORY_TARGET_MB, " MB"))
    return ", ".join(texts)
