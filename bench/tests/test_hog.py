"""The hog takes about what it is told to, and always ends."""

import itertools
import os
import signal
import subprocess
import sys
import time
import unittest

from lib import child, hog

CORES = os.sched_getaffinity(0)


def gone(pid, patience_s=10.0):
    """Whether the process ends, in bounded time."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


class Planned(unittest.TestCase):
    def test_the_same_seed_draws_the_same_bursts(self):
        first = list(itertools.islice(hog.plan(7, 0), 50))
        self.assertEqual(first, list(itertools.islice(hog.plan(7, 0), 50)))
        self.assertNotEqual(first, list(itertools.islice(hog.plan(7, 1), 50)))

    def test_bursts_and_share(self):
        drawn = list(itertools.islice(hog.plan(1, 0, share=0.3), 20_000))
        self.assertTrue(all(0.001 <= burst <= 0.050 for _, burst in drawn))
        pauses, bursts = (sum(column) for column in zip(*drawn))
        self.assertAlmostEqual(bursts / (pauses + bursts), 0.3, delta=0.01)


class Running(unittest.TestCase):
    def test_it_says_what_it_took(self):
        with hog.running(CORES, 3, seconds=20) as one:
            self.assertIn(one.priority, ("fifo", "nice -20", "normal"))
            time.sleep(0.5)
            taken = one.stop()
        self.assertEqual(set(map(int, taken)), CORES)
        self.assertTrue(all(0 <= share < 0.9 for share in taken.values()), taken)

    def test_it_ends_by_itself(self):
        done = child.run([sys.executable, hog.__file__, "--seconds", "0.3"], CORES, 30)
        self.assertEqual((done.code, done.timed_out), (0, False), done.stderr)
        self.assertIn("taken", done.stdout)

    def test_it_ends_with_its_parent(self):
        script = f"import subprocess, sys\nprint(subprocess.Popen([sys.executable, {hog.__file__!r}, '--seconds', '60']).pid, flush=True)\ninput()"
        parent = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        pid = int(parent.stdout.readline())
        parent.stdout.readline()
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            burning = [int(one) for one in children.read().split()]
        parent.send_signal(signal.SIGKILL)
        parent.communicate()
        self.assertTrue(all(gone(one) for one in [pid, *burning]))

    def test_nonsense_is_refused(self):
        for wrong in (["--share", "1"], ["--least-ms", "5", "--most-ms", "1"], ["--most-ms", "1000"]):
            done = child.run([sys.executable, hog.__file__, *wrong], CORES, 30)
            self.assertEqual(done.code, 2, wrong)
