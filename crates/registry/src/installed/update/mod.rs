//! `mcpkg tool update`: updates installed tools from the registries that they came from.

mod differences;
mod report;

use schemars::JsonSchema;
use semver::Version;
use serde::Deserialize;

use self::differences::{Differences, Sides};
use self::report::{Change, Done, Report};
use super::newer::standing;
use super::origin::Origins;
use super::package::Package;
use super::place::{Arrival, Bytes, Placed, place};
use super::{CHANGES, TOOLS, checked, named, publisher, visible};
use crate::GROUP;
use crate::alias;
use crate::backend::{Resolved, release};
use crate::package::{Wanted, mcp_name};
use crate::run::Tool;
use crate::trust::{self, Policy, Status, Subject, Verb, Verdict};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::Db;
use mcpkg_store::tools::grants;
use mcpkg_store::tools::installs::{self, Install, Scope};

/// Update tools
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Update {
    /// Installed tools to update, each with an optional version or range [default: the newest version]
    #[arg(value_name = "TOOL[@VERSION]", add = TOOLS)]
    #[serde(default)]
    tools: Vec<String>,
    /// Update all installed tools
    #[arg(long, conflicts_with = "tools")]
    #[serde(default)]
    all: bool,
    /// Show what would change, without installing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Accept a pre-release if it is the newest version
    #[arg(long)]
    #[serde(default)]
    pre: bool,
    /// Update only the tools installed for the selected project
    #[arg(long)]
    #[serde(default)]
    for_project: bool,
    /// Accept a version from a different publisher; you must confirm at a terminal
    #[arg(long)]
    #[serde(default)]
    accept_publisher: bool,
}

impl Operation for Update {
    const TOOL: &'static str = "update_tool";
    const CLI: &'static [&'static str] = &["tool", "update"];
    const TITLE: &'static str = "Update tools";
    const ABOUT: &'static str = "Update installed tools to the newest version in their registries";
    const HELP: &'static str = "mcpkg checks a new version in the same way as `mcpkg tool install`. The new version then replaces the \
        version that agents see. If you chose an older version of a tool with `mcpkg tool use`, that version stays installed, and --all \
        does not update the tool. Versions installed in other scopes stay installed. An updated tool stays in its toolsets. mcpkg \
        updates each tool completely or not at all. If a tool cannot be updated, mcpkg reports the error, updates the other tools, and \
        exits with status 1.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool update alice/utils/weather",
        "mcpkg tool update --all --dry-run",
        "mcpkg tool update alice/utils/weather@^1.2",
    ];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const CHANGES: Changes = CHANGES;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("tools");
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.tools.join(" ")
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let scope = super::scope(context, self.for_project)?;
        let meant = self.meant(context, &scope)?;
        (context.step_aside)();
        let mut origins = Origins::new(context);
        let mut reports = Vec::new();
        for (install, wanted) in meant {
            let result = self.one(context, &scope, &mut origins, &install, &wanted);
            match result {
                Err(error) if self.tools.len() == 1 || error.code() == Code::Cancelled => return Err(error),
                result => reports.push(Report { install, result }),
            }
        }
        Ok(report::reply(&reports, self.dry_run))
    }
}

impl Update {
    /// Returns the installs to update, each with the wanted version.
    fn meant(&self, context: &Context, scope: &Scope) -> Result<Vec<(Install, Wanted)>> {
        if self.tools.is_empty() && !self.all {
            return Err(Error::new(Code::InvalidArgument, "No tool given").hint("pass a tool's name, or --all"));
        }
        context.store.read(|db| {
            if self.all {
                let all = installs::of_scope(db, scope)?.into_iter().filter(|install| install.active);
                return Ok(all.map(|install| (install, Wanted::Latest)).collect());
            }
            let mut meant: Vec<(Install, Wanted)> = Vec::new();
            for text in &self.tools {
                let reference = named(&alias::expanded_in(db, context, text)?, None)?;
                let name = reference.name.as_str();
                if meant.iter().any(|(install, _)| install.name == name) {
                    return Err(Error::new(Code::InvalidArgument, format!("'{name}' is named twice")));
                }
                match installs::active(db, scope, name)? {
                    Some(install) => meant.push((install, reference.version)),
                    None => return Err(elsewhere(db, context, name)?),
                }
            }
            Ok(meant)
        })
    }

    fn one(
        &self,
        context: &Context,
        scope: &Scope,
        origins: &mut Origins<'_>,
        install: &Install,
        wanted: &Wanted,
    ) -> Result<Done> {
        let (held_by, others) = context.store.read(|db| beside(db, scope, install))?;
        if let (true, Some(newer)) = (self.all, &held_by) {
            return Ok(Done::Held { newer: newer.to_string() });
        }
        let Some(resolved) = origins.ask(install, wanted, self.pre)? else {
            let standing = context.store.read(|db| standing(db, install, self.pre))?;
            return Ok(Done::Current { yank: standing.yank });
        };
        let package = Package::fetch(context, &resolved)?;
        let before = publisher::before(context, &install.name, Some(install))?;
        let verdict = match self.dry_run {
            true => context.store.read(|db| trust::judge(db, context, &package.subject))?,
            false => {
                let accept = self.accept_publisher;
                publisher::require(context, Verb::Update, &package.subject, before.as_deref(), accept)?
            }
        };
        if !self.dry_run {
            package.build(context, &verdict)?;
        }
        let (mut differences, had) = compare(context, install, &package, &verdict)?;
        if !self.dry_run {
            let placed =
                write(context, scope, install, held_by.is_some(), (&package, &resolved, &verdict, before.as_deref()))?;
            // If another tool already had one of the expected names, the install has assigned a different name.
            differences.mcp_tools = Sides::of(had, placed.mcp_tools);
        }
        let stays = held_by.is_some().then(|| install.version.clone());
        let is_other = |version: &String| *version != package.subject.version;
        let beside = others.into_iter().filter(is_other).chain(stays).collect();
        let may_be_used = match verdict.status {
            Status::Verified | Status::Approved => true,
            Status::Unverified => verdict.policy == Policy::Allow,
            Status::Refused => false,
        };
        let change = Change {
            to: package.subject.version.clone(),
            sha256: package.subject.digest(),
            publisher: publisher::to_record(before.as_deref(), &verdict).map(str::to_owned),
            another_publisher: before.as_deref().is_some_and(|who| publisher::is_another(who, &verdict)),
            published_before: before,
            is_trusted: verdict.is_trusted(),
            verification: verdict.verification(),
            // Show no text from an archive that may not be used.
            differences: may_be_used.then_some(differences),
            beside,
            warnings: resolved.warnings,
        };
        Ok(if self.dry_run { Done::WouldUpdate(Box::new(change)) } else { Done::Updated(Box::new(change)) })
    }
}

/// Returns the error for a tool that is installed, but not in this scope.
fn elsewhere(db: &Db<'_>, context: &Context, name: &str) -> Result<Error> {
    let found = visible::require(db, &context.audience(), name)?;
    let whose = Scope::word(&found.scope);
    let error = Error::new(
        Code::ToolNotFound,
        format!("Tool '{name}' is not installed in this scope; it is installed in the scope '{whose}'"),
    );
    Ok(match whose {
        "project" => error.hint("to update tools installed for the selected project, pass --for-project"),
        _ => error.hint("to update tools installed for all projects, leave out --for-project"),
    })
}

/// Returns the highest installed version if it is higher than the visible one, and all installed versions except the
/// visible one.
fn beside(db: &Db<'_>, scope: &Scope, install: &Install) -> Result<(Option<Version>, Vec<String>)> {
    let versions: Vec<String> = installs::of_tool(db, scope, &install.name)?
        .into_iter()
        .filter(|other| other.version != install.version)
        .map(|other| other.version)
        .collect();
    let here = install.version.parse::<Version>().ok();
    let parsed = versions.iter().filter_map(|version| version.parse::<Version>().ok());
    let held_by = parsed.max().filter(|highest| here.is_some_and(|here| *highest > here));
    Ok((held_by, versions))
}

/// Returns the differences between an install and the package that replaces it, and the install's current MCP
/// names.
fn compare(
    context: &Context,
    install: &Install,
    package: &Package,
    verdict: &Verdict,
) -> Result<(Differences, Vec<String>)> {
    context.store.read(|db| {
        let now = &package.opened.manifest;
        // An unusable install does not prevent its update.
        let before = checked::manifest(db, install).ok();
        let mut found = before.as_ref().map(|before| Differences::between(before, now)).unwrap_or_default();
        let old = match &before {
            Some(before) => checked::mcp_names(db, &install.name, &checked::projected_actions(before))?,
            None => Vec::new(),
        };
        let mut new = Vec::new();
        for action in checked::projected_actions(now) {
            let known = checked::mcp_names(db, &install.name, &[action])?;
            new.push(known.into_iter().next().unwrap_or_else(|| mcp_name(&now.name, action)));
        }
        found.mcp_tools = Sides::of(old.clone(), new);
        let subject = checked::subject(install);
        let judged = trust::judge(db, context, &subject)?;
        let (was, is) = (granted(db, &subject, &judged)?, granted(db, &package.subject, verdict)?);
        found.lost_grants = Sides::of(was, is).removed;
        Ok((found, old))
    })
}

/// Returns what an archive may do beyond its sandbox, in the terms of `mcpkg tool allow`.
fn granted(db: &Db<'_>, subject: &Subject, verdict: &Verdict) -> Result<Vec<String>> {
    let publisher = verdict.publisher().map(|identity| identity.as_str().to_owned()).unwrap_or_default();
    let tool = Tool { name: subject.name.clone(), version: None, sha256: Some(subject.sha256), publisher };
    let rows = grants::of(db, &tool.name, &tool.holder())?;
    Ok(rows.iter().map(|row| format!("{} {}", row.allowed.word(), row.allowed.value()).trim_end().to_owned()).collect())
}

/// Replaces an install with a package in one transaction. With `stays`, the old version remains installed.
fn write(
    context: &Context,
    scope: &Scope,
    before: &Install,
    stays: bool,
    (package, resolved, verdict, publisher): (&Package, &Resolved, &Verdict, Option<&str>),
) -> Result<Placed> {
    let release = release(&resolved.registry, &resolved.version);
    let arrival = Arrival {
        subject: &package.subject,
        manifest: &package.opened.manifest,
        raw_manifest: &package.opened.raw_manifest,
        archive: Bytes::Here(&package.opened.content),
        release: &release,
        publisher: publisher::to_record(publisher, verdict),
    };
    let author = context.author();
    publisher::remember(context, scope, &before.name, arrival.publisher)?;
    context.store.write(|db| {
        let now = installs::active(db, scope, &before.name)?;
        let key = |install: &Install| (install.id, install.sha256, install.publisher.clone());
        if now.as_ref().map(key) != Some(key(before)) {
            let why = format!("Another process changed '{}' during the update; nothing was installed", before.name);
            return Err(Error::new(Code::PlanChanged, why).hint("try again"));
        }
        let placed = place(db, scope, &arrival, author)?;
        if !stays {
            installs::remove(db, scope, before.id)?;
        }
        context.event(db, author, None, "tool.update", &package.subject.reference())?;
        Ok(placed)
    })
}
