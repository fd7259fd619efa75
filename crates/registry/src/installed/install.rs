//! `mcpkg tool install` (`enact__install`): installs a tool from a registry, or from a path.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::package::Package;
use super::place::{Arrival, Bytes, Placed, place};
use super::{CHANGES, TOOLS, locked, named, publisher, schemas, visible};
use crate::GROUP;
use crate::alias;
use crate::backend::{Choice, release, resolve};
use crate::trust::{Subject, Verb};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, Operation, Reply, Shape};
use mcpkg_store::Db;
use mcpkg_store::tools::installs::{self, Scope};
use mcpkg_store::tools::packages::Release;

/// Install a tool globally. After installation, the tool becomes available as a callable MCP tool.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Install {
    /// Tool name (e.g., 'alice/utils/weather')
    #[arg(value_name = "TOOL[@VERSION]|./FOLDER", add = TOOLS, required_unless_present = "locked")]
    #[serde(deserialize_with = "named_by_agent")]
    #[schemars(with = "String")]
    tool: Option<String>,
    /// Specific version (optional, defaults to latest)
    #[arg(skip)]
    version: Option<String>,
    /// Registry to install from [default: the first registry that has the tool]
    #[arg(long, value_name = "NAME", conflicts_with = "locked")]
    #[serde(skip)]
    registry: Option<String>,
    /// Accept a version that its publisher has yanked
    #[arg(long)]
    #[serde(skip)]
    allow_yanked: bool,
    /// Accept a pre-release if it is the newest version
    #[arg(long, conflicts_with = "locked")]
    #[serde(skip)]
    pre: bool,
    /// Install the tool only for the selected project
    #[arg(long)]
    #[serde(skip)]
    for_project: bool,
    /// Accept a version from a different publisher; you must confirm at a terminal
    #[arg(long)]
    #[serde(skip)]
    accept_publisher: bool,
    /// Install exactly the tools in a lock file written by `mcpkg tool lock`: either all of them or none
    #[arg(long, value_name = "FILE", conflicts_with = "tool")]
    #[serde(skip)]
    locked: Option<PathBuf>,
}

/// Deserializes the tool's name, which is required over MCP.
fn named_by_agent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

impl Operation for Install {
    const TOOL: &'static str = "enact__install";
    const CLI: &'static [&'static str] = &["tool", "install"];
    const TITLE: &'static str = "Install a tool";
    const ABOUT: &'static str =
        "Install a tool globally. After installation, the tool becomes available as a callable MCP tool.";
    const HELP: &'static str = "Before mcpkg shows or runs any part of an archive, it checks the archive's digest and signatures. An \
        installed tool runs in a sandbox and no longer needs its registry. If you give the path of a folder or an archive, mcpkg \
        installs the current content and never updates the installed tool. With --locked, mcpkg installs either every tool in the lock \
        file or none of them. For each locked tool, mcpkg takes the archive from any registry that has an archive with the digest in the \
        lock file.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool install alice/utils/weather",
        "mcpkg tool install alice/utils/weather@^1.2 --registry team",
        "mcpkg tool install alice/utils/weather --for-project",
        "mcpkg tool install ./weather",
        "mcpkg tool install --locked mcpkg-tools.lock",
    ];
    const EFFECT: Effect = Effect::Create;
    const OPEN_WORLD: bool = true;
    const CHANGES: Changes = CHANGES;
    const LONG: bool = true;
    const MAY_NEED_CONSENT: bool = true;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(include_str!("schemas/install.json"));
    const STRUCTURED: bool = true;
    type Output = schemas::Installed;

    fn subject(&self) -> String {
        match (&self.tool, &self.locked) {
            (None, Some(file)) => file.display().to_string(),
            (tool, _) => tool.clone().unwrap_or_default(),
        }
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let scope = super::scope(context, self.for_project)?;
        if let Some(file) = &self.locked {
            let allowed = locked::Allowed { yanked: self.allow_yanked, another_publisher: self.accept_publisher };
            return locked::install(context, file, &scope, allowed);
        }
        let (package, release, warnings) = self.package(context)?;
        let Package { subject, opened } = &package;
        let before = context.store.read(|db| installs::active(db, &scope, &subject.name))?;
        let before = publisher::before(context, &subject.name, before.as_ref())?;
        let verdict = publisher::require(context, Verb::Install, subject, before.as_deref(), self.accept_publisher)?;
        package.build(context, &verdict)?;
        let arrival = Arrival {
            subject,
            manifest: &opened.manifest,
            raw_manifest: &opened.raw_manifest,
            archive: Bytes::Here(&opened.content),
            release: &release,
            publisher: publisher::to_record(before.as_deref(), &verdict),
        };
        let done = write(context, &scope, &arrival)?;
        let Subject { name, version, .. } = subject;
        let sentence = match done.placed.is_new {
            true => format!("Installed {name}@{version}"),
            false => format!("{name}@{version} is already installed"),
        };
        let data = json!({
            "success": true,
            "message": sentence,
            "tool": name,
            "version": version,
            "sha256": subject.digest(),
            "mcp_tools": done.placed.mcp_tools,
            "scope": Scope::word(&scope.key()),
            "exposed": done.exposed,
            "verification": verdict.verification(),
        });
        let mut reply = Reply::sentence(sentence, data).warn(warnings);
        if !verdict.is_trusted() {
            reply = reply.warn([format!("nobody you trust has signed {name}@{version}")]);
        }
        if let (false, Some(border)) = (done.exposed, done.border) {
            reply = reply.hint(format!(
                "agents do not see the tool yet; add it to their toolset with `mcpkg toolset add {border} {name}`"
            ));
        }
        Ok(reply)
    }
}

impl Install {
    /// Returns the package, its release in the registry, and warnings for the user.
    fn package(&self, context: &Context) -> Result<(Package, Release, Vec<String>)> {
        let text = self.tool.as_deref().unwrap_or_default();
        // Only a person at a shell can install from a path; text from an agent is always a tool's name.
        if context.is_shell()
            && let Some(package) = Package::at_path(text)?
        {
            if self.registry.is_some() {
                return Err(Error::new(Code::InvalidArgument, "A path cannot be combined with --registry")
                    .hint("leave out --registry"));
            }
            let release = package.without_registry(context.clock.now());
            return Ok((package, release, Vec::new()));
        }
        let reference = named(&alias::expanded(context, text)?, self.version.as_deref())?;
        (context.step_aside)();
        let choice = Choice {
            registry: self.registry.as_deref(),
            pre: self.pre,
            allow_yanked: self.allow_yanked,
            offers_yanked: context.is_shell(),
        };
        let resolved = resolve(context, &reference, choice)?;
        let package = Package::fetch(context, &resolved)?;
        Ok((package, release(&resolved.registry, &resolved.version), resolved.warnings))
    }
}

struct Done {
    placed: Placed,
    exposed: bool,
    border: Option<String>,
}

fn write(context: &Context, scope: &Scope, arrival: &Arrival<'_>) -> Result<Done> {
    let author = context.author();
    let transaction = |db: &Db<'_>| {
        let before = db.changed_rows();
        let placed = place(db, scope, arrival, author)?;
        let border = visible::Border::of(db, &context.audience())?;
        let exposed = border.admits(db, &arrival.subject.name)?;
        // An install for a session is kept in memory and changes no row, but still needs its event.
        if matches!(scope, Scope::Session(_)) || db.changed_rows() != before {
            context.event(db, author, None, "tool.install", &arrival.subject.reference())?;
        }
        Ok(Done { placed, exposed, border: border.name().map(str::to_owned) })
    };
    publisher::remember(context, scope, &arrival.subject.name, arrival.publisher)?;
    scope.change(|| context.store.write(transaction))
}
