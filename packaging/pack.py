"""What the packers share: the table of platforms, their arguments, and archives that are the same bytes each time."""

import argparse
import gzip
import io
import os
import subprocess
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = tomllib.loads((ROOT / "packaging/package.toml").read_text())
NAME, COMMAND, PLATFORMS = DATA["name"], DATA["command"], DATA["platforms"]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def epoch():
    """Returns the time that every file in a package has: that of the commit."""
    if "SOURCE_DATE_EPOCH" not in os.environ:
        git = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        os.environ["SOURCE_DATE_EPOCH"] = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    return int(os.environ["SOURCE_DATE_EPOCH"])


def arguments(about):
    """Reads the command line of a packer, which packs one program for one platform."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--binary", type=Path, required=True, help="the program to pack")
    parser.add_argument("--target", default="x86_64-unknown-linux-musl", choices=PLATFORMS, help="what the program was built for")
    parser.add_argument("--assets", type=Path, required=True, help="the folder that assets.sh wrote")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write the package to")
    parser.add_argument("--fast", action="store_true", help="compress little, for tests")
    given = parser.parse_args()
    given.platform = PLATFORMS[given.target]
    given.out.mkdir(parents=True, exist_ok=True)
    return given


def compressed(data, fast=False):
    return gzip.compress(data, compresslevel=1 if fast else 9, mtime=0)


def archive(entries):
    """Returns a tar of (name, bytes, mode); a name that ends in '/' is a folder. Folders above a file are added."""
    known, out = {}, io.BytesIO()
    for name, data, mode in entries:
        for above in list(Path(name).parents)[-2::-1]:
            known.setdefault(f"{above}/", (b"", 0o755))
        known[name] = (data, mode)
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (data, mode) in sorted(known.items()):
            info = tarfile.TarInfo(name.rstrip("/"))
            info.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            info.size, info.mode, info.mtime = len(data), mode, epoch()
            info.uname = info.gname = "root"
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def installed(given):
    """Returns the files of a system package, as (path below the root, bytes, mode)."""
    assets, share = given.assets, "usr/share"
    yield f"usr/bin/{COMMAND}", given.binary.read_bytes(), 0o755
    for page in sorted((assets / "man").iterdir()):
        yield f"{share}/man/man1/{page.name}.gz", compressed(page.read_bytes()), 0o644
    for name, place in {
        "mcpkg.bash": "bash-completion/completions/mcpkg",
        "_mcpkg": "zsh/vendor-completions/_mcpkg",
        "mcpkg.fish": "fish/vendor_completions.d/mcpkg.fish",
        "mcpkg.elv": "elvish/lib/mcpkg.elv",
        "mcpkg.ps1": f"doc/{COMMAND}/mcpkg.ps1",
    }.items():
        yield f"{share}/{place}", (assets / "completions" / name).read_bytes(), 0o644
    # Not enabled: a server is for a team, and most users have none.
    yield "usr/lib/systemd/system/mcpkg.service", (ROOT / "packaging/mcpkg.service").read_bytes(), 0o644
    licences = [(assets / name).read_bytes() for name in ["LICENSE-MIT", "LICENSE-APACHE"]]
    about = f"{COMMAND} is licensed under either of the two licences below, at your option. See also THIRD-PARTY.txt.\n\n"
    documents = {
        "copyright": about.encode() + b"\n\n".join(licences),
        "changelog.gz": compressed((assets / "CHANGELOG.md").read_bytes()),
        "THIRD-PARTY.txt": (assets / "THIRD-PARTY.txt").read_bytes(),
    }
    for name, data in documents.items():
        yield f"{share}/doc/{COMMAND}/{name}", data, 0o644
