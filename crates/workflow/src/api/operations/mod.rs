//! `mcpkg catalog ...`: imports APIs and manages the catalogs. These commands exist only in the shell: agents must not fetch
//! URLs, read files or change commands.

mod hits;
mod import;
mod list;
mod new_catalog;
mod patch;
mod refresh;
mod remove;
mod set;
mod show;
mod take_over;

use std::collections::{BTreeSet, HashMap};

use super::catalog::{self, Catalog};
use super::document::Document;
use super::fetch::Place;
use super::import::{Imported, Wanted, commands, title};
use super::naming::kebab;
use super::violation::Violation;
use crate::groups;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::{Reach, Url};
use mcpkg_base::sha256;
use mcpkg_core::op::{Changes, Context, Entry, LISTED_BY_VERBOSE, Names, Reply};
use mcpkg_store::Db;
use mcpkg_store::catalogs::{self, CommandRow};
use mcpkg_store::plugins;

pub const OPS: &[Entry] = &[
    Entry::of::<import::Import>(),
    Entry::of::<list::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<set::Set>(),
    Entry::of::<patch::PatchCommand>(),
    Entry::of::<refresh::Refresh>(),
    Entry::of::<remove::Remove>(),
];

/// Changing a catalog does not change any list that MCP clients see.
const CHANGES: Changes = Changes::NO_LIST;

/// Up to this number, a reply lists the skipped parts of a document. Beyond it, only `-v` lists them.
const SHOWN: usize = 20;

const CATALOGS: Names =
    Names::Stored(|typed| Ok(typed.matching(catalogs::list(typed.db)?.into_iter().map(|row| row.facts.name))));

const COMMANDS: Names =
    Names::Stored(|typed| Ok(typed.matching(catalogs::ids(typed.db)?.into_iter().map(|(_, id)| id))));

/// A document, its source and its hash.
struct Read {
    place: Place,
    document: Document,
    sha256: [u8; 32],
}

impl Read {
    fn from(context: &Context, place: Place, reach: Reach) -> Result<Self> {
        let bytes = place.read(context, reach)?;
        let mut sha256 = sha256::Hasher::new();
        sha256.update(&bytes);
        let path = if let Place::File(path) = &place { Some(path.as_path()) } else { None };
        let document = Document::read(&place.text(), bytes, path)?;
        for part in document.files() {
            sha256.update(&part.name);
            sha256.update([0]);
            sha256.update(&part.text);
        }
        let sha256 = sha256.finish();
        context.unless_cancelled()?;
        Ok(Self { place, document, sha256 })
    }

    /// Converts the document to commands, and frees its memory. The operations in `before` keep their ids. New operations
    /// get none of the ids in `before`, including those that a person has set.
    fn commands(self, name: &str, prefix: &str, before: &[CommandRow]) -> Result<(Imported, Origin)> {
        let kept = before.iter().map(|row| ((row.method.clone(), row.path.clone()), row.given.clone())).collect();
        let taken = before.iter().map(|row| row.id.clone()).collect();
        let wanted = Wanted {
            from: self.place.text(),
            url: self.place.url().cloned(),
            prefix: prefix.to_owned(),
            fallback: name.to_owned(),
            kept,
            taken,
        };
        let imported = commands(&self.document, &wanted)?;
        Ok((imported, Origin { place: wanted.from, sha256: self.sha256 }))
    }

    /// Derives a name for the API from the document's title.
    fn name(&self) -> String {
        name_of(title(&self.document))
    }
}

/// The source and the hash of a document.
struct Origin {
    place: String,
    sha256: [u8; 32],
}

/// Derives a name from a title. Leaves out version numbers, and common words such as `API`.
fn name_of(title: &str) -> String {
    const COMMON: [&str; 8] = ["api", "apis", "openapi", "rest", "spec", "specification", "swagger", "the"];
    let slug = kebab(title).replace('_', "-");
    let is_version =
        |word: &str| word.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let words: Vec<&str> = slug.split('-').filter(|word| !COMMON.contains(word) && !is_version(word)).collect();
    let name = if words.is_empty() { slug.clone() } else { words.join("-") };
    let name: String = name.chars().take(groups::LONGEST).collect();
    let name = name.trim_matches(['-', '.']).to_owned();
    if name.is_empty() { "api".to_owned() } else { name }
}

/// Refuses groups that are reserved, or in use by another catalog or a plugin.
fn check_groups(db: &Db<'_>, own: i64, imported: &Imported) -> Result<()> {
    let groups: BTreeSet<&str> = imported.commands.iter().map(|command| command.spec.group.as_str()).collect();
    for group in &groups {
        groups::check(group, "group of commands")?;
        if plugins::has_name(db, group)? {
            let why = format!("The group '{group}' is already used by the plugin of the same name");
            return Err(Error::new(Code::AlreadyExists, why).hint("choose another group with --prefix GROUP"));
        }
    }
    for (catalog, id) in catalogs::ids(db)? {
        let group = id.split(':').next().unwrap_or_default();
        if catalog != own && groups.contains(group) {
            let why = format!("Another catalog already has commands in the group '{group}'");
            return Err(Error::new(Code::AlreadyExists, why)
                .hint("choose another group with --prefix GROUP; `mcpkg catalog list` lists the catalogs"));
        }
    }
    Ok(())
}

fn get(context: &Context, name: &str) -> Result<Catalog> {
    Catalog::of(context.store.read(|db| catalogs::get(db, name))?)
}

/// Parses a base URL that a person typed, or that oatty stored.
fn base_url(text: &str) -> Result<String> {
    let url = Url::parse(text).filter(Url::is_private).filter(|url| !url.as_str().contains(['?', '#']));
    url.map(|url| super::servers::base(&url)).ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("`{text}` is not a valid base URL"))
            .hint("use an https URL, or http on this machine, without a user name, password or query")
    })
}

/// Returns hints about missing settings that some commands of the catalog need.
fn hints(catalog: &Catalog, imported: &Imported) -> Vec<String> {
    let mut hints = Vec::new();
    let name = &catalog.name;
    if catalog.base_url.is_none() && imported.commands.iter().any(|command| command.spec.base_url.is_none()) {
        hints.push(format!("the API has no base URL; set the base URL with `mcpkg catalog set {name} --base-url URL`"));
    }
    let used = |scheme: &String| imported.commands.iter().filter(|command| command.spec.auth.contains(scheme)).count();
    let lacking = catalog.schemes.keys().filter(|scheme| !catalog.auth.contains_key(*scheme));
    if let Some((_, scheme)) = lacking.map(|scheme| (used(scheme), scheme)).max().filter(|(used, _)| *used > 0) {
        hints.push(format!(
            "commands use the security scheme '{scheme}'; say where its secret is stored: \
                `mcpkg catalog set {name} --auth {scheme}=env:NAME`"
        ));
    }
    hints
}

/// Adds a warning for each skipped part of the document. If there are many, adds only their number; `-v` lists them.
fn telling_left_out(mut reply: Reply, violations: &[Violation]) -> Reply {
    if violations.len() <= SHOWN {
        return reply.warn(violations.iter().map(Violation::line));
    }
    reply.details.extend(violations.iter().map(Violation::line));
    reply.hint(format!("skipped {} parts of the document{LISTED_BY_VERBOSE}", violations.len()))
}

fn not_runnable(catalog: &Catalog, imported: &Imported) -> usize {
    imported.commands.iter().filter(|command| !catalog.runs(&command.spec)).count()
}

/// Returns the rows of commands, keeping the corrections of the previous rows.
fn rows(imported: &Imported, before: &[CommandRow]) -> Result<Vec<CommandRow>> {
    let patches = before
        .iter()
        .map(|row| Ok(((row.method.as_str(), row.path.as_str()), catalog::patch(row)?)))
        .collect::<Result<HashMap<_, _>>>()?;
    let row = |command: &super::import::Command| {
        let patch = patches.get(&(command.method.as_str(), command.path.as_str()));
        catalog::row(command, &patch.cloned().unwrap_or_default())
    };
    Ok(imported.commands.iter().map(row).collect())
}
