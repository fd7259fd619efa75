"""The Python client: `client.py legacy|modern`."""

import asyncio
import base64
import os
import subprocess
import sys
import warnings
from contextlib import AsyncExitStack

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated

warnings.simplefilter("ignore")

ERA = sys.argv[1]
TRANSPORT = os.environ["E2E_TRANSPORT"]
URL = os.environ.get("E2E_URL")
KEY = os.environ.get("E2E_KEY")
MCPKG = [os.environ["E2E_BINARY"], "--db", os.environ["E2E_DATABASE"]]
TAG = f"py-{ERA}-{os.getpid()}"
VERSIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
NOTES = "# Notes\nTwo lines, and a ü.\n"
PIXEL = base64.b64encode(b"\x89PNG\x00\xff\xfe").decode()
OWN = ["greet", "plain", "notes", "pixel"]


def shell(*words):
    subprocess.run([*MCPKG, "--quiet", *words], check=True, stdout=subprocess.DEVNULL)


def same(found, wanted):
    if found != wanted:
        raise AssertionError(f"found {found!r}, wanted {wanted!r}")


async def check(what, f):
    name = f"{TRANSPORT} {ERA} Python: {what}"
    try:
        async with asyncio.timeout(20):
            await f()
        print(f"ok {name}", flush=True)
    except Exception as error:
        print(f"FAILED {name}: {type(error).__name__} {error}".replace("\n", " "), flush=True)


async def server(stack):
    if URL is None:
        return StdioServerParameters(command=MCPKG[0], args=[*MCPKG[1:], "serve"])
    headers = {"Authorization": f"Bearer {KEY}"} if KEY else {}
    if TRANSPORT == "sse":
        return sse_client(URL, headers=headers)
    http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=30))
    return streamable_http_client(URL, http_client=http)


class Checks:
    def __init__(self, client, seen):
        self.client, self.seen = client, seen

    async def connect(self):
        same((self.client.protocol_version, self.client.server_info.name), (VERSIONS[ERA], "mcpkg"))

    async def prompts_list(self):
        prompts = (await self.client.list_prompts()).prompts
        same([prompt.name for prompt in prompts if prompt.name in OWN], ["greet", "plain"])
        greet = next(prompt for prompt in prompts if prompt.name == "greet")
        same([(a.name, bool(a.required)) for a in greet.arguments], [("name", True), ("tone", False)])

    async def prompts_get(self):
        got = await self.client.get_prompt("greet", {"name": "Ada", "tone": "softly"})
        same([(m.role, m.content.text) for m in got.messages], [("user", "Hello Ada, softly")])

    async def prompts_get_of_none(self):
        try:
            await self.client.get_prompt("nobody")
        except MCPError as error:
            same((error.error.code, "nobody" in error.error.message), (-32602, True))
        else:
            raise AssertionError("it was answered")

    async def resources(self):
        resources = (await self.client.list_resources()).resources
        found = [(str(r.uri), r.mime_type) for r in resources if r.name in OWN]
        same(found, [("file:///e2e/notes.md", "text/markdown"), ("file:///e2e/pixel.png", "image/png")])
        text = (await self.client.read_resource("file:///e2e/notes.md")).contents[0].text
        blob = (await self.client.read_resource("file:///e2e/pixel.png")).contents[0].blob
        same((text, blob), (NOTES, PIXEL))

    async def resources_read_of_none(self):
        try:
            await self.client.read_resource("file:///e2e/none")
        except MCPError as error:
            same((error.error.code, "file:///e2e/none" in error.error.message), (-32602, True))
        else:
            raise AssertionError("it was answered")

    async def resources_templates_list(self):
        await self.client.list_resource_templates()

    async def tools(self):
        names = [tool.name for tool in (await self.client.list_tools()).tools]
        same("create_prompt" in names, True)
        made = await self.client.call_tool("create_prompt", {"name": TAG, "content": "by a tool"})
        same((made.is_error, made.content[0].type), (False, "text"))
        same((await self.client.get_prompt(TAG)).messages[0].content.text, "by a tool")
        failed = await self.client.call_tool("create_prompt", {"name": "two words", "content": "x"})
        same(failed.is_error, True)

    async def list_changed(self):
        def edit():
            shell("prompt", "create", f"{TAG}-shell", "by the shell")
            shell("resource", "create", f"{TAG}-shell", f"file:///e2e/{TAG}-shell.md", "by the shell")

        if ERA == "modern":
            wanted = {PromptsListChanged(), ResourcesListChanged()}
            async with self.client.listen(prompts_list_changed=True, resources_list_changed=True) as events:
                edit()
                return await self.all_of(wanted, events)
        edit()
        while not {("prompts/list_changed", None), ("resources/list_changed", None)} <= set(self.seen):
            await asyncio.sleep(0.01)

    async def resources_updated(self):
        watched = f"file:///e2e/{TAG}.md"
        shell("resource", "create", TAG, watched, "one")

        def edit():
            shell("resource", "update", f"{TAG}-shell", "--content", "again")
            shell("resource", "update", TAG, "--content", "two")

        if ERA == "modern":
            async with self.client.listen(resource_subscriptions=[watched]) as events:
                same(list(events.honored.resource_subscriptions or []), [watched])
                edit()
                return await self.all_of({ResourceUpdated(uri=watched)}, events)
        await self.client.subscribe_resource(watched)
        edit()
        while ("resources/updated", watched) not in self.seen:
            await asyncio.sleep(0.01)
        same({uri for method, uri in self.seen if method == "resources/updated"}, {watched})
        await self.client.unsubscribe_resource(watched)

    async def all_of(self, wanted, events):
        missing = set(wanted)
        async for event in events:
            if event not in wanted:
                raise AssertionError(f"nobody asked for {event}")
            missing.discard(event)
            if not missing:
                return


async def main():
    seen = []

    async def watch(message):
        method = getattr(message, "method", None) or getattr(getattr(message, "root", None), "method", "")
        params = getattr(message, "params", None) or getattr(getattr(message, "root", None), "params", None)
        uri = getattr(params, "uri", None)
        seen.append((method.removeprefix("notifications/"), None if uri is None else str(uri)))


    async with AsyncExitStack() as stack:
        # A cache of the client's own would answer in the server's place.
        client = Client(await server(stack), mode="auto" if ERA == "modern" else "legacy", message_handler=watch, cache=None)
        await stack.enter_async_context(client)
        checks = Checks(client, seen)
        await check("connect", checks.connect)
        await check("prompts/list", checks.prompts_list)
        await check("prompts/get", checks.prompts_get)
        await check("prompts/get of none", checks.prompts_get_of_none)
        await check("resources/list and resources/read", checks.resources)
        await check("resources/read of none", checks.resources_read_of_none)
        await check("resources/templates/list", checks.resources_templates_list)
        await check("tools/list and tools/call, read back", checks.tools)
        await check("list_changed after edits in the shell", checks.list_changed)
        await check("resources/updated of what was subscribed to, and of nothing else", checks.resources_updated)
    print(f"ok {TRANSPORT} {ERA} Python: close", flush=True)


asyncio.run(main())
