//! `mcpkg source install`: installs exactly the versions in a lock file, or nothing at all.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::approval::Fetch;
use super::contents::{self, Contents};
use super::lockfile::{Locked, Lockfile};
use super::mirror::Mirror;
use super::offer::{Offer, counted, short};
use super::plan::{self, Done, Extent, Step};
use super::report::{counts, deletions, proposed};
use super::update::unchanged;
use super::{apply, write};
use crate::GROUP;
use crate::audited;
use crate::ignored;
use crate::import::merge::bulk::Bulk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_base::shell;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::sources::{self, Kind, Origin, SourceRow};

/// Install from a lock
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Install {
    /// Lock file to install, as written by `mcpkg source lock`
    #[arg(long, value_name = "FILE")]
    locked: PathBuf,
    /// Fetch a source from another place for this install only, such as kit=kit.bundle
    #[arg(long, value_name = "NAME=SOURCE")]
    #[serde(default)]
    from: Vec<String>,
    /// Show what would be installed, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Install {
    const TOOL: &'static str = "install_sources";
    const CLI: &'static [&'static str] = &["source", "install"];
    const TITLE: &'static str = "Install from a lock file";
    const ABOUT: &'static str = "Install the sources in a lock file: either exactly the same commits and content, or \
        nothing";
    const HELP: &'static str = "mcpkg compares the SHA-256 of each file with the lock file. If any file differs, \
        mcpkg writes nothing and fails with E_SOURCE_CHANGED. mcpkg does not fetch commits again that are already \
        in your cache. With --from, mcpkg reads commits from a mirror or a bundle, without network access. \
        If you have never fetched a source on this machine, mcpkg asks before it fetches, even with --dry-run. Sources that \
        already match the lock file stay unchanged. If a source is at another commit, mcpkg moves it \
        to the locked commit, and merges the changes as `mcpkg source update` does.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg source install --locked mcpkg.lock",
        "mcpkg source install --locked mcpkg.lock --from kit=./kit.bundle --yes",
    ];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.locked.display().to_string()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let lock = Lockfile::read(&self.locked)?;
        let from = from(&self.from, &lock)?;
        let (here, project) = context.read(|db, project| Ok((sources::list(db, project.id)?, project.clone())))?;
        let mut coming = Vec::new();
        for locked in &lock.sources {
            let origin = locked.origin()?;
            match here.iter().find(|row| row.origin.name == origin.name) {
                Some(row) if row.origin == origin => {}
                row => coming.push((locked, movable(&project, row, &origin)?, origin)),
            }
        }
        let same = lock.sources.len() - coming.len();
        if coming.is_empty() {
            let sentence = format!(
                "Project '{}' already matches the lock file for {}",
                project.name,
                plural::count(same, "source")
            );
            return Ok(Reply::sentence(sentence, data(&lock.sources, &[], !self.dry_run)?));
        }
        let count = plural::count(coming.len(), "source");
        if !self.dry_run && context.confirmation == Confirmation::Nobody {
            let why = format!("Installing {count} needs to be confirmed. Nothing was changed");
            return Err(Error::new(Code::ConfirmRequired, why)
                .hint("use `--dry-run` to see what would be installed; confirm with --yes"));
        }
        for (_, _, origin) in coming.iter().filter(|(locked, ..)| !from.contains_key(&locked.name)) {
            may_fetch(origin, context)?;
        }
        let mut all = Vec::new();
        for (locked, row, origin) in coming {
            let mut contents = fetched(&origin, from.get(&locked.name).and_then(Value::as_str), context)?;
            locked.compare(&contents)?;
            contents.audit = ignored::without_harmless(contents.audit, context);
            all.push(Coming { origin, contents, row });
        }
        let offers = context
            .read(|db, project| all.iter().map(|coming| coming.offer(db, project)).collect::<Result<Vec<_>>>())?;
        let bodies = offers.iter().zip(&all).map(|(offered, coming)| coming.body(offered)).collect();
        if self.dry_run {
            return Ok(Reply::new(Body::Several(bodies), data(&lock.sources, &all, false)?));
        }
        for Coming { origin, contents, .. } in &all {
            let file = shell::quote(&self.locked.to_string_lossy());
            let hint = format!("`mcpkg source install --locked {file} --dry-run` shows what would be installed");
            audited::refuse(&contents.audit, &format!("The source '{}'", origin.name), &hint, context)?;
        }
        (context.ask)(Body::Several(bodies), &format!("Install {count}?"))?;
        for coming in &all {
            Fetch(&coming.origin).approve(context)?;
        }
        let mut stored = Vec::new();
        for (offered, coming) in offers.iter().zip(&all) {
            stored.push(match offered {
                Offered::New(offer) => Some(write::store_bulk(context, offer, &coming.contents)?),
                Offered::Moved(_) => None,
            });
        }
        let (project, steps) = context.write("source.install", &self.subject(), |db, project, author| {
            let mut all_steps = Vec::new();
            for (Coming { origin, contents, row }, bulk) in all.iter().zip(&stored) {
                let mut steps = Vec::new();
                if let Some(row) = row {
                    let row = unchanged(db, project, row)?;
                    steps = apply::apply(db, author, project, &row, contents, Extent::Whole, context)?;
                } else if let Some(bulk) = bulk {
                    write::first(db, project, author, origin, contents, bulk, context)?;
                }
                all_steps.push(steps);
            }
            Ok((project.name.clone(), all_steps))
        })?;
        stored.into_iter().flatten().for_each(Bulk::keep);
        let unrecorded = ignored::accept(all.iter().flat_map(|coming| &coming.contents.audit.findings), context);
        let summaries: Vec<_> = all.iter().zip(&steps).map(|(coming, steps)| coming.summary(steps)).collect();
        let sentence = format!("Installed {} into project '{project}' from the lock file", summaries.join("; "));
        let reply = Reply::sentence(sentence, data(&lock.sources, &all, true)?);
        let steps: Vec<&Step> = steps.iter().flatten().collect();
        let waits = proposed(steps.iter().copied());
        Ok(Reply {
            details: steps.iter().map(|step| step.line()).collect(),
            hints: deletions(&steps).into_iter().chain(waits).collect(),
            ..reply.warn(unrecorded)
        })
    }
}

/// A source, read at the version that will be installed.
struct Coming {
    origin: Origin,
    contents: Contents,
    /// The project's source with the same name, if there is one.
    row: Option<SourceRow>,
}

/// The change that installing a source would make.
enum Offered {
    New(Offer),
    /// A source of the project moves to another commit. The steps merge its contents into the project.
    Moved(Vec<Step>),
}

impl Coming {
    fn offer(&self, db: &Db<'_>, project: &Project) -> Result<Offered> {
        if let Some(row) = &self.row {
            return plan::plan(db, project, row, &self.contents, Extent::Whole).map(Offered::Moved);
        }
        let offer = Offer::new(db, project, &self.contents, 0)?;
        offer.refuse_clashes(&self.origin, &self.contents)?;
        Ok(Offered::New(offer))
    }

    fn body(&self, offered: &Offered) -> Body {
        match offered {
            Offered::New(offer) => offer.body(&self.origin, &self.contents),
            Offered::Moved(steps) => {
                let lines = steps
                    .iter()
                    .filter(|step| !matches!(step.done, Done::Kept))
                    .map(|step| format!("  {}", step.line()));
                let lines: Vec<String> = std::iter::once(self.moved()).chain(lines).collect();
                Body::Sentence(lines.join("\n"))
            }
        }
    }

    /// Describes how a source moves, such as `'kit' from 1a2b to 3c4d`.
    fn moved(&self) -> String {
        let commit = |commit: Option<&String>| commit.map_or("its old state", |commit| short(commit)).to_owned();
        let before = commit(self.row.as_ref().and_then(|row| row.origin.commit.as_ref()));
        format!(
            "'{}' from {before} to {}",
            self.origin.name,
            self.origin.commit.as_deref().map_or("the locked state", short)
        )
    }

    fn summary(&self, steps: &[Step]) -> String {
        if self.row.is_none() {
            return format!("{} from '{}'", counted(&self.contents.items), self.origin.name);
        }
        let counts: Vec<String> = counts(steps).iter().map(|(word, count)| format!("{count} {word}")).collect();
        let what = if counts.is_empty() { "nothing changed".to_owned() } else { counts.join(", ") };
        format!("{} ({what})", self.moved())
    }
}

/// Returns the project's source with the same name, if any. Fails if it differs in more than the commit and the digest
/// of its files.
fn movable(project: &Project, row: Option<&SourceRow>, locked: &Origin) -> Result<Option<SourceRow>> {
    let Some(row) = row else { return Ok(None) };
    let at_that = Origin { commit: locked.commit.clone(), digest: locked.digest, ..row.origin.clone() };
    if at_that == *locked {
        return Ok(Some(row.clone()));
    }
    let name = &locked.name;
    let why = format!(
        "Project '{}' has a source '{name}' that differs from the lock file in its URL, ref, folder or selected \
            files; nothing was installed",
        project.name
    );
    Err(Error::new(Code::AlreadyExists, why).hint(format!(
        "review the source with `mcpkg source show {name}`; to install the locked source instead, run `mcpkg source remove \
            {name}` first"
    )))
}

/// Parses `--from`, which overrides the URL to fetch a source from. Returns the URLs by source.
fn from(given: &[String], lock: &Lockfile) -> Result<Map<String, Value>> {
    let mut from = Map::new();
    for text in given {
        let refuse = |why: String| Error::new(Code::InvalidArgument, why).hint("for example --from kit=./kit.bundle");
        let (name, place) =
            text.split_once('=').ok_or_else(|| refuse(format!("`{text}` does not have the form NAME=SOURCE")))?;
        if !lock.sources.iter().any(|source| source.name == name) {
            let names = lock.sources.iter().map(|source| source.name.as_str());
            return Err(refuse(format!("The lock file has no source '{name}'")).suggest(name, names, ""));
        }
        let address = super::address::Address::parse(place, None, None)?;
        if address.kind != Kind::Git {
            return Err(refuse(format!("`{place}` is neither a repository nor a bundle")));
        }
        from.insert(name.to_owned(), address.url.into());
    }
    Ok(from)
}

/// Fails unless a source may be fetched. A lock file may come from somebody else, so without `--yes`, mcpkg asks before it
/// reads a folder or calls a host that this user has never fetched from.
fn may_fetch(origin: &Origin, context: &Context) -> Result<()> {
    if context.confirmation == Confirmation::Given || Fetch(origin).is_approved(context)? {
        return Ok(());
    }
    let what =
        format!("The lock file lists `{}` as a source, but you have never fetched it on this machine", origin.url);
    match context.confirmation {
        Confirmation::Ask => (context.ask)(Body::Several(Vec::new()), &format!("{what}. Fetch it?")),
        _ => Err(Error::new(Code::ConfirmRequired, what).hint("to fetch it without a question, add `--yes`")),
    }
}

/// Reads a source at its locked version. `from` overrides the URL to fetch from.
fn fetched(origin: &Origin, from: Option<&str>, context: &Context) -> Result<Contents> {
    let Some(commit) = &origin.commit else { return contents::of_folder(origin, context) };
    let mirror = Mirror::open(from.unwrap_or(&origin.url), context)?;
    mirror.fetch_commit(commit)?;
    contents::at(&mirror, origin, commit, context)
}

fn data(locked: &[Locked], all: &[Coming], installed: bool) -> Result<Value> {
    let source = |locked: &Locked| {
        let mut data = super::offer::data(&locked.origin()?);
        let coming = all.iter().find(|coming| coming.origin.name == locked.name);
        data["items"] = locked.items.len().into();
        data["digest"] = locked.digest.as_str().into();
        data["was_there"] = coming.is_none_or(|coming| coming.row.is_some()).into();
        Ok(data)
    };
    Ok(json!({ "installed": installed, "sources": locked.iter().map(source).collect::<Result<Vec<_>>>()? }))
}
