"""Reports as the tools print them."""

import unittest

from lib import servers
from lib.child import Finished
from lib.load import Load, Unreadable
from lib.tools import K6, Ab, Floor, H2load, Oha, Prony, Wrk, Wrk2, Zrk, h2load, zrk

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


ZRK = """{
  "zrk_version": "1.4.2",
  "duration_s": 1.000,
  "requests": 996,
  "achieved_rate": 995.72,
  "latency_us": {
    "min": 70, "mean": 234.7, "stdev": 526.6, "max": 6215,
    "p50": 121, "p75": 143, "p90": 239, "p99": 3177, "p99_9": 5294, "p99_99": 6214
  },
  "errors": { "connect": 1, "read": 0, "write": 0, "timeout": 2, "deadline": 0, "non_2xx_3xx": 4 }
}"""

WRK2 = """Running 12s test @ http://127.0.0.1:9463/
  1 threads and 10 connections
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    1.10ms
 75.000%    1.42ms
 99.000%    2.05ms
 99.900%  812.00us
100.000%    1.20s
  23990 requests in 12.00s, 1.76MB read
  Non-2xx or 3xx responses: 5
Requests/sec:   1999.21
"""

H2LOAD = """finished in 2.00s, 200.00 req/s, 15.04KB/s
requests: 405 total, 404 started, 403 done, 400 succeeded, 3 failed, 1 errored, 0 timeout
status codes: 400 2xx, 0 3xx, 0 4xx, 3 5xx
"""

K6_SUMMARY = """{
  "http_reqs": {"type": "counter", "contains": "default", "values": {"count": 1000, "rate": 498.5}},
  "http_req_failed": {"type": "rate", "contains": "default", "values": {"rate": 0.002, "passes": 2, "fails": 998}},
  "http_req_duration": {"type": "trend", "contains": "time",
    "values": {"avg": 1.2, "min": 0.1, "med": 1.0, "max": 9.5, "p(90)": 2.0, "p(95)": 2.5}}
}"""


def finished(text):
    return Finished(["tool"], 0, text, "", 1.0, 1.0, 0, False)


class Tools(unittest.TestCase):
    def test_wrk(self):
        said = Wrk().read(finished(WRK))
        self.assertEqual((said.answered, said.failed, said.per_s), (66923, 5, 32807.84))
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

    def test_zrk(self):
        said = zrk.parse(ZRK)
        self.assertEqual((said.answered, said.failed, said.per_s, said.max_ms), (992, 7, 995.72, 6.215))
        self.assertEqual((said.quantiles_ms[0.5], said.quantiles_ms[0.999]), (0.121, 5.294))
        for text in ("", "{}", '{"latency_us": {}, "errors": {}}'):
            self.assertRaises(Unreadable, zrk.parse, text)

    def test_zrk_has_no_closed_loop(self):
        argv = Zrk().argv(Load("http://h/", 16, 2))
        self.assertEqual(argv[argv.index("-R") + 1], "2000000")
        self.assertRaises(Unreadable, Zrk().read, finished(""))

    def test_wrk2(self):
        said = Wrk2().read(finished(WRK2))
        self.assertEqual((said.answered, said.failed, said.per_s, said.max_ms), (23_985, 5, 1999.21, 1200.0))
        self.assertEqual(said.quantiles_ms, {0.5: 1.1, 0.75: 1.42, 0.99: 2.05, 0.999: 0.812})

    def test_h2load(self):
        said = h2load.parse(H2LOAD, [1.0, 2.0, 3.0])
        self.assertEqual((said.answered, said.failed, said.per_s, said.max_ms), (400, 3, 200.0, 3.0))
        self.assertEqual(said.quantiles_ms[0.5], 2.0)
        self.assertEqual(h2load.parse(H2LOAD).quantiles_ms, {})

    def test_h2load_has_a_rate_for_each_connection(self):
        argv = H2load().argv(Load("http://h/", 100, 2, rate=2_000, keepalive=False))
        self.assertEqual(argv[argv.index("--rps") + 1], "20")
        self.assertIn("Connection: close", argv)

    def test_k6(self):
        said = K6().read(finished(K6_SUMMARY))
        self.assertEqual((said.answered, said.failed, said.per_s, said.max_ms), (998, 2, 498.5, 9.5))
        self.assertEqual(said.quantiles_ms, {0.5: 1.0, 0.9: 2.0, 0.95: 2.5})
        self.assertRaises(Unreadable, K6().read, finished("{}"))

    def test_scenarios(self):
        load = Load("http://h/", 64, 10, scenario="reach/sequence")
        self.assertIn(["run", "reach/sequence.toml"], pairs(Prony("prony", "epoll").argv(load)))
        self.assertIn(["--base", "http://h/"], pairs(Prony("prony", "epoll").argv(load)))
        argv = K6().argv(load)
        self.assertIn(["--env", "BASE=http://h"], pairs(argv))
        self.assertTrue({"--no-usage-report", "reach/sequence.js"} <= set(argv))

    def test_what_our_servers_count(self):
        self.assertEqual(servers.answered("listening on http://h/\n116,075 requests answered on 30 connections\n"), 116_075)
        self.assertIsNone(servers.answered("ready\n"))

    def test_nothing_readable(self):
        for tool in (Wrk(), Wrk2(), H2load(), Ab(), Floor("floor")):
            self.assertRaises(Unreadable, tool.read, finished("no such thing"))


class Protocols(unittest.TestCase):
    """HTTP/2 and TLS, with the flags of each tool."""

    def test_streams(self):
        load = Load("http://h/", 16, 10, http2=True, streams=10)
        self.assertIn(["-m", "10"], pairs(H2load().argv(load)))
        self.assertIn(["-p", "10"], pairs(Oha().argv(load)))
        self.assertIn(["--streams", "10"], pairs(Prony("prony", "epoll").argv(load)))
        self.assertIn("--http2-prior-knowledge", Prony("prony", "epoll").argv(load))
        self.assertNotIn("--h1", H2load().argv(load))

    def test_tls(self):
        load = Load("https://h/", 16, 10, http2=True)
        self.assertTrue({"--http2", "--insecure"} <= set(Prony("prony", "epoll").argv(load)))
        self.assertIn("--insecure", Oha().argv(load))

    def test_a_count_of_requests(self):
        load = Load("https://h/", 16, 10, keepalive=False, requests=500)
        for argv in (H2load().argv(load), Prony("prony", "epoll").argv(load)):
            self.assertIn(["-n", "500"], pairs(argv))
            self.assertFalse({"-d", "-D"} & set(argv))


def pairs(argv):
    """Each word with the one behind it."""
    return [list(pair) for pair in zip(argv, argv[1:])]
