"""What happens to a team's servers: an upgrade under load, a backup and a restore, and the loss of each part."""

import time

from engines_load import Round
from engines_postgres import wait_until
from story import MCPKG
from teams_ground import install
from teams_people import Person, stranger

# The readers and writers of a load.
CLIENTS = 8

# The tables as a newer version would make them: more columns and a table that this version does not know.
EXPAND = """
SET lock_timeout = '500ms';
ALTER TABLE mcpkg.prompt ADD COLUMN later TEXT;
ALTER TABLE mcpkg.project ADD COLUMN later BIGINT NOT NULL DEFAULT 7;
CREATE TABLE mcpkg.later (id BIGINT PRIMARY KEY);
INSERT INTO mcpkg.refinery_schema_history (version, name, applied_on, checksum) VALUES (1000, 'later', '2027-01-01T00:00:00Z', '0');
"""

# Back again, since the servers are restarted with the version that made the tables.
TAKEN_BACK = """
SET lock_timeout = '500ms';
DELETE FROM mcpkg.refinery_schema_history WHERE version = 1000;
DROP TABLE mcpkg.later;
ALTER TABLE mcpkg.project DROP COLUMN later;
ALTER TABLE mcpkg.prompt DROP COLUMN later;
"""


def in_the_end(query, sql, limit=60):
    """Repeats statements that gave up waiting for a table in use."""
    until = time.monotonic() + limit
    while True:
        try:
            return query(sql)
        except SystemExit as why:
            if "lock timeout" not in str(why) or time.monotonic() > until:
                raise


def lost(team, load):
    """Returns the acknowledged writes that are not there."""
    client, gone = Round([team.proxy.port], 0, team.tokens), []
    for name, content in load.acknowledged.items():
        if client.get(name)[0] != content:
            gone.append(name)
    return gone


def failures(load, start=0.0):
    """Returns when requests failed."""
    return [at for at, what, _ in load.seen if what not in ("read", "write") and at >= start]


def answered(load):
    return load.count("read") + load.count("write")


def upgraded(team):
    team.heading("7. A rolling upgrade under load: tables, then one server after the other")
    with team.load("upgrade") as load:
        time.sleep(3)
        in_the_end(team.primary.query, EXPAND)
        print("db1$ psql     # adds two columns, a table and a version to the tables", flush=True)
        before = answered(load)
        time.sleep(3)
        expanded, busy = answered(load) - before, [why for why in load.reasons if "E_DB_BUSY" in why]
        in_the_end(team.primary.query, TAKEN_BACK)
        install(MCPKG)
        team.admin.run("mcpkg --version && mcpkg --quiet init")
        stopped = []
        for server in team.servers:
            before = answered(load)
            stopped.append(server.stop())
            server.start()
            server.is_used()
            print(f"    {server.home.name} is another process; {answered(load) - before} requests were answered meanwhile", flush=True)
        time.sleep(2)
    failed = [why for why in load.reasons if "E_DB_BUSY" not in why]
    team.row("rolling upgrade", "old servers go on while the tables get more", f"{expanded} requests, {len(busy)} to repeat (E_DB_BUSY)", expanded > 50, expanded)
    team.row("rolling upgrade", "three servers restarted, one after the other, without a failed request",
             f"{answered(load)} requests, {len(failed)} failed", not failed and not load.wrong and stopped == [0] * 3, (failed[:3], load.wrong[:3], stopped))
    gone = lost(team, load)
    team.row("rolling upgrade", "acknowledged writes that are lost", f"{len(gone)} of {len(load.acknowledged)}", load.acknowledged and not gone, gone[:3])


def restored(team):
    team.heading("8. A backup while servers run, and a restore into an empty database")
    start = time.monotonic()
    team.admin.run("mcpkg backup kept.db && mcpkg --db kept.db check --deep")
    backed_up = time.monotonic() - start
    team.primary.query("CREATE DATABASE restored")
    team.admin.env["RESTORED"] = team.database("restored")
    start = time.monotonic()
    team.admin.run('mcpkg --db "$RESTORED" --yes restore kept.db')
    took = time.monotonic() - start
    team.admin.run('mcpkg --db "$RESTORED" check --deep')
    team.admin.run("mcpkg -p shop export served", quiet=True)
    team.admin.run('mcpkg --db "$RESTORED" -p shop export restored', quiet=True)
    said = team.admin.run("diff -r served restored && find restored -type f | wc -l").strip()
    team.row("backup", "`mcpkg backup` while three servers run, checked", f"{backed_up:.1f} s", (team.admin.path / "kept.db").exists())
    team.row("restore", "into an empty database; the exports are equal, byte for byte", f"{took:.1f} s, {said} files", said.isdigit() and int(said) > 20, said)
    rules = 'mcpkg --db "$RESTORED" access rule list --json | jq -c .rules'
    ours, theirs = team.admin.run("mcpkg access rule list --json | jq -c .rules", quiet=True), team.admin.run(rules, quiet=True)
    team.row("restore", "the access rules are there", "2" if ours == theirs else "other ones", ours == theirs and "platform" in ours, (ours, theirs))


def server_lost(team):
    team.heading("9. A server is killed under load")
    with team.load("killed") as load:
        time.sleep(3)
        before, killed = answered(load), time.monotonic()
        team.servers[1].kill()
        time.sleep(6)
        after = answered(load) - before
    failed = failures(load)
    last = max(failed, default=killed) - killed
    team.row("server lost", "at most one request of each client fails", f"{len(failed)} of {answered(load)} failed, the last after {last:.1f} s",
             len(failed) <= CLIENTS and last < 3 and after > 20 and not load.wrong, load.reasons[:3])
    gone = lost(team, load)
    team.row("server lost", "acknowledged writes that are lost", f"{len(gone)} of {len(load.acknowledged)}", load.acknowledged and not gone, gone[:3])
    with team.load("again"):
        team.servers[1].start()
        team.servers[1].is_used()


def primary_lost(team):
    team.heading("10. The primary is killed under load, and the standby is promoted")
    with team.load("promoted") as load:
        time.sleep(3)
        killed = time.monotonic()
        team.primary.kill()
        team.standby.promote()
        wait_until("writes are acknowledged again", lambda: load.count("write", killed + 0.5) > 5)
        time.sleep(4)
    gone = lost(team, load)
    team.row("primary lost", "acknowledged writes that are lost", f"{len(gone)} of {len(load.acknowledged)}", load.acknowledged and not gone and not load.wrong, (gone[:3], load.wrong[:3]))
    failed = failures(load)
    team.row("primary lost", "longest time without a write", f"{load.gap('write'):.1f} s ({load.gap('read'):.1f} s without a read)", load.gap("write") < 30)
    team.row("primary lost", "then everything is answered again", f"{len(failed)} of {answered(load)} failed, the last after {max(failed, default=killed) - killed:.1f} s",
             load.count("write", max(failed, default=killed)) > 0 and [server.readyz() for server in team.servers] == [200] * 3)


def issuer_down(team):
    team.heading("11. The issuer is down")
    team.issuer.kill()
    tokens = [*team.tokens, *(person.token for name, person in team.people.items() if name != "bob")]
    dora = team.people["dora"]
    direct = [Person("dora", f"http://127.0.0.1:{server.port}/mcp") for server in team.servers]

    def says(what):
        # A token with an unknown key makes a server read the keys, at most every 30 seconds.
        for person in direct:
            person.ask("prompts/list", {}, stranger(dora.token))
        return [what in server.ready()[1] and server.readyz() == 200 for server in team.servers] == [True] * 3

    start = time.monotonic()
    wait_until("/readyz says that the issuer does not answer", lambda: says("the issuer does not answer"))
    text = team.servers[0].ready()[1].strip().replace("\n", "; ")
    team.row("issuer down", "`/readyz` of each server is still 200, and says so", f"after {time.monotonic() - start:.0f} s", "its last known keys count until" in text, text)
    print(f"    {text}", flush=True)
    statuses = [person.ask("prompts/get", {"name": "by-ada"}, token)[0] for token in tokens for person in direct]
    team.row("issuer down", "valid tokens go on working at each server", f"{statuses.count(200)} of {len(statuses)}", statuses and set(statuses) == {200}, statuses)
    said = team.admin.run("mcpkg doctor; true")
    team.row("issuer down", "`mcpkg doctor` says that nobody can sign in", "yes" if "nobody can sign in" in said else "no", "nobody can sign in" in said, said)
    start = time.monotonic()
    team.issuer.start()
    wait_until("/readyz has nothing to say", lambda: [server.ready() for server in team.servers] == [(200, "ready\n")] * 3, limit=90)
    team.row("issuer down", "it answers again, and `/readyz` has nothing more to say", f"after {time.monotonic() - start:.0f} s", team.person("gina").token)
