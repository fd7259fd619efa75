"""Writes the Debian package, by dpkg-deb."""

import hashlib
import os
import re
import subprocess
import tempfile
import textwrap
from pathlib import Path

from pack import COMMAND, DATA, VERSION, arguments, epoch, installed

given = arguments(__doc__)


def needs(binary):
    """Returns what the program needs of the system: nothing, if it is static."""
    shown = subprocess.run(["objdump", "-p", str(binary)], capture_output=True, text=True).stdout
    # How build.rs links programs for this system: glibc 2.36 is the first that loads them.
    shown = shown.replace("GLIBC_ABI_DT_RELR", "GLIBC_2.36")
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", shown)]
    return f"Depends: libc6 (>= {'.'.join(map(str, max(versions)))}), libgcc-s1\n" if versions else ""


with tempfile.TemporaryDirectory() as scratch:
    root, sums, size = Path(scratch), [], 0
    for name, data, mode in installed(given):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)
        sums.append(f"{hashlib.md5(data).hexdigest()}  {name}\n")
        size += len(data)
    control = root / "DEBIAN"
    control.mkdir()
    (control / "md5sums").write_text("".join(sums))
    (control / "control").write_text(
        f"Package: {COMMAND}\nVersion: {VERSION}\nArchitecture: {given.platform['deb']}\n"
        f"Maintainer: {DATA['maintainer']}\nInstalled-Size: {size // 1024}\n{needs(given.binary)}"
        "Recommends: ca-certificates, git\nSuggests: bubblewrap\n"
        f"Section: devel\nPriority: optional\nDescription: {DATA['summary']}\n"
        + textwrap.fill(DATA["description"], 78, initial_indent=" ", subsequent_indent=" ")
        + "\n"
    )
    for folder, _, files in os.walk(root):
        for entry in [folder, *(os.path.join(folder, file) for file in files)]:
            os.utime(entry, (epoch(), epoch()))
            if entry == folder:
                os.chmod(folder, 0o755)
    package = given.out / f"{COMMAND}_{VERSION}_{given.platform['deb']}.deb"
    level = ["-Zgzip", "-z1"] if given.fast else ["-Zxz", "-z9", "-Sextreme"]
    subprocess.run(["dpkg-deb", "--root-owner-group", *level, "--build", scratch, str(package)], check=True, stdout=subprocess.DEVNULL)
    print(package)
