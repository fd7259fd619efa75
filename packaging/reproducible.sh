#!/usr/bin/env bash
# Checks that a release can be made again: builds this commit in two folders with different names, and compares the programs.
#   reproducible.sh [TARGET]    takes the time of two builds; with MCPKG_PROFILE=dev, a fraction of it
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-x86_64-unknown-linux-musl} scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for folder in first second/of-two; do
    mkdir -p "$scratch/$folder"
    git archive HEAD | tar -x -C "$scratch/$folder"
    # The compilers may be the same: the paths of what is compiled are not.
    mkdir -p "$scratch/$folder/target" target/outside
    ln -s "$PWD/target/outside" "$scratch/$folder/target/outside"
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) MCPKG_COMMIT=$(git rev-parse HEAD) CARGO_TARGET_DIR=$scratch/$folder/target/build \
        "$scratch/$folder/packaging/build.sh" "$target" "$scratch/$folder/mcpkg"
    rm -rf "$scratch/$folder/target"
done
cmp "$scratch/first/mcpkg" "$scratch/second/of-two/mcpkg"
sha256sum "$scratch/first/mcpkg" | sed "s| .*| is the SHA-256 of both builds for $target|"
