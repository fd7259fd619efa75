#!/usr/bin/env bash
# Makes a release into dist/: programs, archives, packages, licences, a list of all parts, checksums and notes.
#   release.sh VERSION [--programs DIR]
# --programs takes DIR/TARGET/mcpkg, built on other machines by build.sh, instead of building here. MCPKG_DOWNLOADS is the
# address below which the files of the release will be; formulas need it. What cannot be made is reported as "skipped: why".
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?a version, such as 0.1.0} programs=''
[ "${2-}" != --programs ] || programs=$(realpath "${3:?a folder}")
dist=$PWD/dist

fail() {
    echo "error: $1"
    [ -z "${2-}" ] || echo "hint: $2"
    exit 1
}
own=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
[ "$version" = "$own" ] || fail "Cargo.toml has version $own, not $version" "edit version in [workspace.package], and run: cargo check"
section() {
    awk -v heading="## $1" 'index($0, "## ") == 1 { found = $0 == heading || index($0, heading " ") == 1; next } found' CHANGELOG.md
}
notes=$(section "$version")
[ -n "$notes" ] || fail "CHANGELOG.md has no section '## $version'" 'name what is in the release there, and commit'
[ -z "$(git status --porcelain --untracked-files=no)" ] || fail 'some files have changes that are not committed' 'git status'
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

rm -rf "$dist"
mkdir -p "$dist/programs"
echo "$notes" >"$dist/NOTES.md"
built=()
for target in $(sed -n 's/^\[platforms\.\(.*\)\]/\1/p' packaging/package.toml); do
    exe=mcpkg
    case $target in *windows*) exe=mcpkg.exe ;; esac
    program=$dist/programs/$target/$exe
    if [ -n "$programs" ]; then
        [ -f "$programs/$target/$exe" ] || { echo "skipped: $target: there is no $programs/$target/$exe" && continue; }
        mkdir -p "$(dirname "$program")"
        install -m 755 "$programs/$target/$exe" "$program"
    else
        packaging/build.sh "$target" "$program" && result=0 || result=$?
        [ "$result" != 3 ] || continue
        [ "$result" = 0 ] || fail "$target could not be built"
    fi
    built+=("$target:$program")
done
[ ${#built[@]} -gt 0 ] || fail 'no program was built'

# The pages are the same on all platforms. They are written by a program that runs here.
assets=$(mktemp -d)
trap 'rm -rf "$assets"' EXIT
for one in "${built[@]}"; do
    ! "${one#*:}" --version >/dev/null 2>&1 || { packaging/assets.sh "${one#*:}" "$assets" && break; }
done
[ -d "$assets/man" ] || fail 'none of the programs runs on this machine'
cp "$assets/sbom.cdx.json" "$dist/mcpkg-$version.cdx.json"
cp "$assets/THIRD-PARTY.txt" "$dist"

pack() {
    python3 "packaging/$1.py" --binary "${one#*:}" --target "${one%%:*}" --assets "$assets" --out "$dist"
}
for one in "${built[@]}"; do
    pack archive
    pack npm
    pack wheel
    case ${one%%:*} in *linux*) ;; *) continue ;; esac
    pack image
    if command -v dpkg-deb >/dev/null; then pack deb; else echo "skipped: ${one%%:*}: .deb: there is no dpkg-deb"; fi
    if command -v rpmbuild >/dev/null; then pack rpm; else echo "skipped: ${one%%:*}: .rpm: there is no rpmbuild"; fi
done
python3 packaging/npm.py wrapper "$dist"
if [ -n "${MCPKG_DOWNLOADS-}" ]; then
    python3 packaging/formulas.py "$dist" "$MCPKG_DOWNLOADS"
else
    echo 'skipped: Homebrew, Scoop and Nix: MCPKG_DOWNLOADS does not say where the archives will be'
fi
rm -r "$dist/programs"
(cd "$dist" && sha256sum -- * >SHA256SUMS)
ls -l "$dist"
