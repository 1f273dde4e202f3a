"""wrk: closed loop only. Prints latencies with two decimals of whatever unit fits."""

import re

from lib import peers
from lib.load import Said, Unreadable

UNIT_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60000.0}


class Wrk:
    name = "wrk"

    def __init__(self):
        self.program = peers.path("wrk")

    def argv(self, load):
        command = [self.program, "-t", str(load.threads), "-c", str(load.connections), "-d", f"{load.seconds}s", "--latency"]
        if not load.keepalive:
            command += ["-H", "Connection: close"]
        return [*command, load.url]

    def read(self, finished):
        maximum = re.search(r"Latency\s+\S+\s+\S+\s+(\S+)", finished.stdout)
        found = re.findall(r"^\s+(\d+)%\s+(\S+)$", finished.stdout, re.M)
        quantiles = {int(percent) / 100: _ms(value) for percent, value in found}
        return said(finished, quantiles, _ms(maximum[1]) if maximum else None)


def said(finished, quantiles_ms, max_ms):
    """What wrk and wrk2 say alike, with what they say differently."""
    total = re.search(r"(\d+) requests in", finished.stdout)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", finished.stdout)
    if not total or not rate:
        raise Unreadable(finished.stdout[-300:] + finished.stderr[-300:])
    errors = re.search(r"Non-2xx or 3xx responses: (\d+)", finished.stdout)
    sockets = re.search(r"Socket errors: (.*)", finished.stdout)
    failed = int(errors[1]) if errors else 0
    return Said(
        answered=int(total[1]) - failed,
        failed=failed,
        per_s=float(rate[1]),
        quantiles_ms=quantiles_ms,
        max_ms=max_ms,
        # Without keep-alive the end of every connection counts as a read error.
        remark=sockets[0] if sockets else None,
    )


def _ms(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * UNIT_MS[unit]
