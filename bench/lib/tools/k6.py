"""k6, with a script of our own that prints its metrics as JSON: closed loop of sessions."""

import json

from lib import peers
from lib.load import Said, Unreadable


class K6:
    name = "k6"

    def __init__(self):
        self.program = peers.path("k6")

    def argv(self, load):
        # Without the last two it would ask the network for extensions and report its use.
        command = [self.program, "run", "--quiet", "--no-color", "--no-usage-report", "--vus", str(load.connections)]
        command += ["--duration", f"{load.seconds}s", "--env", f"BASE={load.url.rstrip('/')}"]
        return [*command, f"{load.scenario}.js"]

    def read(self, finished):
        try:
            metrics = json.loads(finished.stdout)
            answered = metrics["http_reqs"]["values"]
            failed = metrics["http_req_failed"]["values"]["passes"]
            took = metrics["http_req_duration"]["values"]
        except (ValueError, KeyError) as error:
            raise Unreadable(f"{error}: {finished.stderr[-300:]}") from error
        return Said(
            answered=answered["count"] - failed,
            failed=failed,
            per_s=answered["rate"],
            quantiles_ms={0.5: took["med"], 0.9: took["p(90)"], 0.95: took["p(95)"]},
            max_ms=took["max"],
        )
