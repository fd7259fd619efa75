//! Builds multipart request bodies (RFC 7578): forms that can carry files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::written::text;
use crate::spec::{Flag, Style};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::sha256;

/// The `format` of arguments that are sent as files. Callers pass them as base64.
pub const BINARY: &str = "binary";

struct Part {
    /// The headers of the part.
    head: String,
    bytes: Vec<u8>,
}

/// Returns a multipart body of these arguments, and its media type with the boundary. Each argument is given with its field name.
pub fn body(arguments: &[(&Flag, &str, &Value)], media: &str) -> Result<(Vec<u8>, String)> {
    let mut parts = Vec::new();
    for (flag, name, value) in arguments {
        match value {
            Value::Array(values) if flag.style != Some(Style::Json) => {
                for value in values {
                    parts.push(part(flag, name, value)?);
                }
            }
            value => parts.push(part(flag, name, value)?),
        }
    }
    let boundary = boundary(&parts);
    let mut body = Vec::new();
    for part in parts {
        body.extend_from_slice(format!("--{boundary}\r\n{}\r\n", part.head).as_bytes());
        body.extend_from_slice(&part.bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let media = media.split(';').next().unwrap_or_default().trim();
    Ok((body, format!("{media}; boundary={boundary}")))
}

fn part(flag: &Flag, name: &str, value: &Value) -> Result<Part> {
    let (mut disposition, mut media) = (format!("form-data; name=\"{}\"", quoted(name)), flag.media.as_deref());
    let bytes = if flag.format.as_deref() == Some(BINARY) {
        let file = File::of(flag, value)?;
        // Servers recognize a file by its file name, and many take the file's type from the extension.
        disposition += &format!("; filename=\"{}\"", quoted(file.name.unwrap_or(name)));
        media = file.media.or(media).or(Some("application/octet-stream"));
        STANDARD.decode(file.data).map_err(|error| refused(flag, &format!("it is not base64: {error}")))?
    } else if flag.style == Some(Style::Json) || value.is_object() || value.is_array() {
        media = media.or(Some("application/json"));
        value.to_string().into_bytes()
    } else {
        text(value).into_bytes()
    };
    let mut head = format!("Content-Disposition: {disposition}\r\n");
    if let Some(media) = media {
        if media.contains(|c: char| c.is_control()) {
            return Err(refused(flag, "its media type contains control characters"));
        }
        head += &format!("Content-Type: {media}\r\n");
    }
    Ok(Part { head, bytes })
}

/// A file argument: base64 text, or an object that contains it.
#[derive(Default)]
struct File<'v> {
    name: Option<&'v str>,
    media: Option<&'v str>,
    data: &'v str,
}

impl<'v> File<'v> {
    fn of(flag: &Flag, value: &'v Value) -> Result<Self> {
        let refused = || refused(flag, "pass the file as base64, or as an object with `data`, `name` and `type`");
        let Value::Object(fields) = value else {
            return Ok(Self { data: value.as_str().ok_or_else(refused)?, ..Self::default() });
        };
        let mut file = Self::default();
        for (key, value) in fields {
            let text = value.as_str().ok_or_else(refused)?;
            match key.as_str() {
                "name" => file.name = Some(text),
                "type" => file.media = Some(text),
                "data" => file.data = text,
                _ => return Err(refused()),
            }
        }
        if fields.contains_key("data") { Ok(file) } else { Err(refused()) }
    }
}

fn refused(flag: &Flag, why: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("The argument '{}' cannot be sent: {why}", flag.name))
}

/// Escapes a name for use between quotes, as browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// Returns the boundary between the parts. It is a hash of the parts, so that a retry sends exactly the same request.
fn boundary(parts: &[Part]) -> String {
    let mut hash = sha256::Hasher::new();
    for part in parts {
        hash.update(&part.head);
        hash.update(part.bytes.len().to_be_bytes());
        hash.update(&part.bytes);
    }
    let mut digest: [u8; 32] = hash.finish();
    loop {
        let boundary = format!("mcpkg-{}", &hex::encode(&digest)[..32]);
        if !parts.iter().any(|part| memchr::memmem::find(&part.bytes, boundary.as_bytes()).is_some()) {
            return boundary;
        }
        digest = sha256::of(digest);
    }
}
