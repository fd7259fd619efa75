//! Changes a managed block in a user's file, and removes it again.

use crate::desired::Output;
use crate::plan::{After, entries};
use mcpkg_agents::forms::sections;
use mcpkg_base::disk::{self, PathState};
use mcpkg_base::error::Result;
use mcpkg_store::deploys::{Deployed, Image};
use mcpkg_store::snapshots::{self, File};
use mcpkg_store::{Db, blobs};

/// Returns the file with the output's block in it. If the file has no block yet and only repeats one module's text,
/// the block replaces that text.
pub fn put_in(output: &Output, text: &[u8]) -> Vec<u8> {
    if sections::find(text).is_none() && goes_in(output, text) {
        return output.bytes.to_vec();
    }
    sections::put(text, &output.bytes)
}

/// Whether the file is empty, or contains only the text of one of the block's modules.
fn goes_in(output: &Output, text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let is_part = |bytes: &[u8]| bytes.trim_ascii() == text;
    text.is_empty() || output.parts.iter().any(|part| is_part(&part.bytes) || is_part(part.body()))
}

/// Returns the block of a stored file version.
pub fn of_image(db: &Db<'_>, image: &Image) -> Result<Option<Vec<u8>>> {
    let bytes = bytes(db, image)?;
    Ok(bytes.as_deref().and_then(sections::find).map(|split| split.block.trim_ascii_end().to_vec()))
}

/// Whether the block in a file is unchanged since it was deployed.
pub fn is_untouched(db: &Db<'_>, row: &Deployed, text: &[u8]) -> Result<bool> {
    let Some(there) = sections::find(text) else { return Ok(false) };
    Ok(of_image(db, &row.applied)?.as_deref() == Some(there.block.trim_ascii_end()))
}

/// Repairs a block that lost one of its two marker lines. Returns `None` if there is nothing to repair.
pub fn mended(db: &Db<'_>, applied: &Image, text: &[u8]) -> Result<Option<Vec<u8>>> {
    if sections::find(text).is_some() {
        return Ok(None);
    }
    Ok(of_image(db, applied)?.and_then(|block| sections::mend(text, &block)))
}

/// Returns a file without mcpkg's changes: the block is removed, and text that the block replaced is restored.
pub fn without(db: &Db<'_>, row: &Deployed, found: &PathState) -> Result<After> {
    let touches = snapshots::touches(db, row.place, &row.path, 0)?;
    let back_to = touches.iter().position(|touch| touch.before == row.pristine);
    let count = back_to.map_or(touches.len(), |last| last + 1);
    undo(db, found, &touches[..count])
}

/// Removes a block that was in the file before mcpkg first deployed to it. A block always belongs to mcpkg, even if
/// another program wrote it.
pub fn taken_out(file: After) -> After {
    match file {
        After::File { bytes, mode, .. } if sections::find(&bytes).is_some() => {
            sections::take_out(&bytes).map_or(After::Absent, |rest| After::file(rest, mode))
        }
        file => file,
    }
}

/// Undoes the changes to a file one after the other, newest first. The exact bytes are restored as long as nothing
/// else has changed the file. After such a change, only the block or the entries are restored.
pub fn undo(db: &Db<'_>, found: &PathState, touches: &[File]) -> Result<After> {
    let mut text = found.bytes().map(<[u8]>::to_vec);
    let mut mode = match found {
        PathState::File { mode, .. } => *mode,
        PathState::Absent | PathState::Link(_) | PathState::Other => disk::FILE,
    };
    let mut link = None;
    for touch in touches {
        let (before, after) = (bytes(db, &touch.before)?, bytes(db, &touch.after)?);
        link = None;
        if let Some(mended) = text.as_deref().map_or(Ok(None), |text| mended(db, &touch.after, text))? {
            text = Some(mended);
        }
        if text == after {
            match &touch.before {
                Image::File { mode: was, .. } => mode = *was,
                Image::Link(to) => link = Some(to.clone()),
                Image::Absent => {}
            }
            text = before;
        } else {
            text = match entries::dialect(&touch.targets, &touch.module_ids) {
                Some(dialect) => entries::undo_in(dialect, text, before.as_deref(), after.as_deref()),
                None => undo_in_block(text, before, after.as_deref()),
            };
        }
    }
    Ok(match (link, text) {
        (Some(link), _) => After::Link(link),
        (None, Some(text)) => After::file(text, mode),
        (None, None) => After::Absent,
    })
}

/// Undoes one change in a file that was also edited outside the block: restores the block and keeps the rest.
fn undo_in_block(text: Option<Vec<u8>>, before: Option<Vec<u8>>, after: Option<&[u8]>) -> Option<Vec<u8>> {
    let text = text.unwrap_or_default();
    if let Some(split) = before.as_deref().and_then(sections::find) {
        return Some(sections::put(&text, split.block));
    }
    let went_in = after.is_some_and(|after| sections::take_out(after).is_none());
    match (sections::take_out(&text).filter(|rest| !rest.is_empty()), before) {
        (None, before) => before,
        (Some(rest), Some(before)) if rest.trim_ascii() == before.trim_ascii() => Some(before),
        (Some(rest), Some(before)) if went_in && !before.trim_ascii().is_empty() => {
            Some([sections::with_newline(&before), rest].concat())
        }
        (Some(rest), _) => Some(rest),
    }
}

fn bytes(db: &Db<'_>, image: &Image) -> Result<Option<Vec<u8>>> {
    match image {
        Image::File { blob, .. } => blobs::get(db, *blob).map(Some),
        Image::Absent | Image::Link(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, inner: &str) -> Option<Vec<u8>> {
        Some(sections::put(text.as_bytes(), &sections::block(inner.as_bytes(), None)))
    }

    fn text(text: &str) -> Option<Vec<u8>> {
        Some(text.as_bytes().to_vec())
    }

    #[test]
    fn removing_a_block_leaves_the_rest() {
        let after = file("mine\n", "ours\n");
        let edited = file("mine, better\n", "ours\n");
        assert_eq!(undo_in_block(edited, text("mine\n"), after.as_deref()), text("mine, better\n"));
        // The file did not exist before, and nothing is left in it.
        assert_eq!(undo_in_block(file("", "edited\n"), None, file("", "ours\n").as_deref()), None);
    }

    #[test]
    fn a_text_that_the_block_replaced_is_restored() {
        let after = file("", "Be nice.\n");
        assert_eq!(undo_in_block(file("", "Be kind.\n"), text("Be nice.\n"), after.as_deref()), text("Be nice.\n"));
        let beside = file("more\n", "Be nice.\n");
        assert_eq!(undo_in_block(beside, text("Be nice.\n"), after.as_deref()), text("Be nice.\nmore\n"));
    }

    #[test]
    fn an_earlier_block_is_restored_without_changing_the_rest() {
        let (before, after) = (file("a\n", "one\n"), file("a\n", "two\n"));
        assert_eq!(undo_in_block(file("b\n", "two\n"), before, after.as_deref()), file("b\n", "one\n"));
    }
}
