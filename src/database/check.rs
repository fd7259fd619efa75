//! `mcpkg check`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::TOOLSET;
use crate::error::{Code, Error, Result};
use crate::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use crate::store::check;

/// Check the database
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Check {
    /// Verify the SHA-256 of every stored content too
    #[arg(long)]
    #[serde(default)]
    deep: bool,
}

impl Operation for Check {
    const TOOL: &'static str = "check_database";
    const CLI: &'static [&'static str] = &["check"];
    const TITLE: &'static str = "Check the database";
    const ABOUT: &'static str = "Check that the database is sound; it is never repaired silently";
    const HELP: &'static str = "A flipped bit inside a content is seen by --deep only.";
    const EFFECT: Effect = Effect::Read;
    const TOOLSET: &'static str = TOOLSET;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (verified, faults, code) = context.store.read(|db| {
            let mut faults = check::faults(db)?;
            // A file that is broken is more than a content that is.
            let code = if faults.is_empty() { Code::Damaged } else { Code::NotDatabase };
            let mut verified = 0;
            if self.deep {
                let progress = |done, total| (context.progress)("Verifying", done, total);
                let (count, damaged) = check::hashes(db, &progress)?;
                verified = count;
                faults.extend(damaged);
            }
            Ok((verified, faults, code))
        })?;
        let path = context.store.path().display();
        if !faults.is_empty() {
            return Err(Error::new(code, format!("The database `{path}` is damaged: {}", faults.join("; ")))
                .hint("`mcpkg restore FILE` brings back a backup")
                .with_details(json!({ "faults": faults })));
        }
        let sentence = if self.deep {
            format!("The database {path} is sound; {verified} contents match their SHA-256")
        } else {
            format!("The database {path} is sound")
        };
        Ok(Reply::sentence(sentence, json!({ "database": path.to_string(), "sound": true, "verified": verified })))
    }
}
