"""Children are bounded, measured, and ended."""

import os
import signal
import time
import unittest

from lib import child

CORES = os.sched_getaffinity(0)


class Children(unittest.TestCase):
    def test_output_code_and_affinity(self):
        core = min(CORES)
        done = child.run(["sh", "-c", "echo out; echo err >&2; grep Cpus_allowed_list /proc/self/status; exit 3"], {core}, 5)
        self.assertEqual((done.code, done.stderr, done.timed_out), (3, "err\n", False))
        self.assertEqual(done.stdout.split(), ["out", "Cpus_allowed_list:", str(core)])
        self.assertEqual(os.sched_getaffinity(0), CORES)

    def test_peak_is_not_that_of_python(self):
        done = child.run(["sleep", "0.1"], CORES, 5)
        self.assertTrue(0 < done.peak_bytes < 5_000_000, done.peak_bytes)
        self.assertTrue(0 < done.own_peak_bytes < done.peak_bytes, done.own_peak_bytes)

    def test_cpu_time_is_counted(self):
        done = child.run(["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"], CORES, 30)
        self.assertGreater(done.cpu_s, 0.01)
        self.assertLessEqual(done.cpu_s, done.wall_s + 0.01)

    def test_more_output_than_the_pipe_holds(self):
        done = child.run(["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"], CORES, 10)
        self.assertEqual(len(done.stdout), 300_000)

    def test_a_run_is_bounded_with_all_it_started(self):
        began = time.monotonic()
        done = child.run(["sh", "-c", "sleep 60 & sleep 60"], CORES, 0.3)
        self.assertTrue(done.timed_out)
        self.assertLess(time.monotonic() - began, 5)

    def test_end(self):
        one = child.start(["sleep", "60"], CORES)
        self.assertTrue(one.running())
        one.end()
        self.assertRaises(ProcessLookupError, os.kill, one.pid, 0)
        one.end()

    def test_cpu_time_of_children_that_have_ended(self):
        reader, writer = os.pipe()
        burn = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
        null = os.open(os.devnull, os.O_WRONLY)
        one = child.start(["sh", "-c", f"sh -c '{burn}'; echo done; exec sleep 60"], CORES, stdout=(writer, null))
        os.close(writer)
        os.close(null)
        self.assertEqual(os.read(reader, 5), b"done\n")
        self.assertGreater(one.cpu_s(), 0.02)
        one.end()
        os.close(reader)

    def test_a_child_has_an_environment_and_a_signal_to_end_by(self):
        reader, writer = os.pipe()
        script = "trap 'echo $WORD; exit' INT; echo ready; while :; do sleep 0.05; done"
        one = child.start(["sh", "-c", script], CORES, stdout=(writer, writer), environment={"WORD": "ours"}, end_signal=signal.SIGINT)
        os.close(writer)
        self.assertEqual(os.read(reader, 6), b"ready\n")
        one.end()
        self.assertEqual(os.read(reader, 5), b"ours\n")
        os.close(reader)
