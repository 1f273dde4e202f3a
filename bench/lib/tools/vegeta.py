"""vegeta: its raw results, from which the quantiles are taken exactly."""

import os
import subprocess
import tempfile

from lib import peers
from lib.load import Said, Unreadable
from lib.stats import quantile

PRINTED = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


class Vegeta:
    """With as many workers as connections asked for, or, `unbounded`, as it is by default: with as many as it takes."""

    def __init__(self, unbounded=False):
        self.unbounded = unbounded
        self.name = "vegeta unbounded" if unbounded else "vegeta"
        self.program = peers.path("vegeta")
        self._folder = tempfile.TemporaryDirectory(prefix="prony-bench-")
        self._targets = os.path.join(self._folder.name, "targets")
        self._results = os.path.join(self._folder.name, "results")

    def argv(self, load):
        with open(self._targets, "w", encoding="utf-8") as targets:
            targets.write(f"GET {load.url}\n")
        command = [self.program, "attack", "-targets", self._targets, "-output", self._results]
        command += [f"-duration={load.seconds}s", f"-rate={load.rate}/1s"]
        if not self.unbounded:
            # Workers are its connections: a request waits for one once there are as many as asked.
            command += [f"-max-workers={load.connections}", f"-connections={load.connections}"]
        if not load.keepalive:
            command += ["-keepalive=false"]
        return command

    def read(self, finished):
        encode = [self.program, "encode", "-to", "csv", self._results]
        done = subprocess.run(encode, capture_output=True, text=True, timeout=120, check=False)
        # Timestamp in ns, status, latency in ns, …
        rows = [line.split(",", 3)[:3] for line in done.stdout.splitlines()]
        good = [(int(at), int(latency)) for at, status, latency in rows if status == "200"]
        if not good:
            raise Unreadable(finished.stderr[-300:] + done.stderr[-300:])
        latencies = [latency / 1e6 for _, latency in good]
        # The rate at which it sent, as its own report has it: from the first request to the last.
        sent_s = (max(at for at, _ in good) - min(at for at, _ in good)) / 1e9
        return Said(
            answered=len(good),
            failed=len(rows) - len(good),
            per_s=(len(good) - 1) / sent_s if sent_s else None,
            quantiles_ms={q: quantile(latencies, q) for q in PRINTED},
            max_ms=max(latencies),
        )
