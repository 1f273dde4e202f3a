"""Servers whose rate and latency are known, drawn from a seed, and what a load on each must find.

A world is a truth server with its delay, and a load. `expect` says what the truth is by playing the same queue with
the same load: the delays are the server's, and what lies between an answer and the next request is drawn from what
was seen in the very run (the kernel, the client, the machine), since no theory knows that part.
"""

import heapq
import math
import random
from dataclasses import dataclass

from lib.stats import quantile

KINDS = ("const", "bimodal", "exponential", "pareto", "single", "batch", "freeze")
LEAST_MS, MOST_MS = 0.1, 500.0
CONNECTIONS = (1, 2, 8, 32, 100)
# No more than a small machine can send and serve without being late, so that most runs say something.
RATE_AT_MOST = 500.0
# Fewer say nothing about a quantile.
REQUESTS_AT_LEAST = 60
# A single worker is loaded below what it can do: at its limit every figure depends on how long the run is.
SINGLE_LOAD = 0.7
# Played before anything is counted, so that the queue has settled.
SETTLE = 0.1
PARETO_SHAPE = 1.5


@dataclass(frozen=True)
class World:
    """A server and a load."""

    kind: str
    # The numbers of the delay, ms: as in `prony serve truth --delay`, but for the share and the shape.
    numbers: tuple[float, ...]
    connections: int
    # None: a closed loop.
    rate: float | None
    seconds: float
    seed: int
    error_share: float = 0.0
    reset_share: float = 0.0
    # Who ends a connection after each answer: "server", "client" or None.
    closed_by: str | None = None

    def delay(self, factor=1.0):
        """The flag of the server; `factor` makes every time longer."""
        times = [f"{number * factor * 1000:.0f}us" for number in self.numbers]
        if self.kind == "bimodal":
            times.append("0.1")
        if self.kind == "pareto":
            times.insert(1, str(PARETO_SHAPE))
        # The server knows microseconds where the draw knows more: the truth is what the server was given.
        return f"{'single' if self.kind == 'single' else self.kind}:{','.join(times)}"

    def server_flags(self, factor=1.0):
        """Of `prony serve truth`."""
        flags = ["--delay", self.delay(factor), "--seed", str(self.seed)]
        if self.error_share:
            flags += ["--error-share", str(self.error_share)]
        if self.reset_share:
            flags += ["--reset-share", str(self.reset_share)]
        return flags + (["--close"] if self.closed_by == "server" else [])

    def load_flags(self):
        """Of `prony run` and `prony compare`."""
        flags = ["-r", f"{self.rate:g}"] if self.rate else ["-c", str(self.connections)]
        return flags + (["--no-keepalive"] if self.closed_by == "client" else [])

    def __str__(self):
        load = f"{self.rate:g}/s" if self.rate else f"c={self.connections}"
        return f"{self.delay()}, {load}"


def mean_ms(kind, numbers):
    """Of the delay as a user of a lightly loaded server sees it; a rough number for choosing loads."""
    if kind == "bimodal":
        return 0.9 * numbers[0] + 0.1 * numbers[1]
    if kind == "pareto":
        return 3 * numbers[0]
    if kind == "batch":
        return max(numbers)
    return numbers[0]


def draw(chance, *, kinds=KINDS, seconds=3.0, plain=False):
    """A world; `plain` ones have no failures and keep connections open."""
    kind = chance.choice(kinds)
    base = round(LEAST_MS * (MOST_MS / LEAST_MS) ** chance.random(), 3)
    numbers = {
        "const": lambda: (base,),
        "bimodal": lambda: (base, round(min(MOST_MS, base * chance.choice((3, 10, 30))), 3)),
        "exponential": lambda: (base,),
        "pareto": lambda: (base, round(min(2 * MOST_MS, base * 100), 3)),
        "single": lambda: (base,),
        "batch": lambda: (round(base / 10, 3), base),
        # Ten freezes in a run at least: of fewer the rate depends on where the run begins.
        "freeze": lambda: (base, round(seconds * 1000 / 12, 3), round(seconds * 1000 / 12 * chance.choice((0.1, 0.3)), 3)),
    }[kind]()
    base_ms = mean_ms(kind, numbers)
    connections = chance.choice([count for count in CONNECTIONS if count / base_ms * 1000 <= RATE_AT_MOST] or [1])
    rate = None
    if chance.random() < 0.4:
        most = min(RATE_AT_MOST, 100 / base_ms * 1000)
        if kind == "single":
            most = min(most, SINGLE_LOAD * 1000 / base_ms)
        rate = float(max(1, round(most * chance.choice((0.1, 0.5, 1.0)))))
    world = World(kind, numbers, connections, rate, seconds, chance.randrange(2**31))
    if plain:
        return world
    shares = chance.choice(((0.0, 0.0), (0.0, 0.0), (0.05, 0.0), (0.0, 0.03)))
    closed_by = chance.choice((None, None, "server", "client"))
    return World(kind, numbers, connections, rate, seconds, world.seed, *shares, closed_by)


class Queue:
    """When the server answers: the same rules as `crates/prony-targets/src/truth/schedule.rs`. Seconds."""

    def __init__(self, world, chance, factor=1.0):
        self.kind = world.kind
        self.numbers = [round(number * factor * 1000) / 1e6 for number in world.numbers]
        self.chance = chance
        self.free = 0.0

    def due(self, arrival):
        numbers = self.numbers
        if self.kind == "single":
            self.free = max(arrival, self.free) + numbers[0]
            return self.free
        if self.kind == "batch":
            base, every = numbers
            return math.ceil((arrival + base) / every - 1e-9) * every
        if self.kind == "freeze":
            return self._thawed(self._thawed(arrival) + numbers[0])
        return arrival + self._service()

    def _service(self):
        numbers, chance = self.numbers, self.chance
        if self.kind == "bimodal":
            return numbers[1] if chance.random() < 0.1 else numbers[0]
        if self.kind == "exponential":
            return chance.expovariate(1 / numbers[0])
        if self.kind == "pareto":
            return min(numbers[1], numbers[0] / (1 - chance.random()) ** (1 / PARETO_SHAPE))
        return numbers[0]

    def _thawed(self, at):
        _, every, stall = self.numbers
        phase = at % every
        return at + every - phase if phase >= every - stall else at


@dataclass
class Truth:
    """What a load finds in the long run."""

    per_s: float
    quantiles_ms: dict[float, float]
    mean_ms: float


def expect(world, overheads_s, *, factor=1.0, requests=40_000, quantiles=(0.5, 0.75, 0.9, 0.95, 0.99), seed=1):
    """The truth of a world where everything but the server takes what is drawn from `overheads_s` for each request."""
    chance = random.Random(seed)
    queue = Queue(world, chance, factor)
    answered, taken = _open(world, queue, overheads_s, chance, requests) if world.rate else _closed(world, queue, overheads_s, chance, requests)
    skip = int(len(taken) * SETTLE)
    taken = taken[skip:]
    answered = sorted(answered[skip:])
    return Truth(
        per_s=(len(answered) - 1) / (answered[-1] - answered[0]),
        quantiles_ms={q: quantile(taken, q) * 1000 for q in quantiles},
        mean_ms=sum(taken) / len(taken) * 1000,
    )


def _closed(world, queue, overheads_s, chance, requests):
    # When each connection's next request reaches the server.
    ready = [(chance.choice(overheads_s), 0.0) for _ in range(world.connections)]
    heapq.heapify(ready)
    answered, taken = [], []
    for _ in range(requests):
        arrival, asked = heapq.heappop(ready)
        due = queue.due(arrival)
        # All of the overhead is put behind the answer: only the sum of both ways matters.
        done = due + chance.choice(overheads_s)
        answered.append(done)
        taken.append(done - asked)
        heapq.heappush(ready, (done, done))
    return answered, taken


def _open(world, queue, overheads_s, chance, requests):
    answered, taken = [], []
    phase = chance.random()
    for index in range(requests):
        asked = (index + phase) / world.rate
        done = queue.due(asked) + chance.choice(overheads_s)
        answered.append(done)
        taken.append(done - asked)
    return answered, taken
