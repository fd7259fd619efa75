//! The format of a failure in contract 003 (smctl): a JSON-RPC error. Many clients show only its message.

use serde_json::{Map, Value, json};

use mcpkg_base::error::Error;

/// The `error` member of a JSON-RPC response.
#[derive(Debug)]
pub struct Rpc {
    pub code: i32,
    /// The error's message, usually followed by its first hint.
    pub message: String,
    /// The details, plus `code` (the error's name), `category` and, if there are hints, `hints` and `suggestion`.
    pub data: Value,
}

impl Rpc {
    pub fn object(self) -> Value {
        json!({ "code": self.code, "message": self.message, "data": self.data })
    }
}

/// Returns a failure as a JSON-RPC error of contract 003 (smctl).
///
/// If the details contain a `suggestion`, the message is the error's own, unchanged. Otherwise the first hint is
/// appended to the message and also becomes the suggestion.
pub fn rpc(error: &Error) -> Rpc {
    let code = error.code();
    let mut data = match error.details() {
        Some(Value::Object(details)) => details.clone(),
        Some(other) => Map::from_iter([("value".to_owned(), other.clone())]),
        None => Map::new(),
    };
    let mut message = error.public_message().to_owned();
    if let (false, Some(hint)) = (data.contains_key("suggestion"), error.hints().first()) {
        message = format!("{message}; {hint}");
        data.insert("suggestion".to_owned(), json!(hint));
    }
    if !error.hints().is_empty() {
        data.insert("hints".to_owned(), json!(error.hints()));
    }
    data.insert("code".to_owned(), json!(code.name()));
    data.insert("category".to_owned(), json!(super::json::category(code)));
    Rpc { code: code.smctl(), message, data: Value::Object(data) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Code;

    #[test]
    fn the_message_ends_with_a_hint_unless_there_is_a_suggestion() {
        let missing = Error::new(Code::NotFound, "There is no repo 'lbi'").hint("did you mean 'lib'?");
        assert_eq!(
            rpc(&missing).object().to_string(),
            r#"{"code":-32000,"message":"There is no repo 'lbi'; did you mean 'lib'?","data":{"suggestion":"did you mean 'lib'?","hints":["did you mean 'lib'?"],"code":"E_NOT_FOUND","category":"not_found"}}"#
        );
        let worded = Error::new(Code::GitFailed, "git said no")
            .hint("look at it")
            .with_details(json!({ "repo": "lib", "suggestion": "Run smctl_flow_feature_start first" }));
        let worded = rpc(&worded);
        assert_eq!((worded.code, worded.message.as_str()), (-32002, "git said no"));
        assert_eq!(
            worded.data,
            json!({
                "repo": "lib",
                "suggestion": "Run smctl_flow_feature_start first",
                "hints": ["look at it"],
                "code": "E_GIT_FAILED",
                "category": "refused",
            })
        );
    }

    #[test]
    fn a_bug_does_not_reveal_its_internals() {
        let bug = rpc(&Error::internal("row 7"));
        assert_eq!(bug.code, -32603);
        assert!(!bug.object().to_string().contains("row 7"));
    }
}
