"""Servers whose limit is known, what a run should say of each, and what it said."""

import json
import random
import urllib.request
from dataclasses import dataclass

from lib import child, servers

# A run, its warm-up and its drain, and time for a machine that is busy with something else.
LIMIT_S = 60.0
# A server that listens may still be starting its database.
READY_S = 60.0
# What is never wrong to say: that it is not known, and that others have the cores.
UNDECIDED = ("unknown", "machine")
# Cores that must be taken by others for `machine` to be true.
TAKEN_CORES = 0.25


@dataclass(frozen=True)
class Case:
    """A server, a load, and the kinds of limit that are true of them."""

    name: str
    serve: tuple
    load: tuple
    right: tuple
    path: str = ""


@dataclass
class Said:
    """What a run said of a case."""

    case: str
    serve: str
    load: str
    kind: str
    word: str
    sentence: str
    rate: float | None
    steal: float | None


def _times(chance, least_ms, most_ms):
    """A time between, any scale alike."""
    return f"{round(1000 * least_ms * (most_ms / least_ms) ** chance.random())}us"


def serial(chance):
    """One request at a time, asleep."""
    delay, c = _times(chance, 2, 40), chance.choice([2, 4, 8, 16, 64])
    return Case("serial handler", ("rudy", "--delay", delay), ("-c", str(c)), ("server-waits",))


def pool(chance):
    """A few at a time, asleep, and more connections than that."""
    workers = chance.choice([2, 4, 8])
    c, delay = workers * chance.choice([3, 4, 8]), _times(chance, 2, 40)
    serve = ("rudy", "--model", "pool", "--workers", str(workers), "--delay", delay)
    return Case("pool of handlers", serve, ("-c", str(c)), ("server-waits",))


def lock(chance):
    """Four threads and one lock."""
    serve = ("bottleneck", "--workers", "4", "--hold", _times(chance, 1, 20))
    return Case("lock", serve, ("-c", str(chance.choice([8, 16, 64]))), ("server-waits",))


def delay(chance):
    """All at once, each after its delay."""
    model = chance.choice(["async", "thread"])
    serve = ("rudy", "--model", model, "--keepalive", "--delay", _times(chance, 2, 100))
    return Case("few connections", serve, ("-c", str(chance.choice([2, 3, 5, 8, 16]))), ("connections",))


def one_connection(chance):
    """One request in flight."""
    serve = ("rudy", "--model", "async", "--keepalive", "--delay", _times(chance, 2, 40))
    return Case("one connection", serve, ("-c", "1"), ("connections",))


def one_thread(chance):
    """One of four threads computes."""
    serve = ("bottleneck", "--workers", "4", "--busy", "1", "--burn", _times(chance, 0.3, 4))
    return Case("one thread of four", serve, ("-c", str(chance.choice([2, 8, 32, 64]))), ("server-thread",))


def all_cores(chance):
    """More threads that compute than there are cores."""
    serve = ("bottleneck", "--workers", str(chance.choice([4, 8])), "--burn", _times(chance, 0.5, 4))
    return Case("all cores", serve, ("-c", str(chance.choice([32, 64]))), ("server-cpu",))


def database_pool(chance):
    """Express with a pool of connections to PostgreSQL, and a query that sleeps."""
    size = chance.choice([1, 10])
    serve = ("express", "--postgres", "auto", "--pool", str(size), "--pg-sleep", _times(chance, 5, 20))
    return Case(f"database pool of {size}", serve, ("-c", str(size * chance.choice([3, 5]))), ("server-waits",), "pg2")


def database_cpu(chance):
    """Express with a pool of ten, and a query that only computes."""
    serve = ("express", "--postgres", "auto", "--pool", "10")
    right = ("server-cpu", "server-thread", "dependant", "machine")
    return Case("database CPU", serve, ("-c", str(chance.choice([32, 64]))), right, "pg2")


def listen_queue(chance):
    """A short queue that is emptied now and then."""
    every = chance.choice(["10ms", "20ms", "40ms"])
    serve = ("rudy", "--model", "thread", "--delay", "0", "--backlog", "4", "--accept-every", every)
    load = ("-c", str(chance.choice([64, 128, 256])), "--no-keepalive", "--drain", "1s")
    return Case("full listen queue", serve, load, ("listen-queue",))


def low_rate(chance):
    """A rate far below what the server can do."""
    serve = chance.choice([("null",), ("rudy", "--model", "async", "--keepalive", "--delay", "5ms")])
    return Case("low rate", serve, ("--rate", str(chance.choice([50, 200, 500]))), ("chosen-rate",))


def null(chance):
    """As fast as can be: whose thread is full first is the machine's affair, but never a wait or the connections."""
    load = ("-c", str(chance.choice([16, 64])))
    return Case("null server", ("null",), load, ("client", "server-thread", "server-cpu", "machine"))


MAKERS = {
    "serial": serial,
    "pool": pool,
    "lock": lock,
    "delay": delay,
    "one-connection": one_connection,
    "one-thread": one_thread,
    "all-cores": all_cores,
    "database-pool": database_pool,
    "database-cpu": database_cpu,
    "listen-queue": listen_queue,
    "low-rate": low_rate,
    "null": null,
}


def make(name, seed):
    """The case `name` with settings that `seed` draws."""
    return MAKERS[name](random.Random(f"{seed} {name}"))


def run_one(program, case, seconds):
    """Starts the server, loads it, and judges what was said."""
    port = servers.free_port()
    serve = [program, "serve", *case.serve, "--port", str(port)]
    with servers.Server(serve, None, port, ready_s=servers.INSTALL_S) as server:
        urllib.request.urlopen(server.url + case.path, timeout=READY_S).close()
        load = [*case.load, "-d", f"{seconds}s", "--warmup", "1s", "-o", "json", "--no-calibration"]
        done = child.run([program, "run", server.url + case.path, *load], None, LIMIT_S)
    return judge(case, done.stdout)


def judge(case, stdout):
    """What a run's JSON says of its limiter: right, unknown, machine, wrong; or failed, without a result."""
    said = Said(case.name, " ".join(case.serve), " ".join(case.load), "none", "failed", "", None, None)
    try:
        result = json.loads(stdout)
        limiter = result["limiter"]
        said.kind, said.sentence = limiter["kind"], limiter["sentence"]
        said.rate, said.steal = result["rate"]["done_per_s"], result["machine"]["steal_share"]
    except (ValueError, KeyError, TypeError):
        return said
    said.word = _word(case, limiter)
    return said


def _word(case, limiter):
    kind = limiter["kind"]
    if kind in case.right:
        return "right"
    if kind not in UNDECIDED:
        return "wrong"
    if kind == "machine":
        cores = {number["name"]: number["value"] for number in limiter["evidence"]}
        taken = cores.get("other_cores", 0.0) + cores.get("stolen_cores", 0.0)
        return "machine" if taken >= TAKEN_CORES else "wrong"
    return "unknown"
