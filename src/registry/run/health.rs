//! Whether this machine can run tools, for `doctor`.

use super::kind::RunnerKind;
use super::runner::Runner;
use super::{bubblewrap, engine};
use crate::op::{Context, Finding, Health};

/// Looks whether the tools that are installed can be run; without one there is nothing to mend.
pub fn health(context: &Context) -> Vec<Finding> {
    if !context.store.read(crate::store::tools::installs::any).unwrap_or(false) {
        return Vec::new();
    }
    let mut found = vec![match bubblewrap::probe() {
        Ok(()) => Finding::new(
            "tools",
            Health::Ok,
            with_limits("Tools run in bubblewrap", &bubblewrap::Bubblewrap.unlimited()),
        ),
        Err(why) => Finding::new("tools", Health::Problem, format!("Tools cannot be run: {why}"))
            .action("install bubblewrap 0.8 or newer; where it is there, allow user namespaces"),
    }];
    // Tools of images are the fewer: that an engine is not there is no problem by itself.
    for kind in [RunnerKind::Podman, RunnerKind::Docker] {
        if let Ok(engine) = engine::probe(kind) {
            let limits = if engine.limits { &[][..] } else { &["shared memory", "processes"] };
            let works = format!("Tools of images run in {}", kind.word());
            found.push(Finding::new("tools", Health::Ok, with_limits(&works, limits)));
        }
    }
    if cfg!(feature = "wasm") {
        found.push(Finding::new("tools", Health::Ok, "Tools that are WebAssembly modules run in mcpkg itself"));
    }
    found
}

/// Adds what a runner cannot limit here.
fn with_limits(works: &str, unlimited: &[&str]) -> String {
    match unlimited {
        [] => works.to_owned(),
        limits => format!("{works}, which cannot limit here: {}", limits.join(", ")),
    }
}
