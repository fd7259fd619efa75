"""The story of tools: `tools.py MCPKG FOLDER`, started by tools.sh where nothing but this machine can be reached."""

import asyncio
import json
import re
import shlex
import subprocess
import warnings
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from story import FOLDER, MCPKG, Home, check, end

warnings.simplefilter("ignore")

TOOL, PROJECTED = "alice/utils/weather", "alice__utils__weather"


class Server:
    """A server over HTTP, at a port of its own."""

    def __init__(self, home, *flags):
        words = [MCPKG, "serve", "--http", "--port", "0", *flags]
        self.home, self.log = home, open(home.path / "server.log", "w+")
        self.process = subprocess.Popen(words, cwd=home.path, env=home.env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        print(f"{home.name}$ mcpkg serve --http --port 0 {' '.join(flags)} &", flush=True)
        for _ in range(300):
            if found := re.search(r"listening on (https?://[^ /]*)", Path(self.log.name).read_text()):
                self.address = found[1]
                return
            subprocess.run(["sleep", "0.05"])
        raise SystemExit(f"the server does not say where it listens: {Path(self.log.name).read_text()}")

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class Agent:
    """An agent: the Python client on a server of its own over stdio, or on one over HTTP."""

    def __init__(self, home, era, address=None, key=None):
        self.home, self.era, self.address, self.key = home, era, address, key
        self.stack, self.told = AsyncExitStack(), asyncio.Event()

    async def __aenter__(self):
        if self.address:
            http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.key}"}, timeout=60)
            server = streamable_http_client(f"{self.address}/mcp", http_client=await self.stack.enter_async_context(http))
        else:
            server = StdioServerParameters(command=MCPKG, args=["serve"], env=self.home.env, cwd=str(self.home.path))
        mode = "auto" if self.era == "modern" else "legacy"
        client = Client(server, mode=mode, message_handler=self.hear, cache=None)
        self.client = await self.stack.enter_async_context(client)
        self.events = None
        if self.era == "modern":
            events = await self.stack.enter_async_context(self.client.listen(tools_list_changed=True))
            self.events = asyncio.create_task(self.follow(events))
        return self

    async def __aexit__(self, *error):
        if self.events:
            self.events.cancel()
        await self.stack.aclose()

    async def hear(self, message):
        method = getattr(message, "method", None) or getattr(getattr(message, "root", None), "method", "")
        if method == "notifications/tools/list_changed":
            self.told.set()

    async def follow(self, events):
        async for _ in events:
            self.told.set()

    async def hears(self):
        """Whether it hears that the list changed, since it last asked so."""
        try:
            await asyncio.wait_for(self.told.wait(), 10)
        except TimeoutError:
            return False
        self.told.clear()
        return True

    async def call(self, tool, /, **arguments):
        answer = await self.client.call_tool(tool, arguments)
        said = answer.structured_content
        text = answer.content[0].text if answer.content else ""
        print(f"{self.home.name} agent ({self.era})> {tool} {json.dumps(arguments)}", flush=True)
        print(f"    {json.dumps(said)[:300] if said is not None else text[:300]}", flush=True)
        return answer.is_error, said, text

    async def refused(self, what, tool, code, /, **arguments):
        failed, said, text = await self.call(tool, **arguments)
        check(f"refused: {what}", failed and code in json.dumps(said) + text, f"{said} {text}")
        return said

    async def tools(self):
        listed, cursor = [], None
        while True:
            page = await self.client.list_tools(cursor=cursor)
            listed += page.tools
            cursor = page.next_cursor
            if cursor is None:
                return {tool.name: tool for tool in listed}


MANIFEST = """name: {name}
version: {version}
description: {description}
scripts:
  main: [sh, run.sh, '{{{{city}}}}']
inputSchema:
  type: object
  properties:
    city: {{type: string}}
  required: [city]
outputSchema:
  type: object
  properties:
    city: {{type: string}}
    degrees: {{type: number}}
  required: [city, degrees]
annotations: {{readOnlyHint: true}}
license: MIT
timeout: 20s
"""

SAYS = """printf '{"city":"%s","degrees":%s}' "$1" 21"""


def package(home, name, version="1.0.0", script=SAYS, description="The weather of a city"):
    """Writes the folder of a tool, and returns its path in the home."""
    folder = home.path / f"{name.replace('/', '-')}-{version}"
    folder.mkdir()
    (folder / "skill.yml").write_text(MANIFEST.format(name=name, version=version, description=description))
    (folder / "run.sh").write_text(script + "\n")
    return folder.name


def publish(home, folder, *registries, key="default", sign=True):
    if sign:
        home.run(f"mcpkg tool sign ./{folder} --key {key}", quiet=True)
    for registry in registries:
        home.run(f"mcpkg tool publish ./{folder} --to {registry}", quiet=True)


def authors(stick, team, address):
    """Step 1: a tool is made, signed and published to a folder and to a team's server; an auditor looks at it."""
    print("\n# 1. An author, a team and an auditor")
    author = Home("author")
    author.env["TEAM_KEY"] = team.run("mcpkg access create author --read-only --publish alice --attest --quiet").split()[0]
    author.run(f"mcpkg tool init {TOOL}")
    (author.path / "weather/SKILL.md").unlink(missing_ok=True)
    for file in (author.path / "weather").iterdir():
        file.unlink()
    made = package(author, TOOL)
    author.run(f"mcpkg tool validate ./{made}")
    author.run("mcpkg tool key new")
    author.run(f"mcpkg tool sign ./{made}")
    author.person(f"mcpkg registry add stick {stick} --create")
    author.person(f"mcpkg registry add team {address}/registry --token env:TEAM_KEY")
    author.run(f"mcpkg tool publish ./{made} --to stick")
    author.run(f"mcpkg tool publish ./{made} --to team")
    auditor = Home("auditor")
    auditor.env["AUDIT_KEY"] = team.run("mcpkg access create auditor --read-only --attest --quiet").split()[0]
    auditor.person(f"mcpkg registry add team {address}/registry --token env:AUDIT_KEY")
    auditor.run("ssh-keygen -q -t ed25519 -N '' -C auditor -f id_audit")
    statement = auditor.run(f"mcpkg tool audit {TOOL} --result passed --print --quiet", quiet=True)
    (auditor.path / "audit.json").write_text(statement)
    auditor.run("ssh-keygen -Y sign -n mcpkg-tool -f id_audit audit.json", quiet=True)
    auditor.run(f"mcpkg tool audit {TOOL} --result passed --with audit.json --to team")
    return author, auditor


def public(home, key=None):
    """Returns the file with somebody's public key."""
    file = home.path / "id_audit.pub" if key is None else next((home.path / ".local").rglob(f"{key}.pub"))
    return shlex.quote(str(file))


async def use(user, second, era, last):
    """Step 2: an agent finds, reads, installs and calls the tool; another server process tells its client."""
    async with Agent(user, era) as agent, Agent(second, era) as other:
        await agent.tools(), await other.tools()
        _, found, _ = await agent.call("enact__search", query="weather")
        check(f"{era}: the search finds it", TOOL in [hit["name"] for hit in found["results"]], found)
        _, learned, _ = await agent.call("enact__learn", tool=TOOL)
        check(f"{era}: it is verified before it is shown", learned["verification"]["status"] == "verified", learned)
        _, installed, _ = await agent.call("enact__install", tool=TOOL)
        check(f"{era}: it is installed", installed["success"] and installed["mcp_tools"] == [PROJECTED], installed)
        check(f"{era}: tools/list_changed arrives", await agent.hears())
        check(f"{era}: and in a second server process", await other.hears())
        projected = (await agent.tools()).get(PROJECTED)
        check(f"{era}: it is a tool of its own with its schemas", projected and "degrees" in json.dumps(projected.output_schema), projected)
        failed, said, text = await agent.call(PROJECTED, city="Bern")
        check(f"{era}: it runs in a sandbox and answers structured output", not failed and said == {"city": "Bern", "degrees": 21}, text)
        _, gone, _ = await agent.call("enact__uninstall", tool=TOOL)
        check(f"{era}: it is uninstalled", gone["success"] and await other.hears(), gone)
        if last:
            await agent.call("enact__install", tool=TOOL)


async def alone(user):
    async with Agent(user, "modern") as agent:
        failed, said, text = await agent.call(PROJECTED, city="Basel")
        check("with both registries gone it runs again", not failed and said["city"] == "Basel", text)


async def refusals(user, author, auditor, stick):
    """Step 3: what is refused, each with its code."""
    print("\n# 3. Refused, with nothing installed, shown or run")
    archive = stick / "tools" / TOOL / "1.0.0" / "bundle.tar.gz"
    good = archive.read_bytes()
    fresh = Home("fresh")
    trust(fresh, author, auditor)
    fresh.person(f"mcpkg registry add stick {stick}")
    archive.chmod(0o644)
    archive.write_bytes(good[:-9] + bytes([good[-9] ^ 1]) + good[-8:])
    fresh.refused("a tampered archive", f"mcpkg tool install {TOOL}", "E_DIGEST_MISMATCH|E_ARCHIVE_INVALID")
    archive.write_bytes(good)

    publish(author, package(author, "alice/swapped", description="Has another's attestation"), "stick", sign=False)
    theirs = stick / "tools/alice/swapped/1.0.0/attestations"
    theirs.mkdir(exist_ok=True)
    for file in (stick / "tools" / TOOL / "1.0.0/attestations").iterdir():
        (theirs / file.name).write_bytes(file.read_bytes())
    stranger = Home("stranger")
    stranger.run("mcpkg tool key new", quiet=True)
    stranger.person(f"mcpkg registry add stick {stick}")
    publish(stranger, package(stranger, "mallory/tool", description="A stranger's"), "stick")
    publish(author, package(author, "alice/bad", description="Failed its audit"), "stick")
    audit = auditor.path / "bad.json"
    auditor.person(f"mcpkg registry add stick {stick}")
    audit.write_text(auditor.run("mcpkg tool audit alice/bad --registry stick --result failed --print --quiet", quiet=True))
    auditor.run("ssh-keygen -Y sign -n mcpkg-tool -f id_audit bad.json", quiet=True)
    auditor.run("mcpkg tool audit alice/bad --registry stick --result failed --with bad.json --to stick", quiet=True)
    publish(author, package(author, "alice/yanked", description="Taken back"), "stick")
    author.run("mcpkg tool yank alice/yanked@1.0.0 --registry stick --reason 'wrong units'")
    fresh.run("mcpkg tool trust policy require_attestation")
    fresh.refused("another tool's attestation", "mcpkg tool install alice/swapped", "E_TRUST_REQUIRED")
    fresh.refused("a stranger's signature", "mcpkg tool install mallory/tool", "E_TRUST_REQUIRED")
    fresh.refused("a failed audit", "mcpkg tool install alice/bad", "E_TRUST_FAILED")
    fresh.refused("a yanked version", "mcpkg tool install alice/yanked@1.0.0", "E_VERSION_YANKED")

    fresh.run(f"mcpkg tool install {TOOL}", quiet=True)
    author.run("mcpkg tool key new other", quiet=True)
    publish(author, package(author, TOOL, "1.1.0"), "stick", key="other")
    fresh.person(f"mcpkg tool trust add {public(author, 'other')} --as other")
    fresh.refused("a changed publisher", f"mcpkg tool update {TOOL}", "E_PUBLISHER_CHANGED")
    fresh.run(f"mcpkg tool trust remove {shlex.quote(identity(author, 'other'))}", quiet=True)

    odd = {"alice/odd": "printf '{\"city\":1}'", "alice/reach": "exec 3<>/dev/tcp/127.0.0.1/1", "alice/peek": 'cat "$2"'}
    publish(author, package(author, "alice/odd", script=odd["alice/odd"], description="Odd output"), "stick")
    (user_secret := fresh.path / "secret").write_text("a secret of the user's")
    reach = f"""python3 - <<'END' 2>&1 || bash -c 'exec 3<>/dev/tcp/127.0.0.1/{PORT}' && exit 0
import socket
socket.create_connection(("127.0.0.1", {PORT}), 2)
END
exit 7"""
    publish(author, package(author, "alice/reach", script=reach, description="Reaches for the network"), "stick")
    publish(author, package(author, "alice/peek", script=f"cat {user_secret} /root/.ssh/* || exit 7", description="Peeks"), "stick")
    fresh.refused("an output that does not fit its schema", "mcpkg tool run alice/odd -i city=Bern", "E_TOOL_OUTPUT")
    fresh.refused("a tool that reaches for the network", "mcpkg tool run alice/reach -i city=Bern", "E_TOOL_FAILED")
    fresh.refused("a tool that reads the home folder", "mcpkg tool run alice/peek -i city=Bern", "E_TOOL_FAILED")
    left = [row["name"] for row in fresh.json("mcpkg tool list")["tools"]]
    check("nothing that was refused is installed", left == [TOOL], left)


def identity(home, key):
    said = home.run(f"mcpkg tool key show {key}", quiet=True)
    return re.search(r"ed25519:SHA256:[\w+/]+", said)[0]


def trust(home, author, auditor):
    home.person(f"mcpkg tool trust add {public(author, 'default')} --as alice --for 'alice/*' --kind publisher")
    home.person(f"mcpkg tool trust add {public(auditor)} --as auditor --kind auditor")


async def consents(user, author, stick):
    """Step 4: under the policy prompt a person decides for the agent, for one digest."""
    print("\n# 4. A person consents")
    asked = Home("asked")
    asked.person(f"mcpkg registry add stick {stick}")
    async with Agent(asked, "modern") as agent:
        refused = await agent.refused("nobody is trusted, a person has to decide", "enact__install", "E_CONSENT_REQUIRED", tool="mallory/tool")
        request = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", json.dumps(refused))[0]
        asked.run("mcpkg consent list")
        asked.person(f"mcpkg consent approve {request}")
        failed, said, text = await agent.call("enact__install", tool="mallory/tool")
        check("the same call goes through", not failed and said["success"], text)
        failed, said, _ = await agent.call("mallory__tool", city="Bern")
        check("and so does the tool", not failed and said["degrees"] == 21, said)
        stranger = FOLDER / "stranger"
        publish(Known(stranger), package(Known(stranger), "mallory/tool", "1.1.0"), "stick")
        await agent.refused("another digest asks again", "enact__install", "E_CONSENT_REQUIRED", tool="mallory/tool", version="1.1.0")


class Known(Home):
    """A home that is there already."""

    def __init__(self, path):
        path.rename(path.with_suffix(".moved"))
        super().__init__(path.name)
        path.rmdir()
        path.with_suffix(".moved").rename(path)


async def tenants(team, author, auditor, stick):
    """Step 5: tenants over HTTP, toolsets, updates and locks."""
    print("\n# 5. Tenants, toolsets, updates, locks")
    trust(team, author, auditor)
    team.person(f"mcpkg registry add stick {stick}")
    publish(author, package(author, "alice/clock", description="The clock"), "stick")
    keys = [team.run(f"mcpkg access create {name} --quiet").split()[0] for name in ("tenant-a", "tenant-b")]
    server = Server(team, "--registry")
    try:
        async with Agent(team, "legacy", server.address, keys[0]) as a, Agent(team, "modern", server.address, keys[1]) as b:
            await a.tools(), await b.tools()
            await a.call("enact__install", tool=TOOL, version="1.0.0")
            await b.call("enact__install", tool="alice/clock")
            await a.hears(), await b.hears()
            of_a, of_b = set(await a.tools()), set(await b.tools())
            check("each tenant sees its own", PROJECTED in of_a and PROJECTED not in of_b and "alice__clock" in of_b - of_a)
            failed, _, _ = await b.call("enact__run", tool=TOOL, args={"city": "Bern"})
            try:
                answer = await b.client.call_tool(PROJECTED, {"city": "Bern"})
                foreign = answer.is_error
            except Exception:
                foreign = True
            check("and calls no other's", foreign)
            team.run("mcpkg toolset create clocks alice/clock")
            a.told.clear(), b.told.clear()
            team.run("mcpkg toolset use clocks")
            check("a toolset that is switched in the shell is seen at once", await a.hears())
            check("it hides what is not in it", PROJECTED not in await a.tools() and "alice__clock" in await b.tools())
            team.run("mcpkg toolset use --all")
    finally:
        server.stop()
    mover = Home("mover")
    trust(mover, author, auditor)
    mover.person(f"mcpkg registry add stick {stick}")
    mover.run(f"mcpkg tool install {TOOL}@1.0.0", quiet=True)
    publish(author, package(author, TOOL, "1.2.0"), "stick")
    mover.run("mcpkg tool outdated --check", status=3)
    mover.run("mcpkg tool update --all")
    check("it is updated", mover.json("mcpkg tool list")["tools"][0]["version"] == "1.2.0")
    mover.run("mcpkg tool lock")
    heir = Home("heir")
    trust(heir, author, auditor)
    heir.person(f"mcpkg registry add stick {stick}")
    heir.run(f"mcpkg tool install --locked {mover.path / 'mcpkg-tools.lock'}")
    same = [home.json("mcpkg tool list")["tools"][0]["version"] for home in (mover, heir)]
    check("a lock brings the same into a fresh home", same == ["1.2.0", "1.2.0"], same)
    async with Agent(heir, "legacy") as one, Agent(heir, "modern") as other:
        await one.tools(), await other.tools()
        await one.call("enact__uninstall", tool=TOOL)
        check("an uninstall takes it from every client's list", await other.hears() and PROJECTED not in await other.tools())


def originals(author):
    """Step 6: the home of the original."""
    print("\n# 6. A home of Enact's")
    home = Home("enact")
    old = home.path / ".enact"
    kept = home.path / ".agents/skills" / TOOL
    kept.mkdir(parents=True)
    old.mkdir()
    (kept / "skill.yml").write_text(MANIFEST.format(name=TOOL, version="1.0.0", description="The weather"))
    (kept / "run.sh").write_text(SAYS + "\n")
    (old / "tools.json").write_text(json.dumps({"tools": {TOOL: "1.0.0"}, "aliases": {"weather": TOOL}}))
    (old / "mcp.json").write_text(json.dumps({"tools": {TOOL: "1.0.0"}, "toolsets": {"web": [TOOL]}, "activeToolset": "web"}))
    (old / "config.yaml").write_text("trust:\n  policy: prompt\n  minimum_attestations: 1\ncache:\n  maxSizeMb: 256\n")
    (old / ".env").write_text("CITY_UNIT=celsius\n")
    before = sorted((path.name, path.read_bytes()) for path in home.path.rglob("*") if path.is_file() and ".enact" in str(path))
    home.run("mcpkg tool import .enact --dry-run")
    home.run("mcpkg tool import .enact")
    tools = home.json("mcpkg tool list")
    check("its tools are installed", [tool["name"] for tool in tools["tools"]] == [TOOL], tools)
    check("its toolset is the active one", tools["activeToolset"] == "web", tools)
    home.person("mcpkg tool run weather -i city=Bern")
    after = sorted((path.name, path.read_bytes()) for path in home.path.rglob("*") if path.is_file() and ".enact" in str(path))
    check("nothing of the original's was written", before == after)


PORT = 9


async def main():
    global PORT
    stick = FOLDER / "stick"
    team = Home("team")
    team.run("mcpkg init", quiet=True)
    server = Server(team, "--registry", "--require-key")
    PORT = int(server.address.rsplit(":", 1)[1])
    author, auditor = authors(stick, team, server.address)

    print("\n# 2. A user's agent")
    user = Home("user")
    user.env["TEAM_KEY"] = team.run("mcpkg access create reader --read-only --quiet").split()[0]
    user.person(f"mcpkg registry add team {server.address}/registry --token env:TEAM_KEY")
    trust(user, author, auditor)
    for era in ("legacy", "modern"):
        await use(user, user, era, last=era == "modern")
    refused = "author's key reaches its own namespace alone"
    author.env["KEEP"] = ""
    foreign = package(author, "bob/tool")
    author.run(f"mcpkg tool sign ./{foreign}", quiet=True)
    author.refused(refused, f"mcpkg tool publish ./{foreign} --to team", "E_NAMESPACE_MISMATCH")
    server.stop()
    moved = stick.rename(FOLDER / "away")
    await alone(user)
    moved.rename(stick)

    await refusals(user, author, auditor, stick)
    await consents(user, author, stick)
    await tenants(team, author, auditor, stick)
    originals(author)
    end()


asyncio.run(main())
