"""The same cases as `prony-stats` has."""

import math
import unittest

from lib import stats


class Stats(unittest.TestCase):
    def test_critical_values(self):
        # Hollander, Wolfe and Chicken, table A.4, for n = 20.
        for n, z, expected in ((20, 1.96, 52), (6, 1.96, 0), (40, 2.024, 259), (16, 3.2, 6)):
            self.assertEqual(stats.critical(n, z), expected, (n, z))

    def test_interval(self):
        self.assertEqual(stats.signed_rank_interval([1, 2, 3, 4, 5, 60]), (1, 60))
        self.assertIsNone(stats.signed_rank_interval([1, 2, 3, 4, 5]))

    def test_ratio_is_taken_in_pairs(self):
        middle, bounds = stats.ratio([(2 * drift, drift) for drift in (1, 10, 100, 1000, 10_000, 100_000)])
        self.assertAlmostEqual(middle, 2)
        self.assertTrue(all(math.isclose(bound, 2) for bound in bounds))

    def test_quantile_is_a_value_that_occurred(self):
        self.assertEqual(stats.quantile(range(1, 101), 0.99), 99)
        self.assertEqual(stats.quantile([7], 0.5), 7)

    def test_spread(self):
        self.assertEqual(stats.spread([9, 10, 10, 11]), (10.5 - 9.5) / 10)
        self.assertIsNone(stats.spread([1, 2, 3]))
