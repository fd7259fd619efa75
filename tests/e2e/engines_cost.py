"""What the second engine costs: a start on each, the program's size, and what more there is to build."""

import json
import os
import re
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from engines_load import table
from story import MCPKG, check

ROOT = Path(__file__).resolve().parents[2]

RUNS = 15

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "story", "version": "1"}},
}

# What speaks to PostgreSQL. What no other way leads to than through these is built for it alone.
OF_POSTGRES = {"postgres", "tokio-postgres", "tokio-postgres-rustls"}


def first_answer(home, database):
    """Returns the seconds from starting a server over stdio to its answer to `initialize`."""
    start = time.monotonic()
    with subprocess.Popen([MCPKG, "--db", database, "serve"], cwd=home.path, env=home.env, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        server.stdin.write(json.dumps(HELLO) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        took = time.monotonic() - start
        server.stdin.close()
        server.wait(30)
    if '"serverInfo"' not in answer:
        raise SystemExit(f"no answer to initialize on {database}: {answer!r}")
    return took


def command(home, database):
    """Returns the seconds that a command takes which lists prompts."""
    start = time.monotonic()
    subprocess.run([MCPKG, "--db", database, "prompt", "list"], cwd=home.path, env=home.env, check=True, capture_output=True)
    return time.monotonic() - start


def starts(home, databases):
    rows = [["in the middle of so many", *databases]]
    for what, measured in [("a server's first answer", first_answer), ("mcpkg prompt list", command)]:
        took = {database: [] for database in databases}
        for _ in range(RUNS + 1):
            # In turns, so that a busy machine slows both; the first turn only warms up.
            for name, database in databases.items():
                took[name].append(measured(home, database))
        rows.append([f"{what}, {RUNS} runs", *(f"{statistics.median(times[1:]) * 1000:.1f} ms" for times in took.values())])
    return rows


def size():
    """Returns the bytes of the program, and of its symbols whose names tell PostgreSQL's; `None` without nm."""
    whole = os.stat(MCPKG).st_size
    if not shutil.which("nm"):
        return whole, None
    listed = subprocess.run(["nm", "--size-sort", "--print-size", "--defined-only", MCPKG], capture_output=True, text=True)
    sizes = [line.split(maxsplit=3) for line in listed.stdout.splitlines()]
    sizes = [(int(words[1], 16), words[3]) for words in sizes if len(words) == 4]
    if not sizes:
        return whole, None
    total = sum(bytes for bytes, _ in sizes)
    return whole, (total, sum(bytes for bytes, name in sizes if "postgres" in name))


def crates():
    """Returns how many crates are built, and the names of those that are built for PostgreSQL alone; `None` without cargo."""
    if not shutil.which("cargo"):
        return None
    words = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform"]
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, cwd=ROOT).stdout.split("host: ")[1].split()[0]
    told = subprocess.run([*words, host], capture_output=True, text=True, cwd=ROOT)
    if told.returncode != 0:
        return None
    graph = json.loads(told.stdout)["resolve"]
    names = {package["id"]: package["name"] for package in json.loads(told.stdout)["packages"]}
    leads = {
        node["id"]: [dep["pkg"] for dep in node["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
        for node in graph["nodes"]
    }

    def reached(without):
        found, left = set(), [graph["root"]]
        while left:
            one = left.pop()
            if one not in found and names[one] not in without:
                found.add(one)
                left += leads[one]
        return found

    every = reached(set())
    return len(every), sorted(names[one] for one in every - reached(OF_POSTGRES))


def compiled(names):
    """Returns how long the compiler worked at all crates and at these, as the last `cargo build --timings` told it; `None` without one."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "cargo-timings"
    reports = sorted(folder.glob("cargo-timing-*.html"))
    units = re.search(r"const UNIT_DATA = (\[.*?\]);", reports[-1].read_text(), re.DOTALL) if reports else None
    if not units:
        return None
    units = json.loads(units[1])
    if not set(names) <= {unit["name"] for unit in units}:
        return None
    return sum(unit["duration"] for unit in units), sum(unit["duration"] for unit in units if unit["name"] in names)


def cost(home, databases):
    """Step 6: prints it."""
    print("\n# 6. What the second engine costs", flush=True)
    rows = starts(home, databases)
    table(rows)
    whole, symbols = size()
    print(f"    the program has {whole / 2**20:.1f} MiB", flush=True)
    if symbols:
        total, ours = symbols
        print(f"    of {total / 2**20:.1f} MiB of functions and data those that name PostgreSQL have {ours / 2**20:.1f} MiB", flush=True)
        check("the names of the program tell what is PostgreSQL's", 0 < ours < total / 2, symbols)
    built = crates()
    if built:
        total, alone = built
        print(f"    of {total} crates {len(alone)} are built for PostgreSQL alone: {', '.join(alone)}", flush=True)
        check("PostgreSQL brings crates of its own", OF_POSTGRES <= set(alone), alone)
        if taken := compiled(alone):
            print(f"    of {taken[0]:.0f} s that the last build with --timings took its compilers those took {taken[1]:.0f} s", flush=True)
    print("    what a release takes more is told by a build without them, which docs/adr/0042-postgresql.md has", flush=True)
