"""The loads, who takes part in which, and the table of their ratios."""

import pathlib
from dataclasses import dataclass

from lib import trial
from lib.load import Load
from lib.stats import median, spread
from lib.table import at_least, at_most, number, percent, render
from lib.tools import Prony

DRIVERS = ("io_uring", "epoll")


HERE = pathlib.Path(__file__).resolve().parent
# What a field of a CSV file may add to the CPU time of a request.
FIELD_TARGET = 0.05


@dataclass(frozen=True)
class Cell:
    """What is compared within itself only."""

    name: str
    title: str
    connections: int
    # Least ratio to each tool that can do it.
    targets: tuple[tuple[str, float], ...]
    is_https: bool = False
    http2: bool = False
    streams: int = 1
    keepalive: bool = True
    # A count instead of a duration, for each second: h2load, whose connections carry one request each, ends by no clock.
    requests_per_s: int | None = None
    # A file of this folder.
    scenario: str | None = None

    def load(self, urls, seconds, tool):
        """The load of `tool`: its own scenario, where it has one, goes before the cell's."""
        requests = self.requests_per_s and self.requests_per_s * seconds
        scenario = tool.scenario if isinstance(tool, Static) else self.scenario
        url = urls["tls" if self.is_https else "http2" if self.http2 else "http1"]
        return Load(
            url if scenario or not self.scenario else f"{url}list?user=10042",
            self.connections,
            seconds,
            keepalive=self.keepalive,
            requests=requests,
            http2=self.http2,
            streams=self.streams,
            scenario=scenario and str(HERE / scenario),
        )


class Static(Prony):
    """Prony with the same request each time, beside a cell's scenario that makes each of its requests: in a scenario of its own,
    or as `prony run URL`."""

    def __init__(self, program, driver, scenario=None):
        super().__init__(program, driver, label="static session" if scenario else "static")
        self.scenario = scenario


CELLS = (
    Cell("http2", "HTTP/2, 16 connections of 10 streams", 16, (("h2load", 1.1), ("oha", 3.0)), http2=True, streams=10),
    Cell(
        "http2-tls",
        "HTTP/2 over TLS, 16 connections of 10 streams",
        16,
        (("h2load", 1.1), ("oha", 3.0)),
        is_https=True,
        http2=True,
        streams=10,
    ),
    Cell("https", "HTTPS, 64 connections kept open", 64, (("wrk", 1.2), ("oha", 2.0)), is_https=True),
    Cell(
        "handshakes",
        "HTTPS, a full handshake for each request, 16 connections",
        16,
        (("h2load", 1.0),),
        is_https=True,
        keepalive=False,
        requests_per_s=500,
    ),
    Cell(
        "sequence",
        "Sessions of 5 requests with one extraction, 64 connections",
        64,
        (("k6", 20.0),),
        scenario="sequence",
    ),
    Cell(
        "template",
        "A request with a CSV field beside a static one, 64 connections",
        64,
        tuple((f"static {driver}", 1 / (1 + FIELD_TARGET)) for driver in DRIVERS),
        scenario="template",
    ),
)


def jobs(program, tools, only):
    """Every (cell, tool)."""
    own = [Prony(program, driver) for driver in DRIVERS]
    static = [Static(program, driver, scenario) for driver in DRIVERS for scenario in (None, "fixed")]
    found = []
    for cell in CELLS:
        if not only or cell.name in only:
            others = static if cell.name == "template" else [tool for tool in tools if tool.name in dict(cell.targets)]
            found += [(cell, tool) for tool in [*own, *others]]
    return found


def run_one(seconds, start_server, client_core, cell, tool):
    """One run against a server of its own: no connection of the run before is left over on its port."""
    server, urls = start_server()
    with server:
        return trial.run(tool, cell.load(urls, seconds, tool), {client_core}, server)


def table(runs):
    """The table, as text, of (round, cell, trial)."""
    head = ["load, tool", "per CPU-s", "spread", "io_uring to it", "epoll to it", "client busy", "server busy", "failed", "target"]
    rows = []
    for cell in dict.fromkeys(cell for _, cell, _ in runs):
        mine = [one for _, at, one in runs if at == cell]
        rows.append([f"**{cell.title}**", *[""] * 8])
        rows += [_row(cell, name, mine) for name in sorted({one.tool for one in mine}, key=lambda name: (not _is_own(name), name))]
    return render(head, rows)


def _row(cell, name, runs):
    values = _values(runs, name)
    said = [one for one in runs if one.tool == name and one.said]
    if not values:
        return [name, "no result", *["–"] * 7]
    ratios = {driver: _ratio(_values(runs, f"prony {driver}"), values) for driver in DRIVERS}
    least = dict(cell.targets).get(name)
    return [
        name,
        f"{median(values):,.0f}",
        percent(spread(values)),
        *(["", ""] if _is_own(name) else [number(ratio) for ratio in ratios.values()]),
        percent(median([one.cpu_s / one.wall_s for one in said])),
        percent(median([one.server_cpu_s / one.wall_s for one in said])),
        str(sum(one.said.failed for one in said)),
        _target(name, ratios, least) if least else "",
    ]


def _target(name, ratios, least):
    """Of io_uring, but where `name` is itself one of the drivers: then what its requests cost beyond those of `name`."""
    for driver, ratio in ratios.items():
        if name.endswith(f" {driver}"):
            return "" if not ratio else f"CPU {100 * (1 / ratio - 1):+.1f} %, {at_most(100 * (1 / ratio - 1), 100 * FIELD_TARGET, ' %')}"
    return at_least(ratios["io_uring"], least)


def _is_own(name):
    return name.startswith("prony")


def _values(runs, name):
    return [value for one in runs if one.tool == name and (value := one.requests_per_cpu_s())]


def _ratio(values, others):
    return median(values) / median(others) if values and others else None
