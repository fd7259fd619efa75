//! Building a tool when it is installed, so that its first call need not wait, and that nothing is installed which does not build.

use std::sync::Arc;

use serde_json::Map;

use super::calling::tool_of;
use crate::error::Result;
use crate::op::Context;
use crate::registry::package::archive::Opened;
use crate::registry::run::{Call, Tree, Wished, build};
use crate::registry::trust::{self, Subject, Verb, Verdict};

/// Builds what a manifest says has to be built, in a sandbox. Where that fails nothing is left of it.
///
/// # Errors
/// As [`trust::require`]; as [`build::tree`].
pub fn build(context: &Context, subject: &Subject, opened: &Opened, verdict: &Verdict) -> Result<()> {
    let manifest = &opened.manifest;
    if manifest.builds().is_empty() {
        return Ok(());
    }
    trust::require(context, Verb::Build, subject)?;
    let call = Call {
        tool: tool_of(subject, Some(verdict)),
        action: String::new(),
        tree: Tree::Fetched(Arc::new(opened.bytes().to_vec())),
        from: manifest.from.clone(),
        build: manifest.builds(),
        argv: Vec::new(),
        given: Vec::new(),
        input: Map::new(),
        variables: Vec::new(),
        limits: Wished { time: None, memory: manifest.resources.memory, disk: manifest.resources.disk },
        output_schema: None,
        verdict: verdict.status.word().to_owned(),
        is_local: context.caller.is_on_this_machine(),
        runner: None,
    };
    build::ahead(context, &call)
}
