//! `mcpkg source lock`: writes a lock file with the commit of each source and the hash of each file.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::lockfile::{FILE, Lockfile};
use crate::GROUP;
use mcpkg_base::disk;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::sources;

/// The name of a file that stands for standard output.
const STDOUT: &str = "-";

/// Lock the sources
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Lock {
    /// File to write; `-` for standard output [default: mcpkg.lock]
    #[arg(long, value_name = "PATH")]
    #[serde(default)]
    locked_file: Option<PathBuf>,
}

impl Operation for Lock {
    const TOOL: &'static str = "lock_sources";
    const CLI: &'static [&'static str] = &["source", "lock"];
    const TITLE: &'static str = "Lock the sources";
    const ABOUT: &'static str = "Write a lock file with the commit of each source and the SHA-256 of each file";
    const HELP: &'static str = "`mcpkg source install --locked mcpkg.lock` installs exactly the files in mcpkg.lock \
        into another database. If the command cannot get exactly these files, it installs nothing. The lock file does \
        not include your own changes, because your changes belong to the project and not to the source.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg source lock", "mcpkg source lock --locked-file team.lock"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn writes_files(&self) -> bool {
        self.locked_file.as_ref().is_none_or(|file| file.as_os_str() != STDOUT)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let lock = context.read(|db, project| {
            let rows = sources::list(db, project.id)?;
            let all = rows.into_iter().map(|row| Ok((row.origin, sources::items(db, row.id)?)));
            Ok(Lockfile::new(all.collect::<Result<Vec<_>>>()?))
        })?;
        let text = lock.text()?;
        let path = self.locked_file.unwrap_or_else(|| PathBuf::from(FILE));
        if path.as_os_str() == STDOUT {
            let data: Value = serde_json::to_value(&lock)
                .map_err(|error| Error::internal("the lock file cannot be written").with_source(error))?;
            return Ok(Reply::new(Body::Text(text), data));
        }
        disk::replace(&path, text.as_bytes())?;
        let (sources, shown) = (lock.sources.len(), path.display().to_string());
        let items: usize = lock.sources.iter().map(|source| source.items.len()).sum();
        let sentence =
            format!("Locked {} with {} in {shown}", plural::count(sources, "source"), plural::count(items, "file"));
        Ok(Reply::sentence(sentence, json!({ "file": shown, "sources": sources, "items": items })))
    }
}
