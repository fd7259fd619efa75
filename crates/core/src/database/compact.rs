//! `mcpkg compact`: shrinks the database, and deletes old revisions if asked to.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::GROUP;
use crate::op::{Body, Changes, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reach, Reply};
use mcpkg_base::clock::{Millis, span};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_store::revisions::Outdated;

/// Shrink the database
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Compact {
    /// Also delete old revisions: keep only the newest N of each prompt, resource and workflow
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(default)]
    keep_revisions: Option<u32>,
    /// Also delete revisions older than this, such as 90d, except the newest revision of each item
    #[arg(long, value_name = "AGE")]
    #[serde(default)]
    older_than: Option<String>,
    /// Show how much space would be freed, without changing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Compact {
    const TOOL: &'static str = "compact_database";
    const CLI: &'static [&'static str] = &["compact"];
    const TITLE: &'static str = "Shrink the database";
    const ABOUT: &'static str = "Delete unused data and free the space on the disk";
    const HELP: &'static str = "Deleted data leaves free space inside the database file. Later writes reuse this \
        space. `mcpkg compact` makes the file smaller, so that other programs can use the space. The command needs \
        disk space for a second copy of the database. While the command runs, reads continue and writes wait. mcpkg \
        deletes old revisions only if you give --keep-revisions or --older-than. mcpkg never deletes a revision that \
        is deployed or kept by a snapshot. If you give both options, mcpkg deletes only the revisions that both \
        options select.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg compact", "mcpkg compact --keep-revisions 10 --dry-run", "mcpkg compact --older-than 90d --yes"];
    const EFFECT: Effect = Effect::Write;
    // Deleting revisions changes the histories of every project.
    const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::NO_LIST };
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::Refuse
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let outdated = self.outdated(context.clock.now())?;
        let store = &context.store;
        let count = match outdated {
            Some(outdated) => store.outdated_revisions(outdated)?,
            None => 0,
        };
        let revisions = plural::count(count, "revision");
        let before = store.size();
        if self.dry_run {
            let free = store.free()?;
            let sentence = format!("Would delete {revisions} and free at least {free} of {before} bytes");
            return Ok(Reply::sentence(sentence, json!({ "revisions": count, "before": before, "free": free })));
        }
        if count > 0 {
            (context.ask)(Body::Several(Vec::new()), &format!("Delete {revisions}? They can no longer be restored."))?;
        }
        let deleted = match outdated.filter(|_| count > 0) {
            Some(outdated) => store.forget_revisions(outdated)?,
            None => 0,
        };
        store.compact()?;
        let after = store.size();
        store.write(|db| {
            let subject = format!("{}, {before} to {after} bytes", plural::count(deleted, "revision"));
            context.event(db, context.author(), None, "compact", &subject)
        })?;
        let freed = before.saturating_sub(after);
        // Revisions may have come or gone since the question.
        let deleted_too = match deleted {
            0 => String::new(),
            deleted => format!(" and deleted {}", plural::count(deleted, "revision")),
        };
        let sentence = format!("Freed {freed} of {before} bytes{deleted_too}");
        let data = json!({ "revisions": deleted, "before": before, "after": after, "freed": freed });
        Ok(Reply::sentence(sentence, data))
    }
}

impl Compact {
    /// Returns which revisions to delete; `None` if no option asks for it.
    fn outdated(&self, now: Millis) -> Result<Option<Outdated>> {
        let refused = |age: &str, why: &str| {
            let what = format!("--older-than '{}' {why}", age.escape_debug());
            Error::new(Code::InvalidArgument, what).hint(span::HINT)
        };
        let age =
            self.older_than.as_deref().map(|age| span::parse(age).map_err(|why| refused(age, why))).transpose()?;
        Ok((self.keep_revisions.is_some() || age.is_some()).then(|| Outdated {
            keep: self.keep_revisions.unwrap_or(1),
            before: age.map_or(Millis::MAX, |age| now.saturating_sub(age)),
        }))
    }
}
