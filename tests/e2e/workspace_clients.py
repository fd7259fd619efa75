"""Other people's clients in a workspace: two that are told of changes, and two that call every tool."""

import asyncio
import json
import re
import shutil
import subprocess
import warnings
from contextlib import AsyncExitStack
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client

from story import FOLDER, check, show
from workspace_shop import REPOS, Shop

warnings.simplefilter("ignore")

STATUS = "smctl://workspace/status"

# Longer than the burst of a change goes on: 200 ms of quiet, a second at most.
QUIET = 3

# The calls of every tool, in an order in which each succeeds, with what is done by hand before some of them.
CALLS = [
    ("smctl_workspace_init", {"name": "shop", "repos": [{"url": f"seeds/{repo}.git"} for repo in REPOS]}),
    ("smctl_workspace_status", {}),
    ("smctl_worktree_add", {"name": "side", "repos": ["lib", "web"], "branch": "feature/side"}),
    ("smctl_worktree_list", {}),
    ("smctl_worktree_remove", {"name": "side", "force": False}),
    ("smctl_spec_new", {"name": "login"}),
    ("smctl_spec_status", {"name": "login"}),
    ("smctl_spec_validate", {"name": "login"}),
    ("smctl_flow_feature_start", {"name": "login", "repos": ["api", "web"], "worktree": True}),
    ("smctl_flow_feature_finish", {"name": "login", "squash": False, "no_delete": False}),
    ("smctl_spec_archive", {"name": "login"}),
    ("smctl_build", {"repo": "api", "parallel": True, "test": False, "clean": False}),
    ("smctl_flow_release_start", {"version": "1.0.0"}),
    ("smctl_flow_release_finish", {"version": "1.0.0"}),
    ("smctl_flow_hotfix_start", {"name": "1.0.1"}),
    ("smctl_flow_hotfix_finish", {"name": "1.0.1"}),
    ("smctl_gate_status", {}),
    ("smctl_gate_models_add", {"path": "relu.onnx"}),
    ("smctl_gate_models_list", {}),
    ("smctl_gate_test", {"model": "relu", "input": "input.pb"}),
]

# A model of the ONNX project's, with an input.
RELU = Path(__file__).resolve().parents[1] / "fixtures/onnx/relu"

# What a binary without the engine says to a test of a model: the answer that it has to give.
NO_ENGINE = "--features full"


class Told:
    """A client that counts what it is told of, over stdio or over SSE."""

    def __init__(self, name, server):
        self.name, self.server, self.seen, self.stack = name, server, [], AsyncExitStack()

    async def __aenter__(self):
        client = Client(self.server, mode="legacy", message_handler=self.hear, cache=None)
        self.client = await self.stack.enter_async_context(client)
        await self.client.subscribe_resource(STATUS)
        return self

    async def __aexit__(self, *error):
        await self.stack.aclose()

    async def hear(self, message):
        message = getattr(message, "root", message)
        if getattr(message, "method", "") == "notifications/resources/updated":
            self.seen.append(str(message.params.uri))
            print(f"{self.name} client< notifications/resources/updated {message.params.uri}", flush=True)


async def told(home, port):
    """Step 8: both are told of a `git switch`, once, and of a `git fetch` that brought nothing they are not."""
    log = home.path / "sse.log"
    words = ["smctl", "serve", "--mcp", "--sse", "--port", str(port)]
    print(f"{home.name}$ {' '.join(words)} &", flush=True)
    server = subprocess.Popen(words, cwd=home.root, env=home.env, stdin=subprocess.DEVNULL, stderr=log.open("w"))
    try:
        stdio = StdioServerParameters(command="smctl", args=["serve", "--mcp", "--stdio"], env=home.env, cwd=str(home.root))
        stdio.command = str(FOLDER / "bin/smctl")
        async with Told("stdio", stdio) as one, Told("SSE", sse_client(f"{await address(server, log)}/sse")) as other:
            for line, wanted in [
                ("git -C lib switch -q -c feature/switched", [STATUS]),
                ("git -C lib fetch -q --all", []),
                ("git -C lib switch -q develop", [STATUS]),
            ]:
                home.run(line)
                await asyncio.sleep(QUIET)
                for client in (one, other):
                    check(f"{client.name}: told {len(wanted)} times of `{line}`", client.seen == wanted, client.seen)
                    client.seen.clear()
            read = await other.client.read_resource(STATUS)
            branch = json.loads(read.contents[0].text)["repos"][0]["branch"]
            check("SSE: it reads what is so", branch == "develop", branch)
    finally:
        server.terminate()
        check("the server over SSE ends when it is told to", server.wait(20) in (0, -15))


async def address(server, log):
    for _ in range(200):
        if found := re.search(r"listening on (https?://[^ /]*)", log.read_text()):
            print(f"    {log.read_text().splitlines()[0]}", flush=True)
            return found[1]
        if server.poll() is not None:
            break
        await asyncio.sleep(0.05)
    raise SystemExit(f"the server does not say where it listens: {log.read_text()}")


def all_tools(inspector):
    """Step 9: each client calls every tool that it is offered, in both eras, in a workspace of its own."""
    for era in ("legacy", "modern"):
        asyncio.run(by_python(era))
    if inspector:
        for era in ("legacy", "modern"):
            by_inspector(inspector, era)


def ground(name):
    """A home whose folder has the repositories to clone below it, so that an agent needs no consent for them."""
    home = Shop(name, origins="shop/seeds")
    return home


def before(home, tool):
    """What is done by hand before a tool is called."""
    if tool == "smctl_workspace_status":
        home.settle()
    if tool == "smctl_spec_status":
        home.fill("login")
    if tool == "smctl_flow_feature_finish":
        home.commit(home.root / ".worktrees/login/api", "login.txt", "api\n")
    if tool == "smctl_gate_models_add":
        shutil.copy(RELU / "model.onnx", home.root / "relu.onnx")
        shutil.copy(RELU / "input_0.pb", home.root / "input.pb")
    if tool == "smctl_build":
        # A person consents to the commands, which another agent asks for first.
        asked = json.dumps({"name": tool, "arguments": dict(CALLS)[tool]})
        home.consent(ask(home, asked))


def ask(home, params):
    """Calls a tool once, by lines, and returns the answer."""
    info = '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}'
    lines = [
        f'{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{info}}}',
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        f'{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{params}}}',
    ]
    ran = subprocess.run(
        ["bash", "-c", "mcpkg serve --as smctl"], cwd=home.root, env=home.env, input="\n".join(lines) + "\n", capture_output=True, text=True
    )
    return ran.stdout.splitlines()[-1]


def report(client, results, listed):
    """Checks that every tool was called, and that each call succeeded."""
    ok, said = results["smctl_gate_test"]
    if not ok and NO_ENGINE in said:
        print(f"skipped: {client}: no model was run, since this mcpkg was built without gate-onnx", flush=True)
        results["smctl_gate_test"] = True, said
    failed = {tool: said for tool, (ok, said) in results.items() if not ok}
    check(f"{client}: each of {len(results)} tools, called once, answers", not failed, failed)
    check(f"{client}: and these are all there are", sorted(results) == sorted(listed), sorted(set(listed) ^ set(results)))


async def by_python(era):
    home = ground(f"python-{era}")
    server = StdioServerParameters(
        command=str(FOLDER / "bin/mcpkg"), args=["serve", "--as", "smctl"], env=home.env, cwd=str(home.root)
    )
    results = {}
    async with Client(server, mode="auto" if era == "modern" else "legacy", cache=None) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        for tool, arguments in CALLS:
            before(home, tool)
            try:
                answer = await client.call_tool(tool, arguments)
                results[tool] = not answer.is_error and answer.structured_content is not None, answer.content[0].text
            except MCPError as error:
                results[tool] = False, error.error.message
            print(f"Python ({era})> {tool} {json.dumps(arguments)}\n    {results[tool][1][:200]}", flush=True)
    report(f"Python ({era})", results, listed)


def by_inspector(inspector, era):
    home = ground(f"inspector-{era}")
    folder = Path(inspector)
    program = folder / json.loads((folder / "package.json").read_text())["bin"]["mcp-inspector"]
    inspect = ["node", str(program), "--cli", str(FOLDER / "bin/mcpkg"), "serve", "--as", "smctl"]

    def run(*words):
        ran = subprocess.run(
            [*inspect, "--protocol-era", era, "--format", "json", "-q", *words], cwd=home.root, env=home.env, capture_output=True, text=True
        )
        return ran.returncode == 0, ran.stdout or ran.stderr

    ok, said = run("--method", "tools/list", "--strict")
    listed = [tool["name"] for tool in json.loads(said)["result"]["tools"]] if ok else []
    results = {}
    for tool, arguments in CALLS:
        before(home, tool)
        words = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
        ok, said = run(*words)
        results[tool] = ok and json.loads(said)["result"].get("isError") is not True, said
        print(f"Inspector ({era})> {tool} {json.dumps(arguments)}", flush=True)
        show(said[:200])
    report(f"Inspector ({era})", results, listed)
