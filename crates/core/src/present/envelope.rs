//! The envelope of contract 000 (agentpack): one object for every answer, success or failure. Keys may be added, but
//! never change.

use serde_json::{Map, Value, json};

use crate::op::Reply;
use mcpkg_base::error::Error;

/// Returns the envelope of a reply to `command`, such as `deploy --apply`.
pub(super) fn envelope(command: &str, reply: &Reply) -> Value {
    whole(command, true, &reply.data, &reply.warnings, &[])
}

pub(super) fn failure(command: &str, error: &Error) -> Value {
    let mut details = match error.details() {
        Some(Value::Object(details)) => details.clone(),
        Some(other) => Map::from_iter([("value".to_owned(), other.clone())]),
        None => Map::new(),
    };
    // The error's own details take precedence, because they are more specific than the table of codes.
    details.entry("reason_code").or_insert_with(|| json!(error.code().reason()));
    details.entry("next_actions").or_insert_with(|| json!(error.code().next_actions()));
    details.entry("category").or_insert_with(|| json!(super::json::category(error.code())));
    if !error.hints().is_empty() {
        details.insert("hints".to_owned(), json!(error.hints()));
    }
    let error = json!({ "code": error.code().name(), "message": error.public_message(), "details": details });
    whole(command, false, &json!({}), &[], &[error])
}

fn whole(command: &str, ok: bool, data: &Value, warnings: &[String], errors: &[Value]) -> Value {
    let path: Vec<&str> = command.split(' ').filter(|word| !word.starts_with("--")).collect();
    json!({
        "schema_version": 1,
        "ok": ok,
        "command": path.join("."),
        "command_id": command,
        "command_path": path,
        "version": env!("CARGO_PKG_VERSION"),
        "data": data,
        "warnings": warnings,
        "errors": errors,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Code;

    #[test]
    fn a_failure_names_its_command_and_what_to_do() {
        let error = Error::new(Code::ConfirmTokenExpired, "too old").with_details(json!({ "next_actions": ["wait"] }));
        let envelope = failure("evolve propose", &error);
        assert_eq!(
            envelope.to_string(),
            format!(
                r#"{{"schema_version":1,"ok":false,"command":"evolve.propose","command_id":"evolve propose","command_path":["evolve","propose"],"version":"{}","data":{{}},"warnings":[],"errors":[{{"code":"E_CONFIRM_TOKEN_EXPIRED","message":"too old","details":{{"next_actions":["wait"],"reason_code":"confirm_token_expired","category":"refused"}}}}]}}"#,
                env!("CARGO_PKG_VERSION")
            )
        );
        let applied = envelope_of("deploy --apply");
        assert_eq!((&applied["command"], &applied["command_id"]), (&json!("deploy"), &json!("deploy --apply")));
    }

    fn envelope_of(command: &str) -> Value {
        envelope(command, &Reply::sentence("done", json!({ "applied": true })))
    }
}
