"""Writes the archive of a platform, with what Homebrew, Scoop, Nix and cargo-binstall unpack: the program beside its pages."""

import io
import lzma
import time
import zipfile

from pack import COMMAND, VERSION, archive, arguments, epoch

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
    # The filter for code of x86-64 saves a twentieth. Filters for other processors need a newer xz than many people have.
    code = [{"id": lzma.FILTER_X86}] if given.target.startswith("x86_64") else []
    lzma2 = {"id": lzma.FILTER_LZMA2, "preset": 0 if given.fast else 9 | lzma.PRESET_EXTREME}
    package, data = f"{folder}.tar.xz", lzma.compress(archive(files), filters=[*code, lzma2])
(given.out / package).write_bytes(data)
print(given.out / package)
