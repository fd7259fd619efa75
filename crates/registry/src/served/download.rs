//! Sends the archive of a version in pieces.

use std::ops::Range;

use http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_RANGE, ETAG, HeaderName, HeaderValue, IF_RANGE, RANGE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, StatusCode};
use semver::Version;
use serde_json::json;

use super::failure::Failure;
use super::find::hash;
use super::parameters::Parameters;
use crate::backend::local::Local;
use crate::package::Name;
use mcpkg_base::error::Error;
use mcpkg_core::op::{Answer, Content, Context, Head, Sent};
use mcpkg_store::blobs::damaged_value;
use mcpkg_store::pieces::Pieces;
use mcpkg_store::tools::packages;

/// Sends an archive, or the requested part of it. A yanked version fails with 410 unless the client acknowledges
/// the yank.
pub fn download(context: &Context, head: &Head, name: &Name, version: &Version) -> Result<Answer, Failure> {
    let acknowledged = Parameters::of(&head.query)?.is_true("acknowledge_yanked");
    let (row, pieces) = context.store.read(|db| {
        let row = Local::new(context).row(db, name, version)?;
        if row.release.yank.is_some() && !acknowledged {
            return Ok((row, None));
        }
        let blob = row.blob.ok_or_else(|| damaged_value("a package published in this database has no archive"))?;
        let pieces = Pieces::verified(db, blob, &row.release.sha256)?;
        Ok((row, Some(pieces)))
    })?;
    let Some(pieces) = pieces else {
        let yank = row.release.yank;
        let (reason, replacement) = yank.map_or((None, None), |yank| (yank.reason, yank.replacement));
        let why =
            format!("{name}@{version} was yanked by its publisher; pass acknowledge_yanked=true to get it anyway");
        let details = json!({ "yank_reason": reason, "replacement_version": replacement });
        return Err(Failure::new(StatusCode::GONE, "VERSION_YANKED", why).with_details(details));
    };
    let tag = header(format!("\"{}\"", hash(&row)))?;
    let size = pieces.size();
    let (status, range) = match wanted(&head.headers, &tag, size) {
        Wanted::Whole => (StatusCode::OK, 0..size),
        Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Wanted::Nothing => {
            let why = format!("The requested range is outside the archive, which is {size} bytes long");
            let answer = Failure::new(StatusCode::RANGE_NOT_SATISFIABLE, "BAD_REQUEST", why).answer();
            return Ok(answer.with(CONTENT_RANGE, header(format!("bytes */{size}"))?));
        }
    };
    let content_range = header(format!("bytes {}-{}/{size}", range.start, range.end.saturating_sub(1)))?;
    let is_gzip = HeaderValue::from_static("application/gzip");
    let is_whole = status == StatusCode::OK;
    let id = row.id;
    let counted: Sent = Box::new(move |store| {
        if let Err(error) = store.write(|db| packages::count_download(db, id)) {
            tracing::info!(%error, "could not count a download");
        }
    });
    let sent = is_whole.then_some(counted);
    let answer = Answer::new(status, Content::Stored { pieces, range, content_type: is_gzip, sent })
        .with(ETAG, tag)
        .with(ACCEPT_RANGES, HeaderValue::from_static("bytes"))
        .with(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"bundle.tar.gz\""))
        .with(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(if is_whole { answer } else { answer.with(CONTENT_RANGE, content_range) })
}

fn header(text: String) -> Result<HeaderValue, Failure> {
    let odd = |error| {
        Error::internal("the metadata of an archive contains characters that a header cannot carry").with_source(error)
    };
    HeaderValue::try_from(text).map_err(|error: http::header::InvalidHeaderValue| odd(error).into())
}

/// The part of an archive that a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Whole,
    Part(Range<u64>),
    /// A range outside of the archive.
    Nothing,
}

/// Reads the requested part from the headers. A request for several ranges gets the whole archive.
fn wanted(headers: &HeaderMap, tag: &HeaderValue, size: u64) -> Wanted {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if headers.get(IF_RANGE).is_some_and(|known| known != tag) {
        return Wanted::Whole;
    }
    let Some((first, last)) = text(RANGE).and_then(|range| range.strip_prefix("bytes=")?.trim().split_once('-')) else {
        return Wanted::Whole;
    };
    let range = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(size),
        (Ok(first), Err(_)) if last.is_empty() => first..size,
        (Err(_), Ok(last)) if first.is_empty() => size.saturating_sub(last)..size,
        _ => return Wanted::Whole,
    };
    if range.start < range.end { Wanted::Part(range) } else { Wanted::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_range_gets_a_part_and_other_ranges_the_whole() {
        let wanted = |range: &'static str| {
            let headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_static(range))]);
            wanted(&headers, &HeaderValue::from_static("\"t\""), 100)
        };
        assert_eq!(wanted("bytes=0-9"), Wanted::Part(0..10));
        assert_eq!(wanted("bytes=90-"), Wanted::Part(90..100));
        assert_eq!(wanted("bytes=90-500"), Wanted::Part(90..100));
        assert_eq!(wanted("bytes=-10"), Wanted::Part(90..100));
        assert_eq!(wanted("bytes=-500"), Wanted::Part(0..100));
        assert_eq!(wanted("bytes=99-18446744073709551615"), Wanted::Part(99..100));
        for whole in ["bytes=", "bytes=5-1", "bytes=0-1,4-5", "items=0-1", "bytes=a-b", "bytes=-"] {
            assert_eq!(wanted(whole), Wanted::Whole, "{whole}");
        }
        for nothing in ["bytes=100-", "bytes=100-200", "bytes=-0"] {
            assert_eq!(wanted(nothing), Wanted::Nothing, "{nothing}");
        }
    }

    #[test]
    fn a_part_of_another_content_is_the_whole() {
        let ask = |known: &'static str| {
            let headers = HeaderMap::from_iter([
                (RANGE, HeaderValue::from_static("bytes=0-9")),
                (IF_RANGE, HeaderValue::from_static(known)),
            ]);
            wanted(&headers, &HeaderValue::from_static("\"t\""), 100)
        };
        assert_eq!((ask("\"t\""), ask("\"other\"")), (Wanted::Part(0..10), Wanted::Whole));
    }
}
