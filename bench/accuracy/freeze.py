"""The server frozen for one second in a run of ten, at 1,000 requests/s: who sees it, and as large as it was.

The truth is what users would have seen who came at exactly that rate, through as many connections as the tool was
given: while the server is frozen those connections are all taken, and the rest wait their turn. It follows from the
schedule alone (`seen_by_users`). Beside it stands the same by the server's own log: when the n-th request was
answered, against when the n-th was due.
"""

import heapq
from dataclasses import dataclass

from accuracy import against_truth
from lib.load import Load
from lib.stats import median
from lib.table import number, render

RATE = 1_000
CONNECTIONS = (10, 100)
SECONDS = 10
BASE_MS = 1.0
STALL_MS = 1000.0
# From one thaw to the next, and from the server's start to the first: one freeze in the run, from 5 s to 6 s.
EVERY_MS = 6000.0
DELAY = "freeze:1ms,6s,1s"
QUANTILES = (0.99, 0.999)
TARGET = 0.01
# The log can be laid beside the schedule where about as many requests arrived as were due.
LOG_TOLERANCE = 0.002


@dataclass
class Outcome:
    """One run."""

    tool: str
    connections: int
    # p99, p99.9 and max, in ms: as reported, and by the log where that says it.
    reported_ms: list[float | None]
    logged_ms: list[float] | None
    run: against_truth.Run


def jobs(tools):
    """Every (number of connections, tool)."""
    return [(connections, tool) for connections in CONNECTIONS for tool in tools]


def run_one(bench, connections, tool):
    """One run; its length is part of the case."""
    run = against_truth.run(tool, lambda url: Load(url, connections, SECONDS, rate=RATE), DELAY, bench)
    said = run.trial.said
    reported = [*(said.quantiles_ms.get(q) for q in QUANTILES), said.max_ms] if said else [None] * 3
    return Outcome(tool.name, connections, reported, _logged(run.log), run)


def seen_by_users(connections):
    """Response times of a steady schedule through `connections`, ms; of a server frozen in the middle of the run."""
    frozen_ms = EVERY_MS - STALL_MS
    free_at = [0.0] * connections
    seen = []
    for index in range(RATE * SECONDS):
        due_ms = index * 1000.0 / RATE
        done_ms = _served(max(due_ms, heapq.heappop(free_at)), frozen_ms)
        heapq.heappush(free_at, done_ms)
        seen.append(done_ms - due_ms)
    return seen


def _served(arrival_ms, frozen_ms):
    """When a request that arrives then is answered: nothing begins or ends in the freeze."""
    begun_ms = _thawed(arrival_ms, frozen_ms)
    return _thawed(begun_ms + BASE_MS, frozen_ms)


def _thawed(at_ms, frozen_ms):
    return frozen_ms + STALL_MS if frozen_ms <= at_ms < frozen_ms + STALL_MS else at_ms


def _logged(log):
    due = RATE * SECONDS
    if abs(len(log.served) - due) > due * LOG_TOLERANCE:
        return None
    return _figures(log.responses_ms(RATE))


def _figures(values):
    return [*against_truth.quantiles(values, QUANTILES).values(), max(values)]


def table(outcomes):
    """The table, as text."""
    head = ["tool, connections", "p99 ms", "p99.9 ms", "max ms", "by the log", "furthest off", "target"]
    rows = []
    for connections in CONNECTIONS:
        truth = _figures(seen_by_users(connections))
        rows.append([f"truth, {connections}", *(number(value, 0) for value in truth), "", "", ""])
        names = dict.fromkeys(one.tool for one in outcomes if one.connections == connections)
        for name in sorted(names, key=lambda name: (not name.startswith("prony"), name)):
            mine = [one for one in outcomes if (one.tool, one.connections) == (name, connections)]
            rows.append(_row(name, connections, truth, mine))
    return render(head, rows)


def _row(name, connections, truth, outcomes):
    middles = [_middle([one.reported_ms[column] for one in outcomes]) for column in range(3)]
    logs = [one.logged_ms for one in outcomes if one.logged_ms]
    logged = " / ".join(f"{median([log[column] for log in logs]):.0f}" for column in range(3)) if logs else "–"
    errors = [value / true - 1 for value, true in zip(middles, truth) if value is not None]
    worst = max(errors, key=abs) if errors else None
    target = ""
    if name.startswith("prony"):
        met = worst is not None and None not in middles and abs(worst) <= TARGET
        target = f"within {100 * TARGET:g} %: {'met' if met else 'missed'}" + against_truth.called_invalid(outcomes)
    off = "–" if worst is None else f"{100 * worst:+.1f} %"
    return [f"{name}, {connections}", *(number(value, 0) for value in middles), logged, off, target]


def _middle(values):
    there = [value for value in values if value is not None]
    return median(there) if there else None
