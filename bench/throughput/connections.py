"""What each further connection costs in memory: a tool with 64 connections, and the same tool with 19,000.

Only the tool's own memory: what the kernel keeps for a socket is the same for every tool.
"""

from lib import trial
from lib.load import Load
from lib.stats import median
from lib.table import at_most, render

FEW = 64
MANY = 19_000
# Descriptors of a tool or of the server that are not connections.
SPARE_FILES = 500
TARGET_BYTES = 1024
# Past half the outgoing ports, the kernel tries every port of one parity before it takes one of the other: each
# further connection then costs a tool a third of a millisecond, and 19,000 take seconds.
SECONDS = 20
SLACK_S = 60
# Memory hardly varies.
ROUNDS_AT_MOST = 3


def many(files_limit):
    """As many connections as the limits let both sides hold; less than MANY where they are lower."""
    return min(MANY, files_limit - SPARE_FILES)


def jobs(tools, files_limit):
    """Every (number of connections, tool)."""
    return [(count, tool) for count in (FEW, many(files_limit)) for tool in tools]


def run_one(count, tool, start_server, client_core):
    """One run; the server's open files tell how many connections were really held."""
    with start_server() as server:
        load = Load(server.url, count, SECONDS)
        return trial.run(tool, load, {client_core}, server, count_files=True, slack_s=SLACK_S)


def table(runs):
    """The table, as text, of (round, number of connections, trial)."""
    most = max(count for _, count, _ in runs)
    head = ["tool", f"MB at {FEW}", f"MB at {most:,}", "held", "bytes per connection", "target"]
    return render(head, [_row(name, runs, most) for name in dict.fromkeys(one.tool for _, _, one in runs)])


def _row(name, runs, most):
    few = [one.peak_bytes for _, count, one in runs if count == FEW and one.tool == name and one.said]
    mine = [one for _, count, one in runs if count == most and one.tool == name and one.said]
    if not few or not mine:
        return [name, "no result", *["–"] * 4]
    held = min(one.server_files_most for one in mine)
    small, large = median(few), median([one.peak_bytes for one in mine])
    each = (large - small) / (most - FEW)
    # The listening socket and the like are files too.
    reached = f"{min(held, most):,}" if held >= most else f"only {held:,}"
    target = at_most(round(each), TARGET_BYTES, " B") if name.startswith("prony") else ""
    return [name, f"{small / 1e6:.1f}", f"{large / 1e6:.1f}", reached, f"{each:,.0f}", target]
