"""What the story of teams runs on: an issuer, a proxy, and servers that keep an audit log each."""

import json
import os
import subprocess
import urllib.request
from pathlib import Path

from engines_postgres import free_port, wait_until
from servers import Server
from story import FOLDER, Home

ROOT = Path(__file__).resolve().parents[2]

# The path of mcpkg on every machine of the story.
INSTALLED = FOLDER / "bin/mcpkg"

# Tokens that last for the whole story.
SECONDS = 3600


def install(program):
    """Replaces the program on every machine. What runs goes on."""
    INSTALLED.unlink(missing_ok=True)
    INSTALLED.symlink_to(program)


class Issuer:
    """The authorization server: npm's oidc-provider. Who is in which group is a file, which it reads for each token."""

    def __init__(self, people):
        self.port, self.people, self.file = free_port(), people, FOLDER / "people.json"
        self.url, self.log = f"http://127.0.0.1:{self.port}", FOLDER / "issuer.log"
        self.write()
        self.start()

    def write(self):
        self.file.write_text(json.dumps({client: {"seconds": SECONDS} | person for client, person in self.people.items()}))

    def start(self):
        with open(self.log, "a") as log:
            words = ["node", str(ROOT / "tests/e2e/sign_in_issuer.mjs"), str(self.port), str(self.file)]
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        print(f"login$ node sign_in_issuer.mjs {self.port} people.json &", flush=True)
        wait_until("the issuer answers", self.answers)

    def answers(self):
        try:
            with urllib.request.urlopen(f"{self.url}/.well-known/openid-configuration", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def withdraw(self, client, group):
        """From now on, tokens of this client's person lack the group."""
        self.people[client]["groups"].remove(group)
        self.write()

    def signed_in(self):
        """Returns the names of those who signed in."""
        return {line.split()[2] for line in self.log.read_text().splitlines() if line.startswith("signs in: ")}

    def kill(self):
        print(f"login$ kill -9 {self.process.pid}", flush=True)
        self.process.kill()
        self.process.wait()


class Proxy:
    """Caddy with the file of packaging/, but without TLS and at a port of this machine."""

    def __init__(self, port):
        self.port, self.url, self.process = port, f"http://127.0.0.1:{port}", None

    def start(self, servers):
        text = (ROOT / "packaging/Caddyfile").read_text()
        changes = {
            "{$MCPKG_HOST:localhost} {": f"{self.url} {{\n\tbind 127.0.0.1",
            "one:3000 two:3000": " ".join(f"127.0.0.1:{server.port}" for server in servers),
            # All clients of the story have one address, so their tokens choose the server.
            "client_ip_hash": "header Authorization",
        }
        for old, new in changes.items():
            if text.count(old) != 1:
                raise SystemExit(f"packaging/Caddyfile has no {old!r}")
            text = text.replace(old, new)
        home = Home("proxy")
        (home.path / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https off\n}\n" + text)
        print(f"proxy$ caddy run --config Caddyfile &     # {self.url}", flush=True)
        with open(home.path / "log", "w") as log:
            words = [os.environ["E2E_CADDY"], "run", "--config", "Caddyfile", "--adapter", "caddyfile"]
            self.process = subprocess.Popen(words, cwd=home.path, env=home.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until("the proxy passes requests on", self.answers)

    def answers(self):
        if self.process.poll() is not None:
            raise SystemExit(f"caddy ended: {(FOLDER / 'proxy/log').read_text()[-600:]}")
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class Audited(Server):
    """A server with an audit log, which drains for three seconds after SIGTERM."""

    def __init__(self, home, issuer, proxy):
        self.audit = home.path / "audit.jsonl"
        options = ["--oauth-issuer", issuer.url, "--public-url", proxy.url, "--audit-log", "audit.jsonl", "--drain", "3"]
        super().__init__(home, *options, program=str(INSTALLED))

    def lines(self):
        """Returns the lines of the audit log."""
        return [json.loads(line) for line in self.audit.read_text().splitlines()]

    def size(self):
        return self.audit.stat().st_size

    def end(self):
        if self.process.poll() is None:
            self.kill()

    def is_used(self):
        """Waits until the proxy sends requests to this server."""
        wait_until(f"{self.home.name} is ready", lambda: self.readyz() == 200)
        before = self.size()
        wait_until(f"{self.home.name} gets requests", lambda: self.size() > before)


def audited(servers):
    """Returns the lines of all servers, in the order of their times."""
    return sorted((line for server in servers for line in server.lines()), key=lambda line: line.get("time", ""))
