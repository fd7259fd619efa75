//! `mcpkg check`: verifies the structure of the database and, with `--deep`, every stored content.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::GROUP;
use crate::op::{Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_store::backup::Progress;
use mcpkg_store::check::{self, Findings};

/// Check the database
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Check {
    /// Also verify all stored content, every row and the search index
    #[arg(long)]
    #[serde(default)]
    deep: bool,
}

impl Operation for Check {
    const TOOL: &'static str = "check_database";
    const CLI: &'static [&'static str] = &["check"];
    const TITLE: &'static str = "Check the database";
    const ABOUT: &'static str = "Check the database for damage, without repairing anything";
    const HELP: &'static str = "Checks the structure of the database. With --deep, mcpkg also finds flipped bits in \
        stored content and names.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg check", "mcpkg check --deep"];
    const EFFECT: Effect = Effect::Read;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::Refuse
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let findings = if self.deep {
            let told = |done, total| (context.progress)("Verifying", done, total);
            context.store.inspect(&Progress::new(&told, &context.cancelled))?
        } else {
            Findings { broken: context.store.read(check::faults)?, ..Findings::default() }
        };
        let (verified, more) = (findings.verified, findings.more);
        let path = context.store.location();
        let faults: Vec<&str> = findings.faults().collect();
        if !faults.is_empty() {
            // A broken file determines the code, even if contents are damaged as well.
            let code = if findings.broken.is_empty() { Code::Damaged } else { Code::NotDatabase };
            let others = if more == 0 { String::new() } else { format!("; and {more} more") };
            return Err(Error::new(code, format!("The database `{path}` is damaged: {}{others}", faults.join("; ")))
                .hint("`mcpkg restore FILE` restores a backup")
                .with_details(json!({ "faults": faults, "more": more })));
        }
        let sentence = if self.deep {
            format!(
                "The database {path} is sound; verified the SHA-256 of {}",
                plural::count(verified, "stored content")
            )
        } else {
            format!("The database {path} is sound; to verify its contents and names too, run `mcpkg check --deep`")
        };
        Ok(Reply::sentence(sentence, json!({ "database": path.to_string(), "sound": true, "verified": verified })))
    }
}
