"""The API that `tests/fixtures/api/hosting.json` describes, as far as the story of workflows needs it: with state, on a port
of its own, for who sends the token."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What it keeps of each database, and answers with it: a secret that nobody planted.
PASSWORD = "opened-by-nobody"


class Hosting:
    """It counts each request by method and path. A database is ready once `release` says so."""

    def __init__(self, token):
        self.token, self.apps, self.databases, self.keys = token, [], [], {}
        self.counts, self.ready, self.lock = Counter(), False, threading.Lock()
        hosting = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                with hosting.lock:
                    status, answer = hosting.answer(self.command, self.path.split("?")[0], self.headers, body)
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server.server_port}/api/v1"

    def release(self):
        """From now on databases are ready."""
        with self.lock:
            self.ready = True

    def hold(self):
        """Databases that are made from now on are not ready."""
        with self.lock:
            self.ready = False

    def answer(self, method, path, headers, body):
        parts = path.removeprefix("/api/v1").strip("/").split("/")
        self.counts[f"{method} /{'/'.join(parts)}"] += 1
        if headers.get("authorization") != f"Bearer {self.token}":
            return 401, {"message": f"{headers.get('authorization')} is not known here"}
        given = json.loads(body or b"{}")
        match method, parts:
            case "GET", ["apps"]:
                return 200, self.apps
            case "POST", ["apps"]:
                return 201, self.create(given, headers.get("idempotency-key"))
            case "GET", ["apps", name]:
                found = [app for app in self.apps if name in (app["id"], app["name"])]
                return (200, found[0]) if found else (404, {"message": "no such app"})
            case "POST", ["databases"]:
                made = {"id": f"db-{len(self.databases) + 1}", "state": "creating", "password": PASSWORD, **given}
                self.databases.append(made)
                return 202, made
            case "GET", ["databases"]:
                return 200, self.databases
            case "GET", ["databases", name]:
                found = [database for database in self.databases if database["id"] == name]
                return (200, found[0] | {"state": "ready" if self.ready else "creating"}) if found else (404, {})
        return 404, {"message": "nothing is here"}

    def create(self, given, key):
        """Makes an app, once for each key."""
        if key not in self.keys or key is None:
            app = {"id": f"app-{len(self.apps) + 1}", "name": given.get("name"), "region": given["region"]}
            self.apps.append(app)
            self.keys[key] = app
        return self.keys[key]
