//! Provides the documents of a new spec: headings, with comments that explain what to write below them.

use std::collections::HashSet;

use super::markdown::{Kind, Markdown};
use super::metadata;

pub(super) const SPECS: &str = "specs";

/// The templates. `NAME` stands for the spec's name.
const DOCUMENTS: [(&str, &str); 3] = [
    ("proposal.md", include_str!("proposal.md")),
    ("design.md", include_str!("design.md")),
    ("tasks.md", include_str!("tasks.md")),
];

/// Returns the files of a new spec with their contents. `created` is a day, such as `2026-02-11`.
pub(super) fn files(name: &str, created: &str, branch: &str) -> Vec<(&'static str, String)> {
    let documents = DOCUMENTS.into_iter().map(|(file, text)| (file, text.replace("NAME", name)));
    std::iter::once((metadata::FILE, metadata::new(created, branch))).chain(documents).collect()
}

/// Returns the comments in the templates. If one of them is still in a document, its section was not filled in.
pub(super) fn comments() -> HashSet<String> {
    let documents = DOCUMENTS.iter().map(|(_, text)| Markdown::read(text));
    let comments = documents.flat_map(|document| {
        let blocks = document.sections.into_iter().flat_map(|section| section.blocks);
        blocks.filter(|block| block.kind == Kind::Comment).map(|block| block.text)
    });
    comments.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_have_openspecs_headings() {
        let headings: Vec<Vec<String>> = DOCUMENTS
            .iter()
            .map(|(_, text)| {
                let sections = Markdown::read(text).sections;
                sections.into_iter().filter(|section| section.level == 2).map(|section| section.title).collect()
            })
            .collect();
        assert_eq!(headings[0], ["Why", "What Changes", "Capabilities", "Impact"]);
        let design = ["Context", "Goals / Non-Goals", "Decisions", "Risks / Trade-offs", "Open Questions"];
        assert_eq!(headings[1], design);
        assert_eq!(headings[2], ["Implementation", "Testing", "Verify"]);
    }

    #[test]
    fn a_name_stands_in_each_title() {
        let files = files("login-v2", "2026-02-11", "feature/login-v2");
        assert_eq!(files.len(), 4);
        assert!(files[1..].iter().all(|(_, text)| text.starts_with("# login-v2 — ") && !text.contains("NAME")));
        assert!(comments().len() > 9);
    }
}
