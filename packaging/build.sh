#!/usr/bin/env bash
# Builds mcpkg as a release has it: stripped, without paths of this machine, and static on Linux.
#   build.sh TARGET OUT    writes the program to OUT; ends with 3 and "skipped: why" if this machine lacks the means
# MCPKG_PROFILE=dev builds without optimisation, to try the build itself in a fraction of the time.
# Linux targets need only Debian or a rustup target: zig, of PyPI, is the C compiler and linker for all of them.
set -euo pipefail
target=${1:?a target, such as x86_64-unknown-linux-musl} out=${2:?a file to write}
mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out") # macOS has no realpath that takes a file to come
cd "$(dirname "$0")/.."
profile=${MCPKG_PROFILE:-release}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target/packages/build}
outside=$PWD/target/outside

skip() {
    echo "skipped: $target: $*"
    exit 3
}

# Unpacks Debian's Rust with the source of its standard library, for targets that rustup does not have here.
debian_rust() {
    local rust=$outside/debian-rust packages=(rustc-web libstd-rust-web-dev rust-web-src)
    if [ ! -x "$rust/usr/bin/rustc" ]; then
        command -v apt-get >/dev/null || return 1
        mkdir -p "$rust/packages"
        # The names of these two end in versions.
        packages+=($(apt-cache depends --recurse --important libstd-rust-web-dev | grep -Ex 'libstd-rust-web-[0-9.]+|libllvm[0-9]+')) || return 1
        (cd "$rust/packages" && apt-get -qq download "${packages[@]}" >/dev/null 2>&1) || return 1
        for package in "$rust"/packages/*.deb; do dpkg -x "$package" "$rust"; done
        rm -r "$rust/packages"
    fi
    export RUSTC=$rust/usr/bin/rustc RUSTC_BOOTSTRAP=1
    export LD_LIBRARY_PATH=$rust/usr/lib/$(uname -m)-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

build=(cargo build)
flags=(-Csymbol-mangling-version=v0) more=()
case $target in
*-linux-musl)
    zig=$outside/zig
    if [ ! -x "$zig/bin/cargo-zigbuild" ]; then
        { python3 -m venv "$zig" && "$zig/bin/pip" install --quiet --retries 1 ziglang==0.17.0 cargo-zigbuild==0.24.1; } \
            </dev/null >/dev/null 2>&1 || skip 'zig cannot be installed from PyPI'
    fi
    export PATH=$zig/bin:$PATH
    build=("$zig/bin/cargo-zigbuild" zigbuild)
    if [ ! -d "$(rustc --print target-libdir --target "$target")" ]; then
        debian_rust || skip "no standard library: rustup target add $target"
        flags+=(-Clink-self-contained=no)
        more=(-Zbuild-std='std,panic_unwind')
    fi
    ;;
*) [ -d "$(rustc --print target-libdir --target "$target")" ] || skip "no standard library: rustup target add $target" ;;
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
export SOURCE_DATE_EPOCH MCPKG_COMMIT CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_PROFILE_DEV_STRIP=symbols

"${build[@]}" --locked --profile "$profile" --target "$target" --features sigstore --bin mcpkg ${more[@]+"${more[@]}"}
exe=mcpkg
case $target in *windows*) exe=mcpkg.exe ;; esac
cp "$CARGO_TARGET_DIR/$target/${profile/#dev/debug}/$exe" "$out"
