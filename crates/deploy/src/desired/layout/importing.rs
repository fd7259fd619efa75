//! Writes files such as GEMINI.md that import the AGENTS.md next to them, for agents that do not read AGENTS.md
//! themselves.

use std::collections::BTreeMap;
use std::path::Path;

use super::hidden;
use crate::desired::builder::Builder;
use crate::module::Module;
use crate::targets::Target;
use mcpkg_agents::agents::places::AgentsMd;
use mcpkg_agents::forms::sections;
use mcpkg_base::disk;
use mcpkg_base::error::Result;

/// The name of the instructions file that most agents read.
pub(super) const AGENTS_MD: &str = "AGENTS.md";

/// Returns the names of files that import AGENTS.md, each with the readers that need it.
pub(super) fn files(readers: &[Target]) -> BTreeMap<&'static str, Vec<Target>> {
    let mut files: BTreeMap<&'static str, Vec<Target>> = BTreeMap::new();
    for target in readers {
        if let AgentsMd::ImportedBy(file) = target.facts().project.agents_md {
            files.entry(file).or_default().push(*target);
        }
    }
    files
}

/// Adds the file through which targets read the AGENTS.md next to it. The import line is omitted if the user already
/// wrote one. Nothing is added if the file is a link to AGENTS.md.
pub(super) fn import(
    builder: &mut Builder,
    targets: &[Target],
    folder: &Path,
    file: &str,
    imported: &[&Module],
    own: &[&Module],
) -> Result<()> {
    let path = folder.join(file);
    if path.is_file() {
        let is_link = mcpkg_base::platform::real(&path).is_ok_and(|real| real.ends_with(AGENTS_MD));
        let text = disk::read(&path)?;
        let users = sections::take_out(&text).unwrap_or_default();
        if is_link || hidden::has_word(&users, &[b"@AGENTS.md", b"@./AGENTS.md"]) {
            return if is_link { Ok(()) } else { builder.block(targets, folder, file, own) };
        }
    }
    // mcpkg does not write through a link, so a text that the user wrote into this file stays in it.
    let imported = if folder.join(AGENTS_MD).is_symlink() { &[][..] } else { imported };
    let titles = targets.iter().map(|target| target.facts().title).collect::<Vec<_>>().join(", ");
    builder.note(targets, format!("{titles} reads AGENTS.md through the line `@AGENTS.md` in {file}"));
    builder.import(targets, folder, file, imported, own)
}
