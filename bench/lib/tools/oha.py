"""oha: closed loop, or -q, with and without its correction for what was sent late."""

import json

from lib import peers
from lib.load import Said, Unreadable


class Oha:
    def __init__(self, corrected=False):
        self.program = peers.path("oha")
        self.corrected = corrected
        self.name = "oha corrected" if corrected else "oha"

    def argv(self, load):
        command = [self.program, "--no-tui", "--output-format", "json", "-z", f"{load.seconds}s", "-c", str(load.connections)]
        if load.rate:
            command += ["-q", str(load.rate)]
        if self.corrected:
            command += ["--latency-correction"]
        if not load.keepalive:
            command += ["--disable-keepalive"]
        if load.is_https:
            command += ["--insecure"]
        if load.http2:
            command += ["--http2", "-p", str(load.streams)]
        return [*command, load.url]

    def read(self, finished):
        try:
            result = json.loads(finished.stdout)
        except json.JSONDecodeError as error:
            raise Unreadable(f"{error}: {finished.stderr[-300:]}") from error
        statuses, errors = result["statusCodeDistribution"], result["errorDistribution"]
        answered = sum(statuses.values())
        # Requests in flight at the end are not errors of the server.
        failed = sum(count for error, count in errors.items() if "deadline" not in error)
        return Said(
            answered=answered,
            failed=failed,
            per_s=answered / result["summary"]["total"],
            quantiles_ms={
                round(float(name[1:]) / 100, 6): value * 1000
                for name, value in result["latencyPercentiles"].items()
                if value is not None
            },
            max_ms=result["summary"]["slowest"] * 1000,
            remark=f"{errors}" if failed else None,
        )
