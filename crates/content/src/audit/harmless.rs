//! `mcpkg finding`: marks audit findings as harmless, lists them, and removes the mark.

use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::subject::Subject;
use crate::GROUP;
use crate::audited;
use crate::ignored::{self, Ignored};
use mcpkg_agents::audit::Finding;
use mcpkg_agents::audit::rules::{RULES, Severity};
use mcpkg_base::approved;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_base::shell;
use mcpkg_core::op::{Body, Changes, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply, Table};

fn rules() -> PossibleValuesParser {
    PossibleValuesParser::new(RULES.map(|rule| rule.id))
}

/// Ignore audit findings
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Ignore {
    /// Rule whose findings are harmless, as `mcpkg audit` shows it
    #[arg(value_parser = rules())]
    rule: String,
    /// File or folder, source of the project, or project with the findings
    #[arg(value_name = "PATH|SOURCE|PROJECT")]
    what: String,
    /// Why they are harmless, for later readers
    #[arg(long)]
    #[serde(default)]
    reason: Option<String>,
}

impl Operation for Ignore {
    const TOOL: &'static str = "ignore_findings";
    const CLI: &'static [&'static str] = &["finding", "ignore"];
    const TITLE: &'static str = "Ignore audit findings";
    const ABOUT: &'static str = "Mark what a rule finds in a file, folder, source or project as harmless";
    const HELP: &'static str = "The project keeps a list of harmless findings: the rule, the file, and the SHA-256 of the \
        lines. `mcpkg audit` and all commands that audit leave these findings out. If the lines change, they are found \
        again. Critical findings are accepted only by you: mcpkg shows them at your terminal and asks. After that, it \
        stores and deploys these lines without asking again, on this machine alone. From a script or with --yes, they \
        are left out of `mcpkg audit`, but still need consent elsewhere.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg finding ignore fetch-and-run README.md --reason 'the official installer'",
        "mcpkg finding ignore allowed-bash .claude/commands",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        format!("{} {}", self.rule, self.what)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let audited = Subject::find(Some(&self.what), context)?.audit(true, context)?;
        let found: Vec<&Finding> =
            audited.report.findings.iter().filter(|finding| finding.rule.id == self.rule).collect();
        if found.is_empty() {
            let what = shell::quote(&self.what);
            return Err(Error::new(
                Code::NotFound,
                format!("The rule '{}' finds nothing in '{}'", self.rule, self.what),
            )
            .hint(format!("`mcpkg audit {what} --documents` lists what an audit finds there")));
        }
        let critical: Vec<&Finding> =
            found.iter().copied().filter(|finding| finding.rule.severity == Severity::Critical).collect();
        let accepts = context.confirmation == Confirmation::Ask && !critical.is_empty();
        if accepts {
            let shown = audited::critical_lines(&audited.report.filtered(|finding| finding.rule.id == self.rule));
            let what = plural::count(critical.len(), "critical finding");
            (context.ask)(
                Body::lines(shown),
                &format!("Accept {what}, so that mcpkg no longer asks about these lines?"),
            )?;
        }
        let project = context.write("finding.ignore", &self.subject(), |db, project, _| {
            let mut list = ignored::list(db, project)?;
            list.retain(|known| !found.iter().any(|finding| known.covers(finding)));
            list.extend(found.iter().map(|finding| Ignored::new(finding, self.reason.clone())));
            ignored::set(db, project, &list)?;
            Ok(project.name.clone())
        })?;
        let count = plural::count(found.len(), "finding");
        let sentence = format!("Project '{project}' ignores {count} of '{}' in '{}'", self.rule, self.what);
        let data = json!({ "project": project, "rule": self.rule, "ignored": found.len() });
        let back = format!("mcpkg finding unignore {} {}", self.rule, shell::quote(&found[0].path));
        let reply = Reply::sentence(sentence, data).hint(format!("to find the first of them again: `{back}`"));
        if accepts {
            critical.iter().try_for_each(|finding| ignored::approve(finding, context))?;
        } else if !critical.is_empty() {
            let why = "mcpkg still asks before it stores or deploys critical findings; to accept them, run the command at a \
                       terminal, without --yes";
            return Ok(reply.hint(why.to_owned()));
        }
        Ok(reply)
    }
}

/// List ignored findings
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_ignored_findings";
    const CLI: &'static [&'static str] = &["finding", "list"];
    const TITLE: &'static str = "List ignored findings";
    const ABOUT: &'static str = "List the audit findings that the project ignores";
    const EXAMPLES: &'static [&'static str] = &["mcpkg finding list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("findings");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (list, project) = context.read(|db, project| Ok((ignored::list(db, project)?, project.name.clone())))?;
        let row =
            |known: &Ignored| vec![known.rule.clone(), known.path.clone(), known.reason.clone().unwrap_or_default()];
        let empty = format!("Project '{project}' ignores no audit findings");
        let table = Table { columns: &["RULE", "PATH", "REASON"], rows: list.iter().map(row).collect(), empty };
        Ok(Reply::new(Body::Table(table), json!({ "project": project, "findings": list })))
    }
}

/// Stop ignoring audit findings
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Unignore {
    /// Rule, as `mcpkg finding list` shows it
    #[arg(value_parser = rules())]
    rule: String,
    /// Only in this file [default: in all files]
    path: Option<String>,
}

impl Operation for Unignore {
    const TOOL: &'static str = "unignore_findings";
    const CLI: &'static [&'static str] = &["finding", "unignore"];
    const TITLE: &'static str = "Stop ignoring audit findings";
    const ABOUT: &'static str = "Report findings again that were marked as harmless";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg finding unignore fetch-and-run", "mcpkg finding unignore fetch-and-run README.md"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.rule.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let is_meant = |known: &Ignored| {
            known.rule == self.rule && self.path.as_ref().is_none_or(|path| ignored::is_same(&known.path, path))
        };
        let (count, project) = context.write("finding.unignore", &self.rule, |db, project, _| {
            let mut list = ignored::list(db, project)?;
            let before = list.len();
            // Withdraw the approvals before the commit: with an older copy of the database, they would be valid again.
            list.iter()
                .filter(|known| is_meant(known))
                .try_for_each(|known| context.approved.withdraw(approved::Kind::Finding, &known.key()))?;
            list.retain(|known| !is_meant(known));
            if list.len() == before {
                let why = format!("Project '{}' ignores no such findings of the rule '{}'", project.name, self.rule);
                return Err(Error::new(Code::NotFound, why).hint("`mcpkg finding list` lists what the project ignores"));
            }
            ignored::set(db, project, &list)?;
            Ok((before - list.len(), project.name.clone()))
        })?;
        let sentence =
            format!("Project '{project}' no longer ignores {} of '{}'", plural::count(count, "finding"), self.rule);
        Ok(Reply::sentence(sentence, json!({ "project": project, "rule": self.rule, "found_again": count })))
    }
}
