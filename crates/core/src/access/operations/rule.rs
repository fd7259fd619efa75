//! Describes an access rule, and checks its claim.

use serde_json::{Value, json};

use super::standing::rights;
use crate::op::Names;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::access_rules::{self, Rule};

/// The maximum length of a rule's claim, in bytes.
const MAX_CLAIM: usize = 500;

/// Shell completion for the claims of rules.
pub(super) const CLAIMS: Names =
    Names::Stored(|typed| Ok(typed.matching(access_rules::list(typed.db)?.into_iter().map(|rule| rule.claim))));

/// Checks that a claim has the form NAME=VALUE and is not too long.
pub(super) fn claim(text: &str) -> Result<&str> {
    let good = text.len() <= MAX_CLAIM
        && !text.contains(char::is_control)
        && text.split_once('=').is_some_and(|(name, value)| !name.trim().is_empty() && !value.trim().is_empty());
    match good {
        true => Ok(text),
        false => Err(Error::new(Code::InvalidArgument, format!("--claim '{}' is not NAME=VALUE", text.escape_debug()))
            .hint("give the name of a claim and its value, such as groups=platform")),
    }
}

/// Describes what a rule allows, as a cell of `access rule list`.
pub(super) fn may(rule: &Rule) -> String {
    rights(rule.read_only, false, rule.execute, &rule.publish, rule.attest)
}

/// Describes a rule in one line.
pub(super) fn line(rule: &Rule, project: Option<&str>) -> String {
    let reach = match (rule.project, project) {
        (None, _) => "all projects".to_owned(),
        (Some(_), Some(name)) => format!("project '{name}'"),
        (Some(_), None) => "a project that was deleted".to_owned(),
    };
    format!("{} may {} in {reach}", rule.claim, may(rule))
}

/// Returns a rule as JSON.
pub(super) fn data(rule: &Rule, project: Option<&str>) -> Value {
    json!({
        "claim": rule.claim,
        "project": project,
        "project_id": rule.project.map(|uuid| uuid.to_string()),
        "read_only": rule.read_only,
        "publish": rule.publish,
        "attest": rule.attest,
        "execute": rule.execute,
        "created_at": rfc3339(rule.created_at),
    })
}
