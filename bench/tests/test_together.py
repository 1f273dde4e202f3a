"""Several runs at a time."""

import threading
import time
import unittest

from lib import child, together


class Spread(unittest.TestCase):
    def test_results_keep_the_order_and_no_place_is_used_twice(self):
        lock, held, most = threading.Lock(), [], []

        def work(job, cores):
            with lock:
                held.append(tuple(cores))
                most.append(len(held))
            time.sleep(0.002 * (5 - job % 5))
            with lock:
                held.remove(tuple(cores))
            return job, cores

        found = together.spread(work, range(20), [4, 5], 2)
        self.assertEqual([job for job, _ in found], list(range(20)))
        self.assertEqual({tuple(cores) for _, cores in found}, {(4, 5), (5, 4)})
        self.assertLessEqual(max(most), 2)

    def test_a_failure_ends_what_still_runs(self):
        def work(job, _cores):
            if job == 0:
                return child.run(["/bin/sleep", "60"], None, 60)
            time.sleep(0.1)
            raise SystemExit("the server ended at once")

        before = time.monotonic()
        with self.assertRaises(SystemExit):
            together.spread(lambda job, cores: work(1 - job, cores), range(2), [0], 2)
        self.assertLess(time.monotonic() - before, 30)


if __name__ == "__main__":
    unittest.main()
