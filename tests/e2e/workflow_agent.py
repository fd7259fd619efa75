"""An agent of the story of workflows: the Python client on a server of its own over stdio."""

import asyncio
import json
import os
import signal
from contextlib import AsyncExitStack

from mcp import Client, StdioServerParameters, types

from story import MCPKG, check


class Agent:
    """`says` is what its user answers where its client can ask them."""

    def __init__(self, home, era, says=None):
        self.home, self.era, self.says, self.asked = home, era, says, []
        self.stack, self.told, self.pid = AsyncExitStack(), asyncio.Event(), home.path / "server.pid"

    async def __aenter__(self):
        words = ["-c", f'echo $$ >"{self.pid}"; exec "{MCPKG}" serve']
        server = StdioServerParameters(command="bash", args=words, env=self.home.env, cwd=str(self.home.path))
        options = {} if self.says is None else {"elicitation_callback": self.elicited}
        mode = "auto" if self.era == "2026-07-28" else "legacy"
        client = Client(server, mode=mode, message_handler=self.hear, cache=None, **options)
        self.client = await self.stack.enter_async_context(client)
        check(f"agent: it speaks {self.era}", self.client.protocol_version == self.era, self.client.protocol_version)
        self.following = None
        if mode == "auto":
            events = await self.stack.enter_async_context(self.client.listen(tools_list_changed=True))
            self.following = asyncio.create_task(self.follow(events))
        return self

    async def __aexit__(self, *error):
        if self.following:
            self.following.cancel()
        await self.stack.aclose()

    async def hear(self, message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self.told.set()

    async def follow(self, events):
        async for _ in events:
            self.told.set()

    async def hears(self):
        """Whether it is told that its tools changed."""
        try:
            await asyncio.wait_for(self.told.wait(), 10)
        except TimeoutError:
            return False
        self.told.clear()
        return True

    async def tools(self):
        """The names of the tools that it has."""
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def elicited(self, context, params):
        self.asked.append(params.message)
        print(f"agent ({self.era})< {params.message}", flush=True)
        return types.ElicitResult(action="accept", content={"approve": self.says})

    def kill(self):
        os.kill(int(self.pid.read_text()), signal.SIGKILL)
        print(f"$ kill -9 {self.home.name}'s server", flush=True)

    async def call(self, tool, /, **arguments):
        """Calls a tool and returns its object, which begins with its version."""
        answer = await self.client.call_tool(tool, arguments)
        said = answer.structured_content
        shown = {key: value if len(str(value)) < 60 else "..." for key, value in arguments.items()}
        print(f"agent ({self.era})> {tool} {json.dumps(shown)}\n    {json.dumps(said)[:400]}", flush=True)
        if next(iter(said)) != "schema_version" or answer.is_error != ("error" in said):
            check(f"agent: the form of what {tool} answers", False, answer)
        return said
