"""One private PostgreSQL: a new cluster in a temporary folder, on a free loopback port, ended with the benchmark."""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from lib import child, servers

READY_S = 30.0
# Debian keeps the programs of each version in a folder of its own, outside the path.
DEBIAN = "/usr/lib/postgresql"
# It refuses to run as root; the distribution's user for it first.
USERS = ("postgres", "nobody")


def programs():
    """The folder with `initdb` and `postgres`, of the newest version; None where there is none."""
    found = sorted(pathlib.Path(DEBIAN).glob("*/bin/initdb"), key=lambda path: int(path.parts[-3].partition(".")[0]))
    anywhere = shutil.which("initdb")
    return str(found[-1].parent) if found else anywhere and os.path.dirname(os.path.realpath(anywhere))


class Postgres:
    """A running cluster. `url` is how clients reach it; `folder` is where it keeps everything; `process` is its first
    process, the parent of all others."""

    def __init__(self, cores, parent=None):
        folder = programs()
        if folder is None:
            raise SystemExit("PostgreSQL is missing: apt-get install postgresql")
        user = _user()
        # Its user must be able to reach it.
        self._home = tempfile.TemporaryDirectory(prefix="prony-bench-postgres-", dir=parent and os.path.abspath(parent))
        self.folder = self._home.name
        self.port = servers.free_port()
        self.url = f"postgresql://bench@127.0.0.1:{self.port}/postgres"
        if user:
            os.chown(self._home.name, user.pw_uid, user.pw_gid)
        data = os.path.join(self._home.name, "data")
        _make(_as(user) + [os.path.join(folder, "initdb"), "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--no-sync"])
        argv = _as(user) + [os.path.join(folder, "postgres"), "-D", data, "-p", str(self.port), "-k", ""]
        argv += ["-c", "listen_addresses=127.0.0.1", "-c", "logging_collector=off"]
        # SIGTERM would wait until every client has left.
        self.process = child.start(argv, cores, end_signal=signal.SIGINT)
        self._await()

    def stop(self):
        """Ends it and removes its folder."""
        self.process.end()
        self._home.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _await(self):
        until = time.monotonic() + READY_S
        while time.monotonic() < until and self.process.running():
            if _answers(self.port):
                return
            time.sleep(0.05)
        self.stop()
        raise SystemExit("PostgreSQL does not start; is there room in the folder for temporary files?")


def _user():
    """Whom to run it as: None for ourselves."""
    if os.geteuid() != 0:
        return None
    for name in USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise SystemExit(f"PostgreSQL does not run as root, and there is no user {' or '.join(USERS)}")


def _as(user):
    """What to put before a command. It executes the command in its own place: no process in between."""
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"] if user else []


def _make(argv):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd="/")
    if done.returncode != 0:
        raise SystemExit(f"initdb failed: {done.stderr.strip()[-500:]}")


def _answers(port):
    """Whether it takes clients: a request for TLS is answered with one letter, by a server that is up."""
    # Length and code of an SSLRequest, as the protocol's documentation has them.
    request = (8).to_bytes(4) + (80877103).to_bytes(4)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(request)
            return connection.recv(1) in (b"S", b"N")
    except OSError:
        return False
