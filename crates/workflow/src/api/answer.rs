//! Decodes the body of an HTTP answer: as JSON, else as text, else as base64.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::{Encoding, UTF_8};
use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::media::{Media, is_json};
use mcpkg_base::http::Answer;
use mcpkg_base::json::exact;

/// Decodes the body of an answer as JSON if its media type says so, else as text, else as base64. An empty body is null.
///
/// # Errors
/// The media type is JSON, but the body is not valid JSON.
pub fn value(answer: &Answer) -> serde_json::Result<Value> {
    let text = text(answer);
    if answer.body.is_empty() {
        return Ok(Value::Null);
    }
    match text {
        Some(text) if is_json(media(answer)) => exact(text.as_bytes()),
        None if is_json(media(answer)) => exact(&answer.body),
        Some(text) => Ok(Value::String(text.into_owned())),
        None => Ok(Value::String(STANDARD.encode(&answer.body))),
    }
}

/// Returns the body of an answer as text, or `None` if it is not text.
///
/// The encoding comes from the byte order mark, else from the charset, else it is UTF-8. If the media type is binary or
/// multipart and has no charset, the body is text only if it is valid UTF-8.
pub fn text(answer: &Answer) -> Option<Cow<'_, str>> {
    let media = media(answer);
    let charset = charset(media);
    if charset.is_none() && matches!(Media::of(media), Media::Bytes | Media::Multipart) {
        return std::str::from_utf8(&answer.body).ok().map(Cow::Borrowed);
    }
    let (encoding, mark) = Encoding::for_bom(&answer.body).unwrap_or((charset.unwrap_or(UTF_8), 0));
    encoding.decode_without_bom_handling_and_without_replacement(&answer.body[mark..])
}

fn media(answer: &Answer) -> &str {
    answer.headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default()
}

fn charset(media: &str) -> Option<&'static Encoding> {
    let parameters = media.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut named = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    named.find_map(|(_, label)| Encoding::for_label(label.trim().trim_matches('"').as_bytes()))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, StatusCode};
    use serde_json::json;

    use super::*;

    fn answered(media: &'static str, body: &[u8]) -> Value {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media))]);
        value(&Answer { status: StatusCode::OK, headers, body: body.to_vec(), attempts: 1 }).expect("an answer")
    }

    #[test]
    fn text_is_read_in_the_charset_that_it_says() {
        for (media, body, expected) in [
            ("text/plain; charset=ISO-8859-1", &b"caf\xe9"[..], "café"),
            ("text/csv;charset=\"windows-1251\"", b"\xcf\xf0\xe8", "При"),
            ("text/plain; charset=Shift_JIS", b"\x93\xfa", "日"),
            ("text/plain", b"\xff\xfea\0b\0", "ab"),
            ("text/plain; charset=utf-8", b"\xef\xbb\xbfa", "a"),
            ("text/plain; charset=nonsense", "é".as_bytes(), "é"),
            // Bytes that are invalid in the declared charset, and binary data, are kept as base64.
            ("text/plain; charset=utf-8", b"\xff\xff", "//8="),
            ("application/octet-stream", b"\xff\xfea\0", "//5hAA=="),
        ] {
            assert_eq!(answered(media, body), json!(expected), "{media}");
        }
    }

    #[test]
    fn json_is_read_whatever_its_encoding_and_its_numbers() {
        let json = "application/json";
        assert_eq!(answered(json, b"\xef\xbb\xbf{\"a\":1}"), json!({ "a": 1 }));
        assert_eq!(answered(json, b"\xfe\xff\0[\x007\0]"), json!([7]));
        assert_eq!(answered("application/json; charset=latin1", b"[\"\xe9\"]"), json!(["é"]));
        assert_eq!(answered(json, b"{\"a\":1e999,\"b\":2}"), json!({ "a": "1e999", "b": 2 }));
        let large = answered("application/problem+json", b"{\"id\":123456789012345678901234567890}");
        assert_eq!(large, json!({ "id": "123456789012345678901234567890" }));
        assert_eq!(answered(json, b""), Value::Null);
    }
}
