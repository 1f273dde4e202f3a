"""A rate that no client can send: a run must say that it is invalid, and not just be slower."""

from lib import servers, trial
from lib.load import Load
from lib.table import render

RATE = 2_000_000
CONNECTIONS = 100
SECONDS = 3


def run_one(tool, bench):
    """One run against the null server."""
    with servers.null(bench.prony, {bench.server_core}) as server:
        return trial.run(tool, Load(server.url, CONNECTIONS, SECONDS, rate=RATE), {bench.client_core}, server)


def table(trials):
    """The table, as text."""
    rows = []
    for one in trials:
        invalid = one.said is not None and (one.said.remark or "").startswith("invalid")
        answered = f"{one.said.per_s:,.0f}" if one.said else "no result"
        said = one.said.remark.split(":")[0] if one.said and one.said.remark else "–"
        rows.append([one.tool, f"{RATE:,}", answered, said, str(one.code), f"invalid: {'met' if invalid and one.code else 'missed'}"])
    return render(["tool", "asked/s", "answered/s", "verdict", "exit code", "target"], rows)
