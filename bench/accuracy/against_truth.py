"""One run against a truth server of its own, and the log of exactly that run."""

import os
import tempfile
from dataclasses import dataclass, replace

from accuracy import truth_log
from lib import servers, trial
from lib.stats import quantile

# Looking at a tool's memory takes the server's core for 50 µs; here nothing is asked of memory.
LOOK_S = 0.5


@dataclass
class Bench:
    """Who serves, and where both sides run."""

    prony: str
    client_core: int
    server_core: int


@dataclass
class Run:
    """What the tool said and what the server did."""

    trial: trial.Trial
    log: truth_log.Log


def run(tool, load_of, delay, bench):
    """Runs `tool` with the load that `load_of(url)` is, over TLS or HTTP/2 where that is the tool's."""
    with tempfile.TemporaryDirectory(prefix="prony-bench-") as folder:
        log = os.path.join(folder, "log")
        over = getattr(tool, "over", None)
        authority = os.path.join(folder, "ca.pem") if over == "TLS" else None
        with servers.truth(bench.prony, {bench.server_core}, log, delay, authority, http2=over == "HTTP/2") as server:
            load = replace(load_of(server.url), authority=authority)
            done = trial.run(tool, load, {bench.client_core}, server, look_s=LOOK_S)
        return Run(done, truth_log.read(log))


def quantiles(values, which):
    """Those asked for; none of no values."""
    return {q: quantile(values, q) for q in which} if values else {}


def called_invalid(outcomes):
    """What to add where a tool itself said that runs were not valid: what it then reports, it has disowned."""
    count = sum((one.run.trial.said.remark or "").startswith("invalid") for one in outcomes if one.run.trial.said)
    return f" (it called {count} of {len(outcomes)} invalid)" if count else ""
