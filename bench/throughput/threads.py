"""Answers per second by number of client threads, each on a core of its own, against a server on the other cores.

Needs a machine with cores to spare: half are the client's, half the server's.
"""

from lib import trial
from lib.load import Load
from lib.stats import median, ratio
from lib.table import at_least, interval, number, percent, render

THREADS = (1, 2, 4, 8)
CONNECTIONS_EACH = 64
TARGET_AT_TWO = 1.8


def halves(cores):
    """The client's cores and the server's."""
    return cores[: len(cores) // 2], cores[len(cores) // 2 :]


def jobs(tools, cores):
    """Every (number of threads, tool) that the client's half has cores for."""
    client, _ = halves(cores)
    return [(count, tool) for count in THREADS if count <= len(client) for tool in tools]


def run_one(count, tool, seconds, start_server, cores):
    """One run of `count` threads."""
    client, server_cores = halves(cores)
    with start_server(set(server_cores)) as server:
        load = Load(server.url, CONNECTIONS_EACH * count, seconds, threads=count)
        return trial.run(tool, load, set(client[:count]), server)


def table(runs):
    """The table, as text, of (round, number of threads, trial)."""
    head = ["tool, threads", "per second", "to one thread", "95 % interval", "per CPU-s", "client busy", "server busy", "target"]
    rows = []
    for name in dict.fromkeys(one.tool for _, _, one in runs):
        for count in sorted({count for _, count, _ in runs}):
            rows.append(_row(name, count, [run for run in runs if run[2].tool == name and run[2].said]))
    return render(head, rows)


def _row(name, count, runs):
    mine = {number: one for number, at, one in runs if at == count}
    single = {number: one for number, at, one in runs if at == 1}
    if not mine:
        return [f"{name}, {count}", "no result", *["–"] * 6]
    middle, bounds = ratio([(one.said.per_s, single[key].said.per_s) for key, one in mine.items() if key in single])
    target = at_least(middle, TARGET_AT_TWO) if count == 2 and name.startswith("prony") else ""
    return [
        f"{name}, {count}",
        f"{median([one.said.per_s for one in mine.values()]):,.0f}",
        number(middle),
        interval(bounds),
        f"{median([one.requests_per_cpu_s() for one in mine.values()]):,.0f}",
        percent(median([one.cpu_s / one.wall_s / count for one in mine.values()])),
        # Of all its cores together.
        percent(median([one.server_cpu_s / one.wall_s for one in mine.values()])),
        target,
    ]
