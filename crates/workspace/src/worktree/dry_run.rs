//! Builds the reply to `--dry-run`.

use serde_json::{Value, json};

use crate::step::Step;
use mcpkg_core::op::{Body, Reply, Table};

/// Returns the reply to `--dry-run`: the command's `data`, and one line per step.
pub fn reply<'s>(sentence: &str, steps: impl IntoIterator<Item = &'s Step>, mut data: Value) -> Reply {
    let steps: Vec<String> = steps.into_iter().map(Step::shown).collect();
    data["dry_run"] = true.into();
    data["steps"] = json!(steps);
    let rows = steps.into_iter().map(|step| vec![step]).collect();
    let table = Table { columns: &["STEP"], rows, empty: "Nothing to do".to_owned() };
    Reply::new(Body::Several(vec![Body::Sentence(sentence.to_owned()), Body::Table(table)]), data)
}
