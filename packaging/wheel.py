"""Writes the wheel for PyPI: a zip that pip unpacks, with the program as a script.

maturin writes the same, but only of a program that it builds itself.
"""

import base64
import hashlib
import subprocess
import time
import zipfile

from pack import COMMAND, DATA, NAME, VERSION, arguments, epoch

given = arguments(__doc__)
package = f"{NAME.replace('-', '_')}-{VERSION}"
info = f"{package}.dist-info"
suffix = ".exe" if "windows" in given.target else ""
tag = given.platform["wheel"]
if "linux" in given.target and b"not a dynamic" not in subprocess.run(["ldd", given.binary], capture_output=True).stderr:
    # It needs this machine's libraries, so only machines like this one may take it.
    tag = "linux_x86_64"

entries = {
    f"{package}.data/scripts/{COMMAND}{suffix}": (given.binary.read_bytes(), 0o755),
    f"{info}/METADATA": (
        f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {VERSION}\nSummary: {DATA['summary']}\n"
        f"License-Expression: {DATA['license']}\n"
        "License-File: LICENSE-MIT\nLicense-File: LICENSE-APACHE\nLicense-File: THIRD-PARTY.txt\n"
        "Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n" + (given.assets / "README.md").read_text()
    ).encode(),
    f"{info}/WHEEL": (
        "Wheel-Version: 1.0\nGenerator: mcpkg\nRoot-Is-Purelib: false\n" + "".join(f"Tag: py3-none-{one}\n" for one in tag.split("."))
    ).encode(),
}
for name in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"]:
    entries[f"{info}/licenses/{name}"] = (given.assets / name).read_bytes()

record = f"{info}/RECORD"
lines = []
wheel = given.out / f"{package}-py3-none-{tag}.whl"
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1 if given.fast else 9) as out:

    def add(name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, time.gmtime(epoch())[:6])
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        out.writestr(entry, data)

    for name, content in entries.items():
        data, mode = content if isinstance(content, tuple) else (content, 0o644)
        add(name, data, mode)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    add(record, "".join([*lines, f"{record},,\n"]).encode())
print(wheel)
