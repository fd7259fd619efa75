//! Finds the tasks of a spec: the checkboxes in tasks.md.

use serde::Serialize;

use super::markdown::{Kind, Markdown};

#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) text: String,
    pub(super) done: bool,
    /// The heading above the task.
    pub(super) section: String,
    /// The number of list items in which the task is nested.
    pub(super) depth: usize,
    /// The line, counted from 1.
    pub(super) line: usize,
}

/// Returns the tasks of a document in order. Ignores checkboxes without text.
pub(super) fn of(document: &Markdown) -> Vec<Task> {
    let tasks = document.blocks().filter_map(|(section, block)| match block.kind {
        Kind::Item { depth, checked: Some(done) } if !block.is_blank() => Some(Task {
            text: block.text.trim().to_owned(),
            done,
            section: section.title.trim().to_owned(),
            depth,
            line: block.line,
        }),
        _ => None,
    });
    tasks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkboxes_with_text_are_tasks() {
        let document = Markdown::read("## 1. Do\n\n- [x] 1.1 a\n  - [ ] b\n- [ ]\n- c\n\n```\n- [ ] d\n```\n");
        let found: Vec<_> =
            of(&document).into_iter().map(|it| (it.text, it.done, it.section, it.depth, it.line)).collect();
        let task = |text: &str, done, depth, line| (text.to_owned(), done, "1. Do".to_owned(), depth, line);
        assert_eq!(found, [task("1.1 a", true, 0, 3), task("b", false, 1, 4)]);
    }
}
