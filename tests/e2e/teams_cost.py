"""What a token costs: the same request with a token and with a key, at a server on one processor."""

import http.client
import os
import statistics
import time

from engines_load import message
from servers import Server
from story import Home

# Requests of each kind, in turns, so that a busy machine slows both. The first ones only warm up.
TURNS, WARM = 1500, 100

BAR = 1.5


def cost(issuer, sign_in):
    """Returns the medians of a request with a key and with a token, in seconds. `sign_in` returns a token for a URL."""
    home = Home("one-cpu")
    home.run("mcpkg project create shop && mcpkg prompt create review Hello", quiet=True)
    home.run("mcpkg access rule add --claim groups=platform", quiet=True)
    key = home.json("mcpkg access create ci")["key"]
    server = Server(home, "--oauth-issuer", issuer.url, pinned=["taskset", "-c", "0"])
    others = os.sched_getaffinity(0) - {0}
    before = os.sched_getaffinity(0)
    try:
        shown = {"key": key, "token": sign_in(f"http://127.0.0.1:{server.port}/mcp")}
        # The client does not take the server's processor, if there is another one.
        if others:
            os.sched_setaffinity(0, others)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        took = {what: [] for what in shown}
        for turn in range(TURNS + WARM):
            for what, secret in shown.items():
                request = message("prompts/get", {"name": "review"}, secret)
                start = time.perf_counter()
                connection.request("POST", "/mcp", *request)
                answer = connection.getresponse()
                text = answer.read()
                if turn >= WARM:
                    took[what].append(time.perf_counter() - start)
                if answer.status != 200 or b"Hello" not in text:
                    raise SystemExit(f"a request with a {what}: {answer.status} {text[:200]}")
        connection.close()
    finally:
        os.sched_setaffinity(0, before)
        server.stop()
    return statistics.median(took["key"]), statistics.median(took["token"])
