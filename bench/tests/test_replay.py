"""The log of bench/replay, and what is said of its runs."""

import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "replay")]

import recording


def run(lateness_p99_ms, peak_mib, verdict="valid"):
    """A run with these figures."""
    return {"lateness_p99_ms": lateness_p99_ms, "peak_mib": peak_mib, "verdict": verdict}


class Recording(unittest.TestCase):
    """The lines have the rate that was asked for, and the table says what is missed."""

    def test_lines(self):
        lines = list(recording.lines(20_000, 1_000, 7))
        self.assertEqual(lines, list(recording.lines(20_000, 1_000, 7)), "a seed is a log")
        moments = [float(line.split("[")[1].split("]")[0]) for line in lines]
        self.assertEqual(moments, sorted(moments))
        self.assertAlmostEqual(moments[-1] - moments[0], 20, delta=1)
        self.assertGreater(len({line.split('"')[1] for line in lines}), 1_000)

    def test_table(self):
        runs = [(1, "epoll", run(0.5, 50)), (2, "epoll", run(0.7, 60)), (1, "io_uring", run(None, 20, "invalid"))]
        text = recording.table(runs, 1.0, 64.0)
        epoll, uring = text.splitlines()[2:]
        self.assertIn("0.60", epoll)
        self.assertIn("met", epoll)
        self.assertIn("missed", uring)
        self.assertIn("0 of 1", uring)
        self.assertIn("missed", recording.table([(1, "epoll", run(0.5, 70))], 1.0, 64.0))


if __name__ == "__main__":
    unittest.main()
