//! Describes what a source would add to a project, before it is added.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::contents::{Contents, SourceFile, mode};
use super::reference::shown;
use crate::audited;
use crate::import::merge::{Action, Update, plan};
use crate::import::plugins::marketplace::{Marketplace, Place};
use crate::item::{Entry, What};
use crate::stored;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Table};
use mcpkg_store::projects::Project;
use mcpkg_store::sources::{self, Choice, Kind, Origin};
use mcpkg_store::{Db, blobs};

/// What a source would add, and which of its names are already used.
#[derive(Debug)]
pub struct Offer {
    pub actions: Vec<Action>,
    /// The items that cannot be added: the index of the item, and the reason, such as a name that is already used.
    clashes: Vec<(usize, String)>,
}

/// The kinds of items and their nouns, in the order of the overview.
pub const KINDS: [(&str, &str); 12] = [
    ("skill", "skill"),
    ("prompt", "prompt"),
    ("subagent", "subagent"),
    ("instructions", "instructions file"),
    ("resource", "document"),
    ("mcp_server", "MCP server, disabled at first"),
    ("hook", "hooks file, stored but not run"),
    ("permission", "permissions file, for its agent only"),
    ("ignore", "ignore file, for its agent only"),
    ("plugin", "plugin manifest, for its agent only"),
    ("settings", "settings file, for its agent only"),
    ("servers", "MCP server file"),
];

/// The extensions of files that a shell or an interpreter can run.
const SCRIPTS: [&str; 13] = ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "ts", "rb", "pl", "ps1", "bat", "cmd"];

/// The maximum number of names that are listed for one kind.
const NAMED: usize = 4;

/// The maximum number of clashes that an error lists.
const MAX_CLASHES: usize = 10;

/// The maximum number of plugins that are listed.
const MAX_PLUGINS: usize = 40;

impl Offer {
    /// Compares a source with the project. `source` is the source's key in the database, or 0 if it is new.
    pub fn new(db: &Db<'_>, project: &Project, contents: &Contents, source: i64) -> Result<Self> {
        let items: Vec<_> = contents.items.iter().map(|taken| taken.item.clone()).collect();
        let actions = plan(db, project, &items, &[], Update::Never)?;
        let mut clashes = Vec::new();
        for (at, action) in actions.iter().enumerate() {
            match action {
                Action::Conflict(why) => clashes.push((at, (*why).to_owned())),
                Action::Unchanged | Action::Moved(_) => {
                    let key = stored::find(db, project, &items[at].entry)?.map(|found| found.key());
                    let other = key.map(|key| sources::of_item(db, project.id, &key, source)).transpose()?.flatten();
                    clashes.extend(other.map(|other| (at, format!("it belongs to the source '{other}'"))));
                }
                Action::Create | Action::Update(_) | Action::Scope(_) => {}
            }
        }
        Ok(Self { actions, clashes })
    }

    /// Fails with `E_IMPORT_CONFLICT` if any items clash, and lists the first of them.
    pub fn refuse_clashes(&self, origin: &Origin, contents: &Contents) -> Result<()> {
        if self.clashes.is_empty() {
            return Ok(());
        }
        let named = self.clashes.iter().take(MAX_CLASHES).map(|(at, why)| {
            let item = &contents.items[*at].item;
            format!("{} '{}' ({}): {why}", item.word(), item.entry.name, contents.items[*at].path)
        });
        let mut lines: Vec<_> = named.collect();
        if self.clashes.len() > MAX_CLASHES {
            lines.push(format!("{} more", self.clashes.len() - MAX_CLASHES));
        }
        let message = format!(
            "The project already uses some names in the source '{}'; nothing was added:\n  {}",
            origin.name,
            lines.join("\n  ")
        );
        Err(Error::new(Code::ImportConflict, message)
            .with_details(json!({ "clashes": self.clashes_data(contents) }))
            .hint(format!(
                "add the source with a prefix for each name (`--prefix {}`), or add only some files (`--only`)",
                origin.name
            )))
    }

    fn clashes_data(&self, contents: &Contents) -> Vec<Value> {
        let data = |(at, why): &(usize, String)| {
            let mut data = contents.items[*at].item.data();
            data["reason"] = why.as_str().into();
            data
        };
        self.clashes.iter().map(data).collect()
    }

    /// Returns the overview that a person sees before approving.
    pub fn body(&self, origin: &Origin, contents: &Contents) -> Body {
        let mut rows = Vec::new();
        for (word, noun) in KINDS {
            let names = names(&contents.items, word);
            if !names.is_empty() {
                let what = plural_of(names.len(), noun);
                rows.push(vec![what, names.len().to_string(), plural::first(names, NAMED)]);
            }
        }
        let programs = programs(&contents.items);
        let mut row = |what: &str, paths: Vec<&str>| {
            if !paths.is_empty() {
                rows.push(vec![what.to_owned(), paths.len().to_string(), plural::first(paths, NAMED)]);
            }
        };
        row("of these, programs and scripts", programs);
        let mut left: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for out in contents.account.left_out.iter().filter(|out| out.reason.is_known() || out.reason.is_optional()) {
            left.entry(out.reason.text()).or_default().push(&out.path);
        }
        left.into_iter().for_each(|(why, paths)| row(&format!("left out: {why}"), paths));
        match contents.licences.as_slice() {
            [] => rows.push(vec!["licence".to_owned(), "0".to_owned(), "no licence file".to_owned()]),
            files => row("licence", files.iter().map(String::as_str).collect()),
        }
        if !self.clashes.is_empty() {
            let names = self.clashes.iter().map(|(at, _)| contents.items[*at].item.entry.name.clone());
            rows.push(vec![
                "names that are already taken".to_owned(),
                self.clashes.len().to_string(),
                plural::first(names, NAMED),
            ]);
        }
        let empty = "The source contains nothing to add".to_owned();
        let heading = format!("{} would add the following, without running anything:", described(origin));
        let table = Table { columns: &["WHAT", "COUNT", "EXAMPLES"], rows, empty };
        let findings = audited::lines(&contents.audit);
        let findings = (!findings.is_empty()).then(|| Body::lines(findings));
        let marketplace = contents.marketplace.iter().flat_map(|all| plugins(all, &origin.choice));
        let body = [Body::Sentence(heading), Body::Table(table)].into_iter().chain(marketplace).chain(findings);
        Body::Several(body.collect())
    }

    pub fn lines(&self, contents: &Contents) -> Vec<String> {
        let items = contents.items.iter().zip(&self.actions).map(|(taken, action)| {
            format!("{}: {} {} '{}'", taken.path, action.word(), taken.item.word(), taken.item.entry.name)
        });
        items.chain(contents.account.lines()).collect()
    }

    /// Returns the offer as JSON.
    pub fn data(&self, origin: &Origin, contents: &Contents) -> Map<String, Value> {
        let items = contents.items.iter().zip(&self.actions).map(|(taken, action)| {
            let mut data = taken.item.data();
            data["path"] = taken.path.as_str().into();
            data["action"] = action.word().into();
            data["sha256"] = hex::encode(&taken.sha256).into();
            data["mode"] = mode(taken.executable).into();
            data
        });
        let counts = KINDS.iter().map(|(word, _)| ((*word).to_owned(), names(&contents.items, word).len().into()));
        let account = &contents.account;
        let plugins = contents.marketplace.as_ref().map(|all| all.data(&origin.choice.plugins));
        Map::from_iter([
            ("source".to_owned(), data(origin)),
            ("counts".to_owned(), Value::Object(counts.collect())),
            ("files".to_owned(), account.counts(files(&contents.items))),
            ("items".to_owned(), items.collect()),
            ("programs".to_owned(), json!(programs(&contents.items))),
            ("licences".to_owned(), json!(contents.licences)),
            ("plugins".to_owned(), plugins.unwrap_or_else(|| json!([]))),
            ("clashes".to_owned(), self.clashes_data(contents).into()),
            ("same".to_owned(), account.same_data()),
            ("left_out".to_owned(), account.left_out_data()),
            ("notes".to_owned(), account.notes_data()),
            ("findings".to_owned(), contents.audit.findings.iter().map(audited::data).collect()),
        ])
    }
}

/// Shows the plugins of a marketplace.
fn plugins(all: &Marketplace, choice: &Choice) -> Vec<Body> {
    let (mut rows, mut others) = (Vec::new(), Vec::new());
    for plugin in &all.plugins {
        match &plugin.place {
            Place::Here { paths, .. } => {
                let taken = if all.is_taken(plugin, &choice.plugins) { "yes" } else { "no" };
                let paths = paths.iter().map(|path| if path.is_empty() { "." } else { path });
                let description = plugin.description.clone().unwrap_or_default();
                rows.push(vec![plugin.name.clone(), taken.to_owned(), plural::first(paths, 2), description]);
            }
            Place::Elsewhere(command) => others.push(format!("  {}: {command}", plugin.name)),
            Place::Unsupported(what) => others.push(format!("  {}: {what}", plugin.name)),
        }
    }
    let more = |count: usize| format!("and {} more, which --json lists", count - MAX_PLUGINS);
    let mut bodies = Vec::new();
    if !rows.is_empty() {
        let more = (rows.len() > MAX_PLUGINS).then(|| more(rows.len()));
        rows.truncate(MAX_PLUGINS);
        let columns = &["PLUGIN", "TAKEN", "WHERE", "DESCRIPTION"];
        let heading = "The repository lists these plugins. To take only some, use `mcpkg source add --plugin NAME`:";
        bodies.push(Body::Sentence(heading.to_owned()));
        bodies.push(Body::Table(Table { columns, rows, empty: String::new() }));
        bodies.extend(more.map(Body::Sentence));
    }
    if !others.is_empty() {
        let more = (others.len() > MAX_PLUGINS).then(|| more(others.len()));
        others.truncate(MAX_PLUGINS);
        let heading = "The repository lists plugins in other places too:".to_owned();
        bodies.push(Body::lines([heading].into_iter().chain(others).chain(more)));
    }
    bodies
}

/// Counts the items by kind, for a sentence: `3 skills and 1 prompt`.
pub fn counted(items: &[SourceFile]) -> String {
    let counts = KINDS.iter().map(|(word, noun)| (names(items, word).len(), *noun)).filter(|(count, _)| *count > 0);
    let mut counts: Vec<_> = counts.map(|(count, noun)| format!("{count} {}", plural_of(count, noun))).collect();
    match (counts.pop(), counts.is_empty()) {
        (None, _) => "nothing".to_owned(),
        (Some(only), true) => only,
        (Some(last), false) => format!("{} and {last}", counts.join(", ")),
    }
}

pub fn plural_of(count: usize, noun: &str) -> String {
    if let Some((noun, more)) = noun.split_once(", ") {
        return format!("{}, {more}", plural_of(count, noun));
    }
    let counted = plural::count(count, noun);
    counted.split_once(' ').map_or(counted.clone(), |(_, noun)| noun.to_owned())
}

/// Counts the files that became items. MCP servers are not files of their own, so they are not counted.
fn files(items: &[SourceFile]) -> usize {
    items.iter().filter(|taken| taken.item.entry.what != What::Server).count()
}

/// Returns the names of all items of one kind. The files of a skill count as one item.
fn names(items: &[SourceFile], word: &str) -> BTreeSet<String> {
    let of_kind = items.iter().filter(|taken| taken.item.word() == word);
    of_kind.map(|taken| shown_name(&taken.item.entry).to_owned()).collect()
}

/// Returns the name of an item for people. For a file of a skill, returns the skill's name.
pub fn shown_name(entry: &Entry) -> &str {
    entry.what.in_skill().map_or(&entry.name, |(skill, _)| skill)
}

/// Returns the paths of files that can be run.
pub fn programs(items: &[SourceFile]) -> Vec<&str> {
    let is_script = |taken: &&SourceFile| {
        let ending = taken.path.rsplit_once('.').map(|(_, ending)| ending);
        taken.executable || ending.is_some_and(|ending| SCRIPTS.contains(&ending))
    };
    items.iter().filter(is_script).map(|taken| taken.path.as_str()).collect()
}

/// Describes a source, for the beginning of a sentence.
pub fn described(origin: &Origin) -> String {
    let place = if origin.path.is_empty() { String::new() } else { format!(", folder `{}`", origin.path) };
    match (&origin.commit, &origin.reference) {
        (Some(commit), Some(reference)) => {
            format!("`{}` ({}, commit {}{place})", origin.url, shown(reference), short(commit))
        }
        (Some(commit), None) => format!("`{}` (commit {}{place})", origin.url, short(commit)),
        (None, _) => format!("`{}`", origin.url),
    }
}

/// Shortens a commit hash to 12 digits.
pub fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

pub fn data(origin: &Origin) -> Value {
    let Origin { name, kind, url, reference, path, choice, commit, digest } = origin;
    let mut data = json!({ "name": name, "kind": kind, "url": url });
    if *kind == Kind::Git {
        data["ref"] = json!(reference);
        data["path"] = path.as_str().into();
        data["commit"] = json!(commit);
    }
    if !choice.only.is_empty() {
        data["only"] = json!(choice.only);
    }
    if let Some(prefix) = &choice.prefix {
        data["prefix"] = prefix.as_str().into();
    }
    if let Some(kind) = &choice.kind {
        data["as"] = kind.as_str().into();
    }
    if !choice.plugins.is_empty() {
        data["plugins"] = json!(choice.plugins);
    }
    data["takes"] = json!(choice.takes);
    data["digest"] = hex::encode(digest).into();
    data
}

/// Stores an item's content and returns the content's key. Fails with `E_FILE_FAILED` if the file on disk changed since it
/// was read.
pub fn blob(db: &Db<'_>, taken: &SourceFile) -> Result<i64> {
    blobs::put_source(db, &taken.item.content)
}
