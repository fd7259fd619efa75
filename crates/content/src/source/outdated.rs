//! `mcpkg source outdated`: checks which sources have changed since the project last read them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::approval::Fetch;
use super::contents;
use super::list::followed;
use super::mirror::Mirror;
use super::offer::short;
use super::reference::shown;
use crate::GROUP;
use crate::completions::SOURCES;
use mcpkg_base::error::{Code, Result};
use mcpkg_core::consent::approvable::Askable;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_store::sources::{self, Origin};

/// List outdated sources
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Outdated {
    /// Name of the source [default: all]
    #[arg(add = SOURCES)]
    name: Option<String>,
    /// Exit with status 3 if a source has changed
    #[arg(long)]
    #[serde(default)]
    check: bool,
}

/// The state of a source, compared with the version that the project last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Current,
    Newer,
    /// The branch was rewritten, and no longer contains the commit that was read.
    Rewritten,
    /// The tag now points to another commit.
    Moved,
}

impl Standing {
    const fn word(self) -> &'static str {
        match self {
            Standing::Current => "current",
            Standing::Newer => "newer",
            Standing::Rewritten => "rewritten",
            Standing::Moved => "moved",
        }
    }

    fn advice(self, origin: &Origin) -> String {
        let reference = origin.reference.as_deref().map(shown).unwrap_or_default();
        match self {
            Standing::Current => "up to date".to_owned(),
            Standing::Newer => format!("to update, run `mcpkg source update {}`", origin.name),
            Standing::Rewritten => format!("the history of {reference} was rewritten; to update, pass --force"),
            Standing::Moved => format!("{reference} was moved; to update, pass --force"),
        }
    }
}

impl Operation for Outdated {
    const TOOL: &'static str = "list_outdated_sources";
    const CLI: &'static [&'static str] = &["source", "outdated"];
    const TITLE: &'static str = "List outdated sources";
    const ABOUT: &'static str = "Check which sources have changed since the last update";
    const HELP: &'static str = "If mcpkg cannot reach a source, it reports the source and exits with status 1.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg source outdated", "mcpkg source outdated skills --check"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("sources");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let rows = named(context, self.name.as_deref())?;
        let (mut cells, mut list) = (Vec::new(), Vec::new());
        let (mut differs, mut failed) = (false, false);
        for origin in &rows {
            let (word, now, why, code) = match look(origin, context) {
                Ok((standing, commit)) => {
                    differs |= standing != Standing::Current;
                    (standing.word(), commit, standing.advice(origin), None)
                }
                Err(error) if error.code() == Code::Cancelled => return Err(error),
                Err(error) => {
                    failed = true;
                    ("unknown", None, error.message().to_owned(), Some(error.code().name()))
                }
            };
            let was = origin.commit.as_deref().map_or("", short).to_owned();
            let shown = now.as_deref().map_or("", short).to_owned();
            cells.push(vec![origin.name.clone(), word.to_owned(), followed(origin), was, shown, why.clone()]);
            let mut data = json!({ "name": origin.name, "state": word, "commit": origin.commit, "now": now });
            if let Some(code) = code {
                data["error"] = json!({ "code": code, "message": why });
            }
            list.push(data);
        }
        let columns = &["NAME", "STATE", "FOLLOWS", "READ", "NOW", "WHY"];
        let table = Table { columns, rows: cells, empty: "No sources. Add one with `mcpkg source add`".to_owned() };
        let reply = Reply::new(Body::Table(table), json!({ "sources": Value::from(list) }));
        Ok(Reply { differs: self.check && differs && !failed, failed, ..reply })
    }
}

/// Returns the source with this name, or all sources.
pub(super) fn named(context: &Context, name: Option<&str>) -> Result<Vec<Origin>> {
    context.read(|db, project| match name {
        Some(name) => Ok(vec![sources::get(db, project, name)?.origin]),
        None => Ok(sources::list(db, project.id)?.into_iter().map(|row| row.origin).collect()),
    })
}

/// Fetches a source, and returns its state and its current commit.
fn look(origin: &Origin, context: &Context) -> Result<(Standing, Option<String>)> {
    Fetch(origin).require(context)?;
    let Some(commit) = &origin.commit else {
        let same = contents::of_folder(origin, context)?.digest() == origin.digest;
        return Ok((if same { Standing::Current } else { Standing::Newer }, None));
    };
    // A source that follows a commit never changes.
    let Some(reference) = &origin.reference else { return Ok((Standing::Current, Some(commit.clone()))) };
    let mirror = Mirror::open(&origin.url, context)?;
    let (now, follows) = mirror.fetch_after(reference, commit)?;
    Ok((standing(&mirror, reference, commit, (&now, follows))?, Some(now)))
}

/// Compares the current commit `now` of a branch or tag with the commit that was read. `follows` means that the history of
/// `now` is known to contain that commit.
pub(super) fn standing(
    mirror: &Mirror<'_>,
    reference: &str,
    read: &str,
    (now, follows): (&str, bool),
) -> Result<Standing> {
    Ok(match (read == now, reference.starts_with("refs/tags/")) {
        (true, _) => Standing::Current,
        (false, true) => Standing::Moved,
        (false, false) if follows || mirror.follows(read, now)? => Standing::Newer,
        (false, false) => Standing::Rewritten,
    })
}
