"""A log with known lines, and the figures of its replay."""

import random

from lib.stats import median
from lib.table import number, render

# With milliseconds, so that nothing of the moments is made up.
FORMAT = '$remote_addr - $remote_user [$msec] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
# Distinct paths: a shop with some thousands of pages.
PATHS = 20_000
MIB = 1 << 20


def lines(count, rate, seed):
    """`count` lines, `rate` per second on average, as of independent users."""
    generator = random.Random(seed)
    at = 1_700_000_000.0
    for _ in range(count):
        at += generator.expovariate(rate)
        page = min(PATHS - 1, int(generator.paretovariate(0.5)))
        agent = '"https://shop.example/" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"'
        yield f'192.0.2.{page % 250} - - [{at:.3f}] "GET /products/{page}/details?from=list HTTP/1.1" 200 1234 {agent}\n'


def write(path, count, rate, seed):
    """Writes the log."""
    with path.open("w", encoding="ascii") as file:
        file.writelines(lines(count, rate, seed))


def figures(result):
    """What is reported of a run."""
    lateness = result["replay"]["lateness"]
    return {
        "requests": result["requests"]["intended"],
        "done": result["requests"]["done"],
        "verdict": result["verdict"],
        "lateness_p50_ms": lateness["quantiles_ms"].get("0.5"),
        "lateness_p99_ms": lateness["quantiles_ms"].get("0.99"),
        "lateness_max_ms": lateness.get("max_ms"),
        "peak_mib": (result["client"]["peak_rss_bytes"] or 0) / MIB,
    }


def sentence(one):
    """A run in a line."""
    p99 = one["lateness_p99_ms"]
    shown = f"{p99:.3f} ms" if p99 is not None else "withheld"
    return f"lateness p99 {shown}, peak {one['peak_mib']:.1f} MiB, {one['verdict']}"


def table(runs, lateness_p99_ms, peak_mib):
    """The medians of each driver, and whether the targets are met."""
    rows = []
    for driver in sorted({driver for _, driver, _ in runs}):
        own = [one for _, at, one in runs if at == driver]
        p99s = [one["lateness_p99_ms"] for one in own if one["lateness_p99_ms"] is not None]
        peaks = [one["peak_mib"] for one in own]
        p99 = median(p99s) if p99s else None
        met = p99 is not None and p99 <= lateness_p99_ms and max(peaks) <= peak_mib
        valid = sum(one["verdict"] != "invalid" for one in own)
        shown = number(p99) if p99 is not None else "–"
        rows.append([driver, shown, number(max(peaks)), f"{valid} of {len(own)}", "met" if met else "missed"])
    headings = ["driver", f"lateness p99, ms (target {lateness_p99_ms:g})", f"peak, MiB (target {peak_mib:g})", "not invalid", "targets"]
    return render(headings, rows)
