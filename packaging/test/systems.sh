#!/usr/bin/env bash
# Builds mcpkg for other systems and runs it: Windows' program under Wine, that of ARM under qemu.
#   systems.sh [--programs DIR] [TARGET...]    by default each target that x86-64 Linux can run
# --programs takes DIR/TARGET/mcpkg instead of building. Builds are not optimised, unless MCPKG_PROFILE=dist.
# What the machine lacks is reported as "skipped: why".
set -euo pipefail
programs=''
[ "${1-}" != --programs ] || { programs=$(realpath "${2:?a folder}") && shift 2; }
cd "$(dirname "$0")/../.."
. packaging/means.sh
[ $# -gt 0 ] || set -- x86_64-pc-windows-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl
export MCPKG_PROFILE=${MCPKG_PROFILE:-dev} PATH=$PATH:/usr/lib/wine
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

skip() {
    echo "skipped: $target: $*"
    exit 0
}

# The command that runs a program for a target, and what it runs on.
prepare() {
    under=()
    case $target in
    *windows*)
        command -v wine64 wine >/dev/null || skip 'there is no Wine'
        get_zig || skip 'zig cannot be installed from PyPI'
        ;;
    "$(uname -m)"-*-linux-*) ;;
    *-linux-*)
        local qemu=qemu-${target%%-*}-static
        under=("$(command -v "$qemu")") || skip "there is no $qemu"
        ;;
    *) skip 'nothing here runs it' ;;
    esac
    case $target in *linux*) unshare --mount --net true 2>/dev/null || skip 'only root may make namespaces here' ;; esac
}

# The program alone in a root, without a libc, a shell, a network or an environment.
test_bare_root() {
    local root=$scratch/root
    mkdir -p "$root/home" "$root/tmp" "$root/proc" "$root/dev"
    cp "$program" "$root/mcpkg"
    [ "${#under[@]}" = 0 ] || cp "${under[0]}" "$root/qemu"
    bare() {
        unshare --mount --net --pid --fork bash -c '
            mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev"
            exec env -i HOME=/home "$(command -v chroot)" "$0" "$@"' "$root" ${under[@]+/qemu} /mcpkg "$@"
    }
    bare version
    [ "${#under[@]}" -gt 0 ] || bare demo >/dev/null # it starts itself, which qemu does not know
    bare --quiet project create shop >/dev/null
    bare --quiet prompt create greeting Hello >/dev/null
    [ "$(bare prompt show greeting --raw)" = Hello ]
    echo '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}}' | tr -d '\n' | bare serve | grep -q '"serverInfo"'
}

# The tests of contract 001 over stdio. They start target/debug/mcpkg, so the program takes its place.
test_contract() {
    local tests binary
    tests=$(cargo test --locked -p mcpkg --test main --no-run 2>&1 | sed -n 's/^ *Executable .*(\(.*\))$/\1/p')
    [ -x "$tests" ] || { echo 'the tests could not be built'; return 1; }
    tests=$(realpath "$tests")
    binary=$(dirname "$(dirname "$tests")")/mcpkg
    printf '#!/bin/sh\nexec %s%q "$@"\n' "${under[*]:+${under[*]} }" "$program" >"$scratch/mcpkg"
    chmod +x "$scratch/mcpkg"
    CARGO_MANIFEST_DIR=$PWD INSTA_WORKSPACE_ROOT=$PWD INSTA_UPDATE=no unshare --mount bash -c '
        mount --bind "$0" "$1" && shift && exec "$@"' "$scratch/mcpkg" "$binary" "$tests" mcp::contract_001
}

run() {
    prepare
    program=${programs:-$scratch}/$target/mcpkg
    case $target in *windows*) program+=.exe ;; esac
    echo "== $target"
    if [ -z "$programs" ]; then
        local result=0
        packaging/build.sh "$target" "$program" || result=$?
        [ "$result" != 3 ] || exit 0
        [ "$result" = 0 ] || exit 1
    fi
    case $target in
    *windows*) python3 packaging/test/windows.py "$program" ;;
    *)
        test_bare_root
        test_contract
        ;;
    esac
}

failed=()
for target in "$@"; do
    # Not in a condition, which would go on after a command that fails.
    set +e
    (set -e && run)
    [ $? = 0 ] || failed+=("$target")
    set -e
done
[ "${#failed[@]}" = 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
