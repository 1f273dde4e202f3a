"""What was measured of a lab, as lines while it goes on, and as tables at the end."""

import measures
from lib import table

# Of the write-up, milliseconds: 663, 273, 803 and 197 runs by hyperfine, on a laptop under WSL2.
PUBLISHED = {"wget /": 2.4, "wget /build": 8.4, "wget /add_job": 1.8, "curl POST": 15.6}


def own_line(path, how, times):
    """What the lab said of its own time for a page."""
    median, p99, status = times
    if p99 is None:
        return f"{path}, {how}: its own time is not measured, since an answer was HTTP {status} or had no Server-Timing"
    return f"{path}, {how}: its own median {median:.3f} ms, p99 {p99:.3f} ms"


def run_line(run):
    """A load."""
    if run.problem:
        return f"{run.what}, {run.connections} clients: no result ({run.problem})"
    return f"{run.what}, {run.connections} clients: {run.per_s:,.0f} answers/s, p99 {table.number(run.p99_ms, 3)} ms"


def all_of(said):
    """Every table of one store."""
    texts = [_loads(said), _own_times(said)]
    if said.get("flush_ms"):
        median, p99 = said["flush_ms"]
        texts.append(f"bare flush of {measures.FLUSH_BYTES >> 10} KiB in the same folder: median {median:.3f} ms, p99 {p99:.3f} ms")
    for when in ("begin", "end"):
        if resident := said.get(f"rss_mb_{when}"):
            texts.append(f"resident at the {when}: {resident[0]:.1f} MB, of that {resident[1]:.1f} MB its own")
    texts.append(table.render(["target", "wanted", "measured", ""], targets(said)))
    if means := said.get("commands_ms"):
        rows = [[name, table.number(mean), table.number(PUBLISHED.get(name))] for name, mean in means.items()]
        texts.append(table.render(["whole process", "mean ms", "published ms"], rows))
    return "\n\n".join(texts)


def _loads(said):
    rows = [
        [
            run.what, run.connections, f"{run.per_s:,.0f}", table.number(run.p50_ms, 3), table.number(run.p99_ms, 3),
            f"{run.per_cpu_s():,.0f}" if run.per_cpu_s() else "–",
        ]
        for run in said["runs"]
        if not run.problem
    ]
    return table.render(["page", "clients", "answers/s", "p50 ms", "p99 ms", "answers per server CPU-s"], rows)


def _own_times(said):
    """The server's own 99th percentiles."""
    kinds = ["own_ms", "changed_ms", "queued_ms"]
    paths = list(dict.fromkeys(path for kind in kinds for path in said[kind]))
    rows = [[path, *(table.number(_own(said, kind, path), 3) for kind in kinds)] for path in paths]
    queued = f"with {said['queued']:,} queued" if said.get("queued") else "with a long queue"
    return table.render(["its own p99, ms", "asked for again", "after a change", f"after a change, {queued}"], rows)


def targets(said):
    """What the lab is to reach, and whether it does. Times are the server's own."""
    rows = []

    def most(name, limit, value, unit="ms"):
        measured = "not measured" if value is None else f"{value:.3f} {unit}"
        rows.append([name, f"<= {limit:g} {unit}", measured, "" if value is None else "met" if value <= limit else "missed"])

    def least(name, limit, value):
        measured = "not measured" if value is None else f"{value:,.0f}"
        rows.append([name, f">= {limit:,}", measured, "" if value is None else "met" if value >= limit else "missed"])

    words = {"own_ms": "", "changed_ms": " after a change", "queued_ms": f" with {said.get('queued') or 0:,} queued"}
    for kind, when in words.items():
        most(f"/ p99{when}", 1, _own(said, kind, "/"))
        most(f"/add_job p99{when}", 1, _own(said, kind, "/add_job"))
        most(f"/build/{{id}} p99{when}", 2, _slowest(said, kind, "/build/"))
    most("history of 10,000 points p99", 20, _slowest(said, "own_ms", "/history/"))
    post = _own(said, "own_ms", "POST /add_job")
    most("POST /add_job p99 beyond the flush's", 1, None if post is None else post - said["flush_ms"][1])
    by = {(run.what, run.connections): run for run in said["runs"] if not run.problem}
    accepted = by.get(("POST /add_job", 64))
    least("accepted per second, 64 clients", 5_000, accepted and accepted.per_s)
    views = by.get(("/", 64))
    least("views of / per server CPU-second", 8_000, views and views.per_cpu_s())
    most("resident when idle", 64, said["rss_mb_end"][0] if said.get("rss_mb_end") else None, "MB")
    return rows


def _own(said, kind, path):
    return said[kind].get(path, (None, None, 0))[1]


def _slowest(said, kind, prefix):
    found = [times[1] for path, times in said[kind].items() if path.startswith(prefix) and times[1] is not None]
    return max(found, default=None)
