//! `mcpkg backup` and `mcpkg restore`: copy the database into a file, and replace it with such a copy.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::GROUP;
use crate::op::{Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::backup::Progress;
use mcpkg_store::{Db, access, events};

/// Back up the database
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Backup {
    /// Backup file to write; with --keep, the folder for the backups
    #[arg(value_name = "FILE|DIR")]
    to: PathBuf,
    /// Write a dated backup to the folder, and delete all but the newest N backups of this database
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
}

impl Operation for Backup {
    const TOOL: &'static str = "backup_database";
    const CLI: &'static [&'static str] = &["backup"];
    const TITLE: &'static str = "Back up the database";
    const ABOUT: &'static str = "Write a consistent, verified copy of the database while it is in use";
    const HELP: &'static str = "Do not copy the database file by hand: recent changes may still be in a second \
        file next to the database file.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg backup mcpkg-backup.db", "mcpkg backup --keep 7 ~/backups"];
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
        let told = |done, total| (context.progress)("Backing up", done, total);
        let progress = Progress::new(&told, &context.cancelled);
        let Some(keep) = self.keep else {
            let size = context.store.backup(&self.to, &progress)?;
            let to = self.to.display();
            let sentence = format!("Backed up the database to {to} ({size} bytes, verified)");
            return Ok(Reply::sentence(sentence, json!({ "file": to.to_string(), "size": size })));
        };
        std::fs::create_dir_all(&self.to).map_err(|error| Error::file("create the folder", &self.to, error))?;
        // Backups are named after their database, so that pruning never removes the backups of another database in the
        // same folder.
        let stem = context.store.location().file().and_then(Path::file_stem).unwrap_or_default();
        let stem = stem.to_string_lossy().into_owned();
        let file = self.to.join(format!("{stem}-{}.db", timestamp(context.clock.now())));
        let size = context.store.backup(&file, &progress)?;
        let removed = prune(&file, &stem, keep as usize)?;
        let sentence = format!(
            "Backed up the database to {} ({size} bytes, verified); older backups removed: {}",
            file.display(),
            removed.len()
        );
        let data = json!({ "file": file.display().to_string(), "size": size, "removed": removed });
        Ok(Reply::sentence(sentence, data))
    }
}

/// Removes dated backups next to `made` until `keep` are left: `made` itself, and the newest of the others. `made` may
/// not have the newest name, because the clock may have been set back. Sorting the names sorts the backups by time.
fn prune(made: &Path, stem: &str, keep: usize) -> Result<Vec<String>> {
    let folder = made.parent().unwrap_or(Path::new("."));
    let listing = std::fs::read_dir(folder).map_err(|error| Error::file("read", folder, error))?;
    let mut dated: Vec<PathBuf> = listing
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_dated(name, stem)))
        .filter(|path| path.file_name() != made.file_name())
        .collect();
    dated.sort();
    let surplus = (dated.len() + 1).saturating_sub(keep);
    dated
        .drain(..surplus)
        .map(|path| {
            std::fs::remove_file(&path).map_err(|error| Error::file("remove", &path, error))?;
            Ok(path.display().to_string())
        })
        .collect()
}

/// Whether a file is a dated backup of the database called `stem`.
fn is_dated(name: &str, stem: &str) -> bool {
    let timestamp =
        name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('-')).and_then(|rest| rest.strip_suffix(".db"));
    timestamp.is_some_and(|timestamp| {
        timestamp.len() == SHAPE.len()
            && timestamp.bytes().zip(SHAPE.bytes()).all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                letter => byte == letter,
            })
    })
}

/// The pattern of a [`timestamp`], in which `0` stands for any digit.
const SHAPE: &str = "00000000T000000.000Z";

/// Formats a time as `20261121T100000.123Z`, which sorts by time and is a valid file name on every system.
fn timestamp(now: Millis) -> String {
    let seconds = mcpkg_base::clock::rfc3339(now).replace(['-', ':'], "");
    format!("{}.{:03}Z", seconds.trim_end_matches('Z'), now.rem_euclid(1000))
}

/// Restore the database from a backup
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Restore {
    /// Backup to restore
    file: PathBuf,
    /// Restore even if servers are connected; the servers then serve the restored content immediately
    #[arg(long)]
    #[serde(default)]
    while_serving: bool,
}

impl Operation for Restore {
    const TOOL: &'static str = "restore_database";
    const CLI: &'static [&'static str] = &["restore"];
    const TITLE: &'static str = "Restore the database";
    const ABOUT: &'static str = "Replace the content of the database with a backup, and save the previous content";
    const HELP: &'static str = "mcpkg saves the previous content in a file next to the database, and prints the \
        path of that file. Access keys that were revoked since the backup stay revoked. Servers that required an \
        access key before the restore still require one.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg restore mcpkg-backup.db --yes"];
    const EFFECT: Effect = Effect::Destroy;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.file.display().to_string()
    }

    fn question(&self) -> String {
        format!("Replace the content of the database with the backup {}?", self.file.display())
    }

    fn look(&self, context: &Context) -> Result<()> {
        std::fs::metadata(&self.file).map_err(|error| Error::file("read", &self.file, error))?;
        context.store.check_backup(&self.file)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let alone = context.store.keep_servers_away()?;
        if alone.is_none() && !self.while_serving {
            return Err(Error::new(Code::InUse, format!("Servers are connected to `{}`", context.store.location()))
                .hint("stop these servers, or pass --while-serving: the servers then serve the restored content immediately"));
        }
        let told = |done, total| (context.progress)("Restoring", done, total);
        let progress = Progress::new(&told, &context.cancelled);
        // Ignore errors: a damaged database can still be replaced.
        let standing = context.store.read(access::standing).unwrap_or_else(|_| access::Standing::unknown());
        let kept = context.store.kept_beside(&timestamp(context.clock.now()));
        let author = context.author();
        let mut no_key = false;
        let carry = |db: &Db<'_>| {
            access::keep(db, &standing, author.now)?;
            no_key = access::required(db)? && !access::any(db)?;
            let file = self.file.display().to_string();
            events::append(db, context.new_event(author, None, "restore", &file, "ok"))
        };
        context.store.restore(&self.file, &kept, carry, &progress)?;
        drop(alone);
        let sentence = format!(
            "Restored the database from {}; the previous content is in {}",
            self.file.display(),
            kept.display()
        );
        let data = json!({ "file": self.file.display().to_string(), "kept": kept.display().to_string() });
        let ask = "the backup has no access keys, but the previous database may have had some, so HTTP servers still \
            require a key: create one with `mcpkg access create NAME`";
        Ok(Reply::sentence(sentence, data).warn(no_key.then(|| ask.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dated_backups_are_pruned() {
        let name = format!("mcpkg-{}.db", timestamp(1_763_719_200_007));
        assert_eq!(name, "mcpkg-20251121T100000.007Z.db");
        assert!(is_dated(&name, "mcpkg"));
        assert!(!is_dated(&name, "other"));
        for other in [
            "mcpkg-important.db",
            "mcpkg-20251121100000000000.db",
            "mcpkg-.db",
            "mcpkg.db",
            "notes.txt",
            "mcpkg-20251121T100000.007Z.db.bak",
        ] {
            assert!(!is_dated(other, "mcpkg"), "{other}");
        }
    }
}
