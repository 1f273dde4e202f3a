"""What the reports of studies say, as tables: nothing here is measured or judged again."""

import collections
import json
import statistics
from dataclasses import dataclass

from lib import table

# What a cell must have to be usable, by its kind.
MAIN_FIGURES = {"run": ("rate", "p50"), "exec": ("wall",), "probe": ("probe",)}
# Of the rate and of CPU time per request, in the same cell.
RATE_REPEATS, CPU_REPEATS = 0.20, 0.02
# Runs that both are known of.
REPEATS_LEAST = 3
UNITS = {"rate": "/s", "success": "", "start-up": "", "total": "s", "memory": "MiB", "cpu-per-request": "µs", "server-memory": "MiB"}


@dataclass
class Study:
    """A study that was run."""

    name: str
    code: int
    took_s: float
    # The report as JSON; None where there is none.
    result: dict | None


def read(name, folder, code, took_s):
    """The report in `folder`."""
    path = folder / "report.json"
    return Study(name, code, took_s, json.loads(path.read_text(encoding="utf-8")) if path.exists() else None)


def progress(study):
    """One line about a study that ended."""
    good, total = _usable_cells(study)
    return f"{study.name}: {good} of {total} cells usable, exit code {study.code}, {study.took_s:.0f} s"


def published(studies):
    """Each published figure beside the measured one."""
    rows = []
    for study in _with_results(studies):
        for figure in study.result["published"]:
            cell = study.result["cells"][figure["cell"]]
            metric = figure["metric"]
            rows.append(
                [
                    f"**{study.name}**: {cell['name']}",
                    metric,
                    amount(figure["published"], metric),
                    _with_interval(figure["measured"], figure["interval"], metric),
                    _runs(cell),
                    figure.get("note") or "",
                ]
            )
    return table.render(["cell", "figure", "published", "here [95 %]", "usable runs", "what the write-up could not see"], rows)


def cells(studies):
    """Every cell with its main figures, its limiter and what a request costs the server."""
    rows = []
    for study in _with_results(studies):
        for cell in study.result["cells"]:
            figures = _figures(cell)
            main = [
                _with_interval(figures[name]["value"], figures[name]["interval"], name)
                for name in MAIN_FIGURES[cell["kind"]]
                if name in figures
            ]
            cpu = figures.get("cpu-per-request")
            rows.append(
                [
                    f"**{study.name}**: {cell['name']}",
                    " · ".join(main) or "–",
                    _runs(cell),
                    _with_interval(cpu["value"], cpu["interval"], "cpu-per-request") if cpu else "–",
                    _limiter(cell),
                ]
            )
    return table.render(["cell", "rate · p50, or time", "usable runs", "server CPU per request", "limiter"], rows)


def usable(studies, target):
    """The share of cells with usable figures, against the target."""
    pairs = [_usable_cells(study) for study in studies]
    good, total = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    share = good / total if total else None
    return f"cells with usable figures: {good} of {total}, {table.percent(share)}; {table.at_least(share, target)}"


def with_cost(studies):
    """How many cells have their main figures or, where the machine spoiled those, the server's CPU time per request."""
    cells_ = [cell for study in _with_results(studies) for cell in study.result["cells"]]
    known = [cell for cell in cells_ if _is_usable(cell) or _has_cost(cell)]
    return f"with these or the server's CPU time per request: {len(known)} of {len(cells_)}"


def repeats(studies):
    """How far the server's CPU time per request repeats where the rate does: half the range over the runs of a cell, as a
    share of their median."""
    pairs = []
    for study in _with_results(studies):
        for cell in study.result["cells"]:
            spreads = [_half_range([run["figures"].get(name) for run in cell["runs"]]) for name in ("rate", "cpu-per-request")]
            if None not in spreads:
                pairs.append(spreads)
    alike = [cpu for rate, cpu in pairs if rate <= RATE_REPEATS]
    if not alike:
        return f"the rate repeats within {table.percent(RATE_REPEATS)} in none of {len(pairs)} cells"
    within = sum(cpu <= CPU_REPEATS for cpu in alike)
    return (
        f"the rate repeats within {table.percent(RATE_REPEATS)} in {len(alike)} of {len(pairs)} cells; there CPU time per "
        f"request repeats within {table.percent(CPU_REPEATS)} in {within}, and within {table.percent(statistics.median(alike), 1)} "
        "in half of them"
    )


def _half_range(values):
    """None for fewer than three known values."""
    known = [value for value in values if value]
    if len(known) < REPEATS_LEAST:
        return None
    return (max(known) - min(known)) / 2 / statistics.median(known)


def amount(value, metric):
    """A figure with its unit, three significant digits."""
    if value is None:
        return "–"
    if metric in ("success", "start-up"):
        return table.percent(value, 1)
    digits = f"{value:.3g}" if abs(value) < 1000 else f"{float(f'{value:.3g}'):,.0f}"
    return f"{digits} {UNITS.get(metric, 'ms')}"


def _with_interval(value, interval, metric):
    text = amount(value, metric)
    if value is None or not interval:
        return text
    return f"{text} [{amount(interval['low'], metric)}, {amount(interval['high'], metric)}]"


def _usable_cells(study):
    if not study.result:
        return 0, 0
    cells_ = study.result["cells"]
    return sum(_is_usable(cell) for cell in cells_), len(cells_)


def _is_usable(cell):
    figures = _figures(cell)
    return all(name in figures and figures[name]["value"] is not None for name in MAIN_FIGURES[cell["kind"]])


def _has_cost(cell):
    return _figures(cell).get("cpu-per-request", {}).get("value") is not None


def _figures(cell):
    return {figure["metric"]: figure for figure in cell["figures"]}


def _runs(cell):
    good = sum(run["verdict"] != "invalid" for run in cell["runs"])
    retried = len(cell.get("retried", []))
    return f"{good} of {len(cell['runs'])}" + (f", {retried} repeated" if retried else "")


def _limiter(cell):
    """The limiters that its runs name, the most frequent first, with how many runs name each."""
    kinds = collections.Counter(run["limiter"]["kind"] for run in cell["runs"] if run.get("limiter"))
    return ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common()) or "–"


def _with_results(studies):
    return [study for study in studies if study.result]
