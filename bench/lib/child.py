"""Child processes: pinned, bounded in time, measured, and ended by their own id whatever happens.

Two measurements need care:

- CPU time is what `wait4` says of the child and the children it waited for.
- Peak memory is not: `ru_maxrss` of a child starts at the memory of the process that started it, here of Python.
  So VmHWM is read from /proc while the child runs, and once more whenever it writes. The pipe is as small as the
  kernel allows: a tool that prints its result is seen after it has computed it.
"""

import atexit
import fcntl
import os
import select
import signal
import time
from dataclasses import dataclass, field

# Between two looks at a child's memory: often enough to see a peak, too rare to disturb (20 µs each).
LOOK_S = 0.025
# From the request to end until the order to.
GRACE_S = 3.0
PIPE_BYTES = 4096
F_SETPIPE_SZ = 1031
# Where prony would look for a calibration of this machine: runs against the null server are near the limit of any.
NO_STATE = {"XDG_STATE_HOME": "/nonexistent"}

_alive: dict[int, "Child"] = {}


@dataclass
class Finished:
    """A child that has ended."""

    argv: list[str]
    code: int
    stdout: str
    stderr: str
    wall_s: float
    cpu_s: float
    peak_bytes: int
    timed_out: bool
    # Without what is mapped from files: the program's text and that of its libraries.
    own_peak_bytes: int = 0


@dataclass
class Child:
    """A child that runs."""

    argv: list[str]
    pid: int
    started: float
    # What it is asked to end by.
    end_signal: signal.Signals = signal.SIGTERM
    peak_bytes: int = 0
    own_peak_bytes: int = 0
    pipes: list[int] = field(default_factory=list)

    def look(self):
        """Notes the peak of the memory so far."""
        found = dict.fromkeys(("VmHWM", "RssAnon", "RssShmem"), 0)
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as status:
                for line in status:
                    name, _, value = line.partition(":")
                    if name in found:
                        found[name] = int(value.split()[0]) * 1024
        except OSError:
            pass
        self.peak_bytes = max(self.peak_bytes, found["VmHWM"])
        self.own_peak_bytes = max(self.own_peak_bytes, found["RssAnon"] + found["RssShmem"])

    def cpu_s(self):
        """CPU time so far, of the process and of its children, those included that it has waited for."""
        return sum(_cpu_ns(pid) for pid in self._processes()) / 1e9 + _waited_for_s(self.pid)

    def open_files(self):
        """How many file descriptors it has, with those of its children that still run."""
        total = 0
        for pid in self._processes():
            try:
                total += len(os.listdir(f"/proc/{pid}/fd"))
            except OSError:
                pass
        return total

    def running(self):
        """Whether it has not ended yet."""
        return self.pid in _alive and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def end(self):
        """Ends it, with its group, and forgets it."""
        if self.pid not in _alive:
            return
        for name, patience in ((self.end_signal, GRACE_S), (signal.SIGKILL, GRACE_S)):
            _signal_group(self.pid, name)
            until = time.monotonic() + patience
            while self.running() and time.monotonic() < until:
                time.sleep(0.005)
            if not self.running():
                break
        _signal_group(self.pid, signal.SIGKILL)
        _alive.pop(self.pid)
        os.waitpid(self.pid, 0)
        for pipe in self.pipes:
            os.close(pipe)
        self.pipes = []

    def _processes(self):
        try:
            with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as children:
                return [self.pid, *map(int, children.read().split())]
        except OSError:
            return [self.pid]


def start(argv, cores, *, stdout=None, environment=None, end_signal=signal.SIGTERM):
    """Starts `argv` on `cores`, with `environment` besides our own. Output goes to the descriptors given, or nowhere."""
    null = os.open(os.devnull, os.O_RDWR)
    before = os.sched_getaffinity(0)
    # A child starts with the affinity of the thread that starts it.
    os.sched_setaffinity(0, cores or before)
    try:
        out, err = stdout or (null, null)
        actions = [(os.POSIX_SPAWN_DUP2, null, 0)]
        actions += [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)]
        # A group of its own: Ctrl-C reaches this program alone, which then ends the child.
        pid = os.posix_spawnp(
            argv[0],
            argv,
            os.environ | NO_STATE | (environment or {}),
            file_actions=actions,
            setpgroup=0,
            setsigdef=[signal.SIGPIPE],
        )
    finally:
        os.sched_setaffinity(0, before)
        os.close(null)
    child = Child(list(argv), pid, time.monotonic(), end_signal)
    _alive[pid] = child
    return child


def run(argv, cores, limit_s, *, look_s=LOOK_S, each_s=None, every=None):
    """Runs `argv` to its end, or to `limit_s`. Calls `every()` each `each_s` seconds while it runs."""
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    _shrink(out_write)
    _shrink(err_write)
    child = start(argv, cores, stdout=(out_write, err_write))
    os.close(out_write)
    os.close(err_write)
    child.pipes = [out_read, err_read]
    ended = os.pidfd_open(child.pid)
    try:
        texts, timed_out = _watch(child, ended, limit_s, look_s, each_s, every)
        if timed_out:
            _signal_group(child.pid, signal.SIGKILL)
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.monotonic() - child.started
        _alive.pop(child.pid)
    finally:
        os.close(ended)
        for pipe in child.pipes:
            os.close(pipe)
        child.pipes = []
    return Finished(
        argv=child.argv,
        code=os.waitstatus_to_exitcode(status),
        stdout=texts[out_read].decode(errors="replace"),
        stderr=texts[err_read].decode(errors="replace"),
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_bytes=child.peak_bytes,
        timed_out=timed_out,
        own_peak_bytes=child.own_peak_bytes,
    )


def _watch(child, ended, limit_s, look_s, each_s, every):
    """Reads what the child writes until it ends; true where it ran out of time."""
    texts = {pipe: bytearray() for pipe in child.pipes}
    poll = select.poll()
    for descriptor in (*child.pipes, ended):
        poll.register(descriptor, select.POLLIN)
    until = child.started + limit_s
    next_call = child.started + (each_s or limit_s)
    done = False
    while not done:
        child.look()
        for descriptor, _ in poll.poll(look_s * 1000):
            if descriptor == ended:
                done = True
            else:
                child.look()
                _read(descriptor, texts, poll)
        now = time.monotonic()
        if every and now >= next_call:
            every()
            next_call = now + each_s
        if now > until and not done:
            return texts, True
    for pipe in child.pipes:
        os.set_blocking(pipe, False)
        while _read(pipe, texts, poll):
            pass
    return texts, False


def _read(pipe, texts, poll):
    try:
        piece = os.read(pipe, 65536)
    except (BlockingIOError, OSError):
        return False
    texts[pipe] += piece
    if not piece:
        try:
            poll.unregister(pipe)
        except KeyError:
            pass
    return bool(piece)


def _shrink(pipe):
    fcntl.fcntl(pipe, F_SETPIPE_SZ, PIPE_BYTES)


def _cpu_ns(pid):
    """Time on a core of every thread that still runs; exact, where /proc/PID/stat counts ticks."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as schedstat:
                total += int(schedstat.read().split()[0])
    except OSError:
        pass
    return total


def _waited_for_s(pid):
    """Of the children that have ended and were waited for, and of theirs. Counted in ticks, but only in the end."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            # Behind the name, which may hold anything; proc(5) numbers cutime and cstime 16 and 17.
            user, system = stat.read().rpartition(")")[2].split()[13:15]
    except OSError:
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _signal_group(pid, name):
    # The group's leader is a child that has not been waited for: its number can't have been given to another.
    try:
        os.killpg(pid, name)
    except ProcessLookupError:
        pass


def interrupt_all():
    """Asks every child to end; whoever waits for one sees that it did."""
    for child in list(_alive.values()):
        _signal_group(child.pid, child.end_signal)


def _end_all():
    for child in list(_alive.values()):
        child.end()


def _stop(number, _frame):
    raise SystemExit(128 + number)


atexit.register(_end_all)
for _name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(_name, _stop)
