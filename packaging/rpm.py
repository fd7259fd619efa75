"""Writes the RPM package, by rpmbuild (Debian: rpm)."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from pack import COMMAND, DATA, VERSION, arguments, epoch, installed

SPEC = """\
Name: {name}
Version: {version}
Release: 1
Summary: {summary}
License: {license}
AutoReqProv: no
Recommends: ca-certificates, git
Suggests: bubblewrap

%description
{description}

%files
{files}
"""
given = arguments(__doc__)
epoch()
with tempfile.TemporaryDirectory() as scratch:
    root, listed = Path(scratch) / "root", []
    for name, data, mode in installed(given):
        # Fedora's name for the folder of zsh.
        name = name.replace("zsh/vendor-completions", "zsh/site-functions")
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        listed.append(f"%attr({mode:o}, root, root) {'%doc ' if '/doc/' in name else ''}/{name}")
    spec = Path(scratch) / "mcpkg.spec"
    spec.write_text(
        SPEC.format(
            name=COMMAND,
            version=VERSION,
            summary=DATA["summary"],
            license=DATA["license"],
            description=DATA["description"],
            files="\n".join(listed),
        )
    )
    defines = {
        "_topdir": scratch,
        "_buildhost": "mcpkg",
        "_build_id_links": "none",
        "__os_install_post": "%{nil}",
        "use_source_date_epoch_as_buildtime": "1",
        "clamp_mtime_to_source_date_epoch": "1",
        "_binary_payload": "w1.gzdio" if given.fast else "w9.xzdio",
    }
    subprocess.run(
        ["rpmbuild", "-bb", "--quiet", "--target", f"{given.platform['rpm']}-linux", "--buildroot", str(root)]
        + [word for name, value in defines.items() for word in ("--define", f"{name} {value}")]
        + [str(spec)],
        check=True,
    )
    built = next((Path(scratch) / "RPMS").rglob("*.rpm"))
    print(shutil.copy(built, given.out))
