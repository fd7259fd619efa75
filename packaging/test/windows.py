"""Runs mcpkg for Windows under Wine: prompts, a server over stdio, agents' entries, a deploy and its rollback.

    windows.py PROGRAM    run by the Python of `get_zig` in packaging/means.sh

This shows what mcpkg does on Windows' interface, not what Windows does: Wine keeps files on a disk of Linux.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


wine = shutil.which("wine64") or shutil.which("wine")
scratch = Path(tempfile.mkdtemp())
program = scratch / "mcpkg.exe"
shutil.copyfile(sys.argv[1], program)
environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(scratch),
    "WINEPREFIX": str(scratch / "prefix"),
    "WINEDEBUG": "-all",
    # Wine would ask a person to install Mono and Gecko.
    "WINEDLLOVERRIDES": "mscoree,mshtml=",
}
drive = scratch / "prefix/drive_c"
home = drive / "users" / os.environ.get("USER", "root")


def give_randomness():
    """Adds the library that Rust's programs take random bytes from. Wine has it since version 9."""
    text = """
        #include <stddef.h>
        __declspec(dllimport) unsigned char SystemFunction036(void *, unsigned long);
        __declspec(dllexport) int ProcessPrng(unsigned char *data, size_t size) { return SystemFunction036(data, size); }
    """
    source = scratch / "random.c"
    source.write_text(text)
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu"]
    library = scratch / "bcryptprimitives.dll"
    subprocess.run([*compiler, "-shared", "-o", library, source, "-ladvapi32"], check=True)


def mcpkg(*arguments, status=0):
    """Runs a command, and returns its standard output."""
    ran = subprocess.run([wine, program, *arguments], env=environment, cwd=scratch, capture_output=True, timeout=600)
    out, err = ran.stdout.decode(), ran.stderr.decode()
    assert ran.returncode == status, f"mcpkg {' '.join(arguments)}: {ran.returncode}\n{out}{err}"
    return out


def answers(*requests):
    """Sends requests to `mcpkg serve`, and returns the results by id."""
    text = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)
    ran = subprocess.run(
        [wine, program, "serve"], env=environment, cwd=scratch, input=text.encode(), capture_output=True, timeout=600
    )
    assert ran.returncode == 0, ran
    lines = [json.loads(line) for line in ran.stdout.decode().splitlines()]
    return {line["id"]: line["result"] for line in lines if "id" in line}


def files_below(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_content():
    assert mcpkg("version").startswith("mcpkg ")
    mcpkg("init")
    databases = list(drive.rglob("mcpkg.db"))
    assert [path.parent.as_posix() for path in databases] == [f"{home.as_posix()}/AppData/Local/mcpkg"], databases
    mcpkg("project", "create", "other")
    mcpkg("project", "create", "shop")
    mcpkg("project", "select", "shop")
    mcpkg("prompt", "create", "greeting", "Hello")
    assert mcpkg("prompt", "show", "greeting", "--raw").rstrip() == "Hello"
    # Line ends stay as the user has them, in files below backslashes and drive letters.
    write(drive / "work/guide.md", b"One\r\nTwo\r\n")
    mcpkg("prompt", "create", "guide", r"@C:\work\guide.md")
    assert mcpkg("prompt", "show", "guide", "--raw") == "One\r\nTwo\r\n"
    assert [line.split("\t")[0] for line in mcpkg("prompt", "list").splitlines()] == ["greeting", "guide"]
    mcpkg("prompt", "show", "missing", status=1)
    # Two writers at once wait for each other.
    with ThreadPoolExecutor() as two:
        list(two.map(lambda name: mcpkg("prompt", "create", name, "x"), ["both-a", "both-b"]))
    for name in ["both-a", "both-b"]:
        mcpkg("prompt", "delete", name, "--yes")


def test_folders():
    notes = {"a.md": b"a\r\n", "deep/b.md": b"b\n"}
    for name, content in notes.items():
        write(drive / "work/notes" / name, content)
    mcpkg("import", r"C:\work\notes", "--documents")
    uris = [line.split("\t")[1] for line in mcpkg("resource", "list").splitlines()]
    assert uris == ["file:///a.md", "file:///deep/b.md"], uris
    mcpkg("export", r"C:\work\out")
    exported = files_below(drive / "work/out")
    assert notes.items() <= exported.items() and ".claude/commands/guide.md" in exported, exported
    mcpkg("import", r"C:\work\out", "--create-project", "again")
    mcpkg("project", "select", "shop")


def test_server():
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    create = {"name": "create_prompt", "arguments": {"name": "farewell", "content": "Bye"}}
    results = answers(
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "prompts/list"},
        {"id": 3, "method": "tools/list"},
        {"id": 4, "method": "tools/call", "params": create},
        {"id": 5, "method": "prompts/get", "params": {"name": "farewell"}},
        {"id": 6, "method": "resources/read", "params": {"uri": "file:///deep/b.md"}},
    )
    assert results[1]["serverInfo"]["name"] == "mcpkg", results
    assert [prompt["name"] for prompt in results[2]["prompts"]] == ["greeting", "guide"], results
    assert "create_prompt" in [tool["name"] for tool in results[3]["tools"]], results
    assert not results[4]["isError"], results
    assert results[5]["messages"][0]["content"]["text"] == "Bye", results
    assert results[6]["contents"][0]["text"] == "b\n", results
    assert mcpkg("prompt", "show", "farewell", "--raw").rstrip() == "Bye"


def test_agents():
    mcpkg("client", "add", "cursor")
    entry = json.loads((home / ".cursor/mcp.json").read_bytes())["mcpServers"]["mcpkg"]
    assert entry["command"].endswith("mcpkg.exe") and entry["command"][1:3] == ":\\", entry
    mcpkg("client", "remove", "cursor")


def test_deploy():
    # What the user has stays as it is, to the byte.
    own = {"CLAUDE.md": b"Mine.\r\n", "AGENTS.md": b"Also mine.\r\n\r\nTo the end\r\n"}
    for name, content in own.items():
        write(drive / "work/app" / name, content)
    write(drive / "work/AGENTS.md", b"# Rules\r\nUse tabs.\r\n")
    mcpkg("import", r"C:\work\AGENTS.md")
    root = ["--root", r"C:\work\app"]
    planned = mcpkg("deploy", *root)
    assert r"C:\work\app\.claude\commands\greeting.md" in planned, planned
    assert files_below(drive / "work/app") == own
    mcpkg("deploy", *root, "--apply", "--yes", status=1)
    mcpkg("deploy", *root, "--apply", "--yes", "--adopt", r"C:\work\app\AGENTS.md")
    deployed = files_below(drive / "work/app")
    assert b"Hello" in deployed[".claude/commands/greeting.md"], deployed
    assert deployed["CLAUDE.md"] == own["CLAUDE.md"] and deployed["AGENTS.md"].startswith(own["AGENTS.md"]), deployed
    mcpkg("status", *root, "--check")
    # An edit is drift, which neither a deploy nor a rollback overwrites.
    command = drive / "work/app/.claude/commands/greeting.md"
    command.write_bytes(b"Edited\r\n")
    mcpkg("status", *root, "--check", status=3)
    mcpkg("deploy", *root, "--apply", "--yes", status=1)
    command.write_bytes(deployed[".claude/commands/greeting.md"])
    mcpkg("rollback", *root, "--to", "pristine", "--yes")
    assert files_below(drive / "work/app") == own, files_below(drive / "work/app")
    return len(deployed) - len(own)


try:
    give_randomness()
    test_content()
    test_folders()
    test_server()
    test_agents()
    count = test_deploy()
    version = subprocess.run([wine, "--version"], env=environment, capture_output=True).stdout.decode().strip()
    print(f"Windows, {version}: prompts, import, export, a server over stdio, a deploy of {count} files and its rollback")
finally:
    subprocess.run(["wineserver", "-k"], env=environment, capture_output=True)
    shutil.rmtree(scratch, ignore_errors=True)
