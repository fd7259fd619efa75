//! Chooses which columns of a table a terminal shows, and their widths.

/// The number of spaces between two columns.
pub(super) const GAP: usize = 2;

/// The minimum width of a column with prose. If there is less room, the column is left out.
const PROSE: usize = 12;

/// The minimum width of a column with facts: enough for a date and the `…` that stands for its time.
const FACT: usize = 11;

/// How important a column is. If a table does not fit even at minimum widths, columns of the lowest rank are left out. The others
/// shrink, `Prose` first and `Name` last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// All cells of the column are empty.
    Empty,
    /// The cells must be readable as a whole. If there is no room, they move to their own lines below the row.
    Whole,
    Prose,
    /// Details that can be looked up elsewhere.
    Detail,
    /// Facts that distinguish the rows.
    Fact,
    /// The name of the row's subject.
    Name,
}

/// The part of a cell that stays when the cell is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptEnd {
    Start,
    /// The end, because the ends of paths distinguish them.
    End,
    /// The end of a path, or the beginning of a sentence.
    EndOfPath,
}

/// A column of a table, and how much room it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) index: usize,
    pub(super) width: usize,
    pub(super) kept: KeptEnd,
    rank: Rank,
}

impl Column {
    /// Returns the column at `index` of `count`. `cells` is the width of its widest cell.
    pub(super) fn new(index: usize, count: usize, heading: &str, heading_width: usize, cells: usize) -> Self {
        let is_last = index + 1 == count;
        let (rank, kept) = match heading.to_ascii_lowercase().as_str() {
            "path" => (Rank::Name, KeptEnd::End),
            _ if index == 0 => (Rank::Name, KeptEnd::Start),
            _ if cells == 0 => (Rank::Empty, KeptEnd::Start),
            "name" | "id" | "module" | "subject" => (Rank::Name, KeptEnd::Start),
            "what to do" | "what happened" | "undo" if is_last => (Rank::Whole, KeptEnd::Start),
            "description" | "text" | "what" | "reason" | "why" | "session" if is_last => (Rank::Prose, KeptEnd::Start),
            "file" | "root" | "binary" | "made in" => (Rank::Detail, KeptEnd::End),
            "uri" => (Rank::Fact, KeptEnd::End),
            "where" => (Rank::Fact, KeptEnd::EndOfPath),
            "bytes" | "revision" | "updated" | "created" | "made" | "targets" | "mime type" | "runs" | "by"
            | "files" | "modules" | "before" | "after" | "ms" | "at" | "asked by" | "project" => {
                (Rank::Detail, KeptEnd::Start)
            }
            _ => (Rank::Fact, KeptEnd::Start),
        };
        Self { index, width: heading_width.max(cells), kept, rank }
    }

    /// Whether the column is never narrowed.
    pub(super) fn is_whole(&self) -> bool {
        self.rank == Rank::Whole
    }

    /// Whether the column names the row's subject. The cells of such a column are never cut; they continue on the next
    /// line.
    pub(super) fn is_name(&self) -> bool {
        self.rank == Rank::Name
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rank == Rank::Empty
    }

    /// Returns the smallest useful width of this column on a terminal with `width` columns.
    fn least(&self, width: usize) -> usize {
        self.width.min(match self.rank {
            Rank::Empty | Rank::Whole => self.width,
            Rank::Prose => PROSE,
            Rank::Detail | Rank::Fact => FACT,
            // If the terminal's width is unknown, `width` is as large as possible.
            Rank::Name => width.saturating_mul(3) / 5,
        })
    }
}

/// Returns the columns that fit into `width`, in order, each as wide as possible. The least important columns are
/// narrowed first. Columns that do not fit even then are left out.
pub(super) fn fit(mut columns: Vec<Column>, width: usize) -> Vec<Column> {
    while columns.len() > 1 && total(columns.iter().map(|column| column.least(width))) > width {
        // Of equally important columns, the last one is left out first.
        let least = columns.iter().map(|column| column.rank).min();
        match columns.iter().rposition(|column| Some(column.rank) == least && column.index > 0) {
            Some(position) => drop(columns.remove(position)),
            None => break,
        }
    }
    for rank in [Rank::Prose, Rank::Detail, Rank::Fact, Rank::Name] {
        shrink(&mut columns, rank, width);
    }
    if let [only] = &mut columns[..] {
        only.width = only.width.min(width.max(1));
    }
    columns
}

/// Narrows the widest columns of one rank until the table fits.
fn shrink(columns: &mut [Column], rank: Rank, width: usize) {
    while total(columns.iter().map(|column| column.width)) > width {
        let can_give = |column: &&mut Column| column.rank == rank && column.width > column.least(width);
        match columns.iter_mut().filter(can_give).max_by_key(|column| column.width) {
            Some(widest) => widest.width -= 1,
            None => return,
        }
    }
}

/// Returns the total width of the columns and the gaps between them.
fn total(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    widths.len().saturating_sub(1) * GAP + widths.sum::<usize>()
}
