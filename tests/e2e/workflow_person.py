"""A person at a terminal of 80 columns, and what they saw, ready to compare."""

import difflib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from pathlib import Path

from story import FOLDER, Home, check

TOLD = Path(__file__).with_name("workflow.txt")

# What differs from one story to the next, and what stands in its place.
VARIES = [
    (re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), ""),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "00000000-0000-0000-0000-000000000000"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "0" * 64),
    (re.compile(r"\b[0-9a-f]{12}\b"), "0" * 12),
    (re.compile(r"\b20\d\d-\d\d-\d\d[T\d:]*(?:\.\d+)?"), lambda found: re.sub(r"\d", "0", found[0])),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:80"),
    (re.compile(r"--cursor \w+"), "--cursor CURSOR"),
    (re.compile(r"\b\d+ (second|minute)s?( ago)?"), r"1 \1\2"),
]


class Person(Home):
    """Somebody whose every command is typed at a terminal."""

    def __init__(self, name):
        super().__init__(name)
        del self.env["COLUMNS"]
        self.env["TERM"] = "xterm"
        self.saw = []

    def types(self, line, answers=(), status=0, kept=True, table=False, **env):
        """Runs a line at the terminal, where each of the `answers` is typed when it asks; returns what the terminal showed. Of what is
        `kept` each line is compared at the end, and none of a table may be wider than the terminal."""
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
        run = subprocess.Popen(
            ["bash", "-c", line], cwd=self.folder, env=self.env | env, stdin=side, stdout=side, stderr=side, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(side)
        shown, asked, answers = b"", 0, list(answers)
        while True:
            ready, _, _ = select.select([main], [], [], 60)
            try:
                piece = os.read(main, 4096) if ready else b""
            except OSError:
                piece = b""
            if not piece:
                break
            shown += piece
            if answers and re.search(rb"(\[y/N(/v)?\]|\?|:) \Z", shown[asked:]):
                os.write(main, answers.pop(0).encode() + b"\n")
                asked = len(shown)
        os.close(main)
        ended = run.wait(60)
        # Of what was drawn over, the last is what stands there.
        text = "\n".join(re.split(r"\r|\x1b\[2K", line)[-1] for line in shown.decode().replace("\r\n", "\n").split("\n"))
        print(f"{self.name}$ {line}", flush=True)
        print("".join(f"    {shown}\n" for shown in text.splitlines()), end="", flush=True)
        if ended != status:
            check(f"`{line}` ends with {status}", False, f"{ended}: {text}")
        if table:
            rows = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
            # A command that is too long stands alone, to be pasted.
            wide = [row for row in rows if len(row) > 80 and " " in re.sub("`[^`]*`", "", row).strip()]
            check(f"`{line}` fits the terminal", not wide, wide)
        if kept:
            self.saw += [f"$ {line}", *self.plain(text).splitlines()]
        return text

    def plain(self, text):
        """What was shown without what differs from one story to the next."""
        text = text.replace(str(FOLDER), "/story")
        for pattern, place in VARIES:
            text = pattern.sub(place, text)
        return text

    def compare(self):
        """Compares each line that they saw with the story as it is known."""
        plain = [self.plain(line).rstrip() for line in self.saw]
        if os.environ.get("UPDATE_STORY"):
            TOLD.write_text("\n".join(plain) + "\n")
        known = TOLD.read_text().splitlines() if TOLD.exists() else []
        difference = "\n".join(difflib.unified_diff(known, plain, "workflow.txt", "seen", lineterm=""))
        check("each line that the person saw is the one of workflow.txt", not difference, difference)
