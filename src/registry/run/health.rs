//! Whether this machine can run tools, for `doctor`.

use super::bubblewrap;
use crate::op::{Context, Finding, Health};

/// Looks whether tools can be run. A database that has none is looked at too: an agent may want one.
pub fn health(context: &Context) -> Vec<Finding> {
    // Nothing to run, nothing to mend: what a doctor says about a machine without tools is a note.
    let has_tools = context.store.read(crate::store::tools::installs::any).unwrap_or(false);
    vec![match bubblewrap::probe() {
        Ok(()) => Finding::new("tools", Health::Ok, "Tools run in bubblewrap"),
        Err(why) => {
            let health = if has_tools { Health::Problem } else { Health::Note };
            Finding::new("tools", health, format!("Tools cannot be run: {why}"))
                .action("install bubblewrap 0.8 or newer; where it is there, allow user namespaces")
        }
    }]
}
