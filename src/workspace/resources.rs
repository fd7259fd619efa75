//! The resources of contract 003: read by what the tools of the same names answer, and by nothing else.

use super::GROUP;
use super::flow::branches;
use super::root::Workspace;
use crate::error::Result;
use crate::op::{Context, Live, Resource, Shown, Values};
use crate::redact::redact;

const TOML: &str = "application/toml";
const JSON: &str = "application/json";

/// The resources, in the contract's order.
pub(super) const RESOURCES: &[Resource] = &[
    Resource {
        uri: "smctl://workspace/config",
        name: "workspace config",
        title: "Workspace configuration",
        description: "Current workspace.toml",
        mime_type: Some(TOML),
        live: Some(Live { read: config, ..LIVE }),
        ..FIXED
    },
    Resource {
        uri: "smctl://flow/branches",
        name: "flow branches",
        title: "Flow branches",
        description: "All flow branches",
        mime_type: Some(JSON),
        live: Some(Live { read: flow_branches, ..LIVE }),
        ..FIXED
    },
];

/// A resource without a variable: `--as smctl` lists it, other servers show it as a template.
const FIXED: Resource = Resource { shown: Shown::Template, ..Resource::EMPTY };

const LIVE: Live = Live { group: GROUP, read: |_, _| Ok(None), names: |_| Ok(Vec::new()), looked_at_again: false };

/// Returns the manifest as it stands, without the passwords in its addresses.
fn config(context: &Context, _: &Values) -> Result<Option<String>> {
    Ok(Some(redact(&Workspace::open(context)?.text)))
}

fn flow_branches(context: &Context, _: &Values) -> Result<Option<String>> {
    let workspace = Workspace::open(context)?;
    Ok(Some(branches::value(&branches::all(&workspace, &context.cancelled)).to_string()))
}
