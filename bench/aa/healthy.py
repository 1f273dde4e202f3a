"""Loads that a healthy client bears easily, on a server that nothing is wrong with.

The null server is none: it answers so fast that the client is busy, and most of each response is the client's own.
"""

import json
import os
import tempfile
from dataclasses import dataclass

from lib import child, servers

# From the end of the measured part: the drain, the report, a machine that is busy.
GRACE_S = 20
# Of every answer: as long as a quick page takes.
DELAY = "const:5ms"


@dataclass
class Healthy:
    """One load."""

    name: str
    flags: list[str]


LOADS = (
    Healthy("closed", ["-c", "8"]),
    Healthy("open", ["--rate", "1000"]),
)
NAMES = [load.name for load in LOADS]


@dataclass
class Outcome:
    """What Prony said of one run."""

    load: str
    # valid, doubtful or invalid; failed where there is no result.
    verdict: str
    # Codes with their severity.
    doubts: list[str]
    notes: list[str]
    findings: list[dict]


def run_one(program, load, seconds, *, client, server):
    """One run of `load`; the server is a new one."""
    with tempfile.TemporaryDirectory(prefix="prony-bench-") as folder, servers.truth(
        program, {server}, os.path.join(folder, "log"), DELAY
    ) as target:
        argv = [program, "run", target.url, "-q", "-o", "json", "-d", f"{seconds}s", *load.flags]
        return judge(load.name, child.run(argv, {client}, seconds + GRACE_S))


def judge(name, finished):
    """What the result of a finished run says."""
    try:
        result = json.loads(finished.stdout)
    except json.JSONDecodeError:
        return Outcome(name, "failed", [f"exit code {finished.code}: {finished.stderr.strip()[-200:]}"], [], [])
    findings = result["findings"]
    doubts = [f"{one['code']} ({one['severity']})" for one in findings if one["severity"] != "note"]
    notes = [one["code"] for one in findings if one["severity"] == "note"]
    return Outcome(name, result["verdict"], doubts, notes, findings)
