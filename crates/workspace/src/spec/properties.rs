//! Tests with generated documents: no text makes the parsers panic, and every finding has the right line.

use proptest::prelude::*;

use super::markdown::Markdown;
use super::metadata::{self, Metadata};
use super::{decisions, questions, tasks};

/// Fragments of Markdown, complete and cut off, from which the tests build documents.
const PIECES: [&str; 44] = [
    "# ",
    "## Decisions\n",
    "## Open Questions\n",
    "### ",
    "- ",
    "- [ ] ",
    "- [x] ",
    "1. ",
    "* ",
    "  ",
    "    ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "```",
    "~~~\n",
    "`",
    "<!--",
    "-->",
    "<b>",
    "</b>",
    "<",
    ">",
    "> ",
    "**",
    "*",
    "__",
    "~~",
    "|",
    "|---|\n",
    "===\n",
    "---\n",
    "[a](b)",
    "![",
    "](",
    "\\",
    "&amp;",
    "TODO",
    "**Choice:** a\n",
    "Rationale: b\n",
    "é",
    "\u{feff}",
    "none",
];

fn document() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => proptest::sample::select(&PIECES[..]).prop_map(str::to_owned),
        2 => "[a-zA-Z ]{0,8}",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

/// Generates blocks that never contain a task, question or decision.
fn noise() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(
        &[
            "Text.",
            "Text\nin two lines.",
            "```md\n- [ ] no task\n## Decisions\n```",
            "~~~\n- no question\n\n- [x] none\n~~~",
            "<!-- - [ ] no task -->",
            "<!--\n## Open Questions\n- no\n\n- [ ] no\n-->",
            "| a | b |\n|---|---|\n| - [ ] c | d |",
            "> said",
            "***",
        ][..],
    )
}

/// A part of a generated document, for the test of line numbers.
#[derive(Clone, Debug)]
enum Piece {
    Noise(&'static str),
    Task(bool),
    Question,
    Decision,
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        3 => noise().prop_map(Piece::Noise),
        1 => any::<bool>().prop_map(Piece::Task),
        1 => Just(Piece::Question),
        1 => Just(Piece::Decision),
    ]
}

proptest! {
    #![proptest_config(crate::seed::config(256))]

    #[test]
    fn any_text_is_read(text in document()) {
        let document = Markdown::read(&text);
        let last = text.matches('\n').count() + 1;
        for (section, block) in document.blocks() {
            prop_assert!((1..=last).contains(&section.line) && (1..=last).contains(&block.line));
            prop_assert!(block.leads.iter().all(|lead| block.text.get(lead.clone()).is_some()));
        }
        for line in document.marks.iter().map(|mark| mark.line) {
            prop_assert!((1..=last).contains(&line));
        }
        prop_assert!(tasks::of(&document).iter().all(|task| (1..=last).contains(&task.line)));
        prop_assert!(questions::of(&document).iter().all(|question| (1..=last).contains(&question.line)));
        prop_assert!(decisions::of(&document).iter().all(|decision| (1..=last).contains(&decision.line)));
    }

    #[test]
    fn any_metadata_is_read_and_what_is_edited_can_be_read(text in "[a-z:'\"#{}\\[\\]&*!|>% \n-]{0,60}") {
        let read = Metadata::read(&text);
        if let Some(edited) = metadata::archived(&text, "2026-02-11") {
            prop_assert!(read.faults.iter().all(|fault| !fault.message.starts_with("is not metadata")));
            let again = Metadata::read(&edited);
            prop_assert_eq!(again.status.as_deref(), Some("archived"));
        }
    }

    #[test]
    fn tasks_questions_and_decisions_have_their_lines(pieces in proptest::collection::vec(piece(), 0..25)) {
        let mut text = String::new();
        let (mut expected_tasks, mut expected_questions, mut expected_decisions) = (Vec::new(), Vec::new(), Vec::new());
        for piece in &pieces {
            let line = text.matches('\n').count() + 1;
            match piece {
                Piece::Noise(noise) => text.push_str(noise),
                Piece::Task(done) => {
                    text.push_str(if *done { "## Do\n\n- [x] task" } else { "## Do\n\n- [ ] task" });
                    expected_tasks.push((line + 2, *done));
                }
                Piece::Question => {
                    text.push_str("## Open Questions\n\nText.\n\n* Why?");
                    expected_questions.push(line + 4);
                }
                Piece::Decision => {
                    text.push_str("## Decisions\n\n### One\n\n**Choice:** a\n**Rationale:** b\n\n## Other");
                    expected_decisions.push(line + 2);
                }
            }
            text.push_str("\n\n");
        }
        let document = Markdown::read(&text);
        let found: Vec<_> = tasks::of(&document).into_iter().map(|task| (task.line, task.done)).collect();
        prop_assert_eq!(found, expected_tasks);
        let found: Vec<_> = questions::of(&document).into_iter().map(|question| question.line).collect();
        prop_assert_eq!(found, expected_questions);
        let found: Vec<_> = decisions::of(&document).into_iter().filter(|it| it.is_complete()).map(|it| it.line).collect();
        prop_assert_eq!(found, expected_decisions);
    }
}
