"""The comparisons whose right answer is known: a server with itself, one slowed down, and one that is disturbed."""

import contextlib
import json
import sys
from dataclasses import dataclass

from lib import child, servers

# A comparison of 20 pairs takes 14 s; of slow servers, on a busy machine, and with pairs that are measured again, more.
LIMIT_S = 240
# What the servers take for each request.
DELAY_US = 1000
# From the start of a comparison until the hog: about half of it.
HOG_AFTER_S = 7.0
# From here on a response takes as long as its delay, give or take a hundredth.
LONG_DELAY_US = 30_000
# The smallest change is at least this, for the servers keep their delay to a few microseconds.
LEAST_EFFECT = 0.005
FLAGS = ["--rate", "1000", "--primary", "p50", "-q", "-o", "json"]
# Closed loops of servers whose delays are known: microseconds of A and of B, connections, the server's arguments. Where
# connections move in lockstep the rates are known, too: they are as the delays.
LOCKSTEP = ["rudy", "--model", "async", "--keepalive"]
CLOSED = {
    "lockstep-98": (98_000, 100_500, 8, LOCKSTEP),
    "lockstep-40": (39_200, 40_800, 8, LOCKSTEP),
    "lockstep-1": (1_000, 1_100, 8, LOCKSTEP),
    "closed-same-5": (5_000, 5_000, 8, LOCKSTEP),
    "closed-same-1": (1_000, 1_000, 50, ["truth"]),
}
# Servers slower by a share that is chosen, against the same 1 ms.
SLOWER = {"slower-2": 0.02, "slower-5": 0.05, "slower-10": 0.10}
# Servers that use so much CPU time for each request, and one that uses a share more: judged by that time. A neighbour who
# takes the cores makes every response late, and hardly any request cost more.
BURN_US = 1000
COSTLIER = {"cost-same": 0.0, "cost-5": 0.05}
NAMES = ["same", "slower", *SLOWER, *COSTLIER, "hog", *CLOSED]
# Sleeps until half of the comparison is over, then keeps every core busy that it may use.
HOG = f"import time\ntime.sleep({HOG_AFTER_S})\nwhile True: pass"


@dataclass(frozen=True)
class Place:
    """What is measured, and where everything runs."""

    program: str
    client: int
    server: int


@dataclass
class Told:
    """What one comparison said of its primary metric."""

    name: str
    # The word of the JSON; "failed" where there is no result.
    word: str
    change: float | None
    interval: dict | None
    spread: float | None
    code: int
    # The true change; None where it is not known.
    truth: float | None = None

    @property
    def covers(self):
        """Whether the interval holds the truth; None where either is missing."""
        if self.truth is None or self.interval is None:
            return None
        return self.interval["low"] <= self.truth <= self.interval["high"]


def smallest_effect(place):
    """The change that 20 pairs are predicted to find, from a comparison of a server with itself."""
    told = run_one(place, "same", 0.0)
    if told.spread is None:
        raise SystemExit("the first comparison said nothing: is the machine too busy?")
    # 2.9 standard errors of 20 pairs (crates/prony-stats/src/compare.rs), at least what the servers can keep.
    return max(LEAST_EFFECT, 2.9 * told.spread / 20**0.5)


def run_one(place, name, effect):
    """One comparison with fresh servers; B is slower by `effect` where that is the question."""
    if name in CLOSED:
        return _closed(place, name)
    if name in COSTLIER:
        return _costlier(place, name)
    slowed = DELAY_US * (1 + (effect if name == "slower" else SLOWER.get(name, 0.0)))
    with contextlib.ExitStack() as stack:
        a = stack.enter_context(_truth(place, DELAY_US))
        b = stack.enter_context(_truth(place, slowed))
        if name == "hog":
            hog = child.start([sys.executable, "-c", HOG], {place.client, place.server})
            stack.callback(hog.end)
        argv = [place.program, "compare", a.url, b.url, *FLAGS]
        return judge(name, child.run(argv, {place.client}, LIMIT_S))


def judge(name, finished):
    """What the result of a finished comparison says."""
    try:
        primary = json.loads(finished.stdout)["metrics"][0]
    except (json.JSONDecodeError, KeyError, IndexError):
        return Told(name, "failed", None, None, None, finished.code)
    return Told(
        name, primary["outcome"]["word"], primary["change"], primary["interval"], primary["spread"], finished.code
    )


def _closed(place, name):
    a_us, b_us, connections, arguments = CLOSED[name]
    with contextlib.ExitStack() as stack:
        a, b = (stack.enter_context(_delaying(place, arguments, delay_us)) for delay_us in (a_us, b_us))
        argv = [place.program, "compare", a.url, b.url, "-c", str(connections), "-q", "-o", "json"]
        told = judge(name, child.run(argv, {place.client}, LIMIT_S))
    # Of a millisecond, what a server takes beside its delay is too great a part.
    if a_us == b_us or a_us >= LONG_DELAY_US:
        told.truth = a_us / b_us - 1
    return told


def _costlier(place, name):
    with contextlib.ExitStack() as stack:
        a, b = (stack.enter_context(_burning(place, BURN_US * (1 + more))) for more in (0.0, COSTLIER[name]))
        argv = [place.program, "compare", a.url, b.url, "-c", "2", "--primary", "cpu", "-q", "-o", "json"]
        return judge(name, child.run(argv, {place.client}, LIMIT_S))


def _burning(place, burn_us):
    port = servers.free_port()
    argv = [place.program, "serve", "bottleneck", "--workers", "1", "--burn", f"{round(burn_us)}us", "--port", str(port)]
    return servers.Server(argv, {place.server}, port)


def _truth(place, delay_us):
    return _delaying(place, ["truth"], delay_us)


def _delaying(place, arguments, delay_us):
    port = servers.free_port()
    delay = f"{'const:' if arguments == ['truth'] else ''}{round(delay_us)}us"
    argv = [place.program, "serve", *arguments, "--port", str(port), "--delay", delay]
    return servers.Server(argv, {place.server}, port)
