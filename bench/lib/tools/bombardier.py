"""bombardier: no quantile above p99."""

import json

from lib import peers
from lib.load import Said, Unreadable


class Bombardier:
    name = "bombardier"

    def __init__(self):
        self.program = peers.path("bombardier")

    def argv(self, load):
        command = [self.program, "-c", str(load.connections), "-d", f"{load.seconds}s", "-l", "-p", "r", "-o", "json"]
        if load.rate:
            command += ["-r", str(load.rate)]
        if not load.keepalive:
            command += ["-H", "Connection: close"]
        return [*command, load.url]

    def read(self, finished):
        try:
            result = json.loads(finished.stdout)["result"]
        except (json.JSONDecodeError, KeyError) as error:
            raise Unreadable(f"{error}: {finished.stderr[-300:]}") from error
        latency = result["latency"]
        answered = result["req2xx"]
        return Said(
            answered=answered,
            failed=sum(result[kind] for kind in ("req1xx", "req3xx", "req4xx", "req5xx", "others")),
            per_s=answered / result["timeTakenSeconds"],
            quantiles_ms={int(percent) / 100: value / 1000 for percent, value in latency["percentiles"].items()},
            max_ms=latency["max"] / 1000,
        )
