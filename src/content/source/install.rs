//! `mcpkg source install`: exactly what a lock names comes into the project, or nothing.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::contents::{self, Contents};
use super::lockfile::{Locked, Lockfile};
use super::mirror::Mirror;
use super::offer::{Offer, counted};
use super::{approval, write};
use crate::content::GROUP;
use crate::content::import::ahead::Ahead;
use crate::error::{Code, Error, Result};
use crate::op::{Body, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply};
use crate::plural;
use crate::store::sources::{Kind, Origin};

/// Install what a lock names
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Install {
    /// Lock to install, which `mcpkg source lock` wrote
    #[arg(long, value_name = "FILE")]
    locked: PathBuf,
    /// Where a source is fetched from this time, such as kit=kit.bundle
    #[arg(long, value_name = "NAME=SOURCE")]
    #[serde(default)]
    from: Vec<String>,
    /// Show what would come, and write nothing
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Install {
    const TOOL: &'static str = "install_sources";
    const CLI: &'static [&'static str] = &["source", "install"];
    const TITLE: &'static str = "Install what a lock names";
    const ABOUT: &'static str =
        "Bring the sources of a lock into the project: the same commits, the same bytes, or nothing";
    const HELP: &'static str = "Each file is compared with its SHA-256 in the lock; where one differs, nothing is written \
        (E_SOURCE_CHANGED). A commit that is in this user's cache is not fetched again, and --from takes \
        it from a mirror or a bundle, so that no network is needed.";
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
        let count = plural::count(lock.sources.len(), "source");
        if !self.dry_run && context.confirmation == Confirmation::Nobody {
            let why = format!("Installing {count} needs to be confirmed. Nothing was changed");
            return Err(
                Error::new(Code::ConfirmRequired, why).hint("`--dry-run` shows what would come; confirm with --yes")
            );
        }
        let mut all = Vec::new();
        for locked in &lock.sources {
            let origin = locked.origin()?;
            let contents = fetched(&origin, from.get(&locked.name).and_then(Value::as_str), context)?;
            locked.compare(&contents)?;
            all.push((origin, contents));
        }
        let offers = context.read(|db, project| {
            let offer = |(origin, contents): &(Origin, Contents)| {
                let offer = Offer::new(db, project, contents, 0)?;
                offer.refuse_clashes(origin, contents)?;
                Ok(offer)
            };
            all.iter().map(offer).collect::<Result<Vec<_>>>()
        })?;
        let bodies = offers.iter().zip(&all).map(|(offer, (origin, contents))| offer.body(origin, contents)).collect();
        if self.dry_run {
            return Ok(Reply::new(Body::Several(bodies), data(&lock.sources, &all, false)));
        }
        (context.ask)(Body::Several(bodies), &format!("Install {count}?"))?;
        for (origin, _) in &all {
            approval::approve(context, origin)?;
        }
        let ahead = offers.iter().zip(&all).map(|(offer, (_, contents))| write::store_ahead(context, offer, contents));
        let ahead = ahead.collect::<Result<Vec<_>>>()?;
        let project = context.write("source.install", &self.subject(), |db, project, author| {
            for ((origin, contents), ahead) in all.iter().zip(&ahead) {
                write::first(db, project, author, origin, contents, ahead, context)?;
            }
            Ok(project.name.clone())
        })?;
        ahead.into_iter().for_each(Ahead::keep);
        let told: Vec<_> = all
            .iter()
            .map(|(origin, contents)| format!("{} from '{}'", counted(&contents.items), origin.name))
            .collect();
        let told = if told.is_empty() { "nothing".to_owned() } else { told.join("; ") };
        let sentence = format!("Installed {told} into project '{project}', each as it was locked");
        Ok(Reply::sentence(sentence, data(&lock.sources, &all, true)))
    }
}

/// Returns where each source is fetched from, for those that `--from` names.
fn from(given: &[String], lock: &Lockfile) -> Result<Map<String, Value>> {
    let mut from = Map::new();
    for text in given {
        let refuse = |why: String| Error::new(Code::InvalidArgument, why).hint("such as --from kit=./kit.bundle");
        let (name, place) = text.split_once('=').ok_or_else(|| refuse(format!("`{text}` is not NAME=SOURCE")))?;
        if !lock.sources.iter().any(|source| source.name == name) {
            let names = lock.sources.iter().map(|source| source.name.as_str());
            return Err(refuse(format!("The lock has no source '{name}'")).suggest(name, names, ""));
        }
        let address = super::address::Address::parse(place, None, None)?;
        if address.kind != Kind::Git {
            return Err(refuse(format!("`{place}` is no repository and no bundle")));
        }
        from.insert(name.to_owned(), address.url.into());
    }
    Ok(from)
}

/// Reads a source as it is locked; `from` is where its commit is fetched from this time.
fn fetched(origin: &Origin, from: Option<&str>, context: &Context) -> Result<Contents> {
    let Some(commit) = &origin.commit else { return contents::of_folder(origin, context) };
    let mirror = Mirror::open(from.unwrap_or(&origin.url), context)?;
    mirror.fetch_commit(commit)?;
    contents::at(&mirror, origin, commit, context)
}

fn data(locked: &[Locked], all: &[(Origin, Contents)], installed: bool) -> Value {
    let sources = locked.iter().zip(all).map(|(locked, (origin, contents))| {
        let mut data = super::offer::data(origin);
        data["items"] = contents.items.len().into();
        data["digest"] = locked.digest.as_str().into();
        data
    });
    json!({ "installed": installed, "sources": sources.collect::<Vec<_>>() })
}
