//! `mcpkg tool trust check`: shows whether an identity is trusted for a tool.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::add::{identity, named};
use crate::GROUP;
use crate::package::Name;
use crate::trust::records;
use crate::trust::target::TOOLS;
use crate::trust::verdict::Part;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};

/// Check whether somebody is trusted
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Check {
    /// Identity to check: the identity itself, its name, or a public key file
    identity: String,
    /// Tool, such as alice/weather
    #[arg(add = TOOLS)]
    tool: String,
}

impl Operation for Check {
    const TOOL: &'static str = "trust_check";
    const CLI: &'static [&'static str] = &["tool", "trust", "check"];
    const TITLE: &'static str = "Check whether somebody is trusted";
    const ABOUT: &'static str = "Show whether you trust somebody as the publisher or as an auditor of a tool";
    const HELP: &'static str =
        "The exit status is 1 if you trust the identity neither as the publisher nor as an auditor.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool trust check alice alice/weather"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let tool = Name::parse(&self.tool)?;
        let rules = context.store.read(|db| records::rules(db, context))?;
        let labelled = rules.trusted.iter().find(|row| row.label.as_ref() == Some(&self.identity));
        let (who, name) = match labelled {
            Some(row) => (row.identity.parse()?, named(row)),
            None => {
                let identity = identity(&self.identity)?;
                let name = identity.to_string();
                (identity, name)
            }
        };
        let [publisher, auditor] =
            [Part::Publisher, Part::Auditor].map(|part| rules.trust_in(&who, tool.as_str(), part).is_ok());
        let says = match (publisher, auditor) {
            (true, true) => "is trusted as publisher and auditor",
            (true, false) => "is trusted as publisher, but not as auditor",
            (false, true) => "is trusted as auditor, but not as publisher",
            (false, false) => "is not trusted",
        };
        let data =
            json!({ "identity": who.as_str(), "tool": tool.as_str(), "publisher": publisher, "auditor": auditor });
        let mut reply = Reply::sentence(format!("{name} {says} for {}", tool.as_str()), data);
        reply.failed = !publisher && !auditor;
        Ok(reply)
    }
}
