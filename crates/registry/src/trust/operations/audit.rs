//! `mcpkg tool audit`: signs the result of an audit.

use schemars::JsonSchema;
use serde::Deserialize;

use super::signing::Signing;
use crate::GROUP;
use crate::trust::statement::{self, Outcome, Says};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Changes, Context, Effect, Faces, Names, NoOutput, Operation, Reach, Reply};

/// The results of audits, for shell completion.
const RESULTS: Names = Names::Known(|_| Outcome::ALL.iter().map(|outcome| outcome.word().to_owned()).collect());

/// Sign an audit of a tool
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Audit {
    #[command(flatten)]
    #[serde(flatten)]
    signing: Signing,
    /// Result of the audit: passed, passed-with-warnings or failed
    #[arg(long, add = RESULTS)]
    result: Option<String>,
    /// Notes for the readers of the audit
    #[arg(long, conflicts_with = "with")]
    notes: Option<String>,
    /// Severity of the result, such as low or critical
    #[arg(long, conflicts_with = "with")]
    severity: Option<String>,
    /// Category of the audit, such as security or licensing
    #[arg(long, conflicts_with = "with")]
    category: Option<String>,
}

impl Operation for Audit {
    const TOOL: &'static str = "audit_tool";
    const CLI: &'static [&'static str] = &["tool", "audit"];
    const TITLE: &'static str = "Sign an audit of a tool";
    const ABOUT: &'static str = "Sign the result of a tool's audit";
    const HELP: &'static str = "A failed audit is a veto: anyone who trusts your key as an auditor's key cannot use the archive, \
        regardless of their trust policy.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool audit alice/weather --result passed",
        "mcpkg tool audit alice/weather@1.2.0 --result failed --notes 'sends what it reads to another host' --severity high",
        "mcpkg tool audit alice/weather --result passed --print > audit.json",
        "mcpkg tool audit ./bundle.tar.gz --result passed --to team",
    ];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.signing.name()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let Audit { signing, result, notes, severity, category } = self;
        let outcome = result.as_deref().map(Outcome::of_word).transpose()?;
        let says = outcome.map(|outcome| Says::Audited(statement::Audit { outcome, notes, severity, category }));
        signing.run(context, "tool.audit", says.as_ref())
    }
}
