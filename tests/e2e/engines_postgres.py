"""PostgreSQL servers of the story's own, each a machine: a folder, a port on this machine, gone at the end."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from story import show

# PostgreSQL refuses to run as root; Debian's package makes this user.
AS = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Postgres:
    """A server. What it acknowledges is on its disk."""

    def __init__(self, programs, name):
        self.programs, self.name, self.port = Path(programs), name, free_port()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
        self.data, self.is_running = self.folder / "data", False
        if AS:
            shutil.chown(self.folder, "postgres")

    def run(self, program, *words):
        """Runs a program of PostgreSQL's, and shows both."""
        print(f"{self.name}$ {program} {' '.join(words)}".replace(str(self.folder), "."), flush=True)
        # A file, since the server inherits it and a pipe would be waited for until the server ends.
        with open(self.folder / "output", "w+") as output:
            words = [*AS, str(self.programs / program), *words]
            ran = subprocess.run(words, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            output.seek(0)
            said = output.read()
        if ran.returncode != 0:
            raise SystemExit(f"{program} ends with {ran.returncode}: {said}")
        return said

    def start(self):
        options = f"-k {self.folder} -p {self.port} -c listen_addresses=127.0.0.1 -c max_connections=200"
        self.run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-D", str(self.data), "-o", options, "start")
        self.is_running = True

    def primary(self):
        self.run("initdb", "-A", "trust", "-U", "mcpkg", "-E", "UTF8", "--locale=C", "-D", str(self.data))
        self.start()
        return self

    def standby_of(self, primary):
        """Copies a primary, which waits for this one with each commit from then on."""
        source = ["-h", "127.0.0.1", "-p", str(primary.port)]
        self.run("pg_basebackup", "-R", "-c", "fast", "-U", "mcpkg", *source, "-D", str(self.data))
        self.start()
        primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.query("SELECT pg_reload_conf()")
        return self

    def promote(self):
        self.run("pg_ctl", "-w", "-D", str(self.data), "promote")

    def query(self, sql, shown=False):
        """Returns the rows of a query, their values with a `|` between."""
        words = ["-X", "-q", "-A", "-t", "-U", "mcpkg", "-h", "127.0.0.1", "-p", str(self.port), "-d", "postgres", "-c", sql]
        ran = subprocess.run([str(self.programs / "psql"), *words], cwd="/", capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"psql ends with {ran.returncode}: {ran.stderr}")
        if shown:
            print(f"{self.name}$ psql -c {sql!r}", flush=True)
            show(ran.stdout)
        return ran.stdout.strip()

    def kill(self):
        """Ends all its processes with SIGKILL, in the middle of whatever they do."""
        pid = int((self.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        print(f"{self.name}$ kill -9 {pid}     # and its {len(children)} processes", flush=True)
        for process in [pid, *map(int, children)]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.is_running = False

    def end(self):
        if self.is_running:
            stop = ["-m", "immediate", "-w", "-D", str(self.data), "stop"]
            subprocess.run([*AS, str(self.programs / "pg_ctl"), *stop], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_until(what, holds, limit=60):
    """Waits until something is so; ends the story where it does not come."""
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"this did not come: {what}")
        time.sleep(0.05)
