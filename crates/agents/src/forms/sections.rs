//! Stores several modules in one file: as sections between markers, or in a managed block inside a user's own file.
//!
//! A section begins with `<!-- agentpack:module=ID -->` and ends with `<!-- /agentpack -->`, as in the files that
//! agentpack (contract 000) writes. A line `---` separates two sections. A single module has no markers. A managed
//! block is enclosed in two marker lines of mcpkg's own.

use memchr::memmem;

const OPEN: &str = "<!-- agentpack:module=";
const CLOSE: &str = "<!-- /agentpack -->";
const BETWEEN: &str = "\n\n---\n\n";
const BEGIN: &str = "<!-- mcpkg:begin";
const KEPT: &str = ": this part is kept by mcpkg; what stands outside of it is yours -->";
const END: &str = "<!-- mcpkg:end -->";

/// Words that begin markers. A line of a module's text that looks like a marker is escaped with an extra `\`.
const WORDS: [&str; 5] = ["agentpack:module=", "/agentpack", "mcpkg:begin", "mcpkg:end", "mcpkg:module="];

/// Joins the texts of modules: one text is unchanged, several become sections.
pub fn sections(modules: &[(&str, &[u8])]) -> Vec<u8> {
    if let [(_, text)] = modules {
        return text.to_vec();
    }
    marked(modules)
}

/// Writes each module as a section, even if there is only one.
pub fn marked(modules: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, (id, text)) in modules.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(BETWEEN.as_bytes());
        }
        out.extend_from_slice(format!("{OPEN}{id} -->\n").as_bytes());
        out.extend_from_slice(&with_newline(&escape(text)));
        out.extend_from_slice(CLOSE.as_bytes());
    }
    out
}

/// The sections of a file by module, and the text outside the sections.
pub type Sections = (Vec<(String, Vec<u8>)>, Vec<u8>);

/// Returns the unescaped text of each section by module, and the text outside the sections. An error is the reason why the
/// markers are invalid: a section is nested, occurs twice, or is not closed.
pub fn parse(text: &[u8]) -> Result<Sections, String> {
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    let mut outside = Vec::new();
    let mut open: Option<(String, Vec<u8>)> = None;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let trimmed = line.trim_ascii();
        let opened = trimmed
            .strip_prefix(OPEN.as_bytes())
            .and_then(|rest| rest.strip_suffix(b"-->"))
            .map(|id| String::from_utf8_lossy(id.trim_ascii()).into_owned())
            .filter(|id| !id.is_empty());
        match (opened, &mut open) {
            (Some(id), Some((other, _))) => return Err(format!("section {id} begins inside section {other}")),
            (Some(id), None) => {
                if found.iter().any(|(known, _)| *known == id) {
                    return Err(format!("{id} has two sections"));
                }
                open = Some((id, Vec::new()));
            }
            (None, Some(_)) if trimmed == CLOSE.as_bytes() => {
                found.extend(open.take().map(|(id, text)| (id, unescape(&text))));
            }
            (None, Some((_, text))) => text.extend_from_slice(line),
            (None, None) => outside.extend_from_slice(line),
        }
    }
    match open {
        Some((id, _)) => Err(format!("section {id} is not closed")),
        None => Ok((found, outside)),
    }
}

/// Returns whether the text outside the sections contains only separators and imports, which mcpkg itself writes.
pub fn is_only_between(outside: &[u8]) -> bool {
    let mut lines = outside.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.all(|line| matches!(line, b"" | b"---") || imported_by(line).is_some())
}

/// Returns the files that the text outside the sections imports, relative to the file's folder.
pub fn imports(outside: &[u8]) -> Vec<&'static str> {
    outside.split(|byte| *byte == b'\n').filter_map(|line| imported_by(line.trim_ascii())).collect()
}

fn imported_by(line: &[u8]) -> Option<&'static str> {
    IMPORTS.iter().find(|import| import.as_bytes() == line)?.strip_prefix('@')
}

/// Returns whether one of [`IMPORTS`] may import a file with this path.
pub fn is_imported(path: &str) -> bool {
    IMPORTS.iter().filter_map(|import| import.strip_prefix('@')).any(|import| path.ends_with(import))
}

/// The lines that mcpkg may write into an agent's file to import another file that the agent does not read on its own.
pub const IMPORTS: [&str; 6] = [
    "@AGENTS.md",
    "@../AGENTS.md",
    "@AGENTS.override.md",
    "@CLAUDE.md",
    "@.github/copilot-instructions.md",
    "@../.github/copilot-instructions.md",
];

/// Returns a managed block with the text `inner`. The block's first line names the module, if `module` is given and its
/// id cannot be misread there.
pub fn block(inner: &[u8], module: Option<&str>) -> Vec<u8> {
    let id = module.filter(|id| !id.contains("--") && !id.contains(": ") && !id.contains(char::is_control));
    let id = id.map_or(String::new(), |id| format!(" {id}"));
    [BEGIN.as_bytes(), id.as_bytes(), KEPT.as_bytes(), b"\n", &with_newline(inner), END.as_bytes(), b"\n"].concat()
}

/// A file that contains a managed block, split into the parts before, in and after the block.
#[derive(Debug, PartialEq, Eq)]
pub struct Split<'a> {
    pub before: &'a [u8],
    /// The module that the block's first line names.
    pub module: Option<&'a str>,
    /// The block, including its marker lines.
    pub block: &'a [u8],
    /// The text inside the block.
    pub inner: &'a [u8],
    pub after: &'a [u8],
}

/// Finds the managed block in a file.
pub fn find(text: &[u8]) -> Option<Split<'_>> {
    let mut begin = None;
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let trimmed = line.trim_ascii();
        let next = at + line.len();
        if trimmed.starts_with(BEGIN.as_bytes()) {
            begin = Some((at, next));
        } else if trimmed == END.as_bytes()
            && let Some((start, inner)) = begin
        {
            return Some(Split {
                before: &text[..start],
                module: named(&text[start..inner]),
                block: &text[start..next],
                inner: &text[inner..at],
                after: &text[next..],
            });
        }
        at = next;
    }
    None
}

/// Returns the module that a block's first line names.
fn named(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?.trim();
    line.strip_prefix(BEGIN)?.strip_prefix(' ')?.strip_suffix(KEPT)
}

/// Replaces the managed block in a file, or appends the block if the file has none.
pub fn put(text: &[u8], block: &[u8]) -> Vec<u8> {
    if let Some(split) = find(text) {
        let block = if split.block.ends_with(b"\n") { block } else { block.trim_ascii_end() };
        return [split.before, block, split.after].concat();
    }
    if text.trim_ascii().is_empty() {
        return block.to_vec();
    }
    [&with_newline(text), b"\n".as_slice(), block].concat()
}

/// Restores a missing marker line of the managed block in a file, where `block` is the block as it was written. Returns `None` if
/// the block is complete, or if its text does not occur exactly once.
pub fn mend(text: &[u8], block: &[u8]) -> Option<Vec<u8>> {
    let split = find(block).filter(|_| find(text).is_none())?;
    let first = split.block.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (without_first, without_last) = (&split.block[first..], &split.block[..first + split.inner.len()]);
    [without_first.trim_ascii_end(), without_last].into_iter().find_map(|part| {
        let mut places = memmem::find_iter(text, part);
        let at = places
            .next()
            .filter(|at| places.next().is_none() && text[..*at].last().is_none_or(|byte| *byte == b'\n'))?;
        let after = &text[at + part.len()..];
        let after = after.strip_prefix(b"\n").unwrap_or(after);
        Some([&text[..at], &with_newline(split.block), after].concat())
    })
}

/// Removes the block from a file. Returns `None` if nothing else is left.
pub fn take_out(text: &[u8]) -> Option<Vec<u8>> {
    let Some(split) = find(text) else {
        return Some(text.to_vec());
    };
    // `put` added the empty line before the block, so remove it too.
    let before = split.before.strip_suffix(b"\n").filter(|rest| rest.ends_with(b"\n")).unwrap_or(split.before);
    let rest = [before, split.after].concat();
    (!rest.trim_ascii().is_empty()).then_some(rest)
}

/// Adds a newline at the end if it is missing.
pub fn with_newline(text: &[u8]) -> Vec<u8> {
    let end: &[u8] = if text.ends_with(b"\n") { b"" } else { b"\n" };
    [text, end].concat()
}

/// Escapes a module's text so that no line looks like a marker.
pub fn escape(text: &[u8]) -> Vec<u8> {
    change_markers(text, |rest| Some([b"\\", rest].concat()))
}

/// Reverses [`escape`].
pub fn unescape(text: &[u8]) -> Vec<u8> {
    change_markers(text, |rest| rest.strip_prefix(b"\\").map(<[u8]>::to_vec))
}

fn change_markers(text: &[u8], change: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let indent = line.len() - line.trim_ascii_start().len();
        let changed = line[indent..].strip_prefix(b"<!-- ").and_then(|rest| {
            let bare = &rest[rest.iter().take_while(|byte| **byte == b'\\').count()..];
            WORDS.iter().any(|marker| bare.starts_with(marker.as_bytes())).then(|| change(rest)).flatten()
        });
        match changed {
            Some(rest) => {
                out.extend_from_slice(&line[..indent]);
                out.extend_from_slice(b"<!-- ");
                out.extend_from_slice(&rest);
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_module_stands_alone_and_several_in_sections() {
        assert_eq!(sections(&[("a", b"x")]), b"x");
        let two = sections(&[("a", b"x"), ("b", b"y\n")]);
        assert_eq!(
            String::from_utf8_lossy(&two),
            "<!-- agentpack:module=a -->\nx\n<!-- /agentpack -->\n\n---\n\n<!-- agentpack:module=b -->\ny\n<!-- /agentpack -->"
        );
        let (found, outside) = parse(&two).unwrap();
        assert_eq!(found, [("a".to_owned(), b"x\n".to_vec()), ("b".to_owned(), b"y\n".to_vec())]);
        assert!(is_only_between(&outside));
    }

    #[test]
    fn a_block_leaves_the_rest_alone() {
        let block = block(b"ours", Some("instructions:a"));
        assert_eq!(put(b"", &block), block);
        let text = put(b"mine\n", &block);
        assert!(text.starts_with(b"mine\n\n<!-- mcpkg:begin"));
        let edited = [b"top\n".as_slice(), &text, b"below"].concat();
        let split = find(&edited).unwrap();
        assert_eq!((split.inner, split.after), (b"ours\n".as_slice(), b"below".as_slice()));
        assert_eq!(split.module, Some("instructions:a"));
        assert_eq!(find(&super::block(b"x", Some("a --> b"))).unwrap().module, None);
        assert_eq!(put(&edited, &block), edited);
        assert_eq!(take_out(&edited).unwrap(), b"top\nmine\nbelow");
        assert_eq!(take_out(&block), None);
        assert_eq!(find(b"<!-- mcpkg:begin\nno end"), None);
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn sections_give_back_every_text(texts in prop::collection::vec("( {0,2}(<!-- |\\\\|/agentpack|agentpack:module=b|mcpkg:end|mcpkg:begin| -->|x|\r?\n)){0,12}", 2..4)) {
            let ids = ["a", "b", "c"];
            let modules: Vec<(&str, &[u8])> = ids.iter().copied().zip(texts.iter().map(|text| text.as_bytes())).collect();
            let gathered = sections(&modules);
            let (found, outside) = parse(&gathered).unwrap();
            prop_assert!(is_only_between(&outside));
            for ((id, text), (found_id, found_text)) in modules.iter().zip(&found) {
                prop_assert_eq!(id, found_id);
                prop_assert_eq!(&with_newline(text), found_text);
            }
            let inside = put(b"mine\n", &block(&escape(texts[0].as_bytes()), None));
            let split = find(&inside).unwrap();
            prop_assert_eq!(unescape(split.inner), with_newline(texts[0].as_bytes()));
        }
    }
}
