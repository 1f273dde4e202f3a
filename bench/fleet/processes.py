"""Agents, their broker, the server that they load and the controller: each a process on a host of its own."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from fleet import hosts
from lib import child, peers

READY_S = 30.0
PORT = 3000
BROKER_PORT = 4222
# The agents' hosts only load the bench's own network.
POLICY = f'private = true\nnetworks = ["{hosts.NETWORK}.0/24"]\nmeasured_ports = ["{PORT}"]\n'
DELAY = pathlib.Path(__file__).resolve().parent / "delay.py"


class Process:
    """A process on a host, and what it has printed."""

    def __init__(self, argv, environment):
        with tempfile.TemporaryFile() as said:
            self._said = os.dup(said.fileno())
        self.argv = argv
        self.child = child.start(argv, None, stdout=(self._said, self._said), environment=environment)

    def text(self):
        """All that it has printed."""
        return os.pread(self._said, 1 << 24, 0).decode(errors="replace")

    def wait_for(self, pattern, limit_s=READY_S):
        """The first line with `pattern`, and the moment at which it was seen."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            if found := re.search(f".*{pattern}.*", self.text()):
                return found[0], time.monotonic()
            if not self.child.running():
                break
            time.sleep(0.01)
        sys.exit(f"no line with `{pattern}` from {' '.join(self.argv)}:\n{self.text()[-2000:]}")

    def end(self):
        """Ends it."""
        self.child.end()


def nats_server():
    """The broker."""
    own = peers.BENCH.parent / "target" / "tools" / "bin" / "nats-server"
    found = str(own) if own.exists() else next(
        (f"{folder}/nats-server" for folder in os.get_exec_path() if os.access(f"{folder}/nats-server", os.X_OK)), None
    )
    return found or sys.exit("NOT MEASURED: nats-server is needed: go install github.com/nats-io/nats-server/v2@latest")


class Fleet:
    """Hosts `lab` (controller), `broker`, `server` and one for each agent. Clocks of agents are off by -5 to +5 s.

    `on`: agents that have no host of their own, and where they are.
    `delays_ms`: how much later every byte arrives between each agent and the broker, each way; then the broker speaks TLS
    and knows everybody by a key.
    """

    def __init__(self, program, folder, agents, delays_ms=None, on=None):
        self.program, self.folder, self.agents = os.path.abspath(program), pathlib.Path(folder), agents
        self.delays_ms = delays_ms
        self.on = on or {}
        # Spread over the whole of -5 to 5, in whole seconds, never 0 for the first.
        ahead = {name: 5 - (7 * number) % 11 for number, name in enumerate(agents) if name not in self.on}
        self.hosts = hosts.Hosts({"lab": 0, "broker": 0, "server": 0} | ahead)
        self.environment = {"XDG_CONFIG_HOME": f"{folder}/config", "XDG_STATE_HOME": f"{folder}/state"}
        self.processes = {}

    def __enter__(self):
        self.hosts.__enter__()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes.values()):
            process.end()
        self.hosts.__exit__()

    def start(self, name, host, argv):
        """Starts a process on a host."""
        self.processes[name] = Process(self.hosts.command(host, argv), self.environment)
        return self.processes[name]

    def serve(self, *words):
        """Starts one of Prony's servers on its host, in place of the one that is there; returns its URL."""
        if "server" in self.processes:
            self.processes.pop("server").end()
        address = self.hosts.address("server")
        argv = [self.program, "serve", *words, "--listen", address, "--allow-remote", "--port", str(PORT)]
        self.start("server", "server", argv).wait_for(f"{address}:{PORT}")
        scheme = "https" if "--tls" in words else "http"
        return f"{scheme}://{address}:{PORT}/"

    def prony(self, *words, **options):
        """Runs `prony` as the controller, to its end."""
        argv = self.hosts.command("lab", [self.program, *words])
        return subprocess.run(argv, capture_output=True, text=True, env=os.environ | self.environment, check=False, **options)

    def lead(self):
        """The flags of a controller."""
        if self.delays_ms is None:
            return ["--nats", f"nats://{self.hosts.address('broker')}:{BROKER_PORT}"]
        return ["--nats", self._url("lab"), "--nats-cacert", self._file("ca.pem"), "--nkey", self._file("nats/lab.nk")]

    def _start(self):
        address = self.hosts.address("broker")
        broker = [nats_server(), "-a", address, "-p", str(BROKER_PORT)]
        if self.delays_ms is not None:
            broker = [nats_server(), "-c", self._configured(address)]
        self.start("broker", "broker", broker).wait_for("Server is ready")
        for number, (name, delay_ms) in enumerate((self.delays_ms or {}).items(), 1):
            proxy = [sys.executable, str(DELAY), address, str(BROKER_PORT + number), f"{address}:{BROKER_PORT}", str(delay_ms)]
            self.start(f"delay-{name}", "broker", proxy).wait_for("ready")
        policy = self.folder / "policy.toml"
        policy.write_text(POLICY, encoding="utf-8")
        # Made before agents need it.
        self.prony("agent", "lab-key")
        for name in self.agents:
            argv = [self.program, "agent", "--name", name, "--policy", str(policy)]
            if self.delays_ms is None:
                argv += ["--nats", f"nats://{address}:{BROKER_PORT}"]
            else:
                argv += ["--nats", self._url(name), "--nats-cacert", self._file("ca.pem"), "--nkey", self._file(f"nats/{name}.nk")]
            self.start(name, self.on.get(name, name), argv)
        for name in self.agents:
            self.processes[name].wait_for("connected")

    def _file(self, name):
        return str(self.folder / name)

    def _url(self, name):
        number = list(self.delays_ms).index(name) + 1 if name in self.delays_ms else 0
        return f"tls://{self.hosts.address('broker')}:{BROKER_PORT + number}"

    def _configured(self, address):
        """A certificate for the broker, its configuration and everybody's keys."""
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        name = ["-subj", "/CN=broker", "-addext", f"subjectAltName=IP:{address}", "-addext", "basicConstraints=critical,CA:FALSE"]
        out = ["-keyout", self._file("broker.key"), "-out", self._file("ca.pem")]
        subprocess.run([*make, *name, *out], check=True, stderr=subprocess.DEVNULL)
        listen = ["--listen", f"{address}:{BROKER_PORT}", "--cert", self._file("ca.pem"), "--key", self._file("broker.key")]
        made = self.prony("agent", "nats-config", self._file("nats"), "--agents", ",".join(self.agents), *listen)
        if made.returncode != 0:
            sys.exit(f"prony agent nats-config: {made.stderr}")
        return self._file("nats/nats.conf")
