"""zrk: open loop only, with response times from the schedule; whole microseconds. Built from a checkout that is named."""

import json
import os
import tempfile

from lib import peers
from lib.load import Said, Unreadable

# It has no closed loop: at a rate that nobody can keep, each connection sends as soon as it is answered.
UNREACHABLE_RATE = 2_000_000
QUANTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}


class Zrk:
    name = "zrk"

    def __init__(self):
        self.program = peers.path("zrk")
        self._folder = tempfile.TemporaryDirectory(prefix="prony-bench-")
        self._report = os.path.join(self._folder.name, "report")

    def argv(self, load):
        command = [self.program, "-t", str(load.threads), "-c", str(load.connections), "-d", f"{load.seconds}s"]
        # Into a file: not every kind of standard output gets its report.
        command += ["-R", str(load.rate or UNREACHABLE_RATE), "--plain", "--format", "json", "-o", self._report]
        if not load.keepalive:
            command += ["-H", "Connection: close"]
        return [*command, load.url]

    def read(self, finished):
        try:
            with open(self._report, encoding="utf-8") as file:
                text = file.read()
            os.remove(self._report)
        except OSError as error:
            raise Unreadable(f"{error}: {finished.stderr[-300:]}") from error
        return parse(text)


def parse(text):
    """A report in JSON."""
    try:
        result = json.loads(text)
        latency, errors = result["latency_us"], result["errors"]
        return Said(
            answered=result["requests"] - errors["non_2xx_3xx"],
            failed=sum(errors.values()),
            per_s=result["achieved_rate"],
            quantiles_ms={q: latency[name] / 1000 for name, q in QUANTILES.items()},
            max_ms=latency["max"] / 1000,
        )
    except (json.JSONDecodeError, KeyError) as error:
        raise Unreadable(f"{error}: {text[-300:]}") from error
