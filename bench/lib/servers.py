"""The servers: each started fresh on a free port of the loopback interface, awaited, and ended by its own id."""

import os
import socket
import tempfile
import time

from lib import child, peers

READY_S = 10.0


class Server:
    """A server that answers."""

    def __init__(self, argv, cores, port):
        self.port = port
        self.url = f"http://127.0.0.1:{port}/"
        self.process = child.start(argv, cores)
        self._await(argv)

    def stop(self):
        """Ends it."""
        self.process.end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _await(self, argv):
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            if not self.process.running():
                self.process.end()
                raise SystemExit(f"the server ended at once: {' '.join(argv)}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.01)
        self.process.end()
        raise SystemExit(f"the server does not answer: {' '.join(argv)}")


def free_port():
    """A port that nobody listens on. Outside the range for outgoing connections, where a client may sit on it."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as bounds:
        first = int(bounds.read().split()[0])
    for _ in range(1000):
        port = 1024 + int.from_bytes(os.urandom(2)) % max(1, first - 1024)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise SystemExit("no free port below those of outgoing connections")


def null(prony, cores):
    """The same small answer to every request, one thread for each core."""
    port = free_port()
    return Server([prony, "serve", "null", "--port", str(port), "--workers", str(len(cores))], cores, port)


def truth(prony, cores, log, delay):
    """1 ms after each request's arrival by the kernel's clock, or as `delay` says; `log` is whole once it has ended."""
    port = free_port()
    return Server([prony, "serve", "truth", "--port", str(port), "--delay", delay, "--log", log], cores, port)


class Nginx(Server):
    """`return 200` with a body of the same length."""

    def __init__(self, cores):
        port = free_port()
        self._folder = tempfile.TemporaryDirectory(prefix="prony-bench-")
        config = os.path.join(self._folder.name, "nginx.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(_NGINX.format(workers=len(cores), port=port, folder=self._folder.name))
        super().__init__([peers.path("nginx"), "-p", self._folder.name, "-c", config, "-e", "/dev/null"], cores, port)


# By default nginx ends a connection after 1,000 requests, which would measure connecting.
_NGINX = """daemon off;
worker_processes {workers};
worker_rlimit_nofile 65536;
pid {folder}/nginx.pid;
error_log /dev/null;
events {{ worker_connections 32768; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 3600s;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} backlog=65535;
    location / {{ default_type text/plain; return 200 "Hello World!"; }}
  }}
}}
"""
