"""A small web server: `python3 server.py PORT`. How fast it answers depends on WORK."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Numbers that are added up for every answer.
WORK = 100_000


def answer() -> bytes:
    """The body of every answer."""
    return f"the sum is {sum(range(WORK))}\n".encode()


class Handler(BaseHTTPRequestHandler):
    """Answers every GET alike, on connections that stay open."""

    protocol_version = "HTTP/1.1"
    # Head and body leave together: in two pieces each answer would wait 40 ms for an acknowledgement.
    wbufsize = 64 * 1024

    def do_GET(self):
        body = answer()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """A line for every answer would be most of the work."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
