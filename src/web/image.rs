//! Serves images of the selected project's content: only the four types that a browser shows without running anything.
//!
//! The bytes decide the type, so that a file with another content never becomes a page, a script or an SVG document.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use mcpkg_base::error::Result;
use mcpkg_console::Invocation;
use mcpkg_core::op::{Body, Context};

use super::address::{Fields, with};
use super::console::{Console, blocking};
use super::page;
use super::session::Session;

/// Returns the console's address for an image. `uri` is a resource of the selected project.
pub fn address(uri: &str) -> String {
    with("/image", &[("uri", uri)])
}

pub async fn show(
    State(console): State<Arc<Console>>,
    Extension(session): Extension<Session>,
    RawQuery(query): RawQuery,
) -> Response {
    blocking(move || {
        let query = Fields::parse(query.unwrap_or_default().as_bytes());
        match image(&session.context(&console.context), query.get("uri")) {
            Ok(Some((kind, bytes))) => ([(CONTENT_TYPE, kind)], bytes).into_response(),
            Ok(None) => {
                page::refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "This is not an image that the console shows.")
            }
            Err(error) => page::failed(&session, &error, "/content"),
        }
    })
    .await
}

/// Returns the type and the bytes of an image; `None` if the resource is text or has another type.
fn image(context: &Context, uri: &str) -> Result<Option<(&'static str, Vec<u8>)>> {
    match Invocation::new("resource show").with(uri).run(context)?.body {
        Body::Media(media) => Ok(kind(&media.bytes).map(|kind| (kind, media.bytes))),
        _ => Ok(None),
    }
}

fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_decide_the_type() {
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n..."), Some("image/png"));
        assert_eq!(kind(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!((kind(b"GIF89a"), kind(b"GIF87a")), (Some("image/gif"), Some("image/gif")));
        assert_eq!(kind(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        for other in ["<svg xmlns='http://www.w3.org/2000/svg'/>", "<html>", "GIF88a", "RIFF0000WAVE", "BM", ""] {
            assert_eq!(kind(other.as_bytes()), None, "{other}");
        }
    }
}
