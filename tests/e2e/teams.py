"""The story of teams: `teams.py MCPKG FOLDER PROGRAMS`, started by teams.sh; PROGRAMS is where PostgreSQL's are."""

import os
import sys
import time

from engines_load import Load, table
from engines_postgres import Postgres, free_port, wait_until
from story import FOLDER, MCPKG, Home, check, end
from teams_attacks import attacked, crowded
from teams_changes import issuer_down, primary_lost, restored, server_lost, upgraded
from teams_cost import BAR, cost
from teams_ground import Audited, Issuer, Proxy, audited, install
from teams_people import Person, claims
from teams_programs import PROGRAMS, python_client, signed_in
from teams_terminal import AT_A_TERMINAL

# How many seconds the clocks of an issuer and a server may differ. A token counts for this much longer.
LEEWAY = 60

# The real programs, besides the Python client.
REAL = [*PROGRAMS, *AT_A_TERMINAL]

# For each client name, the person who signs in with it and their groups.
# `more0` and so on replace programs that are not available.
PLATFORM = ["ada", "dora", "emil", "finn", "gina", *(f"more{number}" for number in range(5)), *(client for _, client, _, _ in REAL)]
PEOPLE = {client: {"groups": ["platform"]} for client in PLATFORM} | {
    "bob": {"groups": ["platform", "support"], "seconds": 5},
    "eve": {"groups": []},
} | {client: {"name": name, "groups": ["platform"]} for name, client, _, _ in REAL}


class Team:
    """All that the steps share. `row` is a check, and a row of the table at the end."""

    def __init__(self):
        self.rows, self.running, self.servers = [["step", "what was shown", "figure"]], [], []
        self.people, self.tokens = {}, []

    def start(self):
        """Starts all machines. `end` stops what is running, even if this fails."""
        self.heading("0. A primary with a standby, an issuer, three servers and a proxy")
        self.primary = Postgres(sys.argv[3], "db1")
        self.running.append(self.primary.end)
        self.primary.primary()
        self.standby = Postgres(sys.argv[3], "db2")
        self.running.append(self.standby.end)
        self.standby.standby_of(self.primary)
        wait_until("the standby is synchronous", lambda: self.primary.query("SELECT sync_state FROM pg_stat_replication") == "sync")
        self.hosts = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}"
        self.address = self.database("postgres")
        self.admin = Home("admin")
        # With MCPKG_OLD_BIN, everything begins with the program of an older version.
        install(os.environ.get("MCPKG_OLD_BIN") or MCPKG)
        self.admin.env["MCPKG_DB"] = self.address
        self.admin.run("mcpkg init && mcpkg project create shop")
        self.admin.run('for n in $(seq 10 29); do mcpkg prompt create known-$n "Known: $n"; done', quiet=True)
        self.admin.run("mcpkg access rule add --claim groups=platform")
        self.admin.run("mcpkg access rule add --claim groups=support --project shop --read-only")
        self.known = {f"known-{n}": f"Known: {n}" for n in range(10, 30)}

        self.issuer = Issuer(PEOPLE)
        self.running.append(lambda: self.issuer.kill())
        self.proxy = Proxy(free_port())
        self.running.append(self.proxy.end)
        for name in ("web1", "web2", "web3"):
            home = Home(name)
            home.env["MCPKG_DB"] = self.address
            self.servers.append(Audited(home, self.issuer, self.proxy))
            self.running.append(self.servers[-1].end)
        self.proxy.start(self.servers)
        self.url = f"{self.proxy.url}/mcp"

    def database(self, name):
        return f"postgres://mcpkg@{self.hosts}/{name}?target_session_attrs=read-write&connect_timeout=2"

    def row(self, step, shown, figure, holds, found=""):
        check(f"{step}: {shown} ({figure})", holds, found)
        self.rows.append([step, shown, figure if holds else f"FAILED: {figure}"])

    def skipped(self, step, shown, why):
        print(f"skipped: {step}, {shown}: {why}", flush=True)
        self.rows.append([step, shown, f"skipped: {why}"])

    def heading(self, text):
        print(f"\n# {text}", flush=True)

    def person(self, name):
        """Signs a person in with a plain client."""
        self.people[name] = Person(name, self.url).sign_in()
        return self.people[name]

    def load(self, prefix):
        """Returns readers and writers that ask through the proxy, with tokens of several people."""
        return Load([self.proxy.port], self.known, prefix, self.tokens, readers=6, writers=2)

    def end(self):
        for stop in reversed(self.running):
            try:
                stop()
            except (OSError, SystemExit) as error:
                print(f"    {error}")
        print("", flush=True)
        table(self.rows)


def sign_in(team):
    """Ten clients or more sign in, one of them with a token that is short and a stream."""
    team.heading("1. Ten clients or more sign in: a plain one of four people, and real programs")
    bob = team.person("bob")
    stream, had = bob.listen(), bob.tools()
    team.issuer.withdraw("bob", "platform")
    print(f"bob> listens; login$ takes the group platform from bob, whose token ends in {claims(bob.token)['exp'] - time.time():.0f} s", flush=True)

    holds, said, took, _ = signed_in(python_client, FOLDER, team.url, "by-ada")
    team.row("sign in", "the Python client `mcp` signs in, lists, and writes a prompt", f"{took:.1f} s", holds, said)
    for name in ("dora", "emil", "finn"):
        team.person(name)
    dora, emil, finn = (team.people[name] for name in ("dora", "emil", "finn"))
    bob.ask("prompts/get", {"name": "by-ada"})
    status, answer = emil.call("update_prompt", name="by-ada", content="Changed by emil")
    check("emil changes ada's prompt", status == 200 and answer["result"].get("isError") is False, answer)
    dora.ask("prompts/get", {"name": "by-ada"})
    finn.call("get_prompt", name="by-ada")
    working = {"ada", "bob", "dora", "emil", "finn"}
    for name, _, what, program in REAL:
        holds, said, took, why = signed_in(program, FOLDER, team.url, "by-ada")
        if why:
            team.skipped("sign in", what, why)
            continue
        team.row("sign in", what, f"{took:.1f} s", holds, said)
        if holds:
            working.add(name)
            (FOLDER / f"program-{name}/worked").touch()
    for number in range(10 - len(working)):
        team.person(f"more{number}")
        team.people[f"more{number}"].ask("prompts/list", {})
        working.add(f"more{number}")
    for _ in range(7):
        team.tokens += [Person(name, team.url).sign_in().token for name in ("dora", "emil", "finn")]
    seen = {line["requester"] for line in audited(team.servers) if line.get("requester") and line["outcome"] != "refused"}
    there = {name for name in working if f"person:{name}" in seen and name in team.issuer.signed_in()}
    team.row("sign in", "each client's person is in the audit log by name", f"{len(there)} of {len(working)}", len(there) >= 10 and there == working, working - there)
    eve = Person("eve", team.url).sign_in()
    status, _ = eve.at(team.servers[0].port).ask("prompts/list", {})
    team.row("sign in", "a person in no group has no access", f"{status}", status == 403)
    return stream, had


def who_did(team):
    team.heading("2. Who changed this prompt, and who read it since?")
    events = [event for event in team.admin.json("mcpkg events")["events"] if event["subject"] == "by-ada"]
    changed = [(event["kind"], event["actor"].split(":")[1]) for event in events]
    team.row("audit", "`mcpkg events`: who changed the prompt", ", ".join(f"{kind} {who}" for kind, who in changed),
             changed == [("prompt.create", "ada"), ("prompt.update", "emil")], events)
    team.admin.run("mcpkg events | grep by-ada")
    logs = " ".join(str(server.audit) for server in team.servers)
    last = team.admin.run(f"""jq -r 'select(.subject == "by-ada" and .tool == "update_prompt") | .time' {logs} | sort | tail -n 1""").strip()
    who = team.admin.run(f"""jq -r 'select(.subject == "by-ada" and .time > "{last}") | select(.method == "prompts/get" or .tool == "get_prompt") | .requester' {logs} | sort -u""")
    found = {name.removeprefix("person:") for name in who.split()}
    wanted = {"dora", "finn"} | {name for name in ("ines", "remo") if (FOLDER / f"program-{name}/worked").exists()}
    team.row("audit", "the audit logs of three servers: who read it since", ", ".join(sorted(found)), found == wanted, wanted)
    kept = "".join(server.audit.read_text() for server in team.servers)
    secrets = [part for token in [*team.tokens, *(person.token for person in team.people.values())] for part in token.split(".")[1:]]
    leaked = [part for part in [*secrets, "Changed by emil", "Known: 10"] if part in kept]
    team.row("audit", "the audit logs contain no token and no content", f"{len(kept.splitlines())} lines", not leaked, leaked[:1])


def withdrawn(team, stream, had):
    team.heading("4. The group that was withdrawn while a stream was open")
    bob = stream.person
    expiry = claims(bob.token)["exp"] + LEEWAY
    wait_until("the stream ends", lambda: stream.ended_at is not None, limit=LEEWAY + 30)
    late = stream.ended_at - expiry
    team.row("withdrawn group", f"bob's stream got a change, and ended with the token (`exp` and {LEEWAY} s of leeway)", f"{late:+.2f} s",
             stream.heard("list_changed") and -1 <= late <= 1, stream.lines)
    old, port = bob.token, team.servers[0].port
    status, _ = bob.at(port).ask("prompts/list", {})
    team.row("withdrawn group", "the old token is refused", f"{status}", status == 401)
    has = bob.sign_in().tools()
    status, _ = bob.at(port).call("create_prompt", name="no", content="x")
    gone = had - has
    team.row("withdrawn group", "bob's next token has no tool that writes, and reads as its other group may",
             f"{len(had)} tools, then {len(has)}; a write: {status}", "create_prompt" in gone and len(has) > 0 and status == 403, has)
    stream, start = bob.listen(), time.time()
    team.admin.run("mcpkg --yes access rule remove --claim groups=support --project shop")
    wait_until("the stream ends", lambda: stream.ended_at is not None, limit=20)
    status, _ = bob.at(port).ask("prompts/list", {})
    team.row("withdrawn rule", "a stream ends with its rule, and the token gives no access", f"{stream.ended_at - start:.2f} s; {status}", status == 403)
    team.admin.run("mcpkg access rule add --claim groups=support --project shop --read-only")
    return old


def costs(team):
    team.heading("3. What a token costs, on one processor")

    def token(url):
        return Person("dora", url).sign_in().token

    key, shown = cost(team.issuer, token)
    team.row("cost", f"p50 of `prompts/get` with a token / with a key, one CPU, bar {BAR}",
             f"{shown / key:.2f} ({shown * 1000:.2f} / {key * 1000:.2f} ms)", shown / key <= BAR)


def main():
    team = Team()
    try:
        team.start()
        stream, had = sign_in(team)
        who_did(team)
        costs(team)
        attacked(team, withdrawn(team, stream, had))
        crowded(team)
        upgraded(team)
        restored(team)
        server_lost(team)
        primary_lost(team)
        issuer_down(team)
        check("each server ends when it is told to", [server.stop() for server in team.servers] == [0] * 3)
    except SystemExit as why:
        check("the story goes on to its end", False, why)
    finally:
        team.end()
    end()


main()
