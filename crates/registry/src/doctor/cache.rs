//! Checks the unpacked copies of tools: their total size, and whether other users can change them.

use std::fs;

use super::Depth;
use crate::config::{self, Key};
use crate::run::{self, unused};
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_base::shell;
use mcpkg_core::op::{Context, Finding, Health};

pub(super) const AREA: &str = "tool cache";

pub(super) fn check(context: &Context, _depth: Depth) -> Result<Vec<Finding>> {
    // Without a home folder there is no cache; running a tool reports that.
    let Ok(folder) = run::cache() else { return Ok(Vec::new()) };
    let (copies, most) = (unused::all(&folder)?, context.store.read(config::cache_size)?);
    let counted = plural::count(copies.count, "unpacked copy");
    let counted = if copies.count == 0 { "no unpacked copy".to_owned() } else { counted };
    let what = format!("{counted} of tools: {} of {} MiB used", copies.bytes >> 20, most >> 20);
    let mut findings = vec![match copies.bytes > most {
        true => Finding::new(AREA, Health::Note, format!("{what}, over the limit set by {}", Key::CacheSize.name()))
            .action("mcpkg tool prune"),
        false => Finding::new(AREA, Health::Ok, what),
    }];
    if let Ok(metadata) = fs::metadata(&folder) {
        let mode = disk::mode(&metadata) & 0o777;
        if mode & 0o022 != 0 {
            let what = format!("other users can change the unpacked copies of tools (mode {mode:04o})");
            let mend = format!("chmod go-w {}", shell::quote(&folder.to_string_lossy()));
            findings.push(Finding::new(AREA, Health::Problem, what).action(mend));
        }
    }
    Ok(findings)
}
