//! How the programs are linked.

use std::env::var;
use std::process::Command;

/// Links the programs of a build without optimisation to a fixed address. One that may lie anywhere begins with writing its 330,000
/// addresses, a third of what its start costs, and the tests start it many thousand times. A release stays one that may lie anywhere;
/// what a server runs first lies side by side in it, which keeps the rest out of memory.
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
    } else if is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_ENCODED_RUSTFLAGS", "-Csymbol-mangling-version=v0")
        && var("RUSTC_LINKER").is_err()
    {
        // The script names functions as .cargo/config.toml has them named, and not every linker that somebody may choose
        // takes one: Rust's own does.
        println!("cargo::rustc-link-arg-bins=-Wl,--script={}/link/start.ld", env!("CARGO_MANIFEST_DIR"));
    }
}

/// Has `mcpkg version` name the commit. Only a release does: all of the crate is built again where it differs.
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
