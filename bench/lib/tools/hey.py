"""hey: workers with a rate each. Its rows have four decimals of a second: every latency is rounded to 0.1 ms."""

import csv
import io

from lib import peers
from lib.load import Said, Unreadable
from lib.stats import quantile

PRINTED = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


class Hey:
    name = "hey"

    def __init__(self):
        self.program = peers.path("hey")

    def argv(self, load):
        command = [self.program, "-z", f"{load.seconds}s", "-c", str(load.connections), "-o", "csv"]
        if load.rate:
            command += ["-q", f"{load.rate / load.connections:g}"]
        if not load.keepalive:
            command += ["-disable-keepalive"]
        return [*command, load.url]

    def read(self, finished):
        rows = list(csv.DictReader(io.StringIO(finished.stdout)))
        good = [row for row in rows if row.get("status-code") == "200"]
        if not good:
            raise Unreadable(finished.stdout[-300:] + finished.stderr[-300:])
        latencies = [float(row["response-time"]) * 1000 for row in good]
        until = max(float(row["offset"]) + float(row["response-time"]) for row in good)
        return Said(
            answered=len(good),
            failed=len(rows) - len(good),
            per_s=len(good) / until,
            quantiles_ms={q: quantile(latencies, q) for q in PRINTED},
            max_ms=max(latencies),
        )
