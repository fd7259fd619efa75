//! Chooses how the programs are linked, and puts the commit into releases.

use std::env::var;
use std::process::Command;

/// Links debug programs on Linux with glibc to a fixed address. A position-independent program first writes 330,000
/// addresses when it starts. This takes a third of its start, and the tests start it many thousand times.
///
/// Releases stay position-independent. On x86-64, a linker script puts the functions that a server runs first next to
/// each other, so that fewer pages are loaded into memory.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=link/start.ld");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "release") {
        name_commit();
    }
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    if is("PROFILE", "debug") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        println!("cargo::rustc-link-arg-tests=-no-pie");
        return;
    }
    if loads_packed_relocations() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    if is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_ENCODED_RUSTFLAGS", "-Csymbol-mangling-version=v0")
        && var("RUSTC_LINKER").is_err()
    {
        // The script names functions with the symbol mangling that .cargo/config.toml sets. Other linkers than the
        // default one may not accept a script.
        println!("cargo::rustc-link-arg-bins=-Wl,--script={}/link/start.ld", env!("CARGO_MANIFEST_DIR"));
    }
}

/// Whether programs are built for this machine, and its glibc loads packed relocations. They take a thirtieth of the space
/// of the others, all of which is read when the program starts. Before version 2.36, glibc refuses such programs.
fn loads_packed_relocations() -> bool {
    let version = || {
        let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.split('.').next()?.parse::<u32>().ok()?))
    };
    var("HOST") == var("TARGET") && version().is_some_and(|version| version >= (2, 36))
}

/// Makes `mcpkg version` show the commit. Only in releases, because each new commit rebuilds the whole crate.
fn name_commit() {
    println!("cargo::rerun-if-env-changed=MCPKG_COMMIT");
    println!("cargo::rerun-if-changed=.git/logs/HEAD");
    let of_git = || {
        let found =
            Command::new("git").args(["rev-parse", "HEAD"]).output().ok().filter(|found| found.status.success());
        found.and_then(|found| String::from_utf8(found.stdout).ok())
    };
    if let Some(commit) = var("MCPKG_COMMIT").ok().or_else(of_git) {
        println!("cargo::rustc-env=MCPKG_COMMIT={}", commit.trim());
    }
}
