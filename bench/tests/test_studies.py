"""The tables of bench/studies."""

import unittest

from studies import report


def cell(name, verdicts, figures, kind="run"):
    listed = [{"metric": metric, "value": value, "interval": interval} for metric, value, interval in figures]
    return {"name": name, "kind": kind, "runs": [{"verdict": verdict} for verdict in verdicts], "figures": listed}


def study(*cells, published=()):
    return report.Study("rudy", 3, 12.0, {"cells": list(cells), "published": list(published)})


class Reports(unittest.TestCase):
    def test_a_cell_is_usable_if_its_main_figures_have_values(self):
        good = cell("a", ["valid", "invalid"], [("rate", 24.6, None), ("p50", 40.5, {"low": 40.1, "high": 41.0})])
        withheld = cell("b", ["invalid"], [("rate", None, None), ("p50", 40.5, None)])
        absent = cell("c", ["invalid"], [])
        command = cell("d", ["doubtful"], [("wall", 3.72, None)], kind="exec")
        self.assertEqual(report.usable([study(good, withheld, absent, command)], 0.9), "cells with usable figures: 2 of 4, 50 %; >= 0.90: missed")
        costed = cell("e", ["invalid"], [("rate", None, None), ("cpu-per-request", 27.0, None)])
        self.assertEqual(report.with_cost([study(good, withheld, absent, command, costed)]), "with these or the server's CPU time per request: 3 of 5")
        self.assertEqual(report.usable([], 0.9), "cells with usable figures: 0 of 0, –; >= 0.90: not measured")

    def test_a_study_without_a_report_has_no_cells(self):
        failed = report.Study("node-pg", 2, 1.0, None)
        self.assertEqual(report.progress(failed), "node-pg: 0 of 0 cells usable, exit code 2, 1 s")

    def test_published_figures_stand_beside_ours(self):
        figure = {"cell": 0, "metric": "total", "published": 4.197233, "measured": 4.1143, "interval": {"low": 4.05, "high": 4.2}, "note": "one run"}
        rows = report.published([study(cell("40 ms", ["valid", "invalid"], []), published=[figure])]).splitlines()
        self.assertEqual([part.strip() for part in rows[2].split("|")[1:-1]], ["**rudy**: 40 ms", "total", "4.2 s", "4.11 s [4.05 s, 4.2 s]", "1 of 2", "one run"])

    def test_limiters_are_counted_over_the_runs(self):
        many = cell("pool", ["valid", "valid", "invalid"], [("rate", 98.0, None), ("p50", 100.2, None), ("cpu-per-request", 71.0, None)])
        for run, kind in zip(many["runs"], ["server-waits", "unknown", "server-waits"]):
            run["limiter"] = {"kind": kind}
        many["retried"] = [{}, {}]
        row = [part.strip() for part in report.cells([study(many)]).splitlines()[2].split("|")[1:-1]]
        self.assertEqual(row, ["**rudy**: pool", "98 /s · 100 ms", "2 of 3, 2 repeated", "71 µs", "server-waits (2), unknown (1)"])

    def test_cpu_time_repeats_where_the_rate_does(self):
        def of(rates, costs):
            made = cell("c", ["valid"] * len(rates), [])
            for run, rate, cost in zip(made["runs"], rates, costs):
                run["figures"] = {"rate": rate, "cpu-per-request": cost}
            return made

        steady = of([90.0, 100.0, 110.0], [50.0, 50.5, 51.0])
        costly = of([90.0, 100.0, 110.0], [50.0, 55.0, 61.0])
        unsteady = of([50.0, 100.0, 150.0], [50.0, 50.0, 50.0])
        few = of([100.0, 100.0], [50.0, 50.0])
        said = report.repeats([study(steady, costly, unsteady, few)])
        self.assertEqual(said, "the rate repeats within 20 % in 2 of 3 cells; there CPU time per request repeats within 2 % in 1, and within 5.5 % in half of them")
        self.assertEqual(report.repeats([study(unsteady)]), "the rate repeats within 20 % in none of 1 cells")

    def test_amounts_have_units_and_three_digits(self):
        shown = [("rate", 18512.0, "18,500 /s"), ("p50", 0.15432, "0.154 ms"), ("success", 0.99949, "99.9 %"), ("cpu-per-request", 71.26, "71.3 µs"), ("p99", None, "–")]
        for metric, value, text in shown:
            self.assertEqual(report.amount(value, metric), text)


if __name__ == "__main__":
    unittest.main()
