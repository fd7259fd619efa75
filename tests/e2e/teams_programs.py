"""Real programs of the story of teams, each with a home folder of its own. Each signs in with the issuer, by a browser that
follows redirects, and works with the team's server. A program that cannot be had says why."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent

# A browser for programs that open one: it waits, since some programs open their own listener only after it.
BROWSER = """#!/bin/sh
for url; do :; done
jar=$(mktemp)
(sleep 1.5; curl -sL -m 20 -c "$jar" -b "$jar" "$url"; rm -f "$jar") >/dev/null 2>&1 </dev/null &
"""

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "remote", "version": "1"}},
}


class Skipped(Exception):
    """The program is not available here."""


class Program:
    """A program with a home folder of its own. `run` shows how it is started."""

    def __init__(self, folder, name):
        self.name, self.home = name, folder / f"program-{name}"
        self.home.mkdir()
        opener = self.home / "bin/xdg-open"
        opener.parent.mkdir()
        opener.write_text(BROWSER)
        opener.chmod(0o755)
        self.env = {
            "PATH": f"{opener.parent}:{os.environ['PATH']}", "HOME": str(self.home), "BROWSER": str(opener), "TERM": "xterm",
            "MCP_AUTO_OPEN_ENABLED": "true", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            # Nothing of them leaves this machine.
            "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost",
        }

    def run(self, *words, given=None, limit=60):
        """Returns what a command printed, on both streams."""
        shown = " ".join(os.path.basename(word) if word.startswith("/") else word for word in words)
        print(f"{self.name}$ {shown}", flush=True)
        try:
            ran = subprocess.run(words, cwd=self.home, env=self.env, input=given or "", capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired as error:
            return f"it took more than {limit} s: {error.stdout} {error.stderr}"
        return ran.stdout + ran.stderr


def file_of(variable):
    """Returns the file of a program, which teams.sh looked for."""
    found = os.environ.get(variable, "skipped: not looked for")
    if found.startswith("skipped: "):
        raise Skipped(found.removeprefix("skipped: "))
    return found


def python_client(folder, url, _):
    """The Python client lists prompts and tools, and writes the prompt `by-ada`."""
    said = Program(folder, "ada").run(sys.executable, str(HERE / "sign_in.py"), url, "ada")
    return '"wrote": true' in said, said


def inspector(folder, url, prompt):
    """The Inspector's command line reads a prompt."""
    program = Program(folder, "ines")
    words = ["--cli", "--server-url", url, "--transport", "http", "--method", "prompts/get", "--prompt-name", prompt, "--format", "json"]
    said = program.run("node", file_of("E2E_INSPECTOR"), *words)
    return '"messages"' in said, said


def mcp_remote(folder, url, prompt):
    """mcp-remote passes a prompt on to a client that knows nothing of OAuth."""
    program = Program(folder, "remo")
    words = ["node", file_of("E2E_REMOTE"), url, "--static-oauth-client-metadata", '{"client_name":"remo"}']
    print(f"{program.name}$ mcp-remote {url}", flush=True)
    with open(program.home / "log", "w") as log, subprocess.Popen(
        words, cwd=program.home, env=program.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
    ) as process:
        timer = kill_after(process, 60)
        send = lambda sent: (process.stdin.write(json.dumps(sent) + "\n"), process.stdin.flush())
        send(HELLO)
        answers = [process.stdout.readline()]
        send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        send({"jsonrpc": "2.0", "id": 2, "method": "prompts/get", "params": {"name": prompt}})
        while answers[-1] and '"id":2' not in answers[-1].replace(" ", ""):
            answers.append(process.stdout.readline())
        timer.cancel()
        process.terminate()
    return '"messages"' in answers[-1], f"{answers} {(program.home / 'log').read_text()[-600:]}"


def claude(folder, url, _):
    """Claude Code logs in at a terminal, and connects."""
    program, file = Program(folder, "cleo"), file_of("E2E_CLAUDE")
    program.run(file, "mcp", "add", "--transport", "http", "team", url)
    print(f"{program.name}$ claude mcp login team", flush=True)
    logged_in = subprocess.run(
        ["script", "-qec", f"'{file}' mcp login team", "/dev/null"], cwd=program.home, env=program.env,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    ).stdout
    said = program.run(file, "mcp", "list")
    return "Connected" in said, logged_in[-300:] + said


def codex(folder, url, _):
    """Codex logs in, and lists the server's tools."""
    program, file = Program(folder, "cody"), file_of("E2E_CODEX")
    logged_in = program.run(file, "mcp", "add", "team", "--url", url)
    print(f"{program.name}$ codex app-server", flush=True)
    words = {"cwd": program.home, "env": program.env, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([file, "app-server"], text=True, **words) as process:
        timer = kill_after(process, 60)
        send = lambda sent: (process.stdin.write(json.dumps({"jsonrpc": "2.0", **sent}) + "\n"), process.stdin.flush())
        send({"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "e2e", "title": "e2e", "version": "1"}}})
        send({"method": "initialized"})
        send({"id": 1, "method": "mcpServerStatus/list", "params": {}})
        answer = {}
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == 1:
                break
        timer.cancel()
        process.kill()
    servers = answer.get("result", {}).get("data", [])
    holds = any(server["name"] == "team" and "create_prompt" in server.get("tools", {}) for server in servers)
    return "Successfully logged in" in logged_in and holds, f"{logged_in[-300:]} {str(answer)[:300]}"


def opencode(folder, url, _):
    """OpenCode logs in, and connects."""
    program, file = Program(folder, "olga"), file_of("E2E_OPENCODE")
    config = program.home / ".config/opencode/opencode.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"mcp": {"team": {"type": "remote", "url": url}}, "autoupdate": False}))
    logged_in = program.run(file, "mcp", "auth", "team")
    said = program.run(file, "mcp", "list")
    return "connected" in said, logged_in[-300:] + said[-300:]


# For each program: who uses it, the name that it registers under, what it does, and the function that runs it.
PROGRAMS = [
    ("remo", "remo", "mcp-remote signs in, and passes a prompt on", mcp_remote),
    ("ines", "MCP Inspector", "MCP Inspector's CLI signs in, and reads a prompt", inspector),
    ("cleo", "Claude Code (team)", "Claude Code logs in, and connects", claude),
    ("cody", "Codex", "Codex logs in, and lists the server's tools", codex),
    ("olga", "OpenCode", "OpenCode logs in, and connects", opencode),
]


def kill_after(process, seconds):
    """Kills a process that takes longer."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    return timer


def signed_in(program, *given):
    """Returns whether a program worked, what it said, how long it took, and why it was skipped."""
    start = time.monotonic()
    try:
        holds, said = program(*given)
    except Skipped as why:
        return None, "", 0.0, str(why)
    except subprocess.TimeoutExpired as error:
        holds, said = False, repr(error)
    return holds, said, time.monotonic() - start, None
