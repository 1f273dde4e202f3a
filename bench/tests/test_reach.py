"""Which load each tool gets, and how a field of a CSV file is held against a static request."""

import unittest

from lib.load import Said
from lib.tools import K6
from lib.trial import Trial
from reach import loads

URLS = {"http1": "http://a/", "http2": "http://b/", "tls": "https://c/"}


def trial(tool, per_cpu_s):
    return Trial(tool, Said(answered=per_cpu_s), None, 0, [], 1.0, 1.0, 0, 1.0, 0)


class Reach(unittest.TestCase):
    def test_each_cell_goes_to_its_port(self):
        wanted = {"http2": "http2", "http2-tls": "tls", "https": "tls", "handshakes": "tls", "sequence": "http1", "template": "http1"}
        for cell, tool in loads.jobs("prony", [K6()], []):
            self.assertTrue(cell.load(URLS, 1, tool).url.startswith(URLS[wanted[cell.name]]), cell.name)

    def test_who_sends_what_beside_a_template(self):
        jobs = loads.jobs("prony", [K6()], ["template"])
        sent = {tool.name: (load.scenario or load.url) for cell, tool in jobs for load in [cell.load(URLS, 1, tool)]}
        ends = {name: what.rpartition("/")[2] for name, what in sent.items()}
        self.assertEqual(ends["prony epoll"], "template")
        self.assertEqual(ends["static session epoll"], "fixed")
        self.assertEqual(ends["static epoll"], "list?user=10042")
        self.assertEqual(len(sent), 6)

    def test_all_files_are_there(self):
        for cell, tool in loads.jobs("prony", [K6()], ["sequence", "template"]):
            scenario = cell.load(URLS, 1, tool).scenario
            for name in tool.argv(cell.load(URLS, 1, tool))[1:]:
                if scenario and name.startswith(scenario):
                    with open(name, encoding="utf-8") as file:
                        self.assertTrue(file.read())

    def test_a_field_is_held_against_the_same_driver(self):
        [cell] = [cell for cell in loads.CELLS if cell.name == "template"]
        own = [trial("prony io_uring", 96), trial("prony epoll", 80)]
        static = [trial("static io_uring", 100), trial("static epoll", 100), trial("static session epoll", 90)]
        rows = {row.split("|")[1].strip(): row for row in loads.table([(1, cell, one) for one in own + static]).splitlines()}
        self.assertIn("CPU +4.2 %, <= 5 %: met", rows["static io_uring"])
        self.assertIn("CPU +25.0 %, <= 5 %: missed", rows["static epoll"])
        self.assertNotIn("CPU", rows["static session epoll"])


if __name__ == "__main__":
    unittest.main()
