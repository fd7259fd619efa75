//! Answers resources/list, and resources/read for stored resources, from database rows.

use super::Config;
use super::era::Era;
use super::lookup::page;
use super::prompts::push_next;
use mcpkg_base::error::Result;
use mcpkg_base::json::{Base64, push_escaped, push_member, push_string};
use mcpkg_content::answer::too_large;
use mcpkg_core::op::ListedIn;
use mcpkg_store::blobs::{self, Blob, Verify};
use mcpkg_store::projects;
use mcpkg_store::resources::Key;
use mcpkg_store::{Db, resources};

/// The name of this list in cursors.
const LIST: &str = "resources";

pub(super) fn list(db: &Db<'_>, config: &Config, after: Option<&str>, era: Era, out: &mut Vec<u8>) -> Result<()> {
    let selection = &config.selection;
    let page = page(db, selection, LIST, after)?;
    era.open(out);
    out.extend_from_slice(b"\"resources\":[");
    let mut last: Option<(i64, Vec<u8>)> = None;
    let mut rows = 0;
    let more = resources::each(db, selection, &page, |line| {
        if rows > 0 {
            out.push(b',');
        }
        rows += 1;
        out.extend_from_slice(b"{\"uri\":");
        push_string(out, line.uri);
        push_member(out, ",\"name\":", Some(line.name));
        push_member(out, ",\"description\":", line.description);
        push_member(out, ",\"mimeType\":", line.mime_type);
        out.push(b'}');
        if rows == page.limit {
            last = Some((line.project, line.name.to_owned()));
        }
        Ok(())
    })?;
    if rows == 0 {
        projects::resolve(db, selection)?;
    }
    if !more {
        push_listed(config, rows > 0, out);
    }
    out.push(b']');
    push_next(out, LIST, last.filter(|_| more));
    era.close_uncached(out);
    Ok(())
}

/// Appends the domains' resources that belong in resources/list. They come after the stored resources.
fn push_listed(config: &Config, mut follows: bool, out: &mut Vec<u8>) {
    for resource in config.providers.resources().filter(|resource| resource.shown == ListedIn::Listed) {
        if std::mem::replace(&mut follows, true) {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"uri\":");
        push_string(out, resource.uri);
        push_member(out, ",\"name\":", Some(resource.name));
        push_member(out, ",\"title\":", Some(resource.title));
        push_member(out, ",\"description\":", Some(resource.description));
        push_member(out, ",\"mimeType\":", resource.mime_type);
        out.push(b'}');
    }
}

/// Appends the content stored under `key`, which was requested as `uri`: text unchanged, anything else as base64.
/// Returns whether it exists.
pub(super) fn stored(
    db: &Db<'_>,
    config: &Config,
    key: Key<'_>,
    uri: &str,
    era: Era,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let found = resources::with(db, &config.selection, key, |resource| {
        let how = || format!("mcpkg resource show {} -o FILE", resource.name);
        let contents = Contents { uri, mime_type: resource.mime_type, text: resource.text };
        contents.push(db, config, resource.content, how, era, out)
    })?;
    Ok(found.is_some())
}

/// The contents object of resources/read.
pub(super) struct Contents<'a> {
    pub(super) uri: &'a str,
    pub(super) mime_type: Option<&'a str>,
    /// Whether the contents are sent as text.
    pub(super) text: bool,
}

impl Contents<'_> {
    /// Appends the result of resources/read with the bytes of a blob. If the blob is too large, the error suggests
    /// `how`, a command that prints it.
    pub(super) fn push(
        &self,
        db: &Db<'_>,
        config: &Config,
        blob: Blob<'_>,
        how: impl FnOnce() -> String,
        era: Era,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if blob.size > config.max_answer {
            return Err(too_large(&format!("Resource '{}'", self.uri), blob.size, config.max_answer, &how()));
        }
        // The space is reserved first, because growing a buffer to the size of a large answer takes as long as encoding
        // it.
        let size = usize::try_from(blob.size).unwrap_or(0);
        out.reserve(if self.text { size + size / 16 } else { size.div_ceil(3) * 4 } + 512);
        self.open(era, out);
        if self.text {
            out.extend_from_slice(b",\"text\":\"");
            blobs::stream(db, blob, Verify::Checksum, |piece| {
                push_escaped(out, piece);
                Ok(())
            })?;
        } else {
            out.extend_from_slice(b",\"blob\":\"");
            let mut base64 = Base64::default();
            blobs::stream(db, blob, Verify::Checksum, |piece| {
                base64.push(out, piece);
                Ok(())
            })?;
            base64.finish(out);
        }
        out.extend_from_slice(b"\"}]");
        era.close_uncached(out);
        Ok(())
    }

    /// Appends the result of resources/read with a text that is not stored.
    pub(super) fn push_text(&self, text: &str, era: Era, out: &mut Vec<u8>) {
        self.open(era, out);
        push_member(out, ",\"text\":", Some(text));
        out.extend_from_slice(b"}]");
        era.close_uncached(out);
    }

    fn open(&self, era: Era, out: &mut Vec<u8>) {
        era.open(out);
        out.extend_from_slice(b"\"contents\":[{\"uri\":");
        push_string(out, self.uri);
        push_member(out, ",\"mimeType\":", self.mime_type);
    }
}
