"""What the stories share: `check`, and people at machines of their own, whose commands are shown with what they printed.

A story is started as `NAME.py MCPKG FOLDER ...`.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

MCPKG, FOLDER = sys.argv[1], Path(sys.argv[2])
PASSED, FAILED = [], []

# How many lines are shown of what a command printed.
SHOWN = 14

# Whether a story ends at the first check that fails.
STOPS = False


def check(what, holds, found=""):
    (PASSED if holds else FAILED).append(what)
    print(f"ok {what}" if holds else f"FAILED {what}: {found}", flush=True)
    if STOPS and not holds:
        end()


def show(text):
    """Prints what a command printed, or the beginning of it."""
    lines = text.replace("\r", "").splitlines()
    more = [f"... and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
    print("".join(f"    {line}\n" for line in lines[:SHOWN] + more), end="", flush=True)


def end():
    """Prints the number of checks, and ends with 1 where one failed or there was none."""
    print(f"\n{len(PASSED)} passed, {len(FAILED)} failed")
    sys.exit(1 if FAILED or not PASSED else 0)


class Home:
    """A user on a machine: a home folder with a database of its own. `mcpkg` is the binary under test, and so is `smctl`."""

    def __init__(self, name):
        self.name, self.path = name, FOLDER / name
        self.path.mkdir()
        self.folder = self.path
        programs = FOLDER / "bin"
        programs.mkdir(exist_ok=True)
        for program in ("mcpkg", "smctl"):
            if not (programs / program).exists():
                (programs / program).symlink_to(MCPKG)
        self.env = {"LANG": os.environ["LANG"]} if "LANG" in os.environ else {}
        self.env |= {"PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "100", "HOME": str(self.path)}

    def run(self, line, status=0, quiet=False, **env):
        """Runs a line of bash, shows both, and returns its output; another status is a failure of the story."""
        ran = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.env | env, capture_output=True, text=True)
        said = ran.stdout + ran.stderr
        print(f"{self.name}$ {line}", flush=True)
        if not quiet:
            show(said)
        if ran.returncode != status:
            check(f"`{line}` ends with {status}", False, f"{ran.returncode}: {said}")
        return said

    def person(self, line, **env):
        """Runs a line at a terminal, where a person says yes."""
        words = ["script", "-qec", line, "/dev/null"]
        ran = subprocess.run(words, cwd=self.folder, env=self.env | env, input="y\n", capture_output=True, text=True)
        print(f"{self.name}$ {line}     # a person at a terminal says y", flush=True)
        show(ran.stdout)
        if ran.returncode != 0:
            check(f"`{line}` at a terminal", False, ran.stdout)
        return ran.stdout

    def json(self, line, status=0):
        return json.loads(self.run(line + " --json", status=status, quiet=True))

    def refused(self, what, line, code, status=1):
        """Runs a command line that has to be refused with a code."""
        said = self.run(line + " --json", status=status, quiet=True)
        found = re.search(r"\bE_[A-Z_]+", said)
        print(f"    {found[0] if found else said}", flush=True)
        check(f"refused: {what}", found and found[0] in code.split("|"), said)
        return said
