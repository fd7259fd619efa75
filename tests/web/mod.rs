//! Tests the console in a browser end to end, with the real binary at a terminal.

mod ask;
mod beside;
mod browser;
mod by_url;
mod chromium;
mod decide;
mod deploys;
mod doors;
mod editing;
mod figures;
mod health;
mod hostile;
mod issuer;
mod issuer_attacks;
mod pages;
mod passkeys;
mod picture;
mod pictures;
mod preview;
mod runs;
mod seen;
mod sizes;
mod story;
mod tls;
mod widths;

pub use browser::{Browser, text};

use crate::support::{Client, skipped};
use crate::workflow::runs::Ground;

const NO_SCRIPT: &str = "there is no script of util-linux";

/// Opens the console in a browser. Returns `None`, and reports the test as skipped, without the program `script`.
fn opened(ground: &Ground, arguments: &[&str]) -> Option<Browser> {
    let browser = Browser::start(ground.scratch.command(), arguments);
    if browser.is_none() {
        skipped(NO_SCRIPT);
    }
    browser
}

/// Selects a project, and connects an agent to it.
fn ground() -> (Ground, Client) {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let client = crate::console::agent(&ground, "codex");
    (ground, client)
}
