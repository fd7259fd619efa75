"""Clients that go round over several servers, and what became of each of their requests."""

import http.client
import json
import subprocess
import threading
import time

READERS, WRITERS = 16, 4

# How long a client waits after a failure.
PAUSE = 0.005

# The version of the protocol in which a request needs no session, so that any server answers it.
VERSION = "2026-07-28"


def message(method, params, token=None):
    """Returns the body and the headers of a request that needs no session."""
    named = params.get("name") or params.get("uri")
    prefix = "io.modelcontextprotocol/"
    meta = {"protocolVersion": VERSION, "clientCapabilities": {}, "clientInfo": {"name": "round", "version": "1"}}
    params = params | {"_meta": {prefix + key: value for key, value in meta.items()}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
    }
    if named:
        headers["Mcp-Name"] = named
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), headers


class Round:
    """A client that asks the next server each time, with the next token if it has any."""

    def __init__(self, ports, at, tokens=()):
        self.ports, self.at, self.tokens, self.connections, self.error = ports, at, tokens, {}, ""

    def connection(self):
        """Returns a connection to the next server that listens, with its port; `None` where none does."""
        for _ in self.ports:
            self.at += 1
            port = self.ports[self.at % len(self.ports)]
            if port not in self.connections:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                try:
                    connection.connect()
                except OSError:
                    continue
                self.connections[port] = connection
            return port, self.connections[port]
        return None

    def ask(self, method, params):
        """Returns the answer; `None` where no server listens, and so nobody heard it.

        Raises OSError or HTTPException where the connection ended in the middle: nobody can know.
        """
        found = self.connection()
        if found is None:
            return None
        port, connection = found
        token = self.tokens[self.at % len(self.tokens)] if self.tokens else None
        body, headers = message(method, params, token)
        try:
            connection.request("POST", "/mcp", body, headers)
            answer = connection.getresponse()
            text = answer.read()
            if not text.startswith(b"{"):
                # A proxy answers like this if its server went away.
                raise http.client.HTTPException(f"{answer.status} {text[:80]}")
            return json.loads(text)
        except (OSError, http.client.HTTPException):
            connection.close()
            del self.connections[port]
            raise

    def get(self, name):
        """Returns the text of a prompt, whatever refuses it, and whether it is said not to be there."""
        answer = self.ask("prompts/get", {"name": name})
        error = json.dumps((answer or {}).get("error", ""))
        if answer and "result" in answer:
            return answer["result"]["messages"][0]["content"]["text"], False
        self.error = error
        return None, "not found" in error


class Load:
    """Readers and writers, each a thread, and what they saw: `(when, what, seconds)`. `reasons` says why requests failed."""

    def __init__(self, ports, known, prefix="load", tokens=(), readers=READERS, writers=WRITERS):
        self.ports, self.known, self.prefix, self.tokens = ports, known, prefix, tokens
        self.over, self.seen, self.wrong, self.reasons = threading.Event(), [], [], []
        self.acknowledged, self.refused, self.unknown = {}, [], []
        self.threads = [threading.Thread(target=self.read, args=(n,)) for n in range(readers)]
        self.threads += [threading.Thread(target=self.write, args=(n,)) for n in range(writers)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def saw(self, what, start):
        now = time.monotonic()
        self.seen.append((now, what, now - start))

    def read(self, n):
        client, names = Round(self.ports, n, self.tokens), list(self.known)
        while not self.over.is_set():
            n += 7
            name, start = names[n % len(names)], time.monotonic()
            try:
                text, is_missing = client.get(name)
                if text is None:
                    self.reasons.append(f"{name}: {client.error}")
            except (OSError, http.client.HTTPException) as error:
                self.reasons.append(f"{name}: {error!r}")
                text, is_missing = None, False
            if is_missing or text not in (None, self.known[name]):
                self.wrong.append(f"{name}: {text}")
            self.saw("read" if text is not None else "read failed", start)
            if text is None:
                time.sleep(PAUSE)

    def write(self, n):
        client, number = Round(self.ports, n, self.tokens), 0
        while not self.over.is_set():
            number += 1
            name, content, start = f"{self.prefix}-{n}-{number}", f"{n} {number}", time.monotonic()
            call = {"name": "create_prompt", "arguments": {"name": name, "content": content}}
            try:
                answer = client.ask("tools/call", call)
            except (OSError, http.client.HTTPException) as error:
                self.reasons.append(f"{name}: {error!r}")
                self.unknown.append(name)
                self.saw("unknown", start)
                continue
            said = json.dumps(answer)
            if answer and answer.get("result", {}).get("isError") is False:
                self.acknowledged[name] = content
                self.saw("write", start)
                self.read_back(client, name, content)
            elif "is unknown whether" in said:
                self.reasons.append(f"{name}: {said}")
                self.unknown.append(name)
                self.saw("unknown", start)
            else:
                self.reasons.append(f"{name}: {said}")
                self.refused.append(name)
                self.saw("refused", start)
                time.sleep(PAUSE)

    def read_back(self, client, name, content):
        """Whoever was told that it is written reads it through the next server."""
        try:
            text, is_missing = client.get(name)
        except (OSError, http.client.HTTPException) as error:
            self.reasons.append(f"after {name}: {error!r}")
            return
        if is_missing or text not in (None, content):
            self.wrong.append(f"after {name} was acknowledged: {text}")

    def count(self, what, start=0.0, end=float("inf")):
        return sum(1 for at, kind, _ in self.seen if kind == what and start <= at < end)

    def times(self, what, start, end):
        return sorted(took for at, kind, took in self.seen if kind == what and start <= at < end)

    def gap(self, what):
        """Returns the longest time in which that did not happen."""
        return gap([at for at, kind, _ in self.seen if kind == what])


def gap(moments):
    moments = sorted(moments)
    return max((later - earlier for earlier, later in zip(moments, moments[1:])), default=0.0)


class Plain:
    """A plain writer: psql, a row and a process each time, until it is over."""

    def __init__(self, psql, ports):
        hosts, ports = ",".join(["127.0.0.1"] * len(ports)), ",".join(map(str, ports))
        self.words = [psql, "-X", "-q", "-d", f"host={hosts} port={ports} user=mcpkg dbname=postgres"
                      " target_session_attrs=read-write connect_timeout=2", "-c"]
        self.done, self.over = [], threading.Event()
        self.thread = threading.Thread(target=self.write)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.over.set()
        self.thread.join()

    def write(self):
        number = 0
        while not self.over.is_set():
            number += 1
            words = [*self.words, f"INSERT INTO public.plain VALUES ({number})"]
            if subprocess.run(words, cwd="/", capture_output=True).returncode == 0:
                self.done.append(time.monotonic())


def table(rows):
    """Prints rows as a table, the first one as its head."""
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print("    | " + " | ".join(f"{cell!s:<{width}}" for cell, width in zip(row, widths)) + " |")
        if number == 0:
            print("    | " + " | ".join("-" * width for width in widths) + " |")
    print(end="", flush=True)


def middle(times, part=0.5):
    """Returns a quantile of sorted times in milliseconds, as a text."""
    return f"{times[min(int(len(times) * part), len(times) - 1)] * 1000:.1f} ms" if times else "-"
