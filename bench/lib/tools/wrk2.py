"""wrk2: open loop only, with response times from the schedule. Built from a checkout that is named."""

import re

from lib import peers
from lib.load import Said, Unreadable
from lib.tools.wrk import UNIT_MS
from lib.tools.zrk import UNREACHABLE_RATE


class Wrk2:
    name = "wrk2"

    def __init__(self):
        self.program = peers.path("wrk2")

    def argv(self, load):
        command = [self.program, "-t", str(load.threads), "-c", str(load.connections), "-d", f"{load.seconds}s"]
        command += ["-R", str(load.rate or UNREACHABLE_RATE), "--latency"]
        if not load.keepalive:
            command += ["-H", "Connection: close"]
        return [*command, load.url]

    def read(self, finished):
        total = re.search(r"(\d+) requests in", finished.stdout)
        rate = re.search(r"Requests/sec:\s+([\d.]+)", finished.stdout)
        if not total or not rate:
            raise Unreadable(finished.stdout[-300:] + finished.stderr[-300:])
        errors = re.search(r"Non-2xx or 3xx responses: (\d+)", finished.stdout)
        sockets = re.search(r"Socket errors: (.*)", finished.stdout)
        # Of runs longer than its 10 s of calibration, these are the latencies after it.
        found = re.findall(r"^\s*([\d.]+)%\s+([\d.]+)(us|ms|s|m)\s*$", finished.stdout, re.M)
        quantiles = {round(float(percent) / 100, 6): float(value) * UNIT_MS[unit] for percent, value, unit in found}
        maximum = quantiles.pop(1.0, None)
        return Said(
            answered=int(total[1]) - (int(errors[1]) if errors else 0),
            failed=int(errors[1]) if errors else 0,
            per_s=float(rate[1]),
            quantiles_ms=quantiles,
            max_ms=maximum,
            remark=sockets[0] if sockets else None,
        )
