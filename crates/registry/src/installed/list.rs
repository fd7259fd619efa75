//! `mcpkg tool list` (`enact__list`): lists the installed tools.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::calling::tool_of;
use super::newer::{Standing, standing};
use super::visible::{self, Border};
use super::{checked, schemas};
use crate::GROUP;
use crate::run::choose;
use crate::trust::{self, Rules};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Reply, Shape, Table, cell};
use mcpkg_store::Db;
use mcpkg_store::tools::installs::{Install, Scope};

/// List all globally installed tools. These are the tools available for direct execution.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "enact__list";
    const CLI: &'static [&'static str] = &["tool", "list"];
    const TITLE: &'static str = "List installed tools";
    const ABOUT: &'static str =
        "List all globally installed tools. These are the tools available for direct execution.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(include_str!("schemas/list.json"));
    const LISTS: Option<&'static str> = Some("tools");
    const STRUCTURED: bool = true;
    type Output = schemas::Listed;

    fn run(self, context: &Context) -> Result<Reply> {
        let (tools, border) = context.store.read(|db| {
            let audience = context.audience();
            let border = Border::of(db, &audience)?;
            let rules = trust::rules(db, context)?;
            let mut tools = Vec::new();
            for install in visible::all(db, &audience)? {
                let exposed = install.active && border.admits(db, &install.name)?;
                tools.push(Listed::of(db, context, &rules, install, exposed)?);
            }
            Ok((tools, border.name().map(str::to_owned)))
        })?;
        let table = Table {
            columns: &["TOOL", "VERSION", "NEWER", "STATUS", "SCOPE", "SEEN", "DESCRIPTION"],
            rows: tools.iter().map(Listed::row).collect(),
            empty: "No tools are installed; `mcpkg tool search WORDS` finds some".to_owned(),
        };
        let data = json!({ "tools": tools.iter().map(Listed::data).collect::<Vec<_>>(), "activeToolset": border });
        Ok(Reply::new(Body::Table(table), data))
    }
}

struct Listed {
    install: Install,
    exposed: bool,
    description: String,
    status: &'static str,
    unsandboxed: bool,
    mcp_tools: Vec<String>,
    standing: Standing,
}

impl Listed {
    /// Reads an install. If its package cannot be used, the entry contains the reason, and the rest of the list is
    /// unaffected.
    fn of(db: &Db<'_>, context: &Context, rules: &Rules, install: Install, exposed: bool) -> Result<Self> {
        let manifest = checked::manifest(db, &install);
        let (description, mcp_tools) = match &manifest {
            Ok(manifest) => {
                let actions = checked::projected_actions(manifest);
                (manifest.description.clone(), checked::mcp_names(db, &install.name, &actions)?)
            }
            Err(error) => (format!("broken: {}", error.message()), Vec::new()),
        };
        let subject = checked::subject(&install);
        let verdict = trust::judge_by(rules, db, context, &subject)?;
        let (tool, status) = (tool_of(&subject, Some(&verdict)), verdict.status.word());
        let unsandboxed = match &manifest {
            Ok(manifest) => choose::is_unsandboxed(db, &context.approved, &tool, &verdict, manifest)?,
            // A broken package cannot run.
            Err(_) => false,
        };
        let standing = standing(db, &install, false)?;
        Ok(Self { install, exposed, description, status, unsandboxed, mcp_tools, standing })
    }

    fn newer(&self) -> Option<String> {
        self.standing.newer.as_ref().map(ToString::to_string)
    }

    fn row(&self) -> Vec<String> {
        let seen = if self.exposed { "yes" } else { "no" };
        let unsandboxed = if self.unsandboxed { ", no sandbox" } else { "" };
        let yanked = if self.standing.yank.is_some() { ", yanked" } else { "" };
        vec![
            self.install.name.clone(),
            self.install.version.clone(),
            self.newer().unwrap_or_default(),
            format!("{}{unsandboxed}{yanked}", self.status),
            Scope::word(&self.install.scope).to_owned(),
            seen.to_owned(),
            cell(&self.description).into_owned(),
        ]
    }

    fn data(&self) -> Value {
        json!({
            "name": self.install.name,
            "version": self.install.version,
            "mcp_tools": self.mcp_tools,
            "description": self.description,
            "scope": Scope::word(&self.install.scope),
            "active": self.install.active,
            "exposed": self.exposed,
            "status": self.status,
            "unsandboxed": self.unsandboxed,
            "registry": self.install.registry,
            "yanked": self.standing.yank.is_some(),
            "newer": self.newer(),
        })
    }
}
