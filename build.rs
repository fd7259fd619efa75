//! How a build without optimisation is linked.

use std::env::var;

/// Links the programs of such a build to a fixed address. One that may lie anywhere begins with writing its 330,000 addresses, a third of
/// what its start costs, and the tests start it many thousand times. A release stays one that may lie anywhere.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        println!("cargo::rustc-link-arg-tests=-no-pie");
    }
}
