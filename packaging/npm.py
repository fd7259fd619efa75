"""Writes the npm package of one platform, and with `npm.py wrapper DIR`, the package that users install.

The wrapper names each platform's package as an optional dependency, and npm installs the one that fits.
"""

import json
import sys
from pathlib import Path

from pack import COMMAND, DATA, NAME, PLATFORMS, ROOT, VERSION, archive, arguments, compressed


def called(platform):
    return f"{NAME}-{platform['npm']['os']}-{platform['npm']['cpu']}"


def write(out, manifest, files, fast=False):
    """Writes a package, whose files npm expects below `package/`."""
    common = {"version": VERSION, "license": DATA["license"]}
    manifest = {"name": manifest.pop("name"), **common, **manifest}
    entries = [("package/package.json", json.dumps(manifest, indent=2).encode(), 0o644)]
    entries += [(f"package/{name}", data, mode) for name, data, mode in files]
    package = out / f"{manifest['name']}-{VERSION}.tgz"
    package.write_bytes(compressed(archive(entries), fast))
    print(package)


def texts(folder, names):
    return [(name, (folder / name).read_bytes(), 0o644) for name in names]


if sys.argv[1:2] == ["wrapper"]:
    folder = Path(sys.argv[2])
    packed = [each for each in map(called, PLATFORMS.values()) if (folder / f"{each}-{VERSION}.tgz").exists()]
    manifest = {
        "name": NAME,
        "description": DATA["summary"],
        "bin": {COMMAND: "mcpkg.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {each: VERSION for each in packed},
    }
    start = ("mcpkg.js", (ROOT / "packaging/mcpkg.js").read_bytes(), 0o755)
    write(folder, manifest, [start, *texts(ROOT, ["README.md", "LICENSE-MIT", "LICENSE-APACHE"])])
else:
    given = arguments(__doc__)
    npm = given.platform["npm"]
    manifest = {
        "name": called(given.platform),
        "description": f"{COMMAND} for {npm['os']} on {npm['cpu']}; install {NAME} instead",
        "os": [npm["os"]],
        "cpu": [npm["cpu"]],
        "preferUnplugged": True,
    }
    program = "bin/mcpkg.exe" if npm["os"] == "win32" else "bin/mcpkg"
    files = [(program, given.binary.read_bytes(), 0o755)]
    write(given.out, manifest, [*files, *texts(given.assets, ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"])], given.fast)
