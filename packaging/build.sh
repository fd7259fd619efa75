#!/usr/bin/env bash
# Builds mcpkg as a release has it: stripped, without paths of this machine, and static on Linux.
#   build.sh TARGET OUT    writes the program to OUT; ends with 3 and "skipped: why" if this machine lacks the means
# MCPKG_PROFILE=dev builds without optimisation, to try the build itself in a fraction of the time.
# Static Linux and Windows (gnu) need only Debian or a rustup target: zig, of PyPI, is the C compiler and linker for all of them.
set -euo pipefail
target=${1:?a target, such as x86_64-unknown-linux-musl} out=${2:?a file to write}
mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out") # macOS has no realpath that takes a file to come
cd "$(dirname "$0")/.."
. packaging/means.sh
profile=${MCPKG_PROFILE:-dist}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target/packages/build}

skip() {
    echo "skipped: $target: $*"
    exit 3
}

build=(cargo build)
flags=(-Csymbol-mangling-version=v0) more=()
case $target in
*-linux-musl | *-windows-gnu)
    get_zig || skip 'zig cannot be installed from PyPI'
    build=(cargo-zigbuild zigbuild)
    if ! has_standard_library "$target"; then
        get_debian_rust || skip "no standard library: rustup target add $target"
        flags+=(-Clink-self-contained=no)
        more=(-Zbuild-std='std,panic_unwind')
    fi
    case $target in
    *windows*)
        # Rust names this library of MinGW, which is part of others in zig.
        mkdir -p "$CARGO_TARGET_DIR/mingw"
        printf '!<arch>\n' >"$CARGO_TARGET_DIR/mingw/libssp_nonshared.a"
        flags+=("-Lnative=$CARGO_TARGET_DIR/mingw")
        ;;
    esac
    ;;
*) has_standard_library "$target" || skip "no standard library: rustup target add $target" ;;
esac

# Paths of this machine would differ on the next one.
name() {
    flags+=("--remap-path-prefix=$1=$2")
    paths+=" -ffile-prefix-map=$1=$2"
}
paths=''
name "$PWD" /mcpkg
name "$CARGO_TARGET_DIR" /mcpkg/target
name "${CARGO_HOME:-$HOME/.cargo}" /cargo
name "$("${RUSTC:-rustc}" --print sysroot)" /rust
# Cargo names what is below its own folder by relative paths.
flags+=(--remap-path-prefix=target/outside/debian-rust/usr=/rust)
export CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}")
export "CFLAGS_${target//-/_}=$paths"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} MCPKG_COMMIT=${MCPKG_COMMIT:-$(git rev-parse HEAD)}
export SOURCE_DATE_EPOCH MCPKG_COMMIT CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_STRIP=symbols

"${build[@]}" --locked --profile "$profile" --target "$target" --features sigstore --bin mcpkg ${more[@]+"${more[@]}"}
exe=mcpkg
case $target in *windows*) exe=mcpkg.exe ;; esac
cp "$CARGO_TARGET_DIR/$target/${profile/#dev/debug}/$exe" "$out"
