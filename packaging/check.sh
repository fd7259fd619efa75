#!/usr/bin/env bash
# Checks that mcpkg compiles for other systems, without running it there: packaging/check.sh [TARGET...]
#
# With rustup, this uses the targets that are installed (`rustup target add TARGET`). Otherwise, on Debian, it downloads a
# compiler with the source of the standard library, and builds that library itself; nothing is installed. C code is compiled
# by zig (PyPI: ziglang). What cannot be had is reported as "skipped: TARGET: why".
#
#   PLATFORMS_CACHE   where the downloads and the build go (target/platforms)
#   PLATFORMS_CARGO   the command and packages: `check --workspace` by default, `clippy` needs rustup's target
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${PLATFORMS_CACHE:-$PWD/target/platforms}
read -ra command <<<"${PLATFORMS_CARGO:-check --workspace}"
targets=("$@")
[ "${#targets[@]}" -gt 0 ] ||
    targets=(x86_64-pc-windows-gnu aarch64-apple-darwin x86_64-unknown-linux-musl aarch64-unknown-linux-musl)

mkdir -p "$cache/bin"
log=$cache/means.log
: >"$log"

skip() { echo "skipped: $1: $2"; }

# zig as a C compiler for every target, from PyPI.
get_zig() {
    [ -d "$cache/zig/ziglang" ] && return
    command -v python3 >/dev/null || return
    python3 -m pip download --quiet --no-deps --dest "$cache" ziglang==0.17.1 >>"$log" 2>&1 &&
        python3 -m zipfile -e "$cache"/ziglang*.whl "$cache/zig" >>"$log" 2>&1 && chmod +x "$cache/zig/ziglang/zig"
}

# A compiler with the source of the standard library, from Debian's packages.
get_compiler() {
    [ -x "$cache/debian/usr/bin/rustc" ] && return
    command -v apt-get >/dev/null || return
    mkdir -p "$cache/packages" && (
        cd "$cache/packages"
        apt-get download rustc-web rust-web-src libllvm22 libstd-rust-web-1.96 libstd-rust-web-dev binutils-mingw-w64-x86-64 >>"$log" 2>&1 &&
            for package in *.deb; do dpkg -x "$package" "$cache/debian" || exit; done
    )
}

# `zig cc` takes its own names of targets, and not the flags with which the cc crate names them.
write_compiler() {
    local name=$1 target=$2
    printf '%s\n' '#!/usr/bin/env bash' 'arguments=()' \
        'for argument; do case $argument in --target=* | -march=* | -mmacosx-version-min=*) ;; *) arguments+=("$argument") ;; esac; done' \
        "exec '$cache/zig/ziglang/zig' cc -target $target -Wno-unused-command-line-argument \"\${arguments[@]}\"" >"$cache/bin/$name-cc"
    printf '%s\n' '#!/usr/bin/env bash' "exec '$cache/zig/ziglang/zig' ar \"\$@\"" >"$cache/bin/$name-ar"
    chmod +x "$cache/bin/$name-cc" "$cache/bin/$name-ar"
}

check() {
    local target=$1 zigs name=${1//-/_} std=()
    case $target in
        x86_64-pc-windows-gnu) zigs=x86_64-windows-gnu ;;
        aarch64-apple-darwin) zigs=aarch64-macos ;;
        x86_64-unknown-linux-musl) zigs=x86_64-linux-musl ;;
        aarch64-unknown-linux-musl) zigs=aarch64-linux-musl ;;
        *) skip "$target" 'this script does not know it'; return ;;
    esac
    get_zig || { skip "$target" "zig cannot be had ($log)"; return; }
    local variables=("CARGO_TARGET_DIR=$cache/build")
    if ! rustup target list --installed 2>>"$log" | grep -qx "$target"; then
        get_compiler || { skip "$target" "neither rustup's target nor Debian's compiler can be had ($log)"; return; }
        std=(-Zbuild-std=std,panic_abort)
        variables+=("RUSTC=$cache/debian/usr/bin/rustc" RUSTC_BOOTSTRAP=1 "PATH=$cache/debian/usr/bin:$PATH"
            "LD_LIBRARY_PATH=$cache/debian/usr/lib/x86_64-linux-gnu")
    fi
    write_compiler "$target" "$zigs"
    variables+=("CC_$name=$cache/bin/$target-cc" "AR_$name=$cache/bin/$target-ar"
        "CARGO_TARGET_$(tr a-z A-Z <<<"$name")_LINKER=$cache/bin/$target-cc" CARGO_PROFILE_DEV_DEBUG=0)
    echo "== $target"
    env "${variables[@]}" cargo "${command[0]}" --locked "${std[@]}" --target "$target" "${command[@]:1}"
}

failed=()
for target in "${targets[@]}"; do
    check "$target" || failed+=("$target")
done
[ "${#failed[@]}" = 0 ] || { echo "does not compile: ${failed[*]}"; exit 1; }
