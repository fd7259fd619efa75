//! Runs `mcpkg audit`: audits a file, folder, source or project, and reports the findings.

use schemars::JsonSchema;
use serde::Deserialize;

use super::subject::Subject;
use super::{sarif, show};
use crate::GROUP;
use crate::ignored;
use mcpkg_agents::audit::rules::Severity;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, LISTED_BY_VERBOSE, MissingDatabase, NoOutput, Operation, Reply};

/// Audit texts for agents
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Audit {
    /// File or folder, source of the project, or project to audit [default: the current folder]
    #[arg(value_name = "PATH|SOURCE|PROJECT")]
    what: Option<String>,
    /// Also audit files that no agent reads
    #[arg(long)]
    #[serde(default)]
    documents: bool,
    /// Exit with status 3 if there are findings
    #[arg(long)]
    #[serde(default)]
    check: bool,
    /// The lowest severity that --check reports [default: warning]
    #[arg(long, value_name = "SEVERITY", requires = "check")]
    #[schemars(with = "Option<String>")]
    #[serde(default, skip_deserializing)]
    severity: Option<Severity>,
    /// Print the findings as SARIF 2.1.0
    #[arg(long)]
    #[serde(default)]
    sarif: bool,
    /// List the rules
    #[arg(long, conflicts_with_all = ["what", "check", "sarif", "documents"])]
    #[serde(default)]
    rules: bool,
}

impl Operation for Audit {
    const TOOL: &'static str = "audit";
    const CLI: &'static [&'static str] = &["audit"];
    const TITLE: &'static str = "Audit texts for agents";
    const ABOUT: &'static str = "Find hidden text and dangerous instructions in what your agents read";
    const HELP: &'static str = "mcpkg looks for invisible characters, names that imitate others, instructions in comments, \
        encoded text, commands that run a script from the network, instructions to hide something from you, sent secrets, \
        and settings that let an agent act without asking. Nothing is executed, and nothing is sent anywhere.\n\n\
        In a folder, mcpkg audits the files that `mcpkg import` would take. A critical finding means that text is hidden \
        from you, or that a command is dangerous in any case. A warning needs a look. A note is for your information.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg audit", "mcpkg audit skills/pdf", "mcpkg audit . --check --severity critical", "mcpkg audit --rules"];
    const EFFECT: Effect = Effect::Read;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    /// Allows an audit of a folder without any database.
    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if self.rules {
            let (body, data) = show::rules();
            return Ok(Reply::new(body, data));
        }
        let subject = Subject::find(self.what.as_deref(), context)?;
        let mut audited = subject.audit(self.documents, context)?;
        audited.report = ignored::without(&audited.report, &subject.ignored(context)?);
        let report = &audited.report;
        let mut reply = if self.sarif {
            let log = sarif::log(report);
            let text = serde_json::to_string_pretty(&log)
                .map_err(|error| Error::internal("findings cannot be written as JSON").with_source(error))?;
            Reply::new(Body::Text(text + "\n"), log)
        } else {
            Reply::new(show::body(&subject, &audited), show::data(&subject, &audited))
        };
        reply.differs = self.check && report.count(self.severity.unwrap_or(Severity::Warning)) > 0;
        if self.sarif {
            return Ok(reply);
        }
        reply.details = report.findings.iter().map(show::line).collect();
        reply
            .details
            .extend(audited.skipped.iter().map(|path| format!("{path}: not audited: no UTF-8 text, or too large")));
        let unlisted = show::unlisted(&audited);
        if unlisted > 0 {
            reply.hints.push(format!("{} not listed here{LISTED_BY_VERBOSE}", plural::count(unlisted, "finding")));
        }
        if report.ignored > 0 {
            let findings = plural::count(report.ignored, "finding");
            reply.hints.push(format!("{findings} marked as harmless; `mcpkg finding list` lists them"));
        }
        if !audited.skipped.is_empty() {
            let files = plural::count(audited.skipped.len(), "file");
            reply.hints.push(format!("{files} without text, or too large, not audited{LISTED_BY_VERBOSE}"));
        }
        if audited.unread > 0 {
            let files = plural::count(audited.unread, "file");
            reply.hints.push(format!("{files} that no agent reads not audited; to audit them too, add --documents"));
        }
        if let (Subject::Path(_), 0, 0) = (&subject, report.texts, audited.unread) {
            reply.hints.push("found no files to audit".to_owned());
        }
        Ok(reply)
    }
}
