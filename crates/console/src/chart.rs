//! Charts: tables with a bar for each row.

use mcpkg_core::op::Table;
use mcpkg_core::present;

use crate::line::{Line, Span, Tone};

#[derive(Clone, Debug, Default)]
pub struct Chart {
    pub title: String,
    pub columns: &'static [&'static str],
    pub rows: Vec<Bar>,
}

/// A row of a chart. The cells contain the numbers. The bar shows one of them as a length, in the same unit in all rows.
#[derive(Clone, Debug, Default)]
pub struct Bar {
    /// A cell for each column.
    pub cells: Vec<Span>,
    /// Where the bar begins, and how long it is.
    pub begin: u64,
    pub length: u64,
    /// The length of a thin line that leads to the bar, such as a wait.
    pub lead: u64,
    pub tone: Tone,
}

impl Chart {
    /// Returns the end of the longest bar.
    pub fn end(&self) -> u64 {
        self.rows.iter().map(|bar| bar.begin.saturating_add(bar.length)).max().unwrap_or(0)
    }

    /// Returns the title and the table as lines, without the bars.
    pub fn lines(&self) -> Vec<Line> {
        let cells = |bar: &Bar| bar.cells.iter().map(|cell| cell.text().to_owned()).collect();
        let rows = self.rows.iter().map(cells).collect();
        let table = Table { columns: self.columns, rows, empty: String::new() };
        let text = present::aligned(&table, None);
        let rows = if self.rows.is_empty() { "" } else { text.as_str() };
        std::iter::once(Line::of(Tone::Strong, &self.title)).chain(rows.lines().map(Line::plain)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_a_table_for_those_who_see_no_bars() {
        let bar = |name: &str, length: u64| Bar {
            cells: vec![Span::plain(name), Span::plain(&length.to_string())],
            begin: 1,
            length,
            ..Bar::default()
        };
        let mut chart = Chart {
            title: "Sizes".to_owned(),
            columns: &["WHAT", "BYTES"],
            rows: vec![bar("file", 7), bar("log", 12)],
        };
        assert_eq!(chart.end(), 13);
        let lines: Vec<String> = chart.lines().iter().map(|line| line.text().trim_end().to_owned()).collect();
        assert_eq!(lines, ["Sizes", "WHAT  BYTES", "file  7", "log   12"]);
        chart.rows.clear();
        assert_eq!((chart.end(), chart.lines().len()), (0, 1));
    }
}
