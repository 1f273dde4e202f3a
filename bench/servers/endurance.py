"""400 connections for half a minute on each of our servers: nothing may break and nobody may wait in vain."""

import re
from dataclasses import dataclass

from lib import tools, trial
from lib.load import Load
from lib.table import render

from servers import contests

CONNECTIONS = 400
SECONDS = 30
# With keep-alive by wrk, which counts broken and silent connections; without by ab, since wrk takes every end of a
# connection for a broken one. Its requests wait 30 s at most.
KEPT = ("null", "dashboard", "kv", "rudy async", "rudy thread", "express")
CLOSED = ("rudy", "rudy thread", "rudy pool", "rudy async")


@dataclass(frozen=True)
class Endured:
    """One run of one server."""

    server: str
    keepalive: bool
    trial: trial.Trial

    def complaint(self):
        """What went wrong, or None."""
        if self.trial.error:
            return self.trial.error
        if not self.trial.said.answered:
            return "nothing was answered"
        if self.trial.said.failed:
            return f"{self.trial.said.failed} failed"
        return _broken(self.trial.said.remark or "")


def jobs(has_express):
    """Every (server, keep-alive)."""
    all_of_them = [(name, True) for name in KEPT] + [(name, False) for name in CLOSED]
    return [job for job in all_of_them if has_express or job[0] != "express"]


def run_one(place, name, keepalive, seconds):
    """One server for so long."""
    with contests.start(place, name, keepalive) as server:
        load = Load(server.url + ("value" if name == "kv" else ""), CONNECTIONS, seconds, keepalive=keepalive)
        tool = tools.Wrk() if keepalive else tools.Ab()
        return Endured(name, keepalive, trial.run(tool, load, {place.client}, server))


def _broken(remark):
    """wrk's line of socket errors, if it counts any."""
    return remark if any(int(count) for count in re.findall(r"\d+", remark)) else None


def table(runs, seconds):
    """What became of them."""
    rows = []
    for run in runs:
        said, kind = run.trial.said, "keep-alive" if run.keepalive else "a connection each"
        complaint = run.complaint()
        verdict = f"missed: {complaint}" if complaint else "met"
        rows.append([f"{run.server}, {kind}", f"{said.answered:,}" if said else "–", verdict])
    head = ["server", "answered", "no socket error, no timeout"]
    return f"{CONNECTIONS} connections for {seconds} s\n\n" + render(head, rows)
