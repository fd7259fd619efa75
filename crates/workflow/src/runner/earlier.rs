//! The outputs of steps that ran in another process or another run, as stored in the database.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::blobs::stored_json;
use mcpkg_store::runs::StepState;
use mcpkg_store::runs::steps::{self, Step};

/// The output of a step that ran in another process or run, or that the caller supplied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    pub step: String,
    pub output: Value,
    /// JSON pointers to the secrets that were removed from the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_out: Vec<String>,
}

/// Returns the outputs of the steps that succeeded.
pub fn answers(db: &Db<'_>, rows: &[Step]) -> Result<Vec<Earlier>> {
    let answered = rows.iter().filter(|row| row.state == StepState::Succeeded).map(|row| {
        let output = steps::output(db, row)?.unwrap_or_else(|| "null".to_owned());
        let taken_out = row.secrets.as_deref().unwrap_or("[]");
        Ok(Earlier {
            step: row.name.clone(),
            output: stored_json(&output, "the output of a step")?,
            taken_out: stored_json(taken_out, "the list of secrets in a step's output")?,
        })
    });
    answered.collect()
}
