"""Serves a folder of npm packages as a registry does, on a free port that it prints."""

import base64
import hashlib
import http.server
import json
import sys
import tarfile
import urllib.parse
from pathlib import Path

packages = {}
for file in sorted(Path(sys.argv[1]).glob("*.tgz")):
    with tarfile.open(file) as tar:
        manifest = json.load(tar.extractfile("package/package.json"))
    packages[manifest["name"]] = (manifest, file)


class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = urllib.parse.unquote(self.path[1:])
        if name.endswith(".tgz") and name[:-4] in packages:
            self.answer(packages[name[:-4]][1].read_bytes())
        elif name in packages:
            manifest, file = packages[name]
            integrity = base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
            tarball = f"http://{self.headers['Host']}/{name}.tgz"
            dist = {"tarball": tarball, "integrity": f"sha512-{integrity}"}
            latest = {"latest": manifest["version"]}
            versions = {manifest["version"]: {**manifest, "dist": dist}}
            self.answer(json.dumps({"name": name, "dist-tags": latest, "versions": versions}).encode())
        else:
            self.send_error(404)

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
print(server.server_port, flush=True)
server.serve_forever()
