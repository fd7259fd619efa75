//! Answers git clients over smart HTTP. They can fetch, but not push.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};

use super::repository;
use super::route::{Route, What, refuse};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{LOCAL, served};
use mcpkg_base::process::Limits;
use mcpkg_core::op::{Answer, Content, Context, Head};

/// The maximum size of a request in bytes. A request lists the commits that a client wants and those that it has.
pub(super) const REQUEST: u64 = 1 << 20;

/// The maximum size of a decompressed request in bytes.
const UNPACKED: u64 = 8 << 20;

/// The maximum size of an answer in bytes.
const ANSWER: u64 = 1 << 30;

const WANTED: &str = "application/x-git-upload-pack-request";

/// Refuses requests that are not a fetch over git's smart HTTP.
pub(super) fn admit(route: &Route, head: &Head) -> Result<(), Box<Answer>> {
    let refused = |status, why| Err(Box::new(refuse(status, why)));
    match route.what {
        What::Offer => match head.query.as_str() {
            "service=git-upload-pack" => Ok(()),
            "service=git-receive-pack" => {
                refused(StatusCode::FORBIDDEN, "This repository is read-only: it mirrors the project")
            }
            _ => refused(StatusCode::FORBIDDEN, "This repository is served only over git's smart HTTP"),
        },
        What::Upload if head.headers.get(CONTENT_TYPE).is_none_or(|kind| kind != WANTED) => {
            refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Not a git request")
        }
        _ => Ok(()),
    }
}

pub(super) fn offer(context: &Context, route: &Route, head: &Head) -> Result<Answer> {
    let limits = Limits::new(LOCAL, &context.cancelled);
    let folder = repository::current(context, route, &limits)?;
    let bytes = served::offer(&folder, protocol(head), &limits)?;
    let content_type = HeaderValue::from_static("application/x-git-upload-pack-advertisement");
    Ok(Answer::new(StatusCode::OK, Content::Bytes { bytes, content_type }))
}

pub(super) fn upload(context: &Context, route: &Route, head: &Head, body: &mut (dyn Read + Send)) -> Result<Answer> {
    let limits = Limits::new(LOCAL, &context.cancelled);
    let is_packed = head.headers.get(CONTENT_ENCODING).is_some_and(|coding| coding == "gzip" || coding == "x-gzip");
    let mut request = Vec::new();
    let read = match is_packed {
        true => MultiGzDecoder::new(body).take(UNPACKED + 1).read_to_end(&mut request),
        false => body.take(UNPACKED + 1).read_to_end(&mut request),
    };
    if read.is_err() || request.len() as u64 > UNPACKED {
        return Err(Error::new(Code::InvalidArgument, "The body of this request is damaged or too long"));
    }
    let folder = repository::current(context, route, &limits)?;
    let (file, size) = served::upload(&folder, protocol(head), request, ANSWER, &limits)?;
    let content_type = HeaderValue::from_static("application/x-git-upload-pack-result");
    Ok(Answer::new(StatusCode::OK, Content::File { file, size, content_type }))
}

fn protocol(head: &Head) -> Option<&str> {
    head.headers.get("git-protocol")?.to_str().ok()
}
