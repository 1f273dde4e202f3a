"""What a tool reports minus what the server did in that very run: a constant 1 ms, at a rate the server bears easily."""

from dataclasses import dataclass

from accuracy import against_truth
from lib.load import Load
from lib.stats import median
from lib.table import at_most, number, render

DELAY = "const:1ms"
CONNECTIONS = 100
# None: as fast as the tool goes, for tools that have no rate.
RATES = (2_000, 20_000)
QUANTILES = (0.5, 0.99)
# What Prony is also measured over, beside plain HTTP/1.1.
OVER = ("TLS", "HTTP/2")
# µs: rate -> quantile -> most.
TARGETS_US = {2_000: {0.5: 40, 0.99: 80}, 20_000: {0.99: 150}}
RATE_TARGET = 0.001
# What TLS or HTTP/2 may add to the bias of the same tool with plain HTTP/1.1.
ADDED_TARGET_US = 20


@dataclass
class Outcome:
    """One run beside its truth."""

    tool: str
    rate: int | None
    # From the server's log; None where nothing arrived.
    arrived_per_s: float | None
    truth_ms: dict[float, float]
    run: against_truth.Run

    def bias_us(self, q, kernel=False):
        """Reported minus true; `kernel`: by the kernel's clock."""
        said = self.run.trial.said
        quantiles_ms = {} if said is None else said.kernel_quantiles_ms if kernel else said.quantiles_ms
        reported = quantiles_ms.get(q)
        return None if reported is None or q not in self.truth_ms else (reported - self.truth_ms[q]) * 1000


def jobs(tools, closed):
    """Every (rate, tool)."""
    return [(rate, tool) for rate in RATES for tool in tools] + [(None, tool) for tool in closed]


def run_one(bench, seconds, rate, tool):
    """One run."""
    run = against_truth.run(tool, lambda url: Load(url, CONNECTIONS, seconds, rate=rate), DELAY, bench)
    residences = run.log.residences_ms()
    return Outcome(
        tool=tool.name,
        rate=rate,
        arrived_per_s=run.log.rate_per_s() if len(residences) > 1 else None,
        truth_ms=against_truth.quantiles(residences, QUANTILES),
        run=run,
    )


def table(outcomes):
    """The table, as text."""
    head = ["tool, asked/s", "arrived", "requests reported", "by the server", "truth p50 ms", "truth p99 ms", "bias p50 µs", "least to most", "bias p99 µs", "least to most", "target"]
    keys = dict.fromkeys((one.rate, one.tool) for one in outcomes)
    ordered = sorted(keys, key=lambda key: (key[0] is None, key[0] or 0, not key[1].startswith("prony"), key[1]))
    rows = []
    for rate, tool in ordered:
        of_tool = [one for one in outcomes if (one.rate, one.tool) == (rate, tool)]
        plain = [one for one in outcomes if (one.rate, one.tool) == (rate, _plain(tool))]
        rows.append(_row(rate, tool, of_tool, plain=plain))
        if any(one.bias_us(q, kernel=True) is not None for one in of_tool for q in QUANTILES):
            rows.append(_row(rate, tool, of_tool, kernel=True, plain=plain))
    return render(head, rows)


def _plain(tool):
    """The same tool with plain HTTP/1.1, of one that speaks something else."""
    for over in OVER:
        if tool.endswith(f" {over}"):
            return tool.removesuffix(f" {over}")
    return None


def _row(rate, tool, outcomes, kernel=False, plain=()):
    name = f"{tool} by kernel" if kernel else tool
    label = f"{name}, {rate:,}" if rate else f"{name}, closed loop"
    good = [one for one in outcomes if one.run.trial.said and one.truth_ms]
    if not good:
        return [label, "no result", *["–"] * 9]
    arrived = median([one.arrived_per_s for one in good])
    said = [one.run.trial.said.answered for one in good]
    counted = [len(one.run.log.served) for one in good]
    cells = [label, _against(arrived, rate), f"{sum(said):,}", f"{sum(counted):,}"]
    cells += [number(median([one.truth_ms[q] for one in good]), 3) for q in QUANTILES]
    middles = {}
    for q in QUANTILES:
        found = [bias for one in good if (bias := one.bias_us(q, kernel)) is not None]
        middles[q] = median(found) if found else None
        cells += [f"{middles[q]:+.0f}", f"{min(found):+.0f} to {max(found):+.0f}"] if found else ["–", "–"]
    target = _beside_plain(middles, plain, kernel) if plain else _target(rate, tool, middles, arrived)
    return [*cells, target + against_truth.called_invalid(good)]


def _beside_plain(middles, plain, kernel):
    """What TLS or HTTP/2 adds to the bias of the same tool without it."""
    texts = []
    for q, middle in middles.items():
        found = [bias for one in plain if (bias := one.bias_us(q, kernel)) is not None]
        if found and middle is not None:
            added = middle - median(found)
            met = "met" if abs(added) <= ADDED_TARGET_US else "missed"
            texts.append(f"p{100 * q:g} {added:+.0f} µs on plain, within {ADDED_TARGET_US}: {met}")
    return ", ".join(texts)


def _against(arrived, rate):
    if rate is None:
        return f"{arrived:,.0f}/s"
    error = arrived / rate - 1
    return f"{100 * error:+.2f} %" if abs(error) < 0.1 else f"{arrived:,.0f}/s"


def _target(rate, tool, middles, arrived):
    if not tool.startswith("prony"):
        return ""
    texts = [f"p{100 * q:g} " + at_most(_size(middles[q]), most, " µs") for q, most in TARGETS_US[rate].items()]
    texts.append("rate " + at_most(round(100 * abs(arrived / rate - 1), 3), 100 * RATE_TARGET, " %"))
    return ", ".join(texts)


def _size(value):
    return None if value is None else abs(value)
