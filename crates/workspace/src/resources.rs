//! Serves the resources of contract 003 (smctl): the manifest, the documents of specs, and, as JSON, the state of
//! repositories, worktrees, flow branches, specs and the gate.

use serde_json::Value;

use super::flow::branches;
use super::root::{self, Workspace};
use super::spec::{self, Which};
use super::{GROUP, gate, status, worktree};
use mcpkg_base::error::{Code, Result};
use mcpkg_base::redact::redact;
use mcpkg_core::op::{Context, ListedIn, Live, Resource, Values};

const TOML: &str = "application/toml";
const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";

/// All resources, in the order of contract 003.
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
        uri: "smctl://workspace/status",
        name: "workspace status",
        title: "Workspace status",
        description: "Repo statuses JSON",
        mime_type: Some(JSON),
        live: Some(Live { read: |context, _| object(status::read(context)), looked_at_again: true, ..LIVE }),
        ..FIXED
    },
    Resource {
        uri: "smctl://worktree/list",
        name: "worktrees",
        title: "Worktrees",
        description: "Active worktrees JSON",
        mime_type: Some(JSON),
        live: Some(Live { read: |context, _| object(worktree::list::read(context)), looked_at_again: true, ..LIVE }),
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
    Resource {
        uri: "smctl://spec/list",
        name: "specs",
        title: "Specs",
        description: "All specs with status",
        mime_type: Some(JSON),
        live: Some(Live { read: |context, _| object(spec::list(context, &Workspace::open(context)?)), ..LIVE }),
        ..FIXED
    },
    Resource {
        uri: "smctl://spec/{name}/proposal",
        name: "proposal",
        title: "Proposal of a spec",
        description: "Proposal markdown",
        mime_type: Some(MARKDOWN),
        live: Some(Live { read: |context, values| document(context, values, Which::Proposal), ..OF_SPEC }),
        ..FIXED
    },
    Resource {
        uri: "smctl://spec/{name}/design",
        name: "design",
        title: "Design of a spec",
        description: "Design markdown",
        mime_type: Some(MARKDOWN),
        live: Some(Live { read: |context, values| document(context, values, Which::Design), ..OF_SPEC }),
        ..FIXED
    },
    Resource {
        uri: "smctl://spec/{name}/tasks",
        name: "tasks",
        title: "Tasks of a spec",
        description: "Tasks markdown",
        mime_type: Some(MARKDOWN),
        live: Some(Live { read: |context, values| document(context, values, Which::Tasks), ..OF_SPEC }),
        ..FIXED
    },
    Resource {
        uri: "smctl://spec/{name}/status",
        name: "spec status",
        title: "Status of a spec",
        description: "Task completion JSON",
        mime_type: Some(JSON),
        live: Some(Live {
            read: |context, values| object(spec::status(context, &Workspace::open(context)?, values.get(NAME))),
            ..OF_SPEC
        }),
        ..FIXED
    },
    Resource {
        uri: "smctl://gate/models",
        name: "gate models",
        title: "Models of the gate",
        description: "Registered models",
        mime_type: Some(JSON),
        live: Some(Live { read: |context, _| object(gate::models(context)), looked_at_again: true, ..LIVE }),
        ..FIXED
    },
    Resource {
        uri: "smctl://gate/routes",
        name: "gate routes",
        title: "Routes of the gate",
        description: "Routing table",
        mime_type: Some(JSON),
        live: Some(Live { read: |context, _| object(gate::routes(context)), looked_at_again: true, ..LIVE }),
        ..FIXED
    },
];

/// The variable in the URI templates: a spec's name, prefixed with the repository if several specs share it.
const NAME: &str = "name";

/// A resource without variables. `--as smctl` lists it as a resource, while other servers list it as a template.
const FIXED: Resource = Resource { shown: ListedIn::Template, ..Resource::EMPTY };

const LIVE: Live = Live { group: GROUP, read: |_, _| Ok(None), names: |_| Ok(Vec::new()), looked_at_again: false };

const OF_SPEC: Live = Live { names: specs, ..LIVE };

/// Returns the names of the specs; an empty list outside a workspace.
fn specs(context: &Context) -> Result<Vec<String>> {
    match Workspace::open(context) {
        Ok(workspace) => Ok(spec::names(&workspace)),
        Err(error) if error.code() == Code::WorkspaceNotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the manifest's text without passwords, even if the manifest is invalid, so that it can be read and fixed.
fn config(context: &Context, _: &Values) -> Result<Option<String>> {
    Ok(Some(redact(&root::manifest_text(&root::root_of(context)?)?)))
}

fn flow_branches(context: &Context, _: &Values) -> Result<Option<String>> {
    let workspace = Workspace::open(context)?;
    Ok(Some(branches::value(&branches::all(&workspace, &context.cancelled)).to_string()))
}

/// Returns a document of a spec, unchanged.
fn document(context: &Context, values: &Values, which: Which) -> Result<Option<String>> {
    spec::document(&Workspace::open(context)?, values.get(NAME), which).map(Some)
}

fn object(value: Result<Value>) -> Result<Option<String>> {
    value.map(|value| Some(value.to_string()))
}
