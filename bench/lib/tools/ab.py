"""ab: closed loop, HTTP/1.0, one thread, whole milliseconds."""

import re

from lib import peers
from lib.load import Said, Unreadable

# ab keeps a record of each request and stops when they are used up: more than any client here can send a second.
REQUESTS_PER_S_AT_MOST = 1_000_000


class Ab:
    name = "ab"

    def __init__(self):
        self.program = peers.path("ab")

    def argv(self, load):
        # -n behind -t: the other way round -t would set it back to 50,000.
        command = [self.program, "-q", "-t", str(load.seconds), "-n", str(load.seconds * REQUESTS_PER_S_AT_MOST)]
        command += ["-c", str(load.connections)]
        if load.keepalive:
            command += ["-k"]
        return [*command, load.url]

    def read(self, finished):
        total = re.search(r"Complete requests:\s+(\d+)", finished.stdout)
        failed = re.search(r"Failed requests:\s+(\d+)", finished.stdout)
        rate = re.search(r"Requests per second:\s+([\d.]+)", finished.stdout)
        if not total or not failed or not rate:
            raise Unreadable(finished.stdout[-300:] + finished.stderr[-300:])
        quantiles = re.findall(r"^\s+(\d+)%\s+(\d+)", finished.stdout, re.M)
        return Said(
            answered=int(total[1]) - int(failed[1]),
            failed=int(failed[1]),
            per_s=float(rate[1]),
            quantiles_ms={int(percent) / 100: float(value) for percent, value in quantiles if percent != "100"},
            max_ms=next((float(value) for percent, value in quantiles if percent == "100"), None),
        )
