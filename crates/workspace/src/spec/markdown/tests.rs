use super::*;

/// Lists the items of a text as `line depth [ ] text`.
fn items(text: &str) -> Vec<String> {
    let document = Markdown::read(text);
    let shown = document.blocks().filter_map(|(_, block)| match block.kind {
        Kind::Item { depth, checked } => {
            let mark = checked.map_or("-", |checked| if checked { "[x]" } else { "[ ]" });
            Some(format!("{} {depth} {mark} {}", block.line, block.text.trim()))
        }
        _ => None,
    });
    shown.collect()
}

#[test]
fn items_and_checkboxes_have_their_lines() {
    let text = "# T\n\n- [ ] one\n  - [x] two `code`\n    more\n\n- [X] three\n1. [ ] four\n* five\n- [ ]\n- [x]six\n";
    let found = items(text);
    assert_eq!(
        found,
        [
            "3 0 [ ] one",
            "4 1 [x] two code more",
            "7 0 [x] three",
            "8 0 [ ] four",
            "9 0 - five",
            "10 0 [ ] ",
            "11 0 - [x]six"
        ]
    );
}

#[test]
fn fences_comments_and_quotes_hold_no_sections_or_tasks() {
    let text = "## Why\n\n```md\n## What Changes\n- [ ] no\n```\n\n<!--\n## Decisions\n- [x] no\n-->\n\n    ## Indented\n\n> ## Quoted\n> - [ ] quoted\n";
    let document = Markdown::read(text);
    let titles: Vec<&str> = document.sections.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(titles, ["", "Why"]);
    assert_eq!(items(text), ["16 0 [ ] quoted"]);
}

#[test]
fn sections_are_found_by_their_titles() {
    let text = "Before\n\nSet *on* two\n===\n\n## 2. Open  Questions:\n\na\n\n### Deeper\n\nb\n\n## 3rd\n\nc\n";
    let document = Markdown::read(text);
    let lines: Vec<_> = document.sections.iter().map(|section| (section.level, section.line)).collect();
    assert_eq!(lines, [(0, 1), (1, 3), (2, 6), (3, 10), (2, 14)]);
    let found: Vec<_> = document.titled("Open Questions").collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].len(), 2, "the section and the one below it");
    assert_eq!(document.titled("set on two").count(), 1);
    assert_eq!(document.titled("3rd").count(), 1);
    assert_eq!(document.titled("").count(), 0);
}

#[test]
fn a_block_has_the_bold_leads_of_its_lines() {
    let text =
        "**Choice:** this\n**Why:**\nsince\n\n*D1 — **that**.* Since.\n\nNo **lead**\n\n- ~~Old~~ new\n- new ~~old~~\n";
    let document = Markdown::read(text);
    let leads = |block: &Block| block.leads.iter().map(|lead| block.text[lead.clone()].to_owned()).collect::<Vec<_>>();
    let blocks: Vec<_> = document.blocks().map(|(_, block)| (leads(block), block.struck)).collect();
    let lead = |leads: &[&str], struck| (leads.iter().map(|lead| (*lead).to_owned()).collect::<Vec<_>>(), struck);
    let expected = [
        lead(&["Choice:", "Why:"], false),
        lead(&["D1 — that."], false),
        lead(&[], false),
        lead(&[], true),
        lead(&[], false),
    ];
    assert_eq!(blocks, expected);
}

#[test]
fn comments_are_separated_from_the_text() {
    let document =
        Markdown::read("## Why\n\n<!-- Which problem? -->\n\nText <!-- aside --> more\n\n- <!-- in -->\n\n<!-- open\n");
    let said: Vec<_> = document.blocks().filter(|(_, block)| block.says_something()).map(|(_, b)| &b.text).collect();
    assert_eq!(said, ["Text  more"]);
    let comments: Vec<_> = document.blocks().filter(|(_, block)| block.kind == Kind::Comment).collect();
    let comments: Vec<_> = comments.iter().map(|(_, block)| (block.text.as_str(), block.line)).collect();
    assert_eq!(comments, [("Which problem?", 3), ("aside", 5), ("in", 7), ("open", 9)]);
}

#[test]
fn marks_are_found_outside_of_code() {
    let document = Markdown::read("# TODO\n\nsay `TODO` or [TBD]\nand FIXME\n\n```\nTODO\n```\n<!-- TBD -->\n");
    let found: Vec<_> = document.marks.iter().map(|mark| (mark.word, mark.line)).collect();
    assert_eq!(found, [("TODO", 1), ("TBD", 3), ("FIXME", 4), ("TBD", 9)]);
}

#[test]
fn tables_quotes_and_metadata_are_read() {
    let document =
        Markdown::read("---\na: b\n---\n\n| a | b |\n|---|---|\n| c | d |\n\n> said\n\n<details>\nshown\n</details>\n");
    let blocks: Vec<_> = document.blocks().map(|(_, block)| (block.kind, block.text.trim(), block.line)).collect();
    let expected =
        [(Kind::Row, "a b", 5), (Kind::Row, "c d", 7), (Kind::Paragraph, "said", 9), (Kind::Paragraph, "shown", 11)];
    assert_eq!(blocks, expected);
}
