"""Runs mcpkg for Windows under Wine: init, prompts, a server over stdio, a deploy and its rollback.

    windows.py PROGRAM    ends with 3 and "skipped: why" without Wine
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WINES = ["wine64", "wine", "/usr/lib/wine/wine64"]
wine = next((found for found in map(shutil.which, WINES) if found), None)
if wine is None:
    print("skipped: Windows: there is no Wine")
    sys.exit(3)
program = Path(sys.argv[1]).resolve()
scratch = Path(tempfile.mkdtemp())
environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(scratch),
    "WINEPREFIX": str(scratch / "prefix"),
    "WINEDEBUG": "-all",
    # Wine would ask a person to install Mono and Gecko.
    "WINEDLLOVERRIDES": "mscoree,mshtml=",
}
drive = scratch / "prefix/drive_c"


def mcpkg(*arguments, expect=0):
    """Runs a command, and returns what it prints, with the line ends of Unix."""
    ran = subprocess.run([wine, program, *arguments], env=environment, cwd=scratch, capture_output=True, timeout=300)
    out, err = (text.decode().replace("\r\n", "\n") for text in (ran.stdout, ran.stderr))
    assert ran.returncode == expect, f"{arguments}: {ran.returncode}\n{out}{err}"
    return out


def lines_of_a_server(*requests):
    """Sends requests to `mcpkg serve`, and returns the results by id."""
    text = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)
    ran = subprocess.run(
        [wine, program, "serve"], env=environment, cwd=scratch, input=text.encode(), capture_output=True, timeout=300
    )
    answers = [json.loads(line) for line in ran.stdout.decode().splitlines()]
    return {answer["id"]: answer["result"] for answer in answers if "id" in answer}


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


try:
    shown = mcpkg("version")
    assert shown.startswith("mcpkg "), shown
    mcpkg("init")
    mcpkg("project", "create", "shop")
    mcpkg("project", "select", "shop")
    mcpkg("prompt", "create", "greeting", "Hello")
    assert mcpkg("prompt", "show", "greeting", "--raw") == "Hello\n", mcpkg("prompt", "show", "greeting", "--raw")
    databases = [path for path in drive.rglob("mcpkg.db")]
    assert len(databases) == 1 and "AppData/Local/mcpkg" in str(databases[0]), databases

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    results = lines_of_a_server(
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "prompts/list"},
        {"id": 3, "method": "prompts/get", "params": {"name": "greeting"}},
    )
    assert results[1]["serverInfo"]["name"] == "mcpkg", results
    assert [prompt["name"] for prompt in results[2]["prompts"]] == ["greeting"], results
    assert results[3]["messages"][0]["content"]["text"] == "Hello", results

    # What the user has stays as it is, to the byte.
    root = drive / "work/app"
    root.mkdir(parents=True)
    (root / "CLAUDE.md").write_bytes(b"Mine.\r\n")
    mcpkg("deploy", "--root", r"C:\work\app", "--yes")
    deployed = files_below(root)
    assert ".claude/commands/greeting.md" in deployed, deployed
    mcpkg("status", "--root", r"C:\work\app")
    mcpkg("rollback", "--root", r"C:\work\app", "--to", "pristine", "--yes")
    assert files_below(root) == ["CLAUDE.md"], files_below(root)
    assert (root / "CLAUDE.md").read_bytes() == b"Mine.\r\n"
    version = subprocess.run([wine, "--version"], env=environment, capture_output=True).stdout.decode().strip()
    print(f"Windows, {version}: init, prompts, a server over stdio, a deploy of {len(deployed) - 1} files and its rollback")
finally:
    subprocess.run([shutil.which("wineserver") or "/usr/lib/wine/wineserver", "-k"], env=environment, capture_output=True)
    shutil.rmtree(scratch, ignore_errors=True)
