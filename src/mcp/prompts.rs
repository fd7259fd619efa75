//! Answers prompts/list and prompts/get from database rows.

use std::collections::BTreeMap;

use super::Config;
use super::era::Era;
use super::lookup::{not_found, page};
use super::words;
use mcpkg_agents::commands::fill::{CommandText, fill};
use mcpkg_agents::template;
use mcpkg_base::error::Result;
use mcpkg_base::json::{push_escaped, push_member, push_string};
use mcpkg_content::answer::{arguments, too_large};
use mcpkg_content::cursor;
use mcpkg_store::blobs::{self, Verify};
use mcpkg_store::projects::{self, Selection};
use mcpkg_store::{Db, prompts};

/// The name of this list in cursors.
const LIST: &str = "prompts";

/// Appends the result of prompts/list. `splits` says whether the client passes each word that the user types as a
/// separate argument (see [`words`]).
pub(super) fn list(
    db: &Db<'_>,
    selection: &Selection,
    after: Option<&str>,
    splits: bool,
    era: Era,
    out: &mut Vec<u8>,
) -> Result<()> {
    let page = page(db, selection, LIST, after)?;
    era.open(out);
    out.extend_from_slice(b"\"prompts\":[");
    let mut last: Option<(i64, Vec<u8>)> = None;
    let mut rows = 0;
    let more = prompts::each(db, selection, &page, |line| {
        if rows > 0 {
            out.push(b',');
        }
        rows += 1;
        out.extend_from_slice(b"{\"name\":");
        push_string(out, line.name);
        push_member(out, ",\"description\":", line.description);
        if let Some(arguments) = line.arguments {
            out.extend_from_slice(b",\"arguments\":");
            words::push(arguments, line.takes_line, splits, out)?;
        }
        out.push(b'}');
        if rows == page.limit {
            last = Some((line.project, line.name.to_owned()));
        }
        Ok(())
    })?;
    if rows == 0 {
        // The list may be empty because the project does not exist, which is an error.
        projects::resolve(db, selection)?;
    }
    out.push(b']');
    push_next(out, LIST, last.filter(|_| more));
    era.close_uncached(out);
    Ok(())
}

/// Appends the cursor of the next page, if there is one.
pub(super) fn push_next(out: &mut Vec<u8>, list: &str, last: Option<(i64, Vec<u8>)>) {
    let next = last.map(|(project, name)| cursor::encode(list, project, &String::from_utf8_lossy(&name)));
    push_member(out, ",\"nextCursor\":", next.as_deref());
}

/// Appends the result of prompts/get: a plain prompt unchanged, or a rendered template.
pub(super) fn get(
    db: &Db<'_>,
    config: &Config,
    name: &str,
    given: &BTreeMap<String, String>,
    era: Era,
    out: &mut Vec<u8>,
) -> Result<()> {
    let found = prompts::with(db, &config.selection, name, |prompt| {
        let size = prompt.content.size;
        if size > config.max_answer {
            let what = format!("Prompt '{name}'");
            return Err(too_large(&what, size, config.max_answer, &format!("mcpkg prompt show {name}")));
        }
        era.open(out);
        if let Some(description) = prompt.description {
            out.extend_from_slice(b"\"description\":");
            push_string(out, description);
            out.push(b',');
        }
        out.extend_from_slice(b"\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"");
        if prompt.template {
            if prompt.dialect.is_none() {
                template::check_size(size)?;
            }
            let source = String::from_utf8(blobs::read(db, prompt.content)?)
                .map_err(|error| blobs::damaged_value("a prompt's content is not UTF-8").with_source(error))?;
            let declared = arguments(prompt.arguments)?;
            let (dialect, front_matter) = (prompt.dialect, prompt.front_matter);
            let source = CommandText { name, dialect, front_matter, text: &source, declared: &declared };
            let text = fill(&source, &words::joined(given, &declared), config.max_answer)?;
            push_escaped(out, text.as_bytes());
        } else {
            blobs::stream(db, prompt.content, Verify::Checksum, |piece| {
                push_escaped(out, piece);
                Ok(())
            })?;
        }
        out.extend_from_slice(b"\"}}]}");
        Ok(())
    })?;
    found.ok_or_else(|| not_found(db, &config.selection, "Prompt", "name", name))
}
