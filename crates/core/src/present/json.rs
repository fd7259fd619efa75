//! The format of contracts 002 (`enact__*`), 003 (smctl) and 004 (workflows): one JSON object for every answer, and a
//! typed error object for a failure.

use serde_json::{Map, Value, json};

use crate::op::Reply;
use mcpkg_base::error::{Blame, Code, Error};

/// Returns the category of an error, which tells a program what kind of reaction makes sense.
pub(super) fn category(code: Code) -> &'static str {
    Category::of(code).word()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Category {
    /// The input is invalid.
    Validation,
    /// The current state conflicts with the request.
    Conflict,
    /// Something named in the request does not exist.
    NotFound,
    /// The request is not allowed, or nobody has confirmed it.
    Refused,
    /// The operation started and then failed.
    Execution,
    Internal,
}

impl Category {
    fn of(code: Code) -> Self {
        match code {
            Code::InvalidArgument
            | Code::SkillInvalid
            | Code::ConfigInvalid
            | Code::TemplateFailed
            | Code::Ambiguous
            | Code::SchemaVersion
            | Code::WorkflowInvalid
            | Code::TooLarge => Self::Validation,
            Code::AlreadyExists
            | Code::ImportConflict
            | Code::DesiredStateConflict
            | Code::DraftStale
            | Code::PlanChanged => Self::Conflict,
            Code::NotFound
            | Code::NoProject
            | Code::SnapshotNotFound
            | Code::ConfigMissing
            | Code::ToolNotFound
            | Code::VersionNotFound
            | Code::WorkspaceNotFound
            | Code::BranchNotFound => Self::NotFound,
            _ => match code.blame() {
                Blame::Caller => Self::Refused,
                Blame::Machine => Self::Execution,
                Blame::Us => Self::Internal,
            },
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Validation => "validation",
            Self::Conflict => "conflict",
            Self::NotFound => "not_found",
            Self::Refused => "refused",
            Self::Execution => "execution",
            Self::Internal => "internal",
        }
    }
}

/// Like [`reply`], but returns text. Data that already is JSON text is copied, not parsed.
pub(super) fn text(version: Option<&str>, reply: &Reply) -> String {
    let written = reply.json.as_deref().filter(|_| reply.warnings.is_empty());
    match (version, written.and_then(|written| written.strip_prefix('{')).filter(|rest| *rest != "}")) {
        (Some(version), Some(rest)) => format!("{{\"schema_version\":{},{rest}", json!(version)),
        _ => self::reply(version, reply).to_string(),
    }
}

/// Returns the data of a reply with its warnings, beginning with the schema version if there is one.
pub(super) fn reply(version: Option<&str>, reply: &Reply) -> Value {
    let mut object = begin(version);
    let written = reply.json.as_deref().and_then(|json| serde_json::from_str(json).ok());
    match written.as_ref().unwrap_or(&reply.data) {
        Value::Object(data) => object.extend(data.clone()),
        Value::Null => {}
        other => drop(object.insert("value".to_owned(), other.clone())),
    }
    if !reply.warnings.is_empty() {
        object.entry("warnings").or_insert_with(|| json!(reply.warnings));
    }
    Value::Object(object)
}

/// Returns a failure: `code`, `message`, `category` and, if known, `hint` (the first of `hints`), `hints`, `next_step`,
/// `details` and `retry_after_ms`. `next_step` and `retry_after_ms` are taken from the error's details. If the details
/// have no `next_step`, it is the first action that the table of codes lists for the error's code.
pub(super) fn failure(version: Option<&str>, error: &Error) -> Value {
    let code = error.code();
    let mut failed = json!({
        "code": code.name(),
        "message": error.public_message(),
        "category": category(code),
    });
    if let Some(hint) = error.hints().first() {
        failed["hint"] = json!(hint);
        failed["hints"] = json!(error.hints());
    }
    let mut details = error.details().cloned();
    let named = details
        .as_mut()
        .and_then(Value::as_object_mut)
        .map(|details| ["next_step", "retry_after_ms"].map(|key| (key, details.shift_remove(key))));
    for (key, value) in named.into_iter().flatten() {
        if let Some(value) = value {
            failed[key] = value;
        }
    }
    if failed.get("next_step").is_none()
        && let Some(action) = code.next_actions().first()
    {
        failed["next_step"] = json!(action);
    }
    if let Some(details) = details.filter(|details| details.as_object().is_none_or(|details| !details.is_empty())) {
        failed["details"] = details;
    }
    let mut object = begin(version);
    object.insert("error".to_owned(), failed);
    Value::Object(object)
}

fn begin(version: Option<&str>) -> Map<String, Value> {
    version.into_iter().map(|version| ("schema_version".to_owned(), json!(version))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_its_data_after_the_version() {
        let said = Reply::sentence("done", json!({ "id": "apps:create" }));
        assert_eq!(reply(Some("1.0"), &said).to_string(), r#"{"schema_version":"1.0","id":"apps:create"}"#);
        let warned = Reply::sentence("done", json!({})).warn(["slow".to_owned()]);
        assert_eq!(reply(None, &warned).to_string(), r#"{"warnings":["slow"]}"#);
    }

    #[test]
    fn a_reply_with_json_text_equals_a_reply_with_data() {
        for json in ["{}", r#"{"id":"apps:create","flags":[]}"#] {
            for warnings in [vec![], vec!["slow".to_owned()]] {
                let written = Reply { json: Some(json.to_owned()), ..Reply::sentence("done", Value::Null) };
                let data = Reply::sentence("done", serde_json::from_str(json).unwrap());
                let (written, data) = (written.warn(warnings.clone()), data.warn(warnings));
                for version in [None, Some("1.0")] {
                    assert_eq!(text(version, &written), reply(version, &data).to_string());
                    assert_eq!(reply(version, &written), reply(version, &data));
                }
            }
        }
    }

    #[test]
    fn a_failure_says_what_kind_it_is_and_what_to_do() {
        let busy = Error::new(Code::Busy, "The database is in use")
            .hint("try again")
            .with_details(json!({ "retry_after_ms": 250, "next_step": "wait", "path": "/x" }));
        assert_eq!(
            failure(Some("1.0"), &busy).to_string(),
            r#"{"schema_version":"1.0","error":{"code":"E_DB_BUSY","message":"The database is in use","category":"execution","hint":"try again","hints":["try again"],"next_step":"wait","retry_after_ms":250,"details":{"path":"/x"}}}"#
        );
        let bug = failure(None, &Error::internal("row 7"));
        assert_eq!(bug["error"]["category"], "internal");
        assert!(!bug.to_string().contains("row 7"));
    }

    #[test]
    fn not_found_codes_have_the_category_not_found() {
        for code in Code::ALL.iter().filter(|code| code.name().ends_with("_NOT_FOUND") && code.blame() == Blame::Caller)
        {
            // A missing git is a problem of the machine, not of something that the request names.
            let expected = if *code == Code::GitNotFound { Category::Refused } else { Category::NotFound };
            assert_eq!(Category::of(*code), expected, "{}", code.name());
        }
    }

    #[test]
    fn the_category_of_a_code_follows_from_its_blame() {
        for code in Code::ALL {
            let category = Category::of(*code);
            match code.blame() {
                Blame::Us => assert_eq!(category, Category::Internal),
                Blame::Machine => assert_eq!(category, Category::Execution, "{}", code.name()),
                Blame::Caller => assert!(!matches!(category, Category::Internal | Category::Execution)),
            }
        }
    }
}
