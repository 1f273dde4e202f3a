#!/usr/bin/env python3
"""A neighbour that takes cores away: bursts of 1 to 50 ms on each core, with real-time priority where that is allowed.

As a program, `bench/lib/hog.py --share 0.3 --seconds 60`; from Python, `with hog.running(cores, seed): …`.

It always ends: after `--seconds`, when the process that started it ends, or on a signal. It is seeded: the same seed draws the
same bursts and pauses. What it says when it ends is what it took, by the kernel's account, as a line of JSON.
"""

import argparse
import ctypes
import json
import math
import os
import random
import resource
import signal
import sys
import time

if __name__ == "__main__":
    sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

from lib import child

SHARE = 0.3
LEAST_MS, MOST_MS = 1.0, 50.0
# Nothing here should run for longer, whatever its caller forgot.
SECONDS_AT_MOST = 6 * 3600
# CPU time that a real-time process may use without sleeping before the kernel ends it: a guard against our own errors.
RTTIME_US = 500_000
PR_SET_PDEATHSIG = 1


def plan(seed, core, share=SHARE, least_ms=LEAST_MS, most_ms=MOST_MS):
    """Endless (pause in s, burst in s): bursts uniform on a logarithmic scale, pauses exponential."""
    chance = random.Random(f"{seed} {core}")
    mean_s = (most_ms - least_ms) / math.log(most_ms / least_ms) / 1e3 if most_ms > least_ms else least_ms / 1e3
    while True:
        pause_s = chance.expovariate(share / (mean_s * (1 - share)))
        yield pause_s, least_ms / 1e3 * (most_ms / least_ms) ** chance.random()


class Hog:
    """One that runs."""

    def __init__(self, process, reader):
        self.process, self.reader = process, reader
        # How it was allowed to run: "fifo", "nice -20" or "normal".
        self.priority = json.loads(_line(reader))["priority"]

    def stop(self):
        """Ends it and returns what share of each core it took."""
        if not self.process:
            return None
        self.process.end()
        self.process = None
        said = _line(self.reader)
        os.close(self.reader)
        return json.loads(said)["taken"] if said else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def running(cores, seed, *, share=SHARE, seconds=600.0, least_ms=LEAST_MS, most_ms=MOST_MS):
    """Starts one on `cores`; for a `with` statement."""
    reader, writer = os.pipe()
    argv = [sys.executable, os.path.abspath(__file__), "--share", str(share), "--seconds", str(seconds)]
    argv += ["--seed", str(seed), "--cores", ",".join(map(str, sorted(cores)))]
    argv += ["--least-ms", str(least_ms), "--most-ms", str(most_ms)]
    process = child.start(argv, set(cores), stdout=(writer, 2))
    os.close(writer)
    return Hog(process, reader)


def _line(reader):
    text = b""
    while not text.endswith(b"\n") and (piece := os.read(reader, 1)):
        text += piece
    return text.decode()


def _rise():
    """As far ahead of everyone else as we may go."""
    try:
        resource.setrlimit(resource.RLIMIT_RTTIME, (RTTIME_US, RTTIME_US))
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        return "fifo"
    except OSError:
        pass
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        return "nice -20"
    except OSError:
        return "normal"


def _burn(core, until, options, writer):
    """Takes one core in bursts, and at its end writes what it took."""
    _end_with(os.getppid())
    os.sched_setaffinity(0, {core})
    bursts = plan(options.seed, core, options.share, options.least_ms, options.most_ms)
    began, used = time.monotonic(), time.process_time()
    stopped = []
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda *_: stopped.append(1))
    _rise()
    while not stopped and time.monotonic() < until:
        pause_s, burst_s = next(bursts)
        # In pieces: a pause can be long, and a signal only interrupts the piece after its handler ran.
        rest = time.monotonic() + pause_s
        while not stopped and (left := min(rest, until) - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))
        end = min(time.monotonic() + burst_s, until)
        while time.monotonic() < end and not stopped:
            pass
    took = (time.process_time() - used) / max(time.monotonic() - began, 1e-9)
    os.write(writer, f"{core} {took:.4f}\n".encode())


def _end_with(parent):
    """Ends this process when its parent does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def main():
    """Runs until its time is over."""
    options = _options()
    _end_with(os.getppid())
    cores = [int(core) for core in options.cores.split(",")] if options.cores else sorted(os.sched_getaffinity(0))
    until = time.monotonic() + min(options.seconds, SECONDS_AT_MOST)
    reader, writer = os.pipe()
    sys.stdout.flush()
    pids = []
    for core in cores:
        pid = os.fork()
        if pid == 0:
            try:
                _burn(core, until, options, writer)
            finally:
                os._exit(0)
        pids.append(pid)
    os.close(writer)

    def stop(*_):
        for pid in pids:
            os.kill(pid, signal.SIGTERM)

    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, stop)
    print(json.dumps({"priority": _probe(), "cores": cores}), flush=True)
    # Not waited for one by one: until the last has written and gone, their numbers stay theirs and `stop` is safe.
    with os.fdopen(reader) as lines:
        taken = {core: float(share) for core, share in (line.split() for line in lines)}
    for pid in pids:
        os.waitpid(pid, 0)
    print(json.dumps({"taken": taken}), flush=True)


def _probe():
    """What `_rise` reaches, asked of a process of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, _rise().encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        text = said.read()
    os.waitpid(pid, 0)
    return text


def _options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=SHARE, help=f"of each core [default: {SHARE}]")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long [default: 60]")
    parser.add_argument("--seed", default="1", help="of bursts and pauses [default: 1]")
    parser.add_argument("--cores", help="numbers with commas [default: all that it may use]")
    parser.add_argument("--least-ms", type=float, default=LEAST_MS, help=f"shortest burst [default: {LEAST_MS:g}]")
    parser.add_argument("--most-ms", type=float, default=MOST_MS, help=f"longest burst [default: {MOST_MS:g}]")
    options = parser.parse_args()
    if not 0 < options.share < 0.9:
        parser.error("--share must lie between 0 and 0.9: with more, nobody could end it")
    if not 0 < options.least_ms <= options.most_ms <= 400:
        parser.error("bursts must be longer than 0 and at most 400 ms")
    return options


if __name__ == "__main__":
    main()
