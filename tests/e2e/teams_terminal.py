"""Agents of the story of teams that sign in from inside their terminal interface only: Copilot CLI and Gemini CLI, offline with a
model that answers "ok"."""

import json
import re
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from engines_postgres import wait_until
from teams_programs import HERE, Program, file_of

# How long an agent may take from its start until it works with the server.
LIMIT = 60


@contextmanager
def model(program):
    """A model at an address of its own, which is given."""
    log = program.home / "model.log"
    with open(log, "w") as said:
        words = ["node", str(HERE / "stub_model.mjs"), str(program.home / "asked")]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        address = lambda: re.search(r"http://\S+", log.read_text())
        wait_until("the model listens", address)
        yield address()[0]
    finally:
        process.kill()
        process.wait()


def works(folder, name):
    """Returns whether a server let a person list or begin something."""
    lines = (json.loads(line) for log in folder.glob("web*/audit.jsonl") for line in log.read_text().splitlines())
    return any(line.get("requester") == f"person:{name}" and line["outcome"] == "ok" for line in lines)


def typed(program, folder, command, keys):
    """Runs an agent at a terminal and types `keys`, each after some seconds, until it works with a server. Returns whether it does,
    and what the terminal showed."""
    shown = program.home / "shown"
    print(f"{program.name}$ {Path(command.split()[-1]).name}     # at a terminal", flush=True)
    words = ["script", "-qec", f"stty rows 40 cols 120; exec {command}", "/dev/null"]
    with open(shown, "w") as output, subprocess.Popen(
        words, cwd=program.home, env=program.env, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True
    ) as process:
        for seconds, text in keys:
            time.sleep(seconds)
            process.stdin.write(text.encode())
            process.stdin.flush()
        until = time.monotonic() + LIMIT
        while not (holds := works(folder, program.name)) and time.monotonic() < until:
            time.sleep(0.2)
        # The terminal hangs up, and with it everything that the agent started.
        process.kill()
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.read_text(errors="replace"))
    return holds, text[-600:]


def copilot(folder, url, _):
    program, file = Program(folder, "carl"), file_of("E2E_COPILOT")
    config = program.home / ".copilot/mcp-config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"mcpServers": {"team": {"type": "http", "url": url, "tools": ["*"]}}}))
    with model(program) as address:
        program.env |= {
            "COPILOT_PROVIDER_BASE_URL": f"{address}/v1", "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_PROVIDER_API_KEY": "stub",
            "COPILOT_MODEL": "gpt-5", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
        }
        # It asks whether the folder is trusted.
        return typed(program, folder, f"'{file}' --allow-all-tools", [(4, "\r")])


def gemini(folder, url, _):
    program, file = Program(folder, "gerd"), file_of("E2E_GEMINI")
    config = program.home / ".gemini/settings.json"
    config.parent.mkdir()
    config.write_text(json.dumps({
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False}, "mcpServers": {"team": {"httpUrl": url, "trust": True}},
    }))
    with model(program) as address:
        program.env |= {"GEMINI_API_KEY": "stub", "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        return typed(program, folder, f"node '{file}'", [(10, "/mcp auth team"), (1, "\r"), (1, "\r")])


# As PROGRAMS of teams_programs.py.
AT_A_TERMINAL = [
    ("carl", "GitHub Copilot CLI", "Copilot CLI logs in at a terminal, and connects", copilot),
    ("gerd", "Gemini CLI MCP Client", "Gemini CLI logs in at a terminal, and connects", gemini),
]
