"""The truth server's log, version 2: what it really did with each request. The format is described in
`crates/prony-targets/src/truth/log.rs`.
"""

import pathlib
import struct
from dataclasses import dataclass

_HEADER = struct.Struct("<8sIIQQq")
_RECORD = struct.Struct("<8Q2HI")
_END = b"PRONYEND"
_SUCCESS = 0
_STAMPED, _CLOCK_MOVED = 1, 2


@dataclass(frozen=True)
class Served:
    """One request that was answered; ns on the monotonic clock."""

    arrival_ns: int
    reply_ns: int
    # The client's.
    port: int

    def residence_ms(self):
        """From the last byte's arrival in the kernel to the moment the reply was handed to the kernel."""
        return (self.reply_ns - self.arrival_ns) / 1e6


@dataclass(frozen=True)
class Log:
    """All of a run, by arrival."""

    served: list[Served]
    # Records that are less sure: lost, or stamped by the server instead of the kernel, or while the clock was set.
    lost: int
    unstamped: int
    clock_moved: int

    def rate_per_s(self):
        """At which requests arrived, over the middle of the run: one late request at either end is no other rate."""
        edge = len(self.served) // 20
        middle = self.served[edge : len(self.served) - edge]
        span_ns = middle[-1].arrival_ns - middle[0].arrival_ns
        return (len(middle) - 1) / span_ns * 1e9

    def residences_ms(self):
        """Of every request."""
        return [one.residence_ms() for one in self.served]

    def responses_ms(self, rate_per_s):
        """From the moment each request was due in a steady schedule: the i-th that arrived is the i-th due.

        The schedule begins where no request arrived before it was due.
        """
        gap_ns = 1e9 / rate_per_s
        start_ns = min(one.arrival_ns - index * gap_ns for index, one in enumerate(self.served))
        return [(one.reply_ns - start_ns - index * gap_ns) / 1e6 for index, one in enumerate(self.served)]


def read(path):
    """Reads a whole log; the server that wrote it must have ended."""
    data = pathlib.Path(path).read_bytes()
    magic, version, record_bytes, *_ = _HEADER.unpack_from(data)
    if magic != b"PRONYTRU" or version != 2 or record_bytes != _RECORD.size:
        raise SystemExit("the truth log is of another version than this script reads")
    body = data[_HEADER.size :]
    end = body[-_RECORD.size :]
    if end[:8] != _END:
        raise SystemExit("the truth log was cut short")
    _, _, lost = struct.unpack_from("<8sQQ", end)
    records = list(_RECORD.iter_unpack(body[: -_RECORD.size]))
    served = [Served(record[2], record[6], record[9]) for record in records if record[8] == _SUCCESS]
    served.sort(key=lambda one: one.arrival_ns)
    return Log(
        served=served,
        lost=lost,
        unstamped=sum(not record[10] & _STAMPED for record in records),
        clock_moved=sum(bool(record[10] & _CLOCK_MOVED) for record in records),
    )
