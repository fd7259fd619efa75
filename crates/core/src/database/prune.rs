//! `mcpkg prune`: deletes the rows that exceed the limits.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::GROUP;
use super::limit::tables;
use crate::op::{Body, Changes, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reach, Reply};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_store::limits::Growing;

/// How many rows one transaction deletes. Other processes can write between two transactions.
const BATCH: u32 = 10_000;

/// Delete rows beyond the limits
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Prune {
    /// Show how many rows would be deleted, without changing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Prune {
    const TOOL: &'static str = "prune";
    const CLI: &'static [&'static str] = &["prune"];
    const TITLE: &'static str = "Delete rows beyond the limits";
    const ABOUT: &'static str = "Delete the rows beyond each table's limits";
    const HELP: &'static str = "`mcpkg limit list` shows the limits. mcpkg keeps the rows of work that is still \
        waiting or running, and all rows that an undo needs. To delete revisions, stored deploys or tool archives, use \
        `mcpkg compact --keep-revisions N`, `mcpkg snapshot prune` or `mcpkg tool prune`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg prune --dry-run", "mcpkg prune --yes"];
    const EFFECT: Effect = Effect::Write;
    // Pruning the audit trail (`events`) changes what its readers see, in every project.
    const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::NO_LIST };
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::Refuse
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let now = context.clock.now();
        let tables: Vec<&Growing> = tables(context.domains).collect();
        let rows =
            |counts: &[u64]| tables.iter().map(|growing| growing.name).zip(counts.iter().copied()).collect::<Vec<_>>();
        let beyond: Vec<u64> =
            context.store.read(|db| tables.iter().map(|growing| growing.count(db, now)).collect())?;
        let total: u64 = beyond.iter().sum();
        if total == 0 {
            return Ok(Reply::sentence("There is nothing to prune", self.data(&rows(&beyond))));
        }
        if self.dry_run {
            return Ok(Reply::sentence(format!("Would delete {}", counted(&rows(&beyond))), self.data(&rows(&beyond))));
        }
        (context.ask)(Body::Several(Vec::new()), &format!("Delete {} for good?", counted(&rows(&beyond))))?;
        let mut deleted = Vec::new();
        for growing in &tables {
            let mut gone = 0;
            loop {
                if context.is_cancelled() {
                    return Err(Error::new(Code::Cancelled, "Cancelled; the rows already deleted stay deleted"));
                }
                let (batch, over) = context.store.write(|db| {
                    let batch = growing.prune(db, now, BATCH)?;
                    let over = batch < u64::from(BATCH);
                    if over && gone + batch > 0 {
                        let subject = format!("{}: {}", growing.name, gone + batch);
                        context.event(db, context.author(), None, "prune", &subject)?;
                    }
                    Ok((batch, over))
                })?;
                gone += batch;
                (context.progress)("Deleting", deleted.iter().sum::<u64>() + gone, total);
                if over {
                    break;
                }
            }
            deleted.push(gone);
        }
        Ok(Reply::sentence(format!("Deleted {}", counted(&rows(&deleted))), self.data(&rows(&deleted))))
    }
}

impl Prune {
    fn data(&self, rows: &[(&str, u64)]) -> Value {
        let rows: serde_json::Map<String, Value> =
            rows.iter().map(|(table, rows)| ((*table).to_owned(), json!(rows))).collect();
        json!({ "deleted": rows, "dry_run": self.dry_run })
    }
}

/// Returns the number of rows of each table in words: `3 rows of events, 1 row of runs`. Tables without rows are left out.
fn counted(rows: &[(&str, u64)]) -> String {
    let some = rows.iter().filter(|(_, rows)| *rows > 0);
    let counted = some.map(|(table, rows)| format!("{} of {table}", plural::count(*rows, "row")));
    counted.collect::<Vec<_>>().join(", ")
}
