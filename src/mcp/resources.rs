//! resources/list and resources/read: from rows to JSON.

use super::Config;
use super::json::{Base64, push_escaped, push_optional, push_string};
use super::prompts::push_next;
use super::reads::{Era, not_found, page};
use crate::content::answer::too_large;
use crate::error::Result;
use crate::store::projects::{self, Selection};
use crate::store::resources::Key;
use crate::store::{Db, blobs, resources};

/// The name of this list in cursors.
const LIST: &str = "resources";

/// Appends the result of resources/list.
pub(super) fn list(db: &Db<'_>, selection: &Selection, after: Option<&str>, era: Era, out: &mut Vec<u8>) -> Result<()> {
    let page = page(db, selection, LIST, after)?;
    era.open(out);
    out.extend_from_slice(b"\"resources\":[");
    let mut last: Option<(i64, String)> = None;
    let mut rows = 0;
    let more = resources::each(db, selection, &page, |line| {
        if rows > 0 {
            out.push(b',');
        }
        rows += 1;
        out.extend_from_slice(b"{\"uri\":");
        push_string(out, line.uri);
        push_optional(out, "name", Some(line.name));
        push_optional(out, "description", line.description);
        push_optional(out, "mimeType", line.mime_type);
        out.push(b'}');
        if rows == page.limit {
            last = Some((line.project, line.name.to_owned()));
        }
        Ok(())
    })?;
    if rows == 0 {
        projects::resolve(db, selection)?;
    }
    out.push(b']');
    push_next(out, LIST, last.filter(|_| more));
    era.close_uncached(out);
    Ok(())
}

/// Appends the result of resources/read: a text as it is, anything else as base64.
pub(super) fn read(db: &Db<'_>, config: &Config, uri: &str, era: Era, out: &mut Vec<u8>) -> Result<()> {
    let found = resources::with(db, &config.selection, Key::Uri(uri), |resource| {
        let size = resource.content.size;
        if size > config.max_answer {
            let how = format!("mcpkg resource show {} -o FILE", resource.name);
            return Err(too_large(&format!("Resource '{uri}'"), size, config.max_answer, &how));
        }
        // Growing a buffer to the size of a large answer costs as much as encoding it.
        let size = usize::try_from(size).unwrap_or(0);
        out.reserve(if resource.text { size + size / 16 } else { size.div_ceil(3) * 4 } + 512);
        era.open(out);
        out.extend_from_slice(b"\"contents\":[{\"uri\":");
        push_string(out, resource.uri);
        push_optional(out, "mimeType", resource.mime_type);
        if resource.text {
            out.extend_from_slice(b",\"text\":\"");
            blobs::stream(db, resource.content, |piece| {
                push_escaped(out, piece);
                Ok(())
            })?;
        } else {
            out.extend_from_slice(b",\"blob\":\"");
            let mut base64 = Base64::default();
            blobs::stream(db, resource.content, |piece| {
                base64.push(out, piece);
                Ok(())
            })?;
            base64.finish(out);
        }
        out.extend_from_slice(b"\"}]");
        era.close_uncached(out);
        Ok(())
    })?;
    found.ok_or_else(|| not_found(db, &config.selection, "Resource", "uri", uri))
}
