"""The story of engines: `engines.py MCPKG FOLDER PROGRAMS [--seconds N]`, started by engines.sh; PROGRAMS is where PostgreSQL's are."""

import argparse
import asyncio
import http.client
import json
import re
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from contextlib import AsyncExitStack

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import PromptsListChanged

from engines_cost import cost
from engines_load import Load, Plain, gap, middle, table
from engines_postgres import Postgres, wait_until
from servers import Server
from story import FOLDER, MCPKG, Home, check, end, show

warnings.simplefilter("ignore")

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--seconds", type=float, default=24)
PROGRAMS = sys.argv[3]
OPTIONS = OPTIONS.parse_args(sys.argv[4:])


def heading(text):
    print(f"\n# {text}", flush=True)


def primary_and_standby():
    heading("1. A primary, and a standby that has each commit before it is acknowledged")
    primary = Postgres(PROGRAMS, "db1").primary()
    standby = Postgres(PROGRAMS, "db2").standby_of(primary)
    replicas = "SELECT state, sync_state FROM pg_stat_replication"
    wait_until("the standby is synchronous", lambda: primary.query(replicas) == "streaming|sync")
    check("the standby is synchronous", primary.query(replicas, shown=True) == "streaming|sync")
    return primary, standby


# Tables that one engine alone has: the words of the search index, and the history of its migrations.
OWN = re.compile(r"sqlite_|search|tool_search|refinery")


def rows(file):
    """Returns the rows of each table of a file, each with how often it is there."""
    database = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    tables = [name for name, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") if not OWN.match(name)]
    return {table: Counter(database.execute(f'SELECT * FROM "{table}"')) for table in tables}


def fill(team):
    """Makes a file of all kinds of content, with a history, a deploy and a key."""
    notes = team.path / "notes"
    (notes / "skills/review").mkdir(parents=True)
    (notes / "skills/review/SKILL.md").write_text("---\nname: review\ndescription: Reviews a change\n---\nRead it, then run the tests.\n")
    (notes / "greet.md").write_text("Grüezi, \u65e5\u672c\u8a9e and \U0001f600\n")
    (notes / "noise.bin").write_bytes(bytes(n * 7 % 251 for n in range(3_000_000)))
    team.run("mcpkg project create team")
    team.run("mcpkg import notes --documents")
    team.run('for n in $(seq 10 49); do mcpkg --quiet prompt create known-$n "Known: $n"; done')
    team.run("mcpkg prompt update known-10 --content 'Else' && mcpkg prompt restore known-10 1")
    team.run("mcpkg prompt create gone 'It goes' && mcpkg --yes prompt delete gone")
    team.run("mcpkg project create other && mcpkg --project other prompt create theirs 'Not of the team'", quiet=True)
    (team.path / "root").mkdir()
    team.run("mcpkg deploy --apply --root root --yes", quiet=True)


def moved(team, address):
    heading("2. A file moves to the server and back")
    fill(team)
    before = rows(team.database)
    team.env["SERVER"] = address
    team.run('mcpkg move --to "$SERVER"')
    team.run('mcpkg --db "$SERVER" check --deep')
    team.run('mcpkg --db "$SERVER" move --to back.db')
    team.run("mcpkg --db back.db check --deep")
    back = rows(team.path / "back.db")
    check("there are as many tables", len(before) > 50 and back.keys() == before.keys(), back.keys() ^ before.keys())
    differing = [table for table in before if back[table] != before[table]]
    check("all their rows are equal, but for the trail and the database's own id", set(differing) <= {"event", "setting"}, differing)
    more = back["event"] - before["event"]
    check("the trail has one event more, the move's", not before["event"] - back["event"] and [row[4] for row in more] == ["move"], more)
    other = [row[0] for row in (back["setting"] - before["setting"]) | (before["setting"] - back["setting"])]
    check("the id of the database's life is another one", set(other) <= {"generation"}, other)
    for name, database in [("before", "team.db"), ("after", "back.db"), ("served", "$SERVER")]:
        team.run(f'mcpkg --db "{database}" -p team export {name}', quiet=True)
    said = team.run("diff -r before after && diff -r before served && find before -type f | wc -l")
    check("what is exported is the same, byte for byte", said.strip().isdigit() and int(said) > 40, said)
    print(f"    {sum(map(len, before.values()))} different rows in {len(before)} tables", flush=True)


async def connected(stack, server, era):
    """Returns the Python client of an era at a server."""
    http = await stack.enter_async_context(httpx2.AsyncClient(timeout=60))
    transport = streamable_http_client(f"http://127.0.0.1:{server.port}/mcp", http_client=http)
    client = Client(transport, mode="auto" if era == "modern" else "legacy", cache=None)
    return await stack.enter_async_context(client)


async def anywhere(servers):
    heading("3. Three servers, and clients that write to one and read from another")
    check("each says that it is ready", [server.readyz() for server in servers] == [200] * 3)
    for era in ("legacy", "modern"):
        async with AsyncExitStack() as stack:
            clients = [await connected(stack, server, era) for server in servers]
            wrong = []
            for n in range(30):
                writer, reader = clients[n % 3], clients[(n + 1 + n // 3 % 2) % 3]
                tool = "create_prompt" if n < 3 else "update_prompt"
                made = await writer.call_tool(tool, {"name": f"{era}-{n % 3}", "content": f"step {n}"})
                got = await reader.get_prompt(f"{era}-{n % 3}")
                if made.is_error or got.messages[0].content.text != f"step {n}":
                    wrong.append((n, made.content[0].text, got.messages[0].content.text))
            print(f"client ({era})> 30 times: write through one server, read through another", flush=True)
            check(f"{era}: each read through another server has what was written", not wrong, wrong)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "story", "version": "1"}}
    status, session, _ = post(servers[0], {}, "initialize", hello)
    foreign, _, text = post(servers[1], {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}, "ping", {})
    print(f"client (legacy)> a session of {servers[0].home.name} at {servers[1].home.name}\n    {foreign} {text[:160]}", flush=True)
    check("a session of one server is not known at another one, which says 404", (status, foreign) == (200, 404), (status, foreign))


def post(server, headers, method, params):
    """Returns the status, the session and the text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request("POST", "/mcp", body, accepted | headers)
    answer = connection.getresponse()
    return answer.status, answer.headers.get("mcp-session-id"), answer.read().decode()


class Follower:
    """`mcpkg events --follow` on a machine of its own, which names some of the hosts."""

    def __init__(self, name, address):
        self.home, self.lines = Home(name), []
        self.home.env["MCPKG_DB"] = address
        print(f"{name}$ mcpkg events --follow --limit 1 --json &", flush=True)
        words = [MCPKG, "events", "--follow", "--limit", "1", "--json"]
        self.process = subprocess.Popen(words, cwd=self.home.path, env=self.home.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        wait_until(f"{name} has the newest event", lambda: self.lines)
        self.lines.clear()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def end(self):
        self.process.terminate()
        self.process.wait(20)


async def followed(servers, addresses, editor):
    heading("4. A trail is followed on each machine of the database while the shell and an agent write through others")
    followers = [Follower(name, address) for name, address in addresses.items()]
    try:
        async with AsyncExitStack() as stack:
            listener, agent = await connected(stack, servers[0], "modern"), await connected(stack, servers[1], "modern")
            events = await stack.enter_async_context(listener.listen(prompts_list_changed=True))
            editor.run("mcpkg prompt create followed 'one'")
            heard = await asyncio.wait_for(anext(aiter(events)), 20)
            print(f"client (modern) at {servers[0].home.name}< {heard}", flush=True)
            check("a client of another server hears of what the shell does", heard == PromptsListChanged(), heard)
            await agent.call_tool("update_prompt", {"name": "followed", "content": "two"})
            print(f"client (modern) at {servers[1].home.name}> update_prompt followed", flush=True)
            editor.run("mcpkg prompt create followed 'again'", status=1)
            editor.run("mcpkg prompt rename followed found")
            editor.run("mcpkg --yes prompt delete found")
        wanted = [("prompt.create", "ok"), ("prompt.update", "ok"), ("prompt.create", "E_ALREADY_EXISTS"), ("prompt.rename", "ok"), ("prompt.delete", "ok")]
        for follower in followers:
            wait_until(f"{follower.home.name} has all events", lambda: len(follower.lines) >= len(wanted))
            print(f"{follower.home.name}'s trail:", flush=True)
            show("".join(f"{event['seq']} {event['actor']} {event['kind']} {event['subject']} {event['outcome']}\n" for event in follower.lines))
            found = [(event["kind"], event["outcome"]) for event in follower.lines]
            check(f"{follower.home.name} has each event once, in order", found == wanted, found)
        check("both have the same", followers[0].lines == followers[1].lines)
    finally:
        for follower in followers:
            follower.end()


def loaded(servers, primary, standby, known):
    heading(f"5. {OPTIONS.seconds:.0f} seconds of load: a server is killed, then the primary, and the standby is promoted")
    primary.query("CREATE TABLE public.plain (n bigint PRIMARY KEY)")
    ready, over = [], threading.Event()

    def watch():
        while not over.is_set():
            # The time of the answer: the primary may be killed while it is on its way.
            status = servers[0].readyz()
            ready.append((time.monotonic(), status))
            time.sleep(0.05)

    watching = threading.Thread(target=watch)
    ports = [server.port for server in servers]
    plain = Plain(f"{PROGRAMS}/psql", [primary.port, standby.port])
    with Load(ports, known) as load, plain:
        watching.start()
        phases = [("three servers", time.monotonic())]
        time.sleep(OPTIONS.seconds / 3)
        phases.append(("one of them killed", time.monotonic()))
        servers[2].kill()
        time.sleep(OPTIONS.seconds / 6)
        phases.append(("started again", time.monotonic()))
        servers[2].start()
        time.sleep(OPTIONS.seconds / 6)
        phases.append(("the primary killed", time.monotonic()))
        primary.kill()
        standby.promote()
        written = len(load.acknowledged)
        wait_until("writes are acknowledged again", lambda: len(load.acknowledged) > written + 5)
        time.sleep(OPTIONS.seconds / 3)
    ended = time.monotonic()
    over.set()
    watching.join()
    table_of(load, plain, phases, ended)

    text = {name: load_text(servers, name) for name in [*load.acknowledged, *load.refused, *load.unknown]}
    lost = [name for name, content in load.acknowledged.items() if text[name] != content]
    appeared = [name for name in load.refused if text[name] is not None]
    there = sum(text[name] is not None for name in load.unknown)
    print(f"    of {len(load.unknown)} writes whose fate was told as unknown {there} are there")
    check(f"none of {len(load.acknowledged)} acknowledged writes is lost", load.acknowledged and not lost, lost[:5])
    check(f"none of {load.count('read')} answers is wrong", load.count("read") > 100 and not load.wrong, load.wrong[:5])
    check(f"none of {len(load.refused)} writes that were refused is there", not appeared, appeared[:5])
    for phase, start in phases:
        check(f"reads and writes were answered: {phase}", load.count("read", start) and load.count("write", start))
    ours, theirs = load.gap("write"), gap(plain.done)
    check("the gap is at most twice a plain writer's, or a second more", ours <= max(2 * theirs, theirs + 1), f"{ours:.2f} s, {theirs:.2f} s")
    killed = phases[3][1]
    check("/readyz said ready before, and does at the end", {status for at, status in ready if at < killed} == {200} and ready[-1][1] == 200, ready[-3:])
    print(f"    /readyz meanwhile: {dict(Counter(status for at, status in ready if at >= killed))}")


def load_text(servers, name):
    """Returns the text of a prompt as the first server has it; `None` where it is not there."""
    params = {"name": name, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": {"name": "story", "version": "1"}}}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "prompts/get", "Mcp-Name": name}
    answer = json.loads(post(servers[0], headers, "prompts/get", params)[2])
    if "result" in answer:
        return answer["result"]["messages"][0]["content"]["text"]
    if "not found" not in answer["error"]["message"] and "does not exist" not in answer["error"]["message"]:
        raise SystemExit(f"{name} cannot be read: {answer}")
    return None


def table_of(load, plain, phases, ended):
    head = ["while", "seconds", "reads/s", "p50", "p99", "failed", "writes/s", "p50", "refused", "unknown"]
    lines = [head]
    for (phase, start), (_, until) in zip(phases, [*phases[1:], ("", ended)]):
        reads, writes = load.times("read", start, until), load.times("write", start, until)
        failed, refused, unknown = (load.count(what, start, until) for what in ("read failed", "refused", "unknown"))
        took = until - start
        lines.append([phase, f"{took:.1f}", f"{len(reads) / took:.0f}", middle(reads), middle(reads, 0.99), failed, f"{len(writes) / took:.1f}", middle(writes), refused, unknown])
    table(lines)
    print(f"    longest without a write {load.gap('write'):.2f} s, without a read {load.gap('read'):.2f} s; a plain writer's {gap(plain.done):.2f} s")


async def main():
    primary, standby = primary_and_standby()
    database = f"postgres://mcpkg@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/postgres"
    address = f"{database}?target_session_attrs=read-write&connect_timeout=2"
    servers = []
    try:
        team = Home("team")
        team.database = team.path / "team.db"
        team.env["MCPKG_DB"] = str(team.database)
        moved(team, address)

        homes = [Home(name) for name in ("web1", "web2", "web3")]
        for home in homes:
            home.env["MCPKG_DB"] = address
            servers.append(Server(home))
        said = team.run('mcpkg --db "$SERVER" move --to late.db', status=1)
        check("a database with servers on it is not moved", "Servers are connected" in said, said)
        await anywhere(servers)
        editor = Home("editor")
        editor.env["MCPKG_DB"] = address
        trails = {"follower1": address, "follower2": f"postgres://mcpkg@127.0.0.1:{standby.port}/postgres"}
        await followed(servers, trails, editor)
        loaded(servers, primary, standby, {f"known-{n}": f"Known: {n}" for n in range(10, 50)})

        editor.run("mcpkg check --deep")
        editor.run("mcpkg backup kept.db && mcpkg --db kept.db check --deep")
        check("each server ends when it is told to", [server.stop() for server in servers] == [0] * 3)
        cost(team, {"a file": str(team.database), "PostgreSQL": address})
    finally:
        for server in servers:
            if server.process.poll() is None:
                server.kill()
        for machine in (standby, primary):
            machine.end()
    end()


asyncio.run(main())
