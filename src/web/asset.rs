//! Serves the scripts of editor pages. Each has its hash in its address, so that browsers keep it, and is compressed once.

use std::io::Write;
use std::sync::LazyLock;

use axum::extract::RawQuery;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use mcpkg_base::sha256;

/// How long a browser may keep a script: a year.
const KEPT: &str = "private, max-age=31536000, immutable";

pub struct Asset {
    path: &'static str,
    text: &'static str,
    hash: LazyLock<String>,
    compressed: LazyLock<Bytes>,
}

macro_rules! asset {
    ($path:literal, $file:literal) => {
        Asset {
            path: $path,
            text: include_str!($file),
            hash: LazyLock::new(|| sha256::hex(include_str!($file))[..16].to_owned()),
            compressed: LazyLock::new(|| compressed(include_str!($file))),
        }
    };
}

/// CodeMirror, the editor of the pages. `codemirror/build.sh` builds it.
pub static CODEMIRROR: Asset = asset!("/codemirror.js", "codemirror/codemirror.js");

/// The script that puts CodeMirror on a page.
pub static EDITOR: Asset = asset!("/editor.js", "editor.js");

fn compressed(text: &str) -> Bytes {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail; without its end, no browser would take it.
    let written = gzip.write_all(text.as_bytes()).and_then(|()| gzip.finish());
    written.map(Bytes::from).unwrap_or_default()
}

impl Asset {
    /// Returns the address, which changes with the content.
    pub fn address(&self) -> String {
        format!("{}?{}", self.path, *self.hash)
    }

    pub fn answer(&'static self, RawQuery(query): RawQuery, headers: &HeaderMap) -> Response {
        let mut response = match takes_gzip(headers) {
            true => ([(CONTENT_ENCODING, "gzip")], self.compressed.clone()).into_response(),
            false => self.text.into_response(),
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if query.as_deref() == Some(self.hash.as_str()) {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static(KEPT));
        }
        response
    }
}

/// Returns whether a request accepts gzip: `gzip` or `*` without the weight 0.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let is_refused = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok()) == Some(0.0);
        matches!(name.trim(), "gzip" | "*") && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The editor may add this many bytes to a page, compressed.
    const MOST: usize = 170 * 1024;

    #[test]
    fn the_editor_is_small_and_is_the_file_of_its_sum() {
        let size = CODEMIRROR.compressed.len() + EDITOR.compressed.len();
        assert!(size > 0 && size <= MOST, "{size}");
        let sums = include_str!("codemirror/codemirror.sha256");
        for (name, text) in
            [("codemirror.js", CODEMIRROR.text), ("codemirror.txt", include_str!("codemirror/codemirror.txt"))]
        {
            assert!(sums.contains(&format!("{}  {name}\n", sha256::hex(text))), "{name}");
        }
    }

    #[test]
    fn only_the_address_with_the_hash_is_kept() {
        let answer = |query: &str, coding: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding));
            let response = EDITOR.answer(RawQuery(Some(query.to_owned())), &headers);
            let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
            (header(CACHE_CONTROL), header(CONTENT_ENCODING))
        };
        let address = EDITOR.address();
        let hash = address.strip_prefix("/editor.js?").expect("a hash");
        assert_eq!(answer(hash, "br, gzip"), (Some(KEPT.to_owned()), Some("gzip".to_owned())));
        assert_eq!(answer("", "*;q=0.5"), (None, Some("gzip".to_owned())));
        for coding in ["", "br", "gzip;q=0", "xgzip"] {
            assert_eq!(answer(hash, coding), (Some(KEPT.to_owned()), None), "{coding}");
        }
    }
}
