//! Checks the names, URIs and texts that users give to stored items.

use mcpkg_base::error::{Code, Error, Result};
pub use mcpkg_store::check::is_name_byte;

const MAX_NAME: usize = 255;

/// The maximum length of a description, in bytes. A page of a list can contain a hundred descriptions.
pub const MAX_DESCRIPTION: usize = 64 << 10;

/// Checks a name: `[A-Za-z0-9._-]{1,255}`, and neither `.` nor `..`. `what` begins the error message, such as `Prompt`.
///
/// # Errors
/// `E_INVALID_ARGUMENT`, worded as in contract 001 (prompts and resources).
pub fn check(what: &str, name: &str) -> Result<()> {
    let refuse = |why: String| Err(Error::new(Code::InvalidArgument, why));
    if name.is_empty() {
        return refuse(format!("{what} name cannot be empty"));
    }
    if name.chars().count() > MAX_NAME {
        return refuse(format!("{what} name exceeds maximum length of {MAX_NAME} characters"));
    }
    if !name.bytes().all(is_name_byte) {
        return refuse(format!(
            "{what} name '{}' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .",
            name.escape_debug()
        ));
    }
    if name == "." || name == ".." {
        return refuse(format!("{what} name '{name}' refers to a folder. Use a name with a letter or digit"));
    }
    Ok(())
}

/// The scheme of the URIs that mcpkg assigns itself, such as `mcpkg://prompt/review`.
const OWN_SCHEME: &str = "mcpkg";

/// Checks a resource's URI: a scheme, a colon, and a rest without white space or control characters, at most 8,192
/// bytes in total. The scheme `mcpkg` is refused: such a resource could be mistaken for one of mcpkg's own, such as
/// `mcpkg://prompt/review`.
pub fn check_uri(uri: &str) -> Result<()> {
    let refuse = |why: &str| {
        Err(Error::new(Code::InvalidArgument, format!("Resource URI '{}' {why}", uri.escape_debug()))
            .hint("a URI looks like file:///docs/api.md or skill://review/SKILL.md"))
    };
    let Some((scheme, rest)) = uri.split_once(':') else {
        return refuse("has no scheme");
    };
    let mut letters = scheme.bytes();
    let scheme_is_good = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'));
    if !scheme_is_good {
        return refuse("has an invalid scheme");
    }
    if rest.is_empty() {
        return refuse("has nothing after its scheme");
    }
    if scheme.eq_ignore_ascii_case(OWN_SCHEME) {
        return refuse("has a scheme that mcpkg reserves for its own resources");
    }
    if uri.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return refuse("contains white space or a control character");
    }
    if uri.len() > 8192 {
        return Err(Error::new(Code::InvalidArgument, "Resource URI exceeds maximum length of 8192 bytes"));
    }
    Ok(())
}

/// Refuses U+0000 in a text, because other programs end a string there. `what` begins the error message.
pub fn check_text(what: &str, text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::new(Code::InvalidArgument, format!("{what} contains the character U+0000"))
            .hint("store it as a binary resource, with the MIME type application/octet-stream"));
    }
    Ok(())
}

/// Returns a description in the form in which it is stored: an empty one becomes `None`.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if it contains U+0000 or is longer than 64 KiB.
pub fn description(text: Option<String>) -> Result<Option<String>> {
    let text = text.filter(|text| !text.is_empty());
    if let Some(text) = &text {
        check_text("The description", text)?;
        if text.len() > MAX_DESCRIPTION {
            let why = format!("The description is {} bytes long, but the limit is {MAX_DESCRIPTION} bytes", text.len());
            return Err(
                Error::new(Code::InvalidArgument, why).hint("move the long text from the description to the content")
            );
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_contract() {
        for good in ["a", "code-review", "A.b_c-9", "...", &"x".repeat(255)] {
            assert!(check("Prompt", good).is_ok(), "{good}");
        }
        let message = |name: &str| check("Prompt", name).expect_err(name).to_string();
        assert_eq!(
            message("test prompt"),
            "Prompt name 'test prompt' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, ."
        );
        assert_eq!(message(""), "Prompt name cannot be empty");
        assert_eq!(message(&"x".repeat(256)), "Prompt name exceeds maximum length of 255 characters");
        for bad in [".", "..", "a\n", "a/b", "é", "a\0"] {
            message(bad);
        }
    }

    #[test]
    fn descriptions_have_a_limit() {
        assert_eq!(description(Some(String::new())).expect("none"), None);
        assert!(description(Some("x".repeat(MAX_DESCRIPTION))).is_ok());
        let error = description(Some("x".repeat(MAX_DESCRIPTION + 1))).expect_err("too long");
        assert_eq!(error.message(), "The description is 65537 bytes long, but the limit is 65536 bytes");
    }

    #[test]
    fn uris_need_a_scheme_and_no_space() {
        for good in ["file:///a.md", "skill://x/SKILL.md", "urn:a", "test://é/{id}"] {
            assert!(check_uri(good).is_ok(), "{good}");
        }
        for bad in ["", "a", "docs/a.md", "file:", "1a:b", "file:///a b", "file:///a\n", "mcpkg://prompt/a", "MCPkg:x"]
        {
            assert!(check_uri(bad).is_err(), "{bad}");
        }
    }
}
