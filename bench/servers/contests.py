"""Who is measured by whom: requests for each second of the CPU time of the serving processes.

Every round holds every server of a contest at every number of connections once; a ratio is taken within a round.
"""

import http.client
import subprocess
from dataclasses import dataclass

from lib import servers, tools, trial
from lib.load import Load
from lib.stats import median, ratio, spread
from lib.table import at_least, interval, number, percent, render


@dataclass(frozen=True)
class Contest:
    """Servers under the same load, the one that they are measured by, and the least ratio where there is a target."""

    part: str
    title: str
    reference: str
    own: tuple[str, ...]
    keepalive: bool
    connections: tuple[int, ...]
    targets: dict[str, float]
    path: str = ""

    def names(self):
        """All who take part."""
        return (self.reference, *self.own)


@dataclass(frozen=True)
class Run:
    """One run of one server. `database_cpu_s` is None where there is no database."""

    round: int
    contest: str
    connections: int
    server: str
    trial: trial.Trial
    database_cpu_s: float | None

    def per_cpu_s(self):
        """Answers per second of the server's CPU time; None where not all went well, for that would be cheaper."""
        said = self.trial.said
        if not said or said.failed or not said.answered or not self.trial.server_cpu_s:
            return None
        return said.answered / self.trial.server_cpu_s

    def database_us(self):
        """Microseconds of the database's CPU time for each answer."""
        said = self.trial.said
        return None if self.database_cpu_s is None or not said or not said.answered else 1e6 * self.database_cpu_s / said.answered


SMALL = ("null", "dashboard", "kv", "rudy async")
LIKE_NGINX = {"dashboard": 1.0, "rudy async": 1.0}
MANY = (1, 16, 64, 400)
CONTESTS = (
    Contest("keepalive", "With keep-alive, by nginx's `return 200`", "nginx", SMALL, True, MANY, LIKE_NGINX),
    Contest("close", "A connection for each request, by nginx's `return 200`", "nginx", SMALL, False, MANY, LIKE_NGINX),
    Contest("rudy", "Rudy, one connection after another", "Erlang", ("rudy",), False, (1, 16), {"rudy": 1.0}),
    Contest("express", "Express, `/`", "Node", ("express",), True, (1, 16, 64), {"express": 3.0}),
    Contest("express", "Express, `/pg1`: a database connection for each request", "Node", ("express",), True, (16,), {"express": 3.0}, "pg1"),
    Contest("express", "Express, `/pg2`: a pool of ten", "Node", ("express",), True, (16,), {"express": 3.0}, "pg2"),
)
PARTS = tuple(dict.fromkeys(contest.part for contest in CONTESTS))


def serves_express(program):
    """Whether this prony has the server `express`."""
    command = [program, "serve", "express", "--help"]
    return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0


def jobs(contests):
    """Every (contest, connections, server)."""
    return [(contest, count, name) for contest in contests for count in contest.connections for name in contest.names()]


def run_one(round_number, place, contest, connections, name):
    """One run of one server, new for it."""
    with start(place, name, contest.keepalive) as server:
        path = contest.path or ("value" if name == "kv" else "")
        load = Load(server.url + path, connections, place.seconds, keepalive=contest.keepalive)
        database = place.database if name in ("Node", "express") else None
        before_s = database.process.cpu_s() if database else None
        one = trial.run(tools.Wrk(), load, {place.client}, server)
        database_s = database.process.cpu_s() - before_s if database else None
    return Run(round_number, contest.title, connections, name, one, database_s)


def start(place, name, keepalive):
    """A new server of that name."""
    cores = {place.server}
    if name == "nginx":
        return servers.nginx(cores)
    if name == "Erlang":
        return servers.erlang(cores, 0)
    if name == "Node":
        return servers.node(cores, place.database.url)
    port = servers.free_port()
    server = servers.Server([place.prony, "serve", *flags(place, name, keepalive), "--port", str(port)], cores, port)
    if name == "kv":
        _put_value(server)
    return server


def flags(place, name, keepalive):
    """What `prony serve` is told: the names of the servers, with the model of rudy behind."""
    if name == "express":
        return ["express", "--database", place.database.url]
    kind, _, model = name.partition(" ")
    if kind != "rudy":
        return [kind]
    return ["rudy", "--model", model or "sequential", "--delay", "0ms", *(["--keepalive"] if keepalive else [])]


def _put_value(server):
    """An empty store would answer 404; the value is as long as the bodies of the others."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request("PUT", "/value", b"Hello World!")
    status = connection.getresponse().status
    connection.close()
    if status != 201:
        raise SystemExit(f"kv did not take a value: {status}")


def table(contest, runs):
    """The contest's table."""
    mine = [run for run in runs if run.contest == contest.title]
    has_database = any(run.database_cpu_s is not None for run in mine)
    rows = []
    for connections in contest.connections:
        here = [run for run in mine if run.connections == connections]
        by_round = {run.round: run.per_cpu_s() for run in here if run.server == contest.reference}
        for name in contest.names():
            rows.append(_row(contest, name, [run for run in here if run.server == name], by_round, has_database))
    head = ["server, connections", "requests per CPU second", "spread", f"to {contest.reference}", "95 %"]
    head += (["database, µs per request"] if has_database else []) + ["target"]
    return f"{contest.title}\n\n" + render(head, rows)


def _row(contest, name, runs, reference_by_round, has_database):
    values = [run.per_cpu_s() for run in runs if run.per_cpu_s()]
    pairs = [(run.per_cpu_s(), reference_by_round.get(run.round)) for run in runs]
    middle, bounds = ratio([pair for pair in pairs if all(pair)])
    connections = runs[0].connections if runs else "–"
    row = [f"{name}, {connections}", f"{median(values):,.0f}" if values else "–", percent(spread(values)) if values else "–"]
    row += [number(middle), interval(bounds)]
    if has_database:
        databases = [run.database_us() for run in runs if run.database_us() is not None]
        row.append(number(median(databases) if databases else None, 1))
    return [*row, at_least(middle, contest.targets[name]) if name in contest.targets else ""]
