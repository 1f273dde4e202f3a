"""The loads, who takes part in which, and the table of their ratios."""

from dataclasses import dataclass

from lib import trial
from lib.load import Load
from lib.stats import median, spread
from lib.table import at_least, number, percent, render


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

    def load(self, url, seconds):
        requests = self.requests_per_s and self.requests_per_s * seconds
        return Load(
            url, self.connections, seconds, keepalive=self.keepalive, requests=requests, http2=self.http2, streams=self.streams
        )


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
)


def jobs(tools, only):
    """Every (cell, tool)."""
    cells = [cell for cell in CELLS if not only or cell.name in only]
    return [(cell, tool) for cell in cells for tool in tools if _is_own(tool.name) or tool.name in dict(cell.targets)]


def run_one(seconds, start_server, client_core, cell, tool):
    """One run against a server of its own: no connection of the run before is left over on its port."""
    server, secure_url = start_server()
    with server:
        load = cell.load(secure_url if cell.is_https else server.url, seconds)
        return trial.run(tool, load, {client_core}, server)


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
    ratios = [_ratio(_values(runs, f"prony {driver}"), values) for driver in ("io_uring", "epoll")]
    least = dict(cell.targets).get(name)
    return [
        name,
        f"{median(values):,.0f}",
        percent(spread(values)),
        *(["", ""] if _is_own(name) else [number(ratio) for ratio in ratios]),
        percent(median([one.cpu_s / one.wall_s for one in said])),
        percent(median([one.server_cpu_s / one.wall_s for one in said])),
        str(sum(one.said.failed for one in said)),
        at_least(ratios[0], least) if least else "",
    ]


def _is_own(name):
    return name.startswith("prony")


def _values(runs, name):
    return [value for one in runs if one.tool == name and (value := one.requests_per_cpu_s())]


def _ratio(values, others):
    return median(values) / median(others) if values and others else None
