//! Provides the tools that the tests share, such as a scratch database, the real binary, and MCP clients.

mod agents;
pub mod api;
pub mod authenticator;
mod client;
mod disk;
mod folder;
pub mod fuzz;
pub mod gate;
mod ground;
pub mod http;
pub mod issuer;
mod machine;
pub mod plugin;
pub mod postgres;
mod raw;
mod saved;
mod scratch;
pub mod secrets;
mod seed;
mod terminal;
pub mod tokens;
mod upstream;

pub use agents::{AgentFixture, agents};
pub use client::{CAPABILITIES, Client, LEGACY, Wait, modern_meta};
pub use disk::Disk;
pub use folder::folder;
pub use ground::{Ground, Thing, Tree, set_mode};
pub use http::{Http, Request};
pub use machine::{
    Mount, Random, as_bound_user, command_lines, finds, free_space, ignores_hangups, is_root, kill_stride, memory,
    morning, reset_peak, running, signal, sockets, tool,
};
pub use raw::{Raw, call, handshake, request};
pub use saved::Saved;
pub use scratch::{BINARY, Ran, Scratch};
pub use seed::{cases, config, runs_all};
pub use terminal::{Screen, at_a_terminal, screen, screen_at, shown_on, typed_after, typed_on};
pub use upstream::{Upstream, skill};

use std::io::Write;
use std::time::Duration;

/// The maximum time that a test waits for an expected event, on a machine that is busy with other tests. It is not a
/// measure of speed.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Returns lines for `sh` that wait until a file exists. They fail once the file's folder is gone, so that no program
/// waits on after its test.
pub fn shell_wait(file: &std::path::Path) -> String {
    let folder = file.parent().expect("a folder").display();
    format!("while [ ! -e '{}' ]; do [ -d '{folder}' ] || exit 1; sleep 0.05; done", file.display())
}

/// Calls `f` repeatedly until it returns a value. Panics after the deadline. Pauses for as long as `f` takes, so that it
/// leaves half of a processor to other tests.
#[track_caller]
pub fn eventually<T>(what: &str, mut f: impl FnMut() -> Option<T>) -> T {
    let end = std::time::Instant::now() + DEADLINE;
    loop {
        let began = std::time::Instant::now();
        if let Some(value) = f() {
            return value;
        }
        assert!(std::time::Instant::now() < end, "did not happen in time: {what}");
        std::thread::sleep(began.elapsed().clamp(Duration::from_millis(5), Duration::from_millis(100)));
    }
}

/// Reports that a test, or a part of it, could not run on this machine. `cargo test` hides the output of a passing
/// test, so this writes to stderr directly. Otherwise a passing run would look complete.
pub fn skipped(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}
