//! Tables: aligned for a terminal, tab-separated for a pipe.

use comfy_table::{ColumnConstraint, ContentArrangement, presets};

use crate::op::{Table, cell};

/// Returns the table aligned under its headings, at most `width` columns wide where a width is known.
pub fn aligned(table: &Table, width: Option<u16>) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(presets::NOTHING).set_header(table.columns.iter().copied());
    drawn.set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = width {
        drawn.set_width(width);
    }
    for row in &table.rows {
        drawn.add_row(row.iter().map(|text| cell(text)));
    }
    // All but the last column, which holds the prose, keep their words whole.
    let last = table.columns.len().saturating_sub(1);
    for (index, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index < last {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    let mut text: String = drawn.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    if text.is_empty() {
        text.push('\n');
    }
    text
}

/// Returns the rows separated by tabs, a line each; with the headings as the first where `headings`.
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
}
