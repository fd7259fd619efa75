//! Writes files such as GEMINI.md that import another file, usually AGENTS.md, for agents that do not read that file
//! themselves.

use std::path::Path;

use super::files::below;
use super::hidden;
use crate::desired::builder::Builder;
use crate::module::Module;
use crate::targets::Target;
use mcpkg_agents::forms::sections;
use mcpkg_base::disk;
use mcpkg_base::error::Result;

/// The name of the instructions file that most agents read.
pub(super) const AGENTS_MD: &str = "AGENTS.md";

/// A line in a file of one target that imports another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub target: Target,
    /// The file with the line.
    pub from: &'static str,
    /// The imported file.
    pub of: &'static str,
    line: &'static str,
}

impl Import {
    /// Returns the import of the file `of`; `None` if mcpkg does not write such a line.
    pub(super) fn of(target: Target, from: &'static str, of: &'static str) -> Option<Self> {
        let wanted = if from.contains('/') { format!("@../{of}") } else { format!("@{of}") };
        let line = sections::IMPORTS.iter().find(|line| **line == wanted)?;
        Some(Self { target, from, of, line })
    }
}

/// Adds the file with these import lines, through which the targets read the imported files. Leaves out the line for
/// AGENTS.md if the user already wrote it. Adds nothing if the file is a link to AGENTS.md. All `imports` are lines of
/// the same file below `folder`.
pub(super) fn import(
    builder: &mut Builder,
    targets: &[Target],
    folder: &Path,
    imports: &[&Import],
    imported: &[&Module],
    own: &[&Module],
) -> Result<()> {
    let Some(file) = imports.first().map(|import| import.from) else { return Ok(()) };
    let (below_folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let (folder, path) = (below(folder, below_folder), folder.join(file));
    let mut imports = imports.to_vec();
    if path.is_file() {
        if mcpkg_base::platform::real(&path).is_ok_and(|real| real.ends_with(AGENTS_MD)) {
            return Ok(());
        }
        let users = sections::take_out(&disk::read(&path)?).unwrap_or_default();
        imports.retain(|import| import.of != AGENTS_MD || !hidden::imports_agents_md(&users));
    }
    if imports.is_empty() {
        return builder.block(targets, &folder, name, own);
    }
    // If AGENTS.md is a link, mcpkg does not write to it. The block must then not replace a text of the user in this
    // file, even if a module has the same text.
    let imported = if folder.join(AGENTS_MD).is_symlink() { &[][..] } else { imported };
    for import in &imports {
        let (title, of, line) = (import.target.facts().title, import.of, import.line);
        builder.note(&[import.target], format!("{title} reads {of} through the line `{line}` in {file}"));
    }
    let lines: Vec<&str> = imports.iter().map(|import| import.line).collect();
    builder.import(targets, &folder, name, &lines, imported, own)
}
