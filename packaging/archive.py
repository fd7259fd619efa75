"""Writes the archive of a platform, with what Homebrew, Scoop, Nix and cargo-binstall unpack: the program beside its pages."""

import io
import time
import zipfile

from pack import COMMAND, VERSION, archive, arguments, compressed, epoch

given = arguments(__doc__)
windows = "windows" in given.target
folder = f"{COMMAND}-{VERSION}-{given.target}"
files = [(f"{folder}/{COMMAND}{'.exe' if windows else ''}", given.binary.read_bytes(), 0o755)]
for file in sorted(given.assets.rglob("*")):
    if file.is_file():
        files.append((f"{folder}/{file.relative_to(given.assets).as_posix()}", file.read_bytes(), 0o644))
if windows:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, data, _ in files:
            entry = zipfile.ZipInfo(name, time.gmtime(epoch())[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, data)
    package, data = f"{folder}.zip", packed.getvalue()
else:
    package, data = f"{folder}.tar.gz", compressed(archive(files), given.fast)
(given.out / package).write_bytes(data)
print(given.out / package)
