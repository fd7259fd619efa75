//! Formats the report of `mcpkg tool update`.

use serde_json::{Value, json};

use super::differences::Differences;
use crate::installed::outdated::hinted;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::{Body, Reply, Table, cell};
use mcpkg_store::tools::installs::{Install, Scope};
use mcpkg_store::tools::packages::Yank;

pub struct Report {
    /// The install before the update.
    pub install: Install,
    pub result: Result<Done>,
}

pub enum Done {
    /// No change: there is no newer version.
    Current {
        /// The yank of the installed version, with its reason.
        yank: Option<Yank>,
    },
    /// No change: a person chose this version although a newer one is installed.
    Held { newer: String },
    /// Updated to another version.
    Updated(Box<Change>),
    /// A dry run: another version would be installed.
    WouldUpdate(Box<Change>),
}

pub struct Change {
    pub to: String,
    /// The SHA-256 of the new archive.
    pub sha256: String,
    /// The publisher, if it is trusted.
    pub publisher: Option<String>,
    pub published_before: Option<String>,
    pub another_publisher: bool,
    /// Whether the new version can be used without a warning.
    pub is_trusted: bool,
    /// The verdict on the new version, as JSON.
    pub verification: Value,
    /// The differences; `None` if the archive may not be used.
    pub differences: Option<Differences>,
    /// Other versions of the tool that remain installed.
    pub beside: Vec<String>,
    pub warnings: Vec<String>,
}

/// Formats the outcome of all updates.
pub fn reply(reports: &[Report], dry_run: bool) -> Reply {
    let columns = &["TOOL", "STATE", "VERSIONS", "WHY"];
    let empty = "No tools are installed; `mcpkg tool search WORDS` finds some".to_owned();
    let table = Table { columns, rows: reports.iter().map(Report::row).collect(), empty };
    let lines: String = reports.iter().flat_map(Report::lines).map(|line| line + "\n").collect();
    let mut bodies = vec![Body::Table(table)];
    if !lines.is_empty() {
        bodies.push(Body::Text(lines));
    }
    let data = json!({ "dry_run": dry_run, "tools": reports.iter().map(Report::data).collect::<Vec<_>>() });
    let failed = reports.iter().any(|report| report.result.is_err());
    let mut reply = Reply { failed, ..Reply::new(Body::Several(bodies), data) };
    reply = reply.warn(reports.iter().flat_map(Report::warnings));
    reply = hinted(reply, reports.iter().filter_map(|report| report.result.as_ref().err()));
    let updated = |report: &&Report| matches!(report.result, Ok(Done::Updated(_)));
    if let Some(report) = reports.iter().find(updated) {
        let Install { name, version, .. } = &report.install;
        // Going back to the earlier version changes the publisher again, so the hint needs --accept-publisher.
        reply = reply.hint(match report.change().is_some_and(|change| change.another_publisher) {
            true => format!("to go back, run `mcpkg tool install {name}@{version} --accept-publisher` at a terminal"),
            false => format!("to go back, run `mcpkg tool install {name}@{version}`"),
        });
    }
    if let Some(Report { install, .. }) = reports.iter().find(|report| matches!(report.result, Ok(Done::Held { .. }))) {
        reply = reply
            .hint(format!("to update a tool whose version you chose yourself: `mcpkg tool update {}`", install.name));
    }
    reply
}

impl Report {
    fn change(&self) -> Option<&Change> {
        match &self.result {
            Ok(Done::Updated(change) | Done::WouldUpdate(change)) => Some(change),
            _ => None,
        }
    }

    fn state(&self) -> &'static str {
        match &self.result {
            Ok(Done::Current { .. }) => "current",
            Ok(Done::Held { .. }) => "held",
            Ok(Done::Updated(_)) => "updated",
            Ok(Done::WouldUpdate(_)) => "would be updated",
            Err(_) => "failed",
        }
    }

    fn why(&self) -> String {
        match &self.result {
            Ok(Done::Held { newer }) => {
                format!("you chose this version with `mcpkg tool use`, although {newer} is installed")
            }
            Ok(Done::WouldUpdate(change)) if change.another_publisher => "different publisher".to_owned(),
            Ok(Done::WouldUpdate(change)) if change.differences.is_none() => {
                format!("{}; the changes are not shown", change.verification["status"].as_str().unwrap_or_default())
            }
            Ok(Done::Current { yank: Some(_) }) => "this version was yanked, and no newer version exists".to_owned(),
            Ok(_) => String::new(),
            Err(error) => error.public_message().to_owned(),
        }
    }

    fn row(&self) -> Vec<String> {
        let versions = match self.change() {
            Some(change) => format!("{} to {}", self.install.version, change.to),
            None => self.install.version.clone(),
        };
        vec![self.install.name.clone(), self.state().to_owned(), versions, cell(&self.why()).into_owned()]
    }

    /// Describes the differences, one per line.
    fn lines(&self) -> Vec<String> {
        let name = &self.install.name;
        let Some(change) = self.change() else { return Vec::new() };
        let differences = change.differences.iter().flat_map(Differences::lines);
        let beside =
            (!change.beside.is_empty()).then(|| format!("versions that stay installed: {}", change.beside.join(", ")));
        differences.chain(beside).map(|line| format!("{name}: {line}")).collect()
    }

    fn warnings(&self) -> Vec<String> {
        let name = &self.install.name;
        let Some(change) = self.change() else { return Vec::new() };
        let mut warnings = change.warnings.clone();
        if change.another_publisher {
            let before = change.published_before.as_deref().unwrap_or_default();
            let now = change.publisher.as_deref().unwrap_or("nobody you trust");
            warnings.push(format!("the publisher of {name} changed from {before} to {now}"));
        }
        if !change.is_trusted {
            warnings.push(format!("nobody you trust has signed {name}@{}", change.to));
        }
        warnings
    }

    fn data(&self) -> Value {
        let Install { name, version, registry, scope, .. } = &self.install;
        let mut data = json!({
            "name": name,
            "state": self.state(),
            "from": version,
            "registry": registry,
            "scope": Scope::word(scope),
        });
        match &self.result {
            Ok(Done::Updated(change) | Done::WouldUpdate(change)) => {
                data["to"] = json!(change.to);
                data["sha256"] = json!(change.sha256);
                data["publisher"] = json!({ "before": change.published_before, "now": change.publisher });
                data["verification"] = change.verification.clone();
                data["differences"] = change.differences.as_ref().map(Differences::data).unwrap_or_default();
                data["beside"] = json!(change.beside);
            }
            Ok(Done::Held { newer }) => data["newer"] = json!(newer),
            Ok(Done::Current { yank }) => data["yanked"] = json!(yank),
            Err(error) => data["error"] = error_data(error),
        }
        data
    }
}

fn error_data(error: &Error) -> Value {
    json!({ "code": error.code().name(), "message": error.public_message(), "hints": error.hints() })
}
