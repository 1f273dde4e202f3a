"""What a run says of its limiter, as the benchmark reads it."""

import json
import unittest

from limiter import cases


def stdout(kind, evidence=()):
    numbers = [{"name": name, "value": value, "unit": "cores"} for name, value in evidence]
    limiter = {"kind": kind, "sentence": "because", "evidence": numbers}
    return json.dumps({"limiter": limiter, "rate": {"done_per_s": 25.0}, "machine": {"steal_share": None}})


class Judging(unittest.TestCase):
    case = cases.make("serial", 1)

    def word(self, *said):
        return cases.judge(self.case, stdout(*said)).word

    def test_the_known_limit_is_right_and_another_is_wrong(self):
        self.assertEqual(self.word("server-waits"), "right")
        self.assertEqual(self.word("unknown"), "unknown")
        for kind in ("connections", "server-cpu", "server-thread", "client", "chosen-rate"):
            self.assertEqual(self.word(kind), "wrong", kind)

    def test_the_machine_is_blamed_rightly_only_where_its_cores_were_taken(self):
        self.assertEqual(self.word("machine", [("other_cores", 0.2), ("stolen_cores", 0.1)]), "machine")
        self.assertEqual(self.word("machine", [("other_cores", 0.1), ("stolen_cores", 0.0)]), "wrong")
        self.assertEqual(self.word("machine"), "wrong")

    def test_a_run_without_a_result_has_failed(self):
        for text in ("", "{}", '{"limiter": null}', "[1]"):
            self.assertEqual(cases.judge(self.case, text).word, "failed", text)

    def test_the_same_seed_makes_the_same_case(self):
        for name in cases.MAKERS:
            self.assertEqual(cases.make(name, 7), cases.make(name, 7))
        self.assertGreater(len({cases.make("serial", seed) for seed in range(20)}), 5)


if __name__ == "__main__":
    unittest.main()
