"""What every tool is asked for, and what every tool's report is turned into."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Load:
    """A load that each tool has its own flags for."""

    url: str
    connections: int
    seconds: int
    rate: int | None = None
    keepalive: bool = True
    threads: int = 1
    # So many, however long they take; `seconds` bounds them.
    requests: int | None = None
    # HTTP/2, with so many requests in flight on a connection.
    http2: bool = False
    streams: int = 1
    # Over TLS: the file with the certificate to trust.
    authority: str | None = None
    # Sessions of a scenario instead of one request: its file, without the ending that each tool has its own of.
    scenario: str | None = None

    @property
    def is_https(self):
        """Whether it goes over TLS; certificates are verified only with an `authority`."""
        return self.url.startswith("https:")


@dataclass
class Said:
    """What a tool says of a run. Latencies in milliseconds; a quantile that it does not print is absent."""

    answered: int
    failed: int = 0
    # As the tool itself states or implies it: answers over the time it measured.
    per_s: float | None = None
    quantiles_ms: dict[float, float] = field(default_factory=dict)
    max_ms: float | None = None
    # The response time by the kernel's clock, of tools that have one.
    kernel_quantiles_ms: dict[float, float] = field(default_factory=dict)
    # Its own verdict or warning, where it has one.
    remark: str | None = None


class Unreadable(Exception):
    """A tool's report is not what its parser expects."""
