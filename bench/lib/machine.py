"""What the figures depend on: kernel, processor, limits, date."""

import datetime
import os
import platform
import resource
import subprocess


def facts():
    """All of it, for the stored result."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "kernel": f"{platform.system()} {platform.release()}",
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "load_average_before": os.getloadavg()[0],
        "open_files_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "commit": _commit(),
    }


def sentence(facts, versions):
    """One line to stand over the tables."""
    tools = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"{facts['date'][:10]}, {facts['kernel']}, {facts['cores']} cores ({facts['cpu']}), load average "
        f"{facts['load_average_before']:.1f} before the run; {tools}; commit {facts['commit']}."
    )


def raise_open_files():
    """As many open files as the system lets us have, for us and our children. Returns the number."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def cores_or_stop(least):
    """The cores we may use, in order."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < least:
        raise SystemExit(f"{least} cores are needed, {len(cores)} are there: the client must not share a core with the server")
    return cores


def _cpu():
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return model


def _commit():
    answer = subprocess.run(
        ["git", "-C", os.path.dirname(__file__), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() or "unknown"
