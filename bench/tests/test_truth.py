"""The truth: from a log, and from a schedule."""

import os
import struct
import tempfile
import unittest

from accuracy import freeze, requests, truth_log

MS = 1_000_000


def log_of(records):
    text = struct.pack("<8sIIQQq", b"PRONYTRU", 2, 72, 1, 0, 0)
    for index, (arrival_ms, reply_ms, outcome) in enumerate(records):
        times = (int(arrival_ms * MS), 0, 0, 0, int(reply_ms * MS), 0)
        text += struct.pack("<8Q2HI", index, 0, *times, outcome, 40_000, 1)
    return text + struct.pack("<8sQQ48x", b"PRONYEND", len(records), 0)


def read(data):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log")
        with open(path, "wb") as file:
            file.write(data)
        return truth_log.read(path)


class Truth(unittest.TestCase):
    def test_residence_of_what_was_answered(self):
        log = read(log_of([(12, 13.5, 0), (10, 11, 0), (11, 12, 3)]))
        self.assertEqual(log.residences_ms(), [1.0, 1.5])
        self.assertEqual((log.lost, log.unstamped, log.clock_moved), (0, 0, 0))

    def test_a_log_without_its_end(self):
        self.assertRaises(SystemExit, read, log_of([(1, 2, 0)])[:-72])

    def test_response_from_the_moment_it_was_due(self):
        # One a millisecond; the second was sent 3 ms late.
        log = read(log_of([(10, 11, 0), (14, 15, 0), (12, 13, 0)]))
        self.assertEqual([round(value, 6) for value in log.responses_ms(1000)], [1.0, 2.0, 3.0])

    def test_rate(self):
        log = read(log_of([(index * 0.5, index * 0.5 + 1, 0) for index in range(100)]))
        self.assertAlmostEqual(log.rate_per_s(), 2000)

    def test_freeze_with_connections_to_spare_is_the_closed_form(self):
        seen = freeze.seen_by_users(2000)
        self.assertEqual(len(seen), 10_000)
        for q in (0.95, 0.99, 0.999):
            closed_form = freeze.BASE_MS + max(0, freeze.STALL_MS - 10_000 * (1 - q))
            self.assertAlmostEqual(freeze.against_truth.quantile(seen, q), closed_form, delta=1.01)

    def test_freeze_behind_few_connections_clears_slower(self):
        self.assertAlmostEqual(freeze.against_truth.quantile(freeze.seen_by_users(10), 0.99), 911, delta=1)


class Requests(unittest.TestCase):
    def test_the_nth_of_a_connection_is_the_nth_that_was_served_on_it(self):
        log = read(log_of([(10, 11, 0), (20, 22, 0), (30, 31, 0)]))
        header = "port,sent_ns,tx_ns,rx_ns,done_ns\n"
        rows = "40000,19900000,19950000,22050000,22100000\n40000,9900000,0,0,11200000\n"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "samples")
            with open(path, "w", encoding="ascii") as file:
                file.write(header + rows)
            found = requests._join("prony", "const:1ms", log, path)
        self.assertEqual((found.joined, found.unmatched), (2, 1))
        self.assertEqual([round(value, 3) for value in found.service_us], [300.0, 200.0])
        self.assertEqual([round(value, 3) for value in found.kernel_us], [100.0])
        self.assertIn("+100.0", requests.table([found]))
