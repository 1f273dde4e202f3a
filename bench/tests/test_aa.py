"""What counts as a doubt."""

import json
import unittest

from aa import healthy
from lib.child import Finished


def finished(stdout, code=0):
    return Finished(["prony"], code, stdout, "no such host", 2.0, 1.0, 0, False)


class Judging(unittest.TestCase):
    def test_notes_are_no_doubts(self):
        findings = [{"code": "steal", "severity": "invalid"}, {"code": "loop-gap", "severity": "note"}]
        said = json.dumps({"verdict": "invalid", "findings": findings})
        one = healthy.judge("open", finished(said, 3))
        self.assertEqual((one.verdict, one.doubts, one.notes), ("invalid", ["steal (invalid)"], ["loop-gap"]))

    def test_a_run_without_a_result_is_counted(self):
        one = healthy.judge("open", finished("", 1))
        self.assertEqual((one.verdict, one.doubts), ("failed", ["exit code 1: no such host"]))
