"""Reports as the tools print them."""

import unittest

from lib.child import Finished
from lib.load import Load, Unreadable
from lib.tools import Ab, Floor, Wrk

WRK = """Running 2s test @ http://127.0.0.1:9463/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.94ms  401.12us  14.34ms   93.10%
    Req/Sec    33.67k     2.10k   36.32k    80.00%
  Latency Distribution
     50%  980.00us
     75%    2.01ms
     90%    2.25ms
     99%    1.20s
  66928 requests in 2.04s, 4.91MB read
  Socket errors: connect 0, read 12, write 0, timeout 0
  Non-2xx or 3xx responses: 5
Requests/sec:  32807.84
"""

AB = """Complete requests:      1000
Failed requests:        3
Requests per second:    647.17 [#/sec] (mean)

Percentage of the requests served within a certain time (ms)
  50%      2
  99%     17
 100%     40 (longest request)
"""


def finished(text):
    return Finished(["tool"], 0, text, "", 1.0, 1.0, 0, False)


class Tools(unittest.TestCase):
    def test_wrk(self):
        said = Wrk().read(finished(WRK))
        self.assertEqual((said.answered, said.failed, said.per_s), (66928, 5, 32807.84))
        self.assertEqual(said.quantiles_ms, {0.5: 0.98, 0.75: 2.01, 0.9: 2.25, 0.99: 1200.0})
        self.assertEqual(said.max_ms, 14.34)
        self.assertIn("read 12", said.remark)

    def test_ab(self):
        said = Ab().read(finished(AB))
        self.assertEqual((said.answered, said.failed, said.max_ms), (997, 3, 40.0))
        self.assertEqual(said.quantiles_ms, {0.5: 2.0, 0.99: 17.0})

    def test_ab_takes_its_limit_after_its_time(self):
        argv = Ab().argv(Load("http://h/", 1, 2))
        self.assertLess(argv.index("-t"), argv.index("-n"))

    def test_floor(self):
        tool = Floor("floor")
        self.assertEqual(tool.argv(Load("http://127.0.0.1:80/", 16, 2)), ["floor", "127.0.0.1:80", "16", "2"])
        said = tool.read(finished('{"answered": 1000, "seconds": 2.0, "cpu_s": 0.5}'))
        self.assertEqual((said.answered, said.failed, said.per_s), (1000, 0, 500.0))

    def test_nothing_readable(self):
        for tool in (Wrk(), Ab(), Floor("floor")):
            self.assertRaises(Unreadable, tool.read, finished("no such thing"))
