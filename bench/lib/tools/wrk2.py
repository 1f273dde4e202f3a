"""wrk2: open loop only, with response times from the schedule. Built from a checkout that is named."""

import re

from lib import peers
from lib.tools.wrk import UNIT_MS, said
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
        # Of runs longer than its 10 s of calibration, these are the latencies after it.
        found = re.findall(r"^\s*([\d.]+)%\s+([\d.]+)(us|ms|s|m)\s*$", finished.stdout, re.M)
        quantiles = {round(float(percent) / 100, 6): float(value) * UNIT_MS[unit] for percent, value, unit in found}
        return said(finished, quantiles, quantiles.pop(1.0, None))
