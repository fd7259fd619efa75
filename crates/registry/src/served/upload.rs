//! Parses uploads, either a multipart form or JSON. A form is read as a stream, so that memory holds only its parts,
//! and not the whole body as well. JSON is read as a whole.

use std::borrow::Cow;
use std::io::{self, Read};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream::Stream;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use multer::{Constraints, Field, Multipart, SizeLimit};
use serde::Deserialize;
use serde_json::Value;

use super::failure::Failure;
use crate::backend::registry::MAX_ARCHIVE;
use mcpkg_store::tools::packages::Visibility;

/// The maximum size in bytes of each part except the archive.
const BESIDE: u64 = 1 << 20;

/// The maximum size in bytes of an archive sent as JSON, which is held in memory as base64. Larger archives must be
/// sent as a form.
const IN_JSON: u64 = 16 << 20;

const PARTS: usize = 32;

const PIECE: usize = 64 << 10;

#[derive(Debug)]
pub struct Upload {
    /// The manifest sent along with the archive.
    pub manifest: Value,
    pub bundle: Vec<u8>,
    pub visibility: Option<Visibility>,
}

/// Returns the size limit of an upload, depending on its content type.
pub fn most(headers: &HeaderMap) -> u64 {
    match is_form(headers) {
        true => MAX_ARCHIVE + 4 * BESIDE,
        false => IN_JSON / 3 * 4 + 4 * BESIDE,
    }
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}

fn is_form(headers: &HeaderMap) -> bool {
    content_type(headers).trim_start().to_ascii_lowercase().starts_with("multipart/form-data")
}

pub fn read(headers: &HeaderMap, body: &mut (dyn Read + Send)) -> Result<Upload, Failure> {
    match is_form(headers) {
        true => form(content_type(headers), body),
        false => in_json(body),
    }
}

/// Reads a small body with a JSON object; an empty body means `{}`.
pub fn json_body(body: &mut (dyn Read + Send)) -> Result<Value, Failure> {
    let bytes = whole(body)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| not_json(&error))?;
    if value.is_object() { Ok(value) } else { Err(Failure::bad_request("The body is not a JSON object")) }
}

fn whole(body: &mut (dyn Read + Send)) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).map_err(|error| cut_off(&error))?;
    Ok(bytes)
}

fn cut_off(error: &dyn std::fmt::Display) -> Failure {
    Failure::bad_request(format!("Cannot read the body of this request: {error}"))
}

fn not_json(error: &serde_json::Error) -> Failure {
    Failure::bad_request(format!("The body of this request is not valid JSON: {error}"))
}

#[derive(Deserialize)]
struct InJson<'b> {
    #[serde(default)]
    manifest: Value,
    #[serde(borrow)]
    bundle: Cow<'b, str>,
    #[serde(default)]
    visibility: Option<String>,
}

fn in_json(body: &mut (dyn Read + Send)) -> Result<Upload, Failure> {
    let bytes = whole(body)?;
    let InJson { manifest, bundle, visibility } = serde_json::from_slice(&bytes).map_err(|error| not_json(&error))?;
    let bundle = STANDARD.decode(bundle.as_bytes());
    let bundle = bundle.map_err(|error| Failure::bad_request(format!("`bundle` is not valid base64: {error}")))?;
    if bundle.len() as u64 > IN_JSON {
        let why = format!(
            "An archive in JSON can be at most {} MiB; send a larger one as multipart/form-data",
            IN_JSON >> 20
        );
        return Err(Failure::too_large(why));
    }
    let visibility = visibility.as_deref().map(shown_to).transpose()?;
    Ok(Upload { manifest: manifest_of(manifest)?, bundle, visibility })
}

fn shown_to(word: &str) -> Result<Visibility, Failure> {
    let why = || Failure::invalid("`visibility` must be public, unlisted or private");
    Visibility::from_word(word.trim()).ok_or_else(why)
}

/// Returns the manifest; some clients send it as a string that contains JSON.
fn manifest_of(value: Value) -> Result<Value, Failure> {
    match value {
        Value::Null | Value::Object(_) => Ok(value),
        Value::String(text) => serde_json::from_str(&text).map_err(|error| not_json(&error)),
        _ => Err(Failure::bad_request("`manifest` is not a JSON object")),
    }
}

fn form(content_type: &str, body: &mut (dyn Read + Send)) -> Result<Upload, Failure> {
    let boundary = multer::parse_boundary(content_type).map_err(|error| cut_off(&error))?;
    let limits = SizeLimit::new().per_field(BESIDE).for_field("bundle", MAX_ARCHIVE);
    let chunks = Chunks { body, is_due: true };
    let mut form = Multipart::with_constraints(chunks, boundary, Constraints::new().size_limit(limits));
    let (mut manifest, mut bundle, mut visibility) = (Value::Null, None, None);
    let mut parts = 0;
    while let Some(mut field) = complete(form.next_field()).map_err(refused)? {
        parts += 1;
        if parts > PARTS {
            return Err(Failure::bad_request(format!("The form has more than {PARTS} parts")));
        }
        let name = field.name().unwrap_or_default().to_owned();
        let bytes = part(&mut field)?;
        match name.as_str() {
            "bundle" => bundle = Some(bytes),
            "manifest" => {
                let value = serde_json::from_slice(&bytes).map_err(|error| not_json(&error))?;
                manifest = manifest_of(value)?;
            }
            "visibility" => visibility = Some(shown_to(&String::from_utf8_lossy(&bytes))?),
            // Skip other parts, such as the text of the manifest: mcpkg takes it from the archive.
            _ => {}
        }
    }
    let bundle = bundle.ok_or_else(|| Failure::bad_request("The form has no `bundle` part"))?;
    Ok(Upload { manifest, bundle, visibility })
}

fn part(field: &mut Field<'_>) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = complete(field.chunk()).map_err(refused)? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn refused(error: multer::Error) -> Failure {
    match error {
        multer::Error::FieldSizeExceeded { limit, field_name } => {
            let part = field_name.unwrap_or_default();
            Failure::too_large(format!("The part '{}' is larger than {limit} bytes", part.escape_debug()))
        }
        error => Failure::bad_request(format!("Cannot read the form: {error}")),
    }
}

/// Turns a body into a stream. It reports "pending" after each chunk, because the parser otherwise buffers
/// everything that is ready.
struct Chunks<'b> {
    body: &'b mut (dyn Read + Send),
    is_due: bool,
}

impl Stream for Chunks<'_> {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !std::mem::replace(&mut self.is_due, false) {
            self.is_due = true;
            return Poll::Pending;
        }
        let mut chunk = vec![0; PIECE];
        Poll::Ready(match self.body.read(&mut chunk) {
            Ok(0) => None,
            Ok(read) => {
                chunk.truncate(read);
                Some(Ok(chunk.into()))
            }
            Err(error) => Some(Err(error)),
        })
    }
}

/// Runs one of the parser's futures to completion by polling it repeatedly. No waker is needed, since each poll
/// reads more of the body.
fn complete<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::backend::http::multipart::Form;

    fn headers(content_type: &str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_str(content_type).expect("a header"))])
    }

    fn status(content_type: &str, mut body: &[u8]) -> Result<Upload, u16> {
        read(&headers(content_type), &mut body).map_err(|failure| failure.answer().status.as_u16())
    }

    fn form_of(bundle: &[u8]) -> (String, Vec<u8>) {
        let form = Form::default()
            .file("manifest", "manifest.json", "application/json", br#"{"name":"a/b"}"#)
            .text("raw_manifest", "name: a/b\n")
            .text("visibility", "unlisted")
            .file("bundle", "bundle.tar.gz", "application/gzip", bundle);
        let payload = form.payload();
        (payload.content_type, payload.bytes)
    }

    #[test]
    fn a_form_and_json_give_the_same_upload() {
        for bundle in
            [b"".to_vec(), b"\r\n--\r\n".repeat(9), vec![b'-'; 300_000], (0..=255).cycle().take(1 << 20).collect()]
        {
            let (content_type, bytes) = form_of(&bundle);
            let upload = status(&content_type, &bytes).expect("a form");
            assert_eq!((upload.manifest, upload.visibility), (json!({ "name": "a/b" }), Some(Visibility::Unlisted)));
            assert_eq!(upload.bundle, bundle);
            let body = json!({ "manifest": { "name": "a/b" }, "bundle": STANDARD.encode(&bundle) });
            let upload = status("application/json", body.to_string().as_bytes()).expect("JSON");
            assert_eq!((upload.bundle == bundle, upload.visibility), (true, None));
        }
    }

    #[test]
    fn what_is_too_large_or_malformed_is_refused() {
        let (content_type, bytes) = form_of(&vec![0; usize::try_from(MAX_ARCHIVE).unwrap() + 1]);
        assert_eq!(status(&content_type, &bytes).unwrap_err(), 413);
        let (content_type, bytes) = form_of(b"x");
        assert_eq!(status(&content_type, &bytes[..bytes.len() - 30]).unwrap_err(), 400);
        assert_eq!(status("multipart/form-data", &bytes).unwrap_err(), 400);
        assert_eq!(status("multipart/form-data; boundary=other", &bytes).unwrap_err(), 400);
        let beside = Form::default().text("other", &"x".repeat(2 << 20)).payload();
        assert_eq!(status(&beside.content_type, &beside.bytes).unwrap_err(), 413);
        let many = (0..40).fold(Form::default(), |form, n| form.text(&format!("p{n}"), "x")).payload();
        assert_eq!(status(&many.content_type, &many.bytes).unwrap_err(), 400);
        for body in ["", "[]", "{}", "{\"bundle\":7}", "{\"bundle\":\"***\"}", "{\"bundle\":\"\",\"manifest\":7}"] {
            assert_eq!(status("application/json", body.as_bytes()).unwrap_err(), 400, "{body}");
        }
        assert_eq!(status("application/json", b"{\"bundle\":\"\",\"visibility\":\"all\"}").unwrap_err(), 422);
        let large = json!({ "bundle": STANDARD.encode(vec![0; (16 << 20) + 1]) });
        assert_eq!(status("application/json", large.to_string().as_bytes()).unwrap_err(), 413);
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn random_bytes_as_a_form_or_json_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
            boundary in "[a-z0-9-]{1,20}",
            kind in "\\PC{0,30}",
        ) {
            let content_type = format!("multipart/form-data; boundary={boundary}");
            let _ = status(&content_type, &bytes);
            let framed = [format!("--{boundary}\r\n").as_bytes(), &bytes, b"\r\n--", boundary.as_bytes()].concat();
            let _ = status(&content_type, &framed);
            let named = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"bundle\"\r\n{kind}\r\n\r\n");
            let _ = status(&content_type, &[named.as_bytes(), &bytes].concat());
            let _ = status("application/json", &bytes);
        }
    }
}
