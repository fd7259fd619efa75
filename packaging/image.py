"""Writes the container image as one file that `docker load`, `podman load` and `skopeo` read; needs no daemon.

The image has the program, the certificates of this machine's Debian, and nothing else: no shell, no git.
"""

import hashlib
import json
import time
from pathlib import Path

from pack import COMMAND, DATA, VERSION, archive, arguments, compressed, epoch

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
USER = "65532:65532"

given = arguments(__doc__)
layer = [
    ("etc/passwd", b"mcpkg:x:65532:65532::/data:/sbin/nologin\n", 0o644),
    ("etc/group", b"mcpkg:x:65532:\n", 0o644),
    ("tmp/", b"", 0o1777),
    # Volumes that are mounted here take its mode over. A folder of one user could not be written with another --user.
    ("data/", b"", 0o1777),
    (f"usr/bin/{COMMAND}", given.binary.read_bytes(), 0o755),
    *(
        (f"usr/share/doc/{COMMAND}/{name}", (given.assets / name).read_bytes(), 0o644)
        for name in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"]
    ),
]
if CERTIFICATES.exists():
    layer.append((str(CERTIFICATES)[1:], CERTIFICATES.read_bytes(), 0o644))


def digest(data):
    return hashlib.sha256(data).hexdigest()


blobs = {}


def blob(kind, data):
    blobs[digest(data)] = data
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest(data)}", "size": len(data)}


def text(value):
    return json.dumps(value, separators=(",", ":")).encode()


files = archive(layer)
packed = compressed(files, given.fast)
machine = {"architecture": given.platform["image"], "os": "linux"}
config = text(
    {
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch())),
        **machine,
        "config": {
            "User": USER,
            "Env": ["HOME=/data", "MCPKG_DB=/data/mcpkg.db", "PATH=/usr/bin"],
            "Entrypoint": [f"/usr/bin/{COMMAND}"],
            "Cmd": ["serve", "--http", "--host", "0.0.0.0"],
            "ExposedPorts": {"3000/tcp": {}},
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": COMMAND,
                "org.opencontainers.image.description": DATA["summary"],
                "org.opencontainers.image.version": VERSION,
                "org.opencontainers.image.licenses": DATA["license"],
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(files)}"]},
    }
)
of_config, of_layer = blob("config.v1+json", config), blob("layer.v1.tar+gzip", packed)
kind = "manifest.v1+json"
manifest = {"schemaVersion": 2, "mediaType": f"application/vnd.oci.image.{kind}", "config": of_config, "layers": [of_layer]}
named = {"org.opencontainers.image.ref.name": VERSION, "io.containerd.image.name": f"localhost/{COMMAND}:{VERSION}"}
index = {"schemaVersion": 2, "manifests": [{**blob(kind, text(manifest)), "platform": machine, "annotations": named}]}


def at(described):
    return f"blobs/{described['digest'].replace(':', '/')}"


# The last is what docker reads before its version 25.
of_docker = [{"Config": at(of_config), "RepoTags": [f"localhost/{COMMAND}:{VERSION}"], "Layers": [at(of_layer)]}]
image = given.out / f"{COMMAND}-{VERSION}-image-{machine['architecture']}.tar"
image.write_bytes(
    archive(
        [
            ("oci-layout", text({"imageLayoutVersion": "1.0.0"}), 0o644),
            ("index.json", text(index), 0o644),
            ("manifest.json", text(of_docker), 0o644),
            *((f"blobs/sha256/{name}", data, 0o644) for name, data in blobs.items()),
        ]
    )
)
print(image)
