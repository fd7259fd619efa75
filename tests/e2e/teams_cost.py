"""What a token costs: the same request with a token and with a key, at a server on one processor."""

import os
import socket
import statistics
import time

from engines_load import message
from servers import Server
from story import Home

# Requests of each kind, in turns, so that a busy machine slows both. The first ones only warm up.
TURNS, WARM = 2000, 100

BAR = 1.5


class Connection:
    """A connection that stays open, for requests whose bytes are made beforehand."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request):
        """Returns the status line and the body of the answer."""
        self.socket.sendall(request)
        got = b""
        while b"\r\n\r\n" not in got:
            got += self.more()
        head, _, body = got.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        while len(body) < length:
            body += self.more()
        return head.split(b"\r\n")[0].decode(), body

    def more(self):
        got = self.socket.recv(65536)
        if not got:
            raise SystemExit("the server closed the connection")
        return got


def request(port, secret):
    """Returns the bytes of a request for a prompt."""
    body, headers = message("prompts/get", {"name": "review"}, secret)
    headers |= {"Host": f"127.0.0.1:{port}", "Content-Length": str(len(body))}
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", body]
    return "\r\n".join(lines).encode()


def cost(issuer, sign_in):
    """Returns the medians of a request with a key and with a token, in seconds. `sign_in` returns a token for a URL."""
    home = Home("one-cpu")
    home.run("mcpkg project create shop && mcpkg prompt create review Hello", quiet=True)
    home.run("mcpkg access rule add --claim groups=platform", quiet=True)
    key = home.json("mcpkg access create ci")["key"]
    server = Server(home, "--oauth-issuer", issuer.url, pinned=["taskset", "-c", "0"])
    before = os.sched_getaffinity(0)
    try:
        requests = {"key": request(server.port, key), "token": request(server.port, sign_in(f"http://127.0.0.1:{server.port}/mcp"))}
        # The client does not take the server's processor, if there is another one.
        os.sched_setaffinity(0, before - {0} or before)
        connection, took = Connection(server.port), {what: [] for what in requests}
        for turn in range(TURNS + WARM):
            for what, sent in requests.items():
                start = time.perf_counter()
                status, body = connection.send(sent)
                if turn >= WARM:
                    took[what].append(time.perf_counter() - start)
                if " 200 " not in status or b"Hello" not in body:
                    raise SystemExit(f"a request with a {what}: {status} {body[:200]}")
    finally:
        os.sched_setaffinity(0, before)
        server.stop()
    return statistics.median(took["key"]), statistics.median(took["token"])
