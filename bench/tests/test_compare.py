"""What a comparison said, as the benchmark reads it."""

import json
import unittest

from compare import experiments
from lib.child import Finished


def finished(stdout, code=0):
    return Finished(["prony"], code, stdout, "", 14.0, 1.0, 0, False)


class Judging(unittest.TestCase):
    def test_the_primary_metric_comes_first(self):
        primary = {"outcome": {"word": "slower"}, "change": 0.03, "interval": {"low": 0.02, "high": 0.04}, "spread": 0.01}
        other = primary | {"outcome": {"word": "faster"}}
        told = experiments.judge("slower", finished(json.dumps({"metrics": [primary, other]})))
        self.assertEqual((told.word, told.change, told.spread, told.code), ("slower", 0.03, 0.01, 0))

    def test_a_comparison_without_a_result_is_counted(self):
        told = experiments.judge("same", finished("", 4))
        self.assertEqual((told.word, told.change, told.code), ("failed", None, 4))
