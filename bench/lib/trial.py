"""One run of one tool: what it said, what it cost, and how busy both sides were."""

import os
from dataclasses import dataclass

from lib import child
from lib.load import Said, Unreadable

# Beyond the run itself: starting, connecting, ending, computing the report.
SLACK_S = 20


@dataclass
class Trial:
    """A finished run."""

    tool: str
    said: Said | None
    error: str | None
    code: int
    argv: list[str]
    wall_s: float
    cpu_s: float
    peak_bytes: int
    server_cpu_s: float
    server_files_most: int
    # By the server's own count, where it has one; known once it has ended.
    server_answered: int | None = None
    own_peak_bytes: int = 0

    def requests_per_cpu_s(self):
        """Answers per second of the tool's CPU time, user and system."""
        return self.said.answered / self.cpu_s if self.said and self.cpu_s else None


def run(tool, load, cores, server, *, count_files=False, look_s=child.LOOK_S, slack_s=SLACK_S):
    """Runs `tool` on `cores` against `server`."""
    before_s = server.process.cpu_s()
    seen = [0]

    def look():
        seen[0] = max(seen[0], server.process.open_files())

    finished = child.run(
        tool.argv(load),
        cores,
        load.seconds + slack_s,
        look_s=look_s,
        each_s=1.0 if count_files else None,
        every=look if count_files else None,
    )
    said, error = None, None
    if finished.timed_out:
        error = f"still running after {load.seconds + slack_s} s"
    else:
        try:
            said = tool.read(finished)
        except Unreadable as unreadable:
            error = str(unreadable)
    return Trial(
        tool=tool.name,
        said=said,
        error=error,
        code=finished.code,
        # Without the folder, which is of this machine alone.
        argv=[os.path.basename(finished.argv[0]), *finished.argv[1:]],
        wall_s=finished.wall_s,
        cpu_s=finished.cpu_s,
        peak_bytes=finished.peak_bytes,
        server_cpu_s=server.process.cpu_s() - before_s,
        server_files_most=seen[0],
        own_peak_bytes=finished.own_peak_bytes,
    )
