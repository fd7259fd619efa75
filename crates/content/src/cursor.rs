//! Opaque cursors, which mark where the next page of a list begins.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use mcpkg_base::error::{Code, Error, Result};

/// Returns the cursor for the page of `list` that begins after `name`, in the project with key `project`.
pub fn encode(list: &str, project: i64, name: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{list}\n{project}\n{name}"))
}

/// Returns the project's key and the name after which the page begins. Fails if the cursor is malformed or belongs to
/// another list.
pub fn decode(list: &str, cursor: &str) -> Result<(i64, String)> {
    let parsed = (|| {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        let mut parts = text.splitn(3, '\n');
        let (of, project, name) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        (of == list).then(|| (project, name.to_owned()))
    })();
    parsed.ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("'{}' is not a valid cursor for this list", cursor.escape_debug()))
            .hint("pass the `next_cursor` of the previous page, or omit the cursor to start from the beginning")
            .with_details(serde_json::json!({ "cursor": cursor }))
    })
}

/// Fails if the cursor belongs to another project.
pub fn check_project(of: i64, current: i64) -> Result<()> {
    if of == current {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, "The cursor belongs to another project")
        .hint("the selected project has changed since the previous page; omit the cursor to start from the beginning"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_decoded_and_invalid_ones_refused() {
        let cursor = encode("prompts", 7, "code-review");
        assert_eq!(decode("prompts", &cursor).unwrap(), (7, "code-review".to_owned()));
        for bad in ["", "x", "!!!", cursor.trim_end_matches(|_| true), &encode("prompts", 7, "a")[1..]] {
            assert_eq!(decode("prompts", bad).unwrap_err().code(), Code::InvalidArgument, "{bad}");
        }
        assert!(decode("resources", &cursor).is_err());
        assert!(check_project(1, 2).is_err());
    }
}
