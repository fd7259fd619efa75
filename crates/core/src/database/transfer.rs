//! `mcpkg move`: copies the database to another place, such as a server.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{GROUP, address};
use crate::op::{Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::backup::Progress;
use mcpkg_store::{Store, events, projects};

/// Move the database to another place
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Move {
    /// Destination: a file, or the address of a database on a server
    #[arg(long, value_name = "FILE|ADDRESS", value_hint = clap::ValueHint::FilePath)]
    to: PathBuf,
}

impl Operation for Move {
    const TOOL: &'static str = "move_database";
    const CLI: &'static [&'static str] = &["move"];
    const TITLE: &'static str = "Move the database";
    const ABOUT: &'static str = "Copy the whole database to another location: from a file to a PostgreSQL server, or \
        back";
    const HELP: &'static str = "Stop all servers first, because mcpkg does not copy changes that are made during \
        the move. mcpkg compares the copy with the original, and deletes the copy if anything fails. mcpkg never \
        deletes the original. To use the copy, give the location of the copy with --db or MCPKG_DB.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg move --to postgres://me@db.example/mcpkg",
        "mcpkg --db postgres://me@db.example/mcpkg move --to mcpkg.db",
    ];
    const EFFECT: Effect = Effect::Read;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::Refuse
    }

    fn writes_files(&self) -> bool {
        true
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let Some(alone) = context.store.keep_servers_away()? else {
            return Err(Error::new(Code::InUse, format!("Servers are connected to `{}`", context.store.location()))
                .hint("stop these servers: anything that they write during the move would be missing from the copy"));
        };
        let told = |done, total| (context.progress)("Moving", done, total);
        let progress = Progress::new(&told, &context.cancelled);
        let from = context.store.location().to_string();
        let place = address::resolved(&self.to)?;
        let to = match Store::is_server(&place) {
            false => {
                context.store.backup(&self.to, &progress)?;
                self.to.display().to_string()
            }
            true => into_server(context, &Store::open(&place)?, &progress)?,
        };
        if let Err(error) = alone.note_move() {
            if !Store::is_server(&place) {
                // Remove the copy: it may lack changes that were made to this database while it was copied.
                let _ = std::fs::remove_file(&self.to);
            }
            return Err(error);
        }
        drop(alone);
        let data = json!({ "from": from, "to": to });
        Ok(Reply::sentence(format!("Moved the database from {from} to {to}; both have the same content now"), data)
            .hint(format!(
                "to use the new database, name it with `--db {}` or MCPKG_DB",
                mcpkg_base::shell::quote(&to)
            )))
    }
}

/// Copies all of this database into an empty one on a server.
fn into_server(context: &Context, server: &Store, progress: &Progress<'_>) -> Result<String> {
    let to = server.location().to_string();
    if server.read(projects::is_any)? {
        return Err(Error::new(Code::AlreadyExists, format!("The database `{to}` already has projects")).hint(
            format!(
                "name another database, or replace everything in this one: `mcpkg backup FILE`, then `mcpkg --db \
                    {to} restore FILE`"
            ),
        ));
    }
    let scratch = tempfile::tempdir()
        .map_err(|error| Error::new(Code::FileFailed, format!("Cannot create a temporary folder: {error}")))?;
    let (file, kept) = (scratch.path().join("moved.db"), scratch.path().join("replaced.db"));
    context.store.backup(&file, progress)?;
    let author = context.author();
    server.restore(
        &file,
        &kept,
        |db| {
            let from = context.store.location().to_string();
            events::append(db, context.new_event(author, None, "move", &from, "ok"))
        },
        progress,
    )?;
    Ok(to)
}
