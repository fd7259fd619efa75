//! `mcpkg tool outdated`: lists installed tools that have a newer version or were yanked.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::newer::{Standing, standing};
use super::origin::Origins;
use super::{TOOLS, visible};
use crate::GROUP;
use crate::alias;
use crate::package::{Name, Wanted};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table, cell};
use mcpkg_store::tools::installs::{Install, Scope};

/// List outdated tools
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Outdated {
    /// Name of the tool [default: all installed tools]
    #[arg(value_name = "TOOL", add = TOOLS)]
    tool: Option<String>,
    /// Exit with status 3 if a newer version exists or an installed version was yanked
    #[arg(long)]
    #[serde(default)]
    check: bool,
    /// Count pre-releases as newer versions
    #[arg(long)]
    #[serde(default)]
    pre: bool,
}

impl Operation for Outdated {
    const TOOL: &'static str = "list_outdated_tools";
    const CLI: &'static [&'static str] = &["tool", "outdated"];
    const TITLE: &'static str = "List outdated tools";
    const ABOUT: &'static str = "Check each installed tool for a newer version in its registry";
    const HELP: &'static str = "For each tool, mcpkg compares the version that agents see with the newest version in the registry. mcpkg \
        also records new yanks and failed audits, and applies them starting with the tool's next call. If a registry cannot be reached, \
        mcpkg prints a warning and exits with status 1.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool outdated", "mcpkg tool outdated --check", "mcpkg tool outdated alice/utils/weather"];
    // The check records the versions that registries report.
    const EFFECT: Effect = Effect::Offer;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("tools");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let installs = self.meant(context)?;
        (context.step_aside)();
        let mut origins = Origins::new(context);
        let mut lines = Vec::new();
        for install in installs {
            lines.push(Line::of(context, &mut origins, install, self.pre)?);
        }
        let columns = &["TOOL", "VERSION", "NEWER", "STATE", "REGISTRY", "SCOPE", "WHY"];
        let empty = "No tools are installed; `mcpkg tool search WORDS` finds some".to_owned();
        let table = Table { columns, rows: lines.iter().map(Line::row).collect(), empty };
        let data = json!({ "tools": lines.iter().map(Line::data).collect::<Vec<_>>() });
        let failed = lines.iter().any(|line| line.error.is_some());
        let differs = lines.iter().any(Line::is_behind);
        let reply = Reply::new(Body::Table(table), data);
        let reply = match lines.iter().any(|line| line.standing.newer.is_some()) {
            true => reply.hint("to update: `mcpkg tool update TOOL`, or `mcpkg tool update --all`"),
            false => reply,
        };
        let errors = lines.iter().filter_map(|line| line.error.as_ref());
        Ok(Reply { differs: self.check && differs && !failed, failed, ..hinted(reply, errors) })
    }
}

impl Outdated {
    /// Returns the installs to check: the versions that agents see.
    fn meant(&self, context: &Context) -> Result<Vec<Install>> {
        let name = self.tool.as_deref().map(|tool| alias::expanded(context, tool)).transpose()?;
        let name = name.as_deref().map(Name::parse).transpose()?;
        context.store.read(|db| {
            let audience = context.audience();
            if let Some(name) = &name {
                visible::require(db, &audience, name.as_str())?;
            }
            let is_meant =
                |install: &Install| install.active && name.as_ref().is_none_or(|name| name.as_str() == install.name);
            Ok(visible::all(db, &audience)?.into_iter().filter(is_meant).collect())
        })
    }
}

/// Adds the hints of the errors to a reply, without duplicates.
pub fn hinted<'e>(mut reply: Reply, errors: impl Iterator<Item = &'e Error>) -> Reply {
    for hint in errors.flat_map(Error::hints) {
        if !reply.hints.contains(hint) {
            reply.hints.push(hint.clone());
        }
    }
    reply
}

struct Line {
    install: Install,
    standing: Standing,
    error: Option<Error>,
}

impl Line {
    fn of(context: &Context, origins: &mut Origins<'_>, install: Install, pre: bool) -> Result<Self> {
        let (newest, error) = match origins.ask(&install, &Wanted::Latest, pre) {
            Ok(newest) => (newest, None),
            Err(error) if error.code() == Code::Cancelled => return Err(error),
            Err(error) => (None, Some(error)),
        };
        let mut standing = context.store.read(|db| standing(db, &install, pre))?;
        // A read-only caller could not record the response, so the newest version comes from the response itself.
        standing.newer = standing.newer.or(newest.map(|newest| newest.version.version));
        Ok(Self { install, standing, error })
    }

    fn is_behind(&self) -> bool {
        self.standing.newer.is_some() || self.standing.yank.is_some()
    }

    fn state(&self) -> &'static str {
        match (&self.error, &self.standing) {
            (Some(_), _) => "unknown",
            (None, Standing { yank: Some(_), .. }) => "yanked",
            (None, Standing { newer: Some(_), .. }) => "outdated",
            (None, _) => "current",
        }
    }

    fn why(&self) -> String {
        match (&self.error, &self.standing.yank) {
            (Some(error), _) => error.public_message().to_owned(),
            (None, Some(yank)) => {
                let replacement = yank.replacement.iter().map(|replacement| format!("use {replacement} instead"));
                yank.reason.iter().cloned().chain(replacement).collect::<Vec<_>>().join("; ")
            }
            (None, None) => String::new(),
        }
    }

    fn newer(&self) -> Option<String> {
        self.standing.newer.as_ref().map(ToString::to_string)
    }

    fn row(&self) -> Vec<String> {
        let Install { name, version, registry, scope, .. } = &self.install;
        let (newer, state) = (self.newer().unwrap_or_default(), self.state().to_owned());
        let (scope, why) = (Scope::word(scope).to_owned(), cell(&self.why()).into_owned());
        vec![name.clone(), version.clone(), newer, state, registry.clone(), scope, why]
    }

    fn data(&self) -> Value {
        let mut data = json!({
            "name": self.install.name,
            "version": self.install.version,
            "newer": self.newer(),
            "yanked": self.standing.yank,
            "state": self.state(),
            "registry": self.install.registry,
            "scope": Scope::word(&self.install.scope),
        });
        if let Some(error) = &self.error {
            data["error"] =
                json!({ "code": error.code().name(), "message": error.public_message(), "hints": error.hints() });
        }
        data
    }
}
