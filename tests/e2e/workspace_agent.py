"""An agent that writes lines to a server over stdio, in a revision with JSON-RPC errors."""

import json
import subprocess

from story import check

VERSION = "2025-06-18"


class Agent:
    """A line client; the server is started as contract 003's client configuration has it."""

    def __init__(self, home):
        self.home, self.next = home, 0

    def __enter__(self):
        words = ["smctl", "serve", "--mcp", "--stdio"]
        self.log = open(self.home.path / "server.log", "w+")
        self.server = subprocess.Popen(
            words, cwd=self.home.root, env=self.home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        info = {"name": "line client", "version": "1"}
        found = self.ask("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": info})["result"]
        check("agent: the server says that it is smctl", found["serverInfo"]["name"] == "smctl", found)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *error):
        self.server.stdin.close()
        check("agent: the server ends with its input", self.server.wait(20) == 0)

    def write(self, message):
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()

    def ask(self, method, params):
        self.next += 1
        self.write({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
        while True:
            answer = json.loads(self.server.stdout.readline())
            if answer.get("id") == self.next:
                return answer

    def called(self, tool, arguments):
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        said = answer.get("error") or answer["result"]["structuredContent"]
        print(f"agent> {tool} {json.dumps(arguments)}\n    {json.dumps(said)[:400]}", flush=True)
        return answer, said

    def call(self, tool, /, **arguments):
        """Calls a tool that has to succeed, and returns its object."""
        answer, said = self.called(tool, arguments)
        check(f"agent: {tool}", "error" not in answer and answer["result"]["isError"] is False, answer)
        return said

    def refused(self, what, tool, number, /, **arguments):
        """Calls a tool that has to fail with a number of contract 003's, and returns the error."""
        answer, said = self.called(tool, arguments)
        check(f"agent: {number} for {what}", answer.get("error", {}).get("code") == number, answer)
        return said

    def read(self, uri):
        text = self.ask("resources/read", {"uri": uri})["result"]["contents"][0]["text"]
        print(f"agent> resources/read {uri}\n    {text[:120]!r}", flush=True)
        return text
