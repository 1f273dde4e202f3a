"""What is measured of a lab that runs: answers, their time, its CPU and memory, the disk beside it."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import tempfile
import time
from dataclasses import dataclass, field

from lib import child

# What a run of prony takes beside the run itself.
SLACK_S = 20
# What requests may take of which it is known how many there are, but not how long they take.
REQUESTS_S = 300
# Requests that the server times itself; and those before each of which something changes.
TIMED, TIMED_AFTER_CHANGE = 2_000, 500
# Of a slow page fewer are timed: what fits into this, but as many as a 99th percentile needs.
TIMED_S, TIMED_LEAST = 10.0, 100
# Flushes: enough for a 99th percentile.
FLUSHES = 1_000
# What a commit of one build writes, about: five pages.
FLUSH_BYTES = 5 * 4096
FLUSH_FILE_BYTES = 4 << 20


@dataclass
class Run:
    """A load on one page."""

    what: str
    connections: int
    status: str = ""
    answered: int = 0
    per_s: float = 0.0
    p50_ms: float | None = None
    p99_ms: float | None = None
    server_cpu_s: float = 0.0
    problem: str | None = None
    findings: list[str] = field(default_factory=list)

    def per_cpu_s(self):
        """Answers for each second of the server's CPU time."""
        return self.answered / self.server_cpu_s if self.server_cpu_s else None


def load(prony, server, path, connections, seconds, cores, *, what=None, body=None, headers=(), status="200", requests=None):
    """Loads one page with prony's own engine, as fast as it goes: for so long, or with so many requests."""
    run = Run(what or path, connections)
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "run.json")
        argv = [prony, "run", server.url.rstrip("/") + path, "-c", str(connections)]
        argv += ["-d", f"{seconds}s", "--warmup", "500ms"] if requests is None else ["-n", str(requests), "--warmup", "0s"]
        argv += ["-q", "--expect-status", status, "--json", str(result)]
        for header in headers:
            argv += ["-H", header]
        if body is not None:
            argv += ["-b", body]
        before_s = own_cpu_s(server.process.pid)
        finished = child.run(argv, cores, (seconds if requests is None else REQUESTS_S) + SLACK_S)
        after_s = own_cpu_s(server.process.pid)
        text = result.read_text(encoding="utf-8") if result.exists() else ""
    if not text:
        run.problem = ((finished.stderr or finished.stdout).strip().splitlines() or ["no result"])[0]
        return run
    said = json.loads(text)
    done, measured_s = said["requests"]["done"], said["timing"]["measured_s"]
    if done == 0:
        run.problem = "no answer was as it should be"
        return run
    # The warm-up uses CPU time, too, at the same rate.
    run.server_cpu_s = (after_s - before_s) * measured_s / (measured_s + said["timing"]["warmup_s"])
    quantiles = said["latency"]["response"]["quantiles_ms"]
    run.answered, run.per_s = done, done / measured_s
    run.p50_ms, run.p99_ms = quantiles.get("0.5"), quantiles.get("0.99")
    run.findings = [finding["code"] for finding in said["findings"]]
    return run


def own_time_ms(server, path, *, body=None, headers=None, change=None):
    """What the server says each answer took it (`Server-Timing: total;dur=…`): median, 99th percentile, and status.

    `change`, path and body of a form, is sent before each request and not timed: what was drawn before is then of no use.
    """
    times, status = [], 0
    until = time.monotonic() + TIMED_S
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection:
        for _ in range(TIMED if change is None else TIMED_AFTER_CHANGE):
            if change is not None:
                status, _ = _exchange(connection, *change, headers)
                if status >= 400:
                    return None, None, status
            status, timing = _exchange(connection, path, body, headers)
            found = re.search(r"total;dur=([0-9.]+)", timing or "")
            if found is None or status >= 400:
                return None, None, status
            times.append(float(found.group(1)))
            if len(times) >= TIMED_LEAST and time.monotonic() > until:
                break
    times.sort()
    return times[len(times) // 2], times[len(times) * 99 // 100], status


def _exchange(connection, path, body, headers):
    """Status and `Server-Timing` of an answer."""
    connection.request("GET" if body is None else "POST", path, body=body, headers=headers or {})
    response = connection.getresponse()
    response.read()
    return response.status, response.getheader("Server-Timing")


def flush_ms(folder):
    """What the disk takes to make durable what a commit writes, in the same folder: median and 99th percentile."""
    times = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(bytes(FLUSH_FILE_BYTES))
        file.flush()
        os.fsync(file.fileno())
        data = os.urandom(FLUSH_BYTES)
        for number in range(FLUSHES):
            at = number * FLUSH_BYTES % (FLUSH_FILE_BYTES - FLUSH_BYTES)
            begun = time.perf_counter()
            os.pwrite(file.fileno(), data, at)
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - begun) * 1e3)
    times.sort()
    return times[len(times) // 2], times[len(times) * 99 // 100]


def own_cpu_s(pid):
    """CPU time of the process so far, without its children."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        words = stat.read().rpartition(")")[2].split()
    # The 14th and the 15th field of proc(5); what stands before the name was taken off.
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid):
    """Resident memory now, and of that what is the program's own (not pages of files)."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        found = dict(re.findall(r"^(VmRSS|RssAnon):\s+(\d+) kB", status.read(), re.MULTILINE))
    return int(found["VmRSS"]) / 1024, int(found["RssAnon"]) / 1024


def commands_ms(prony, commands, runs, cores):
    """Whole processes, timed in turn by `prony exec`: the mean of each, milliseconds, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "exec.json")
        argv = [prony, "exec", "-N", "-w", "3", "-r", str(runs), "--export-json", str(result), *commands]
        finished = child.run(argv, cores, runs * len(commands) * 0.2 + SLACK_S)
        text = result.read_text(encoding="utf-8") if result.exists() else ""
    if not text:
        raise SystemExit(f"prony exec failed: {finished.stderr.strip()[-300:]}")
    # Not by their texts: the token in them is stored nowhere.
    return [one["mean"] * 1e3 for one in json.loads(text)["results"]]
