//! Reports on a run: its state, steps and attempts. Secrets and the outputs of steps are left out.

use serde_json::{Map, Value, json};

use mcpkg_base::clock::{rfc3339, rfc3339_millis};
use mcpkg_base::error::Result;
use mcpkg_store::blobs::{shown_json, stored_json};
use mcpkg_store::runs::attempts::{self, Attempt};
use mcpkg_store::runs::steps::{self, Step};
use mcpkg_store::runs::{self, Run, State};
use mcpkg_store::{Db, Holding, Store};

/// Maximum size of a run's output in a report, in bytes.
const MAX_OUTPUT: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The steps, with their numbers of attempts.
    Steps,
    Attempts,
}

/// Returns the state of a run. A run that should be under way was interrupted if nobody holds its lock. If the process that
/// holds the lock has lost its connection to the database, the state is unknown.
pub fn state(store: &Store, run: &Run) -> State {
    if !run.state.is_under_way() {
        return run.state;
    }
    match store.holding(run.uuid) {
        Holding::Held => run.state,
        // The run may have ended after its row was read.
        Holding::Free => match store.read(|db| runs::get(db, run.uuid)) {
            Ok(Some(now)) if !now.state.is_under_way() => now.state,
            Ok(_) => State::Interrupted,
            Err(_) => State::Unknown,
        },
        Holding::Unknown => State::Unknown,
    }
}

/// Returns the summary of a run for a list.
pub fn line(run: &Run, state: State) -> Map<String, Value> {
    let mut told = Map::new();
    told.insert("run".to_owned(), json!(run.uuid.to_string()));
    told.insert("kind".to_owned(), json!(run.kind.word()));
    told.insert("name".to_owned(), json!(run.name));
    told.insert("state".to_owned(), json!(state.word()));
    if let Some(reason) = &run.reason {
        told.insert("reason".to_owned(), json!(reason));
    }
    told.insert("by".to_owned(), json!(run.actor));
    told.insert("began_at".to_owned(), json!(rfc3339(run.created_at)));
    if let Some(ended_at) = run.ended_at {
        told.insert("ended_at".to_owned(), json!(rfc3339(ended_at)));
    }
    told
}

/// Returns a run with its steps.
pub fn whole(db: &Db<'_>, run: &Run, state: State, detail: Detail) -> Result<Map<String, Value>> {
    let (rows, tries) = (steps::of(db, run.id)?, attempts::of(db, run.id)?);
    let mut told = line(run, state);
    let steps: Vec<Value> = rows
        .iter()
        .map(|row| {
            let own: Vec<&Attempt> = tries.iter().filter(|attempt| attempt.begun.seq == row.seq).collect();
            step(row, &own, detail)
        })
        .collect();
    told.insert("steps".to_owned(), steps.into());
    if let Some(output) = runs::output(db, run)? {
        let (output, note) = shortened(&output)?;
        told.insert("final_output".to_owned(), output);
        if let Some(note) = note {
            told.insert("note".to_owned(), note.into());
        }
    }
    Ok(told)
}

fn step(row: &Step, tries: &[&Attempt], detail: Detail) -> Value {
    let mut told = json!({ "id": row.name, "command": row.command, "state": row.state.word() });
    if let Some(reason) = &row.reason {
        told["reason"] = json!(reason);
    }
    told["attempts"] = match detail {
        Detail::Steps => json!(tries.len()),
        Detail::Attempts => tries.iter().map(|attempt| try_of(attempt)).collect(),
    };
    told
}

fn try_of(attempt: &Attempt) -> Value {
    let begun = &attempt.begun;
    let mut told = json!({
        "number": begun.number,
        "round": begun.round,
        "by": begun.actor,
        "began_at": rfc3339_millis(begun.started_at),
        "arguments": shown_json(&begun.arguments),
    });
    let ended = attempt.ended.as_ref();
    let optional = [
        ("method", begun.method.clone().map(Value::from)),
        ("host", begun.host.clone().map(Value::from)),
        ("path", begun.path.clone().map(Value::from)),
        ("key", begun.key.clone().map(Value::from)),
        ("outcome", ended.map(|ended| ended.outcome.clone().into())),
        ("status", ended.and_then(|ended| ended.status).map(Value::from)),
        ("bytes", ended.and_then(|ended| ended.bytes).map(Value::from)),
        ("sha256", ended.and_then(|ended| ended.sha256).map(|sha256| mcpkg_base::hex::encode(&sha256).into())),
        ("excerpt", ended.and_then(|ended| ended.excerpt.clone()).map(Value::from)),
        ("reason", ended.and_then(|ended| ended.reason.clone()).map(Value::from)),
        ("ended_at", ended.map(|ended| rfc3339_millis(ended.ended_at).into())),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            told[key] = value;
        }
    }
    told
}

/// Shortens the output of a run for a report. Also returns a note if the output was too long.
pub fn shortened(output: &str) -> Result<(Value, Option<String>)> {
    if output.len() <= MAX_OUTPUT {
        return Ok((stored_json(output, "the output of a run")?, None));
    }
    let end = (0..=MAX_OUTPUT).rev().find(|end| output.is_char_boundary(*end)).unwrap_or(0);
    let note = format!("final_output is truncated to {end} of {} bytes, and returned as text", output.len());
    Ok((output[..end].into(), Some(note)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_is_cut_between_characters() {
        assert_eq!(shortened("{\"a\":1}").unwrap(), (json!({ "a": 1 }), None));
        let long = format!("\"{}\"", "ä".repeat(MAX_OUTPUT));
        let (cut, note) = shortened(&long).unwrap();
        assert!(cut.as_str().is_some_and(|cut| cut.len() <= MAX_OUTPUT && cut.ends_with('ä')) && note.is_some());
    }
}
