//! Whether this machine can run tools, for `doctor`.

use super::bubblewrap;
use crate::op::{Context, Finding, Health};

/// Looks whether the tools that are installed can be run; without one there is nothing to mend.
pub fn health(context: &Context) -> Vec<Finding> {
    if !context.store.read(crate::store::tools::installs::any).unwrap_or(false) {
        return Vec::new();
    }
    let mut found = vec![match bubblewrap::probe() {
        Ok(()) => Finding::new("tools", Health::Ok, "Tools run in bubblewrap"),
        Err(why) => Finding::new("tools", Health::Problem, format!("Tools cannot be run: {why}"))
            .action("install bubblewrap 0.8 or newer; where it is there, allow user namespaces"),
    }];
    if cfg!(feature = "wasm") {
        found.push(Finding::new("tools", Health::Ok, "Tools that are WebAssembly modules run in mcpkg itself"));
    }
    found
}
