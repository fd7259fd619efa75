"""Servers of the stories: `mcpkg serve --http`, each on a machine of its own."""

import http.client
import re
import subprocess

from engines_postgres import wait_until
from story import MCPKG


class Server:
    """A server at a port of its own. `options` are added to `serve --http`."""

    def __init__(self, home, *options, program=MCPKG, pinned=()):
        self.home, self.options, self.port, self.program, self.pinned = home, options, 0, program, pinned
        self.start()

    def start(self):
        """Starts the server, at the same port as before."""
        words = ["serve", "--http", "--port", str(self.port), *self.options]
        print(f"{self.home.name}$ {' '.join([*self.pinned, 'mcpkg', *words])} &", flush=True)
        log = open(self.home.path / "server.log", "w")
        self.process = subprocess.Popen(
            [*self.pinned, self.program, *words], cwd=self.home.path, env=self.home.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        said = lambda: re.search(r"listening on http://127\.0\.0\.1:(\d+)", (self.home.path / "server.log").read_text())
        wait_until(f"{self.home.name} says where it listens", lambda: said() or self.process.poll() is not None)
        if not said():
            raise SystemExit(f"{self.home.name} ended: {(self.home.path / 'server.log').read_text()}")
        self.port = int(said()[1])
        print(f"    listening on http://127.0.0.1:{self.port}", flush=True)

    def kill(self):
        print(f"{self.home.name}$ kill -9 {self.process.pid}", flush=True)
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(30)

    def readyz(self):
        """Returns the status of /readyz; 0 if the server does not answer."""
        return self.ready()[0]

    def ready(self):
        """Returns the status and the text of /readyz; 0 and nothing if the server does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()
