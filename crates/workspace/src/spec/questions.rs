//! Finds the unanswered questions in a design.

use super::markdown::{Block, Kind, Markdown};

/// The heading of the section with questions.
const TITLE: &str = "Open Questions";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) text: String,
    /// The line, counted from 1.
    pub(super) line: usize,
}

/// Returns the open questions of a design: top-level list items below the heading that are not struck through, not
/// checked, and do not say `None`.
pub(super) fn of(design: &Markdown) -> Vec<Question> {
    let blocks = design.titled(TITLE).flatten().flat_map(|section| &section.blocks);
    let open = blocks.filter(|block| is_open(block));
    open.map(|block| Question { text: block.text.trim().to_owned(), line: block.line }).collect()
}

fn is_open(block: &Block) -> bool {
    let Kind::Item { depth: 0, checked } = block.kind else { return false };
    checked != Some(true) && !block.struck && !block.is_blank() && !says_none(&block.text)
}

/// Returns whether an item says that there are no questions: `None`, `(None)` or `None at this time.`
fn says_none(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("none")) && !text.trim_end().ends_with('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_open_until_they_are_struck_or_checked() {
        let text = "## Open Questions\n\n1. Which? Perhaps this.\n   - a detail\n2. ~~Old?~~ Answered: yes\n3. \n\n- [ ] Open?\n- [x] Done?\n- None\n- (None)\n- None of these?\n\n```\n- no\n```\n\n### More\n\n- Deeper?\n\n## Other\n\n- no\n";
        let found: Vec<_> =
            of(&Markdown::read(text)).into_iter().map(|question| (question.text, question.line)).collect();
        let expected = [("Which? Perhaps this.", 3), ("Open?", 8), ("None of these?", 12), ("Deeper?", 20)]
            .map(|(text, line)| (text.to_owned(), line));
        assert_eq!(found, expected);
        assert_eq!(of(&Markdown::read("## Open Questions\n\nNone blocking. One is deferred.\n")), []);
    }
}
