//! `enact__install`, `mcpkg tool install`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CHANGES, TOOLS, building, checked, named, names, visible};
use crate::error::{Code, Error, Result};
use crate::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use crate::registry::GROUP;
use crate::registry::backend::{Choice, Resolved, download, release, resolve};
use crate::registry::package::archive::{self, Archive, Opened};
use crate::registry::trust::{self, Subject, Verb, Verdict};
use crate::store::tools::installs::{self, Scope};
use crate::store::tools::packages;
use crate::store::{Db, blobs};

/// Install a tool globally. After installation, the tool becomes available as a callable MCP tool.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Install {
    /// Tool name (e.g., 'alice/utils/weather')
    #[arg(value_name = "TOOL[@VERSION]", add = TOOLS)]
    tool: String,
    /// Specific version (optional, defaults to latest)
    #[arg(skip)]
    version: Option<String>,
    /// The registry that it shall come from [default: the first that has it]
    #[arg(long, value_name = "NAME")]
    #[serde(skip)]
    registry: Option<String>,
    /// Take a version that its publisher took back
    #[arg(long)]
    #[serde(skip)]
    allow_yanked: bool,
    /// Take a pre-release where it is the newest
    #[arg(long)]
    #[serde(skip)]
    pre: bool,
    /// For the project that applies, and no other
    #[arg(long)]
    #[serde(skip)]
    for_project: bool,
    /// Install it though its publisher is not the one of the version before
    #[arg(long)]
    #[serde(skip)]
    accept_publisher: bool,
}

impl Operation for Install {
    const TOOL: &'static str = "enact__install";
    const CLI: &'static [&'static str] = &["tool", "install"];
    const TITLE: &'static str = "Install a tool";
    const ABOUT: &'static str =
        "Install a tool globally. After installation, the tool becomes available as a callable MCP tool.";
    const HELP: &'static str = "Its archive is compared with its digest and with what trusted identities signed before \
                                anything of it is shown or run. It runs in a sandbox, and without its registry.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool install alice/utils/weather",
        "mcpkg tool install alice/utils/weather@^1.2 --registry team",
        "mcpkg tool install alice/utils/weather --for-project",
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
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.tool.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let reference = named(&self.tool, self.version.as_deref())?;
        (context.step_aside)();
        let choice = Choice { registry: self.registry.as_deref(), pre: self.pre, allow_yanked: self.allow_yanked };
        let resolved = resolve(context, &reference, choice)?;
        let fetched = download(context, &resolved)?;
        let package = Package::check(&resolved, fetched.archive)?;
        let verdict = trust::require(context, Verb::Install, &package.subject)?;
        let scope = super::scope(context, self.for_project)?;
        self.refuse_another_publisher(context, &scope, &package.subject, &verdict)?;
        building::build(context, &package.subject, &package.opened, &verdict)?;
        let release = release(&resolved.registry, &resolved.version);
        let publisher = verdict.publisher().map(|identity| identity.as_str());
        let done = write(context, &scope, &package, &release, publisher)?;
        let Subject { name, version, .. } = &package.subject;
        let sentence = match done.is_new {
            true => format!("Installed {name}@{version}"),
            false => format!("{name}@{version} is installed already"),
        };
        let data = json!({
            "success": true,
            "message": sentence,
            "tool": name,
            "version": version,
            "sha256": package.subject.digest(),
            "mcp_tools": done.mcp_tools,
            "scope": Scope::word(&scope.key()),
            "exposed": done.exposed,
            "verification": verdict.verification(),
        });
        let mut reply = Reply::sentence(sentence, data).warn(resolved.warnings);
        if !verdict.is_trusted() {
            reply = reply.warn([format!("nobody whom you trust speaks for {name}@{version}")]);
        }
        if let (false, Some(border)) = (done.exposed, done.border) {
            reply = reply.hint(format!(
                "agents do not see it: `mcpkg toolset add {border} {name}` adds it to the toolset that narrows them"
            ));
        }
        Ok(reply)
    }
}

impl Install {
    /// Refuses a version that somebody else published than the one before.
    fn refuse_another_publisher(
        &self,
        context: &Context,
        scope: &Scope,
        subject: &Subject,
        verdict: &Verdict,
    ) -> Result<()> {
        let before = context.store.read(|db| installs::active(db, scope, &subject.name))?;
        let Some(before) = before.and_then(|install| install.publisher) else { return Ok(()) };
        if self.accept_publisher || verdict.publishers.iter().any(|publisher| publisher.as_str() == before) {
            return Ok(());
        }
        let now: Vec<&str> = verdict.publishers.iter().map(|identity| identity.as_str()).collect();
        let what = format!("{} was published by {before} before, and is not any more", subject.reference());
        Err(Error::new(Code::PublisherChanged, what)
            .with_details(json!({ "before": before, "now": now }))
            .hint("ask the publisher; --accept-publisher installs it all the same"))
    }
}

/// A package whose archive was checked.
struct Package {
    subject: Subject,
    opened: Opened,
}

impl Package {
    /// Opens an archive and compares what it says of itself with what was asked for.
    ///
    /// # Errors
    /// `E_ARCHIVE_INVALID`, `E_MANIFEST_INVALID`.
    fn check(resolved: &Resolved, archive: Archive) -> Result<Self> {
        let opened = archive::open(archive.bytes)?;
        let subject = checked::subject_of(resolved, &opened.manifest, opened.sha256)?;
        Ok(Self { subject, opened })
    }
}

struct Done {
    is_new: bool,
    mcp_tools: Vec<String>,
    exposed: bool,
    border: Option<String>,
}

/// Stores the archive first, and then all rows in one transaction: wholly installed, or not at all.
fn write(
    context: &Context,
    scope: &Scope,
    package: &Package,
    release: &packages::Release,
    publisher: Option<&str>,
) -> Result<Done> {
    let Subject { name, version, .. } = &package.subject;
    let author = context.author();
    context.store.write(|db| {
        let id = keep(db, package, release, author.now)?;
        let before = db.changed_rows();
        let is_new = installs::install(db, scope, (id, name, version), publisher, (author.actor, author.now))?;
        let mut mcp_tools = Vec::new();
        for action in checked::projected_actions(&package.opened.manifest) {
            mcp_tools.extend(names::give(db, &package.opened.manifest.name, action)?);
        }
        let border = visible::Border::of(db, &visible::audience(context))?;
        let exposed = border.admits(db, name)?;
        if db.changed_rows() != before {
            context.event(db, author, None, "tool.install", &package.subject.reference())?;
        }
        Ok(Done { is_new, mcp_tools, exposed, border: border.name().map(str::to_owned) })
    })
}

/// Keeps the archive in its row, and returns the row's key.
fn keep(db: &Db<'_>, package: &Package, release: &packages::Release, now: i64) -> Result<i64> {
    let Subject { name, version, .. } = &package.subject;
    let row = match packages::get(db, &release.registry, name, version)? {
        Some(row) => row,
        None => packages::see(db, release, now)?,
    };
    if row.blob.is_none() {
        let bytes = package.opened.bytes();
        let blob = blobs::put(db, bytes)?;
        let json = Value::Object(package.opened.manifest.json.clone()).to_string();
        let manifest = packages::Manifest { json: &json, raw: &package.opened.raw_manifest };
        packages::keep(db, row.id, blob, bytes.len() as u64, manifest)?;
    }
    Ok(row.id)
}
