#!/usr/bin/env bash
# Checks that mcpkg compiles for other systems, without running it there.
#   check.sh [TARGET...] [-- CARGO-OPTION...]    options are `--workspace` by default; `-p mcpkg-base` checks one crate
# Targets of rustup are used where they are installed (`rustup target add TARGET`). Otherwise, on Debian, means.sh gets a
# compiler with the source of the standard library. What cannot be had is reported as "skipped: TARGET: why".
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/means.sh
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target/platforms} CARGO_PROFILE_DEV_DEBUG=0

targets=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1") && shift; done
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- --workspace
[ "${#targets[@]}" -gt 0 ] ||
    targets=(x86_64-pc-windows-gnu aarch64-apple-darwin x86_64-unknown-linux-musl aarch64-unknown-linux-musl)

for target in "${targets[@]}"; do
    rustc --print target-list | grep -xF -- "$target" >/dev/null ||
        { echo "unknown target '$target': \`rustc --print target-list\` prints all" >&2; exit 2; }
done

skip() {
    echo "skipped: $target: $*"
    exit 0
}

check() {
    local target=$1 std=()
    shift
    get_zig || skip 'zig cannot be installed from PyPI'
    if ! has_standard_library "$target"; then
        get_debian_rust || skip "no standard library: rustup target add $target"
        std=(-Zbuild-std='std,panic_unwind')
    fi
    echo "== $target"
    cargo-zigbuild check --locked "${std[@]}" --target "$target" "$@"
}

failed=()
for target in "${targets[@]}"; do
    # Each in a shell of its own, because it changes the environment.
    (check "$target" "$@") || failed+=("$target")
done
[ "${#failed[@]}" = 0 ] || { echo "does not compile: ${failed[*]}"; exit 1; }
