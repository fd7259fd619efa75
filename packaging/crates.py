"""Lists what is compiled into mcpkg, crates and the editor's script: `licences` prints the notices that a package must carry, `sbom` a CycloneDX list.

cargo-about and cargo-cyclonedx do the same, and each takes minutes to build; everything is in `cargo metadata`.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from pack import ROOT, VERSION

TARGET = "x86_64-unknown-linux-musl"
HEADER = f"""\
mcpkg {VERSION} contains the programs below. Each is named with its licence and, where its package has them, its
notices. A text that several of them share is printed once. Where a package offers several licences, mcpkg uses it under
any of them. The source of each is in its package of that name and version.
"""


def metadata():
    """Returns the packages in the program and how they depend on each other: (package, names of dependencies)."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--features", "sigstore", "--filter-platform", TARGET]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    below = {}

    def walk(one):
        if one not in below:
            below[one] = []
            for edge in nodes[one]["deps"]:
                macro = any("proc-macro" in target["kind"] for target in packages[edge["pkg"]]["targets"])
                if not macro and any(kind["kind"] is None for kind in edge["dep_kinds"]):
                    below[one].append(edge["pkg"])
                    walk(edge["pkg"])

    walk(found["resolve"]["root"])
    order = sorted(below, key=lambda one: (packages[one]["name"], packages[one]["version"]))
    return [(packages[one], [packages[each] for each in below[one]]) for one in order]


def sqlite(packages):
    """Returns the version of SQLite, whose source is in the package of its bindings."""
    bindings = next(package for package, _ in packages if package["name"] == "libsqlite3-sys")
    header = Path(bindings["manifest_path"]).parent / "sqlite3/sqlite3.h"
    return re.search(r'#define SQLITE_VERSION +"([^"]+)"', header.read_text()).group(1)


def vendored():
    """Returns the npm packages in the editor's script (name, version, licence, integrity), and their notices."""
    folder = ROOT / "src/web/codemirror"
    listed, notices = (folder / "codemirror.txt").read_text().split(f"\n{'=' * 100}\n", 1)
    lock = json.loads((folder / "package-lock.json").read_text())["packages"]
    found = []
    for line in listed.strip().splitlines():
        name, version, licence = re.fullmatch(r"(\S+) (\S+): (.+)", line).groups()
        package = lock[f"node_modules/{name}"]
        assert package["version"] == version, f"{name}: build.sh was not run after an update"
        found.append((name, version, licence, package["integrity"]))
    return found, notices


def licences():
    packages = metadata()
    print(HEADER)
    texts = {}
    for package, _ in packages:
        if package["source"] is None:
            continue
        print(f"{package['name']} {package['version']}: {package['license'].replace('/', ' OR ')}")
        folder = Path(package["manifest_path"]).parent
        for file in sorted(folder.iterdir()):
            if re.match(r"(?i)(un)?licen[cs]e|copying|notice|copyright", file.name) and file.is_file():
                text = file.read_text(errors="replace").strip()
                texts.setdefault(re.sub(r"\s+", " ", text), (text, []))[1].append(package["name"])
    print(f"SQLite {sqlite(packages)}: public domain")
    scripts, notices = vendored()
    for name, version, licence, _ in scripts:
        print(f"{name} {version} (npm): {licence}")
    for text, names in texts.values():
        print(f"\n{'=' * 100}\nOf {', '.join(sorted(set(names)))}\n\n{text}")
    print(f"\n{'=' * 100}\n{notices.rstrip()}")


def sbom():
    packages = metadata()
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    sums = {(one["name"], one["version"]): one.get("checksum") for one in lock}

    def reference(package):
        return f"pkg:cargo/{package['name']}@{package['version']}"

    def component(package):
        entry = {"type": "library", "bom-ref": reference(package), "name": package["name"], "version": package["version"]}
        if package["license"]:
            entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if checksum := sums.get((package["name"], package["version"])):
            entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
            entry["purl"] = reference(package)
        return entry

    own = next(package for package, _ in packages if package["name"] == "mcpkg")
    others = [component(package) for package, _ in packages if package is not own]
    of_sqlite = {"type": "library", "bom-ref": "sqlite", "name": "sqlite", "version": sqlite(packages)}
    scripts = []
    for name, version, licence, integrity in vendored()[0]:
        algorithm, digest = integrity.split("-", 1)
        purl = f"pkg:npm/{name.replace('@', '%40')}@{version}"
        scripts.append({
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "licenses": [{"expression": licence}],
            "hashes": [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
            "purl": purl,
        })
    dependencies = [
        {"ref": reference(package), "dependsOn": sorted({reference(one) for one in below})} for package, below in packages
    ]
    bindings = next(each for each in dependencies if each["ref"].startswith("pkg:cargo/libsqlite3-sys@"))
    bindings["dependsOn"].append("sqlite")
    program = next(each for each in dependencies if each["ref"] == reference(own))
    program["dependsOn"] += [script["bom-ref"] for script in scripts]
    digest = hashlib.sha256((ROOT / "Cargo.lock").read_bytes()).hexdigest()
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": component(own) | {"type": "application"},
            "properties": [{"name": "mcpkg:target", "value": TARGET}, {"name": "mcpkg:cargo-lock", "value": digest}],
        },
        "components": [*others, of_sqlite, *scripts],
        "dependencies": [
            *dependencies,
            {"ref": "sqlite", "dependsOn": []},
            *({"ref": script["bom-ref"], "dependsOn": []} for script in scripts),
        ],
    }
    print(json.dumps(bom, indent=1))


if __name__ == "__main__":
    {"licences": licences, "sbom": sbom}[sys.argv[1]]()
