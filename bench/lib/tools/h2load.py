"""h2load of nghttp2, speaking HTTP/1.1: closed loop, or a rate for each connection. It prints no quantiles, but writes
every request to a file, where it is asked to."""

import os
import re
import tempfile

from lib import peers
from lib.load import Said, Unreadable
from lib.stats import quantile

PRINTED = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


class H2load:
    """`log`: with every request in a file, for quantiles; that costs CPU time, so not where that is compared."""

    name = "h2load"

    def __init__(self, log=False):
        self.program = peers.path("h2load")
        self.log = log
        self._folder = tempfile.TemporaryDirectory(prefix="prony-bench-")
        self._path = os.path.join(self._folder.name, "requests")

    def argv(self, load):
        protocol = ["-m", str(load.streams)] if load.http2 else ["--h1"]
        length = ["-n", str(load.requests)] if load.requests else ["-D", str(load.seconds)]
        command = [self.program, *protocol, "-t", str(load.threads), "-c", str(load.connections), *length]
        if load.rate:
            command += ["--rps", f"{load.rate / load.connections:g}"]
        if self.log:
            command += ["--log-file", self._path]
        if not load.keepalive:
            command += ["-H", "Connection: close"]
        return [*command, load.url]

    def read(self, finished):
        latencies = []
        if self.log:
            try:
                with open(self._path, encoding="ascii") as file:
                    # Start in µs, status, µs until the end of the answer.
                    latencies = [int(line.split("\t")[2]) / 1000 for line in file]
                os.remove(self._path)
            except (OSError, IndexError, ValueError) as error:
                raise Unreadable(f"{error}: {finished.stderr[-300:]}") from error
        return parse(finished.stdout, latencies)


def parse(text, latencies_ms=()):
    """What it prints, with what it wrote."""
    requests = re.search(r"requests: .* (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", text)
    rate = re.search(r"finished in [^,]+, ([\d.]+) req/s", text)
    if not requests or not rate:
        raise Unreadable(text[-300:])
    return Said(
        answered=int(requests[2]),
        failed=int(requests[3]),
        per_s=float(rate[1]),
        quantiles_ms={q: quantile(latencies_ms, q) for q in PRINTED} if latencies_ms else {},
        max_ms=max(latencies_ms) if latencies_ms else None,
    )
