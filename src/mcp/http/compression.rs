//! Compresses large answers with gzip if the client is on another machine. On the same machine, compressing would take
//! longer than sending.

use std::io::Write;
use std::net::IpAddr;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Body as _;

use super::answer::{Body, JSON};

/// Answers of at least this many bytes are compressed.
const LARGE: u64 = 16 << 10;

/// Returns whether a client accepts gzip and is on another machine.
pub(super) fn wanted(headers: &HeaderMap, from: IpAddr) -> bool {
    let takes = headers.get(ACCEPT_ENCODING).and_then(|takes| takes.to_str().ok()).unwrap_or_default();
    let gzip = takes.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip")
            && parts.all(|weight| !weight.trim_start_matches("q=").trim_matches(['0', '.']).is_empty())
    });
    gzip && !from.is_loopback()
}

/// Compresses a large JSON answer, unless it is already compressed.
pub(super) async fn compressed(response: Response<Body>) -> Response<Body> {
    let is_json = response.headers().get(CONTENT_TYPE) == Some(&JSON);
    let size = response.body().size_hint().exact().unwrap_or(0);
    if !is_json || size < LARGE || response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let whole = match body.collect().await {
        Ok(whole) => whole.to_bytes(),
        Err(never) => match never {},
    };
    let plain = whole.clone();
    let compressing = tokio::task::spawn_blocking(move || gzip(&plain).ok()).await.ok().flatten();
    let Some(compressed) = compressing else {
        return Response::from_parts(parts, Full::new(whole).boxed());
    };
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    Response::from_parts(parts, Full::new(compressed).boxed())
}

fn gzip(plain: &[u8]) -> std::io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::fast());
    encoder.write_all(plain)?;
    encoder.finish().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn takes(coding: &'static str, from: [u8; 4]) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding));
        wanted(&headers, IpAddr::from(from))
    }

    #[test]
    fn answers_to_other_machines_may_be_compressed() {
        assert!(takes("gzip, deflate", [10, 0, 0, 1]) && takes("br, gzip;q=0.5", [10, 0, 0, 1]));
        assert!(
            !takes("br", [10, 0, 0, 1]) && !takes("gzip;q=0", [10, 0, 0, 1]) && !takes("gzip;q=0.000", [10, 0, 0, 1])
        );
        assert!(!takes("gzip", [127, 0, 0, 1]));
    }

    #[tokio::test]
    async fn a_large_answer_unpacks_to_itself() {
        let text = "x".repeat(1 << 20);
        let large = crate::mcp::http::answer::json(http::StatusCode::OK, text.clone().into_bytes());
        let compressed = compressed(large).await;
        assert_eq!(compressed.headers().get(CONTENT_ENCODING), Some(&HeaderValue::from_static("gzip")));
        let body = compressed.into_body().collect().await.unwrap().to_bytes();
        let mut whole = String::new();
        flate2::read::GzDecoder::new(&body[..]).read_to_string(&mut whole).unwrap();
        assert_eq!(whole, text);
        let small = crate::mcp::http::answer::json(http::StatusCode::OK, b"{}".to_vec());
        assert!(!super::compressed(small).await.headers().contains_key(CONTENT_ENCODING));
    }
}
