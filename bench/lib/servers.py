"""The servers: each started fresh on a free port of the loopback interface, awaited, and ended by its own id."""

import os
import re
import socket
import subprocess
import tempfile
import time

from lib import child, peers

READY_S = 10.0
# The first time, Express is installed.
INSTALL_S = 180.0
# More than any of ours prints.
SAID_BYTES = 65_536
ORIGINALS = peers.BENCH.parent / "studies" / "originals"


class Server:
    """A server that answers."""

    def __init__(self, argv, cores, port, *, scheme="http", environment=None, ready_s=READY_S):
        self.port = port
        self.url = f"{scheme}://127.0.0.1:{port}/"
        # How many requests it says that it answered, once it has ended; None where it says nothing.
        self.answered = None
        with tempfile.TemporaryFile() as said:
            self._said = os.dup(said.fileno())
        self.process = child.start(argv, cores, stdout=(self._said, self._said), environment=environment)
        self._await(argv, ready_s)

    def stop(self):
        """Ends it."""
        self.process.end()
        if self._said is not None:
            os.lseek(self._said, 0, os.SEEK_SET)
            self.answered = answered(os.read(self._said, SAID_BYTES).decode(errors="replace"))
            os.close(self._said)
            self._said = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _await(self, argv, ready_s):
        until = time.monotonic() + ready_s
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


def answered(text):
    """What ours print when they end."""
    found = re.search(r"^([\d,]+) requests answered", text, re.M)
    return int(found[1].replace(",", "")) if found else None


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


def truth(prony, cores, log, delay, authority=None, *, http2=False):
    """1 ms after each request's arrival by the kernel's clock, or as `delay` says; `log` is whole once it has ended.
    `authority`: over TLS, with the certificate that vouches for it in this file."""
    port = free_port()
    over = [*(["--tls", "--tls-ca", authority] if authority else []), *(["--http2"] if http2 else [])]
    argv = [prony, "serve", "truth", "--port", str(port), "--delay", delay, "--log", log, *over]
    return Server(argv, cores, port, scheme="https" if authority else "http")


def nginx(cores):
    """`return 200` with a body of the same length as that of null."""
    port = free_port()
    return Server([str(ORIGINALS / "nginx" / "run"), str(port), str(len(cores))], cores, port)


def reaching(cores, folder):
    """nginx with HTTP/1.1, HTTP/2 and TLS: (the server, its URLs by what is spoken there). Keep-alive has no end, and TLS sessions
    are not resumed, so that each handshake is a full one. `/token` gives a token as JSON."""
    certificate, key = f"{folder}/certificate.pem", f"{folder}/key.pem"
    if not os.path.exists(certificate):
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        command += ["-subj", "/CN=localhost", "-keyout", key, "-out", certificate]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    http1, http2, secure = free_port(), free_port(), free_port()
    answers = '''location /token { return 200 '{"token": "d9428888-122b-11e1-b85c-61cd3cbb3210"}'; }
location / { return 200 "Hello, world"; }'''
    places = "".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    configuration = f"""daemon off; master_process off; pid {folder}/pid; worker_rlimit_nofile 10000;
events {{ worker_connections 4096; }}
http {{ access_log off; {places} keepalive_requests 1000000000; ssl_session_tickets off; ssl_session_cache off;
ssl_certificate {certificate}; ssl_certificate_key {key};
server {{ listen 127.0.0.1:{http1}; {answers} }}
server {{ listen 127.0.0.1:{http2} http2; {answers} }}
server {{ listen 127.0.0.1:{secure} ssl http2; {answers} }} }}
"""
    path = f"{folder}/nginx-{http1}.conf"
    with open(path, "w", encoding="ascii") as file:
        file.write(configuration)
    server = Server([peers.path("nginx") or "/usr/sbin/nginx", "-p", folder, "-c", path, "-e", "stderr"], cores, http1)
    return server, {"http1": server.url, "http2": f"http://127.0.0.1:{http2}/", "tls": f"https://127.0.0.1:{secure}/"}


def erlang(cores, delay_ms):
    """The sequential Rudy in Erlang. Its schedulers sleep when they have nothing to do, where by default they look
    around for a while first: that would be CPU time without work, to its disadvantage."""
    port = free_port()
    sleepy = {"ERL_FLAGS": "+sbwt none +sbwtdcpu none +sbwtdio none"}
    return Server([str(ORIGINALS / "rudy" / "run"), str(port), str(delay_ms)], cores, port, environment=sleepy)


def node(cores, database_url):
    """Express on Node, with a pool of ten."""
    port = free_port()
    environment = {"DATABASE_URL": database_url}
    return Server([str(ORIGINALS / "express" / "run"), str(port)], cores, port, environment=environment, ready_s=INSTALL_S)
