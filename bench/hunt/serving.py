"""One truth server for one check, and its log."""

import contextlib
import os
import struct
import tempfile
from collections import defaultdict
from dataclasses import dataclass

from lib import servers

_HEADER_BYTES = 40
_RECORD = struct.Struct("<8Q2HI")
OUTCOMES = ("success", "error", "reset", "unfinished")


@dataclass(frozen=True)
class Served:
    """One request; ns on the monotonic clock."""

    arrival_ns: int
    first_ns: int
    connection: int
    port: int
    outcome: str


@contextlib.contextmanager
def truth(place, flags):
    """A server; what is yielded has its `url`, and after the block its records in `served`."""
    with tempfile.TemporaryDirectory(prefix="prony-hunt-") as folder:
        log = os.path.join(folder, "log")
        port = servers.free_port()
        argv = [*place.before, place.server, "serve", "truth", "--port", str(port), "--log", log, *flags]
        server = servers.Server(argv, place.server_cores, port)
        server.served = []
        try:
            yield server
        finally:
            server.stop()
        server.served = read(log)


def read(path):
    """The records of a log, by arrival."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"PRONYTRU" or data[-72:-64] != b"PRONYEND":
        raise SystemExit("the truth log was cut short")
    records = [
        Served(one[2], one[6], one[1], one[9], OUTCOMES[one[8]]) for one in _RECORD.iter_unpack(data[_HEADER_BYTES:-72])
    ]
    return sorted(records, key=lambda one: one.arrival_ns)


def gaps_s(served):
    """What lay between each answer and the next request on the same connection: what is not the server's."""
    by_connection = defaultdict(list)
    for one in served:
        by_connection[one.connection].append(one)
    return [
        (later.arrival_ns - one.first_ns) / 1e9
        for records in by_connection.values()
        for one, later in zip(records, records[1:])
        if one.first_ns and later.arrival_ns > one.first_ns
    ]
