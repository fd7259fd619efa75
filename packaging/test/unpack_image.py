"""Unpacks an image into a folder, each blob checked against its digest, and prints how it is run, as words of a shell."""

import hashlib
import io
import json
import shlex
import sys
import tarfile

image, out = sys.argv[1:]
with tarfile.open(image) as tar:

    def read(name):
        return tar.extractfile(name).read()

    def blob(described):
        data = read(f"blobs/{described['digest'].replace(':', '/')}")
        assert described["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}" and described["size"] == len(data)
        return data

    manifest = json.loads(blob(json.loads(read("index.json"))["manifests"][0]))
    config = json.loads(blob(manifest["config"]))
    for described, diff in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        with tarfile.open(fileobj=io.BytesIO(blob(described))) as layer:
            layer.extractall(out, filter="fully_trusted")
run = config["config"]
print(f"user={shlex.quote(run['User'])}")
print(f"environment=({shlex.join(run['Env'])})")
print(f"entrypoint=({shlex.join(run['Entrypoint'])})")
print(f"command=({shlex.join(run['Cmd'])})")
