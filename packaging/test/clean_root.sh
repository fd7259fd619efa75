#!/usr/bin/env bash
# Makes a Debian to install packages in: what every system has, a reader of man pages, and bash's completion. Needs the mirror.
#   clean_root.sh FILE    writes a tar to FILE, unless it is there
set -euo pipefail
kept=$1
[ ! -f "$kept" ] || exit 0
command -v mmdebstrap >/dev/null || { echo 'there is no mmdebstrap' && exit 1; }
mkdir -p "$(dirname "$kept")"
mmdebstrap --quiet --variant=minbase --include=man-db,bash-completion bookworm - >"$kept.part" 2>/dev/null ||
    { echo 'Debian cannot be had from its mirror' && exit 1; }
mv "$kept.part" "$kept"
