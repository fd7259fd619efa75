//! Tables: aligned for a terminal, tab-separated for a pipe.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::columns::{Column, GAP, KeptEnd, fit};
use crate::op::{Table, cell};
use mcpkg_base::marks;

/// Marks where text was cut off.
const CUT: char = '…';

/// The indentation of text below its row.
const INDENT: &str = "    ";

/// Returns the table aligned under its headings, at most `width` columns wide if a width is given. Names of rows are
/// never cut; they continue on the next line. Cells that must be readable as a whole may move to lines below their row.
/// Other cells that do not fit are cut, and begin or end with `…`. A heading `…` stands for columns that were left out.
pub fn aligned(table: &Table, width: Option<u16>) -> String {
    let width = width.map_or(usize::MAX, usize::from);
    let rows: Vec<Vec<Cow<'_, str>>> =
        table.rows.iter().map(|row| row.iter().map(|text| shown(text)).collect()).collect();
    let all: Vec<Column> = table
        .columns
        .iter()
        .enumerate()
        .map(|(index, heading)| {
            let widest = rows.iter().filter_map(|row| row.get(index)).map(|text| text.width()).max().unwrap_or(0);
            Column::new(index, table.columns.len(), heading, heading.width(), widest)
        })
        .collect();
    let shown = fit(all.clone(), width);
    let left_out: Vec<&Column> =
        all.iter().filter(|column| shown.iter().all(|shown| shown.index != column.index)).collect();
    let below = left_out.iter().find(|column| column.is_whole()).map(|column| column.index);
    let is_lost = left_out.iter().any(|column| !column.is_whole() && !column.is_empty());
    // The sign for omitted columns takes room too.
    let shown = if is_lost { fit(shown, width.saturating_sub(GAP + 1)) } else { shown };
    let heading = |column: &Column| table.columns.get(column.index).copied().unwrap_or_default();
    let mut text = line(&shown, |column| cut(heading(column), column.width, KeptEnd::Start), is_lost);
    for row in &rows {
        let cell = |column: &Column| row.get(column.index).map_or("", |text| text);
        let names: Vec<Vec<&str>> = shown.iter().map(|column| name_in_pieces(column, cell(column))).collect();
        let height = names.iter().map(Vec::len).max().unwrap_or(0).max(1);
        for below in 0..height {
            text.push_str(&line(
                &shown,
                |column| match shown.iter().position(|shown| shown.index == column.index).and_then(|at| names.get(at)) {
                    Some(pieces) if column.is_name() => pieces.get(below).copied().unwrap_or_default().into(),
                    _ if below == 0 => cut(cell(column), column.width, column.kept),
                    _ => "".into(),
                },
                false,
            ));
        }
        if let Some(whole) = below.and_then(|index| row.get(index)) {
            wrap(&mut text, whole, width);
        }
    }
    text
}

/// Returns a cell as a terminal shows it: line ends and tabs become spaces, and invisible characters become visible marks.
fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r', '\t']) {
        return marks::line(text);
    }
    Cow::Owned(marks::line(&text.replace(['\n', '\r', '\t'], " ")).into_owned())
}

/// Returns one line of the table. All cells but the last are padded. `more` appends the sign for omitted columns.
fn line<'t>(columns: &[Column], text: impl Fn(&Column) -> Cow<'t, str>, more: bool) -> String {
    let mut line = String::new();
    let mut padding = 0;
    for column in columns {
        let shown = text(column);
        line.extend(std::iter::repeat_n(' ', padding));
        line.push_str(&shown);
        padding = column.width.saturating_sub(shown.width()) + GAP;
    }
    if more {
        line.extend(std::iter::repeat_n(' ', padding));
        line.push(CUT);
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

/// Splits the cell of a name column into lines that fit. Returns nothing for other columns.
fn name_in_pieces<'t>(column: &Column, text: &'t str) -> Vec<&'t str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while column.is_name() && rest.width() > column.width {
        let mut end = 0;
        for (at, c) in rest.char_indices() {
            let behind = at + c.len_utf8();
            if rest[..behind].width() > column.width && end > 0 {
                break;
            }
            end = behind;
        }
        // Break after a separator, to keep parts of names together, unless that leaves more than half of the line empty.
        let sign = rest[..end].rfind(['/', '-', '_', ' ']).map(|at| at + 1).filter(|at| *at > end / 2);
        let (piece, behind) = rest.split_at(sign.unwrap_or(end));
        pieces.push(piece);
        rest = behind;
    }
    if column.is_name() {
        pieces.push(rest);
    }
    pieces
}

/// Returns a text that is at most `width` columns wide: its beginning or its end, with `…` where it was cut.
fn cut(text: &str, width: usize, kept: KeptEnd) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let mut room = width.saturating_sub(1);
    let mut fits = |c: &char| {
        let taken = c.width().unwrap_or(0);
        let fits = taken <= room;
        room = if fits { room - taken } else { 0 };
        fits
    };
    let keeps_end = kept == KeptEnd::End || (kept == KeptEnd::EndOfPath && !text.contains(' '));
    // A text can be wider or narrower than the sum of its characters, for example if it contains emoji.
    let is_wide = |text: &str| text.width() >= width;
    if keeps_end {
        let size: usize = text.chars().rev().take_while(&mut fits).map(char::len_utf8).sum();
        let mut end = text[text.len() - size..].chars();
        while is_wide(end.as_str()) && end.next().is_some() {}
        Cow::Owned(format!("{CUT}{}", end.as_str()))
    } else {
        let size: usize = text.chars().take_while(&mut fits).map(char::len_utf8).sum();
        let mut start = text[..size].chars();
        while is_wide(start.as_str()) && start.next_back().is_some() {}
        Cow::Owned(format!("{}{CUT}", start.as_str().trim_end()))
    }
}

/// Appends a text as indented lines that break between words. A longer word, such as a path, gets its own line.
fn wrap(lines: &mut String, text: &str, width: usize) {
    let room = width.saturating_sub(INDENT.len());
    let mut taken = 0;
    for word in text.split_whitespace() {
        let needed = word.width();
        if taken > 0 && taken + 1 + needed <= room {
            lines.push(' ');
            taken += 1 + needed;
        } else {
            if taken > 0 {
                lines.push('\n');
            }
            lines.push_str(INDENT);
            taken = needed;
        }
        lines.push_str(word);
    }
    if taken > 0 {
        lines.push('\n');
    }
}

/// Makes the table's paths below `folder` relative to it.
pub fn below(mut table: Table, folder: &str) -> Table {
    for cell in table.rows.iter_mut().flatten() {
        let relative = cell.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        if let Some(relative) = relative.filter(|relative| !relative.is_empty()).map(str::to_owned) {
            *cell = relative;
        }
    }
    table
}

/// Returns the rows separated by tabs, one per line. With `headings`, the first line has the headings.
pub fn separated(table: &Table, headings: bool) -> String {
    let mut text = String::new();
    if headings {
        text.push_str(&table.columns.join("\t"));
        text.push('\n');
    }
    for row in &table.rows {
        let cells: Vec<_> = row.iter().map(|text| cell(text)).collect();
        text.push_str(&cells.join("\t"));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            columns: &["NAME", "TEXT"],
            rows: vec![vec!["a".into(), "one\ntwo\x1b[31m".into()], vec!["longer".into(), String::new()]],
            empty: String::new(),
        }
    }

    #[test]
    fn separated_rows_are_a_line_each() {
        assert_eq!(separated(&table(), true), "NAME\tTEXT\na\tone two [31m\nlonger\t\n");
        assert_eq!(separated(&table(), false).lines().count(), 2);
    }

    #[test]
    fn aligned_columns_stand_under_their_headings() {
        let text = aligned(&table(), Some(80));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].find("TEXT"), lines[1].find("one"), "{text}");
        assert!(lines.iter().all(|line| !line.ends_with(' ')), "{text}");
    }

    fn plan() -> Table {
        let row = |path: &str, reason: &str| {
            vec!["create".into(), "codex,claude_code".into(), path.into(), String::new(), reason.into()]
        };
        Table {
            columns: &["op", "targets", "path", "needs", "reason"],
            rows: vec![
                row(".agents/skills/code-review/SKILL.md", "it is not there yet"),
                row("AGENTS.md", "it is not there yet"),
            ],
            empty: String::new(),
        }
    }

    #[test]
    fn prose_gives_way_first_and_the_name_last() {
        for width in 24..=120_u16 {
            let text = aligned(&plan(), Some(width));
            assert!(text.lines().all(|line| line.width() <= usize::from(width)), "{width}\n{text}");
            assert!(width < 60 || text.lines().count() == 3, "a row is a line: {width}\n{text}");
            let path = text.lines().skip(1).filter_map(|line| line.get(8..)).map(|line| line.split(' ').next());
            let path: String = path.flatten().collect();
            assert!(width > 52 || path.contains(".agents/skills/code-review/SKILL.md"), "{width}\n{text}");
            assert!(text.contains("AGENTS.md"), "{width}\n{text}");
        }
        insta::assert_snapshot!(aligned(&plan(), Some(90)), @r#"
        op      targets            path                                 needs  reason
        create  codex,claude_code  .agents/skills/code-review/SKILL.md         it is not there yet
        create  codex,claude_code  AGENTS.md                                   it is not there yet
        "#);
        insta::assert_snapshot!(aligned(&plan(), Some(60)), @r#"
        op      targets       path                                 …
        create  codex,claud…  .agents/skills/code-review/SKILL.md
        create  codex,claud…  AGENTS.md
        "#);
        insta::assert_snapshot!(aligned(&plan(), Some(40)), @r#"
        op      path                           …
        create  .agents/skills/code-review/
                SKILL.md
        create  AGENTS.md
        "#);
    }

    #[test]
    fn cells_that_must_not_be_cut_move_below_their_row() {
        let table = Table {
            columns: &["what", "where", "state", "what to do"],
            rows: vec![
                vec![
                    "codex".into(),
                    "/home/ada/work/.codex".into(),
                    "missing".into(),
                    "create directory: mkdir -p /home/ada/work/.codex".into(),
                ],
                vec!["cursor".into(), "/home/ada/work/.cursor".into(), "ok".into(), String::new()],
            ],
            empty: String::new(),
        };
        insta::assert_snapshot!(aligned(&table, Some(40)), @r#"
        what    where                   state
        codex   /home/ada/work/.codex   missing
            create directory: mkdir -p
            /home/ada/work/.codex
        cursor  /home/ada/work/.cursor  ok
        "#);
    }

    #[test]
    fn without_a_width_nothing_is_cut() {
        let text = aligned(&plan(), None);
        assert!(text.contains("it is not there yet") && !text.contains(CUT), "{text}");
    }

    #[test]
    fn wide_letters_are_cut_between_letters() {
        assert_eq!(cut("日本語の説明", 7, KeptEnd::Start), "日本語…");
        assert_eq!(cut("日本語の説明", 6, KeptEnd::Start), "日本…");
        assert_eq!(cut("a/日本語/e\u{301}x", 5, KeptEnd::End), "…/e\u{301}x");
        assert_eq!(cut("short", 5, KeptEnd::Start), "short");
        assert_eq!(cut("⚠\u{fe0f}⚠\u{fe0f}⚠\u{fe0f}⚠\u{fe0f}", 5, KeptEnd::Start), "⚠\u{fe0f}⚠\u{fe0f}…");
    }
}
