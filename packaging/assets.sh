#!/usr/bin/env bash
# Writes what packages have besides the program: man pages, completions for five shells, licences, the changelog.
#   assets.sh PROGRAM DIR    PROGRAM must run on this machine
set -euo pipefail
program=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
rm -rf "$out"
mkdir -p "$out/completions"
"$program" man "$out/man" >/dev/null
for shell in bash:mcpkg.bash zsh:_mcpkg fish:mcpkg.fish elvish:mcpkg.elv powershell:mcpkg.ps1; do
    "$program" completions "${shell%%:*}" >"$out/completions/${shell#*:}"
done
cp LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$out"
python3 packaging/crates.py licences >"$out/THIRD-PARTY.txt"
python3 packaging/crates.py sbom >"$out/sbom.cdx.json"
