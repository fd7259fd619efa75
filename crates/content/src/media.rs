//! Determines a resource's MIME type, and whether it is text or binary.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::argument::{ContentArgument, Origin};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names;
use mcpkg_store::blobs::NewContent;

/// The default MIME type (contract 001). From the shell, it applies only to text whose type cannot be guessed.
pub const DEFAULT: &str = "text/plain";

const BINARY: &str = "application/octet-stream";

/// A resource's content with its MIME type.
#[derive(Debug, PartialEq, Eq)]
pub struct Media {
    pub mime_type: String,
    /// Whether the content is served as text. Otherwise it is served as base64.
    pub text: bool,
    pub content: NewContent,
}

/// Returns whether content of this MIME type is text.
pub fn is_textual(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some((kind, subtype)) = essence.split_once('/') else {
        return false;
    };
    kind == "text"
        || subtype.ends_with("+json")
        || subtype.ends_with("+xml")
        || subtype.ends_with("+yaml")
        || (kind == "application"
            && matches!(
                subtype.strip_prefix("x-").unwrap_or(subtype),
                "json"
                    | "xml"
                    | "yaml"
                    | "toml"
                    | "sql"
                    | "javascript"
                    | "ecmascript"
                    | "typescript"
                    | "jsonlines"
                    | "ndjson"
                    | "sh"
            ))
}

/// Determines the MIME type of content. For an agent, it is the type that the agent gives, or text/plain. For the
/// shell, it is the given type, or it is guessed from the bytes and from the name of the file or the URI. Fails if the
/// content is empty or does not fit the type.
pub fn decide(given: ContentArgument, mime_type: Option<&str>, uri: &str) -> Result<Media> {
    if given.content.size() == 0 {
        return Err(Error::new(Code::InvalidArgument, "Resource content cannot be empty"));
    }
    if let Some(mime_type) = mime_type {
        check(mime_type)?;
    }
    match given.origin {
        Origin::Agent => from_agent(given.content, mime_type.unwrap_or(DEFAULT)),
        Origin::Shell => from_file(given.content, mime_type, Path::new(uri)),
        Origin::File(path) => from_file(given.content, mime_type, &path),
    }
}

fn from_agent(content: NewContent, mime_type: &str) -> Result<Media> {
    let mime_type = mime_type.to_owned();
    let bytes = content.bytes()?;
    if is_textual(&mime_type) {
        let text = std::str::from_utf8(&bytes).map_err(|_| Error::internal("an agent's string is not UTF-8"))?;
        names::check_text("Resource content", text)?;
        drop(bytes);
        return Ok(Media { mime_type, text: true, content });
    }
    let decoded = STANDARD.decode(&bytes).map_err(|error| {
        Error::new(
            Code::InvalidArgument,
            format!("Resource content of MIME type '{mime_type}' must be valid base64: {error}"),
        )
        .hint("encode the bytes as base64, or use a textual MIME type such as text/plain")
    })?;
    if decoded.is_empty() {
        return Err(Error::new(Code::InvalidArgument, "Resource content cannot be empty"));
    }
    Ok(Media { mime_type, text: false, content: decoded.into() })
}

/// Determines the MIME type of a file's content, which may be empty. Fails if `mime_type` is malformed, or if it is
/// textual and the content is not.
pub fn from_file(content: NewContent, mime_type: Option<&str>, name: &Path) -> Result<Media> {
    let readable = content.is_text();
    if let Some(mime_type) = mime_type {
        let text = fits(mime_type, readable)?;
        return Ok(Media { mime_type: mime_type.to_owned(), text, content });
    }
    let guessed = guess(name);
    let (mime_type, text) = match guessed {
        Some(mime_type) if is_textual(&mime_type) && !readable => (BINARY.to_owned(), false),
        Some(mime_type) => {
            let text = is_textual(&mime_type);
            (mime_type, text)
        }
        None if readable => (DEFAULT.to_owned(), true),
        None => (BINARY.to_owned(), false),
    };
    Ok(Media { mime_type, text, content })
}

/// Returns whether content of this MIME type is served as text; `readable` means that its bytes are valid text. Fails
/// if the type is malformed, or if it is textual and the bytes are not.
pub fn fits(mime_type: &str, readable: bool) -> Result<bool> {
    check(mime_type)?;
    let textual = is_textual(mime_type);
    if textual && !readable {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("The content is not UTF-8 text, so it cannot have the MIME type '{mime_type}'"),
        )
        .hint("use a binary type such as application/octet-stream, or pass new content"));
    }
    Ok(textual)
}

/// Guesses a file's MIME type from its extension. Some extensions of source code come first, because the `mime_guess`
/// table gets them wrong.
fn guess(name: &Path) -> Option<String> {
    let extension = name.extension()?.to_str()?.to_ascii_lowercase();
    let known = match extension.as_str() {
        "ts" | "tsx" | "mts" | "cts" => "text/typescript",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "sql" => "application/sql",
        "mdc" | "mdx" => "text/markdown",
        "jsonl" | "ndjson" => "application/x-ndjson",
        "rs" => "text/x-rust",
        "go" => "text/x-go",
        "lock" | "cfg" | "conf" | "env" => DEFAULT,
        "sh" | "bash" | "zsh" | "fish" => "application/x-sh",
        _ => return mime_guess::from_ext(&extension).first_raw().map(str::to_owned),
    };
    Some(known.to_owned())
}

fn check(mime_type: &str) -> Result<()> {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    let good = mime_type.len() <= 255
        && mime_type.chars().all(|c| c == ' ' || c.is_ascii_graphic())
        && essence.split_once('/').is_some_and(|(kind, subtype)| {
            let token = |part: &str| {
                !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b))
            };
            token(kind) && token(subtype)
        });
    if good {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("'{}' is not a MIME type", mime_type.escape_debug()))
        .hint("a MIME type looks like text/markdown or image/png"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(text: &str) -> ContentArgument {
        ContentArgument { content: text.as_bytes().to_vec().into(), origin: Origin::Agent }
    }

    #[test]
    fn textual_types() {
        for yes in [
            "text/plain",
            "text/x-anything",
            "application/json",
            "application/x-yaml",
            "image/svg+xml",
            "application/ld+json",
            "application/sql",
            "application/toml",
            "application/javascript",
            "TEXT/HTML; charset=utf-8",
        ] {
            assert!(is_textual(yes), "{yes}");
        }
        for no in ["image/png", "application/octet-stream", "application/pdf", "audio/wav", "nonsense"] {
            assert!(!is_textual(no), "{no}");
        }
    }

    #[test]
    fn the_type_that_an_agent_gives_decides() {
        let plain = decide(agent("hello"), None, "file:///a.png").unwrap();
        assert_eq!((plain.mime_type.as_str(), plain.text), ("text/plain", true));
        let blob = decide(agent("AAEC"), Some("image/png"), "file:///a.png").unwrap();
        assert_eq!((blob.text, blob.content), (false, vec![0, 1, 2].into()));
        let refused = decide(agent("not base64!"), Some("image/png"), "x:y").unwrap_err();
        assert!(refused.message().starts_with("Resource content of MIME type 'image/png' must be valid base64"));
        assert!(decide(agent(""), None, "x:y").is_err());
        assert!(decide(agent("a\0b"), None, "x:y").is_err());
        assert!(decide(agent("a"), Some("no type"), "x:y").is_err());
    }

    #[test]
    fn a_files_bytes_and_name_decide() {
        let media = |bytes: &[u8], name: &str| {
            let media = from_file(bytes.to_vec().into(), None, Path::new(name)).unwrap();
            (media.mime_type, media.text)
        };
        assert_eq!(media(b"# hi", "a.md"), ("text/markdown".to_owned(), true));
        assert_eq!(media(b"\xff\xfe", "a.md"), ("application/octet-stream".to_owned(), false));
        assert_eq!(media(b"\x89PNG", "a.png"), ("image/png".to_owned(), false));
        assert_eq!(media(b"words", "README"), ("text/plain".to_owned(), true));
        assert_eq!(media(b"let x", "a.ts"), ("text/typescript".to_owned(), true));
        assert_eq!(media(b"a\0", "a"), ("application/octet-stream".to_owned(), false));
        assert!(from_file(vec![0xff].into(), Some("text/plain"), Path::new("a")).is_err());
    }
}
