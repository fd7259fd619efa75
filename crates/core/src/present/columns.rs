//! Which columns of a table a terminal shows, and how wide.

/// The blanks between two columns.
pub(super) const GAP: usize = 2;

/// The least that prose is cut to, before its column is left out.
const PROSE: usize = 12;

/// The least that a fact is cut to: a date and the sign that its time was cut off.
const FACT: usize = 11;

/// How long a column keeps its width where a table does not fit; the first ones give way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Nothing stands in it.
    Empty,
    /// What has to be read whole; it stands on lines of its own below its row where there is no room beside it.
    Whole,
    Prose,
    /// What can be looked up elsewhere.
    Detail,
    /// What tells one row from the next.
    Fact,
    /// What a row is about.
    Name,
}

/// Which end of a cell stays where it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Start,
    /// The end, which tells one path from another.
    End,
    /// The end of a path, the beginning of a sentence.
    EndOfPath,
}

/// A column: what its heading says of it, and how wide its widest cell is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Its place in the table.
    pub(super) index: usize,
    /// How wide it is.
    pub(super) width: usize,
    /// Which end of its cells stays.
    pub(super) kept: Kept,
    rank: Rank,
}

impl Column {
    /// Returns the column `index` of `count`, whose widest cell has the width `cells`.
    pub(super) fn new(index: usize, count: usize, heading: &str, heading_width: usize, cells: usize) -> Self {
        let is_last = index + 1 == count;
        let (rank, kept) = match heading.to_ascii_lowercase().as_str() {
            "path" => (Rank::Name, Kept::End),
            _ if index == 0 => (Rank::Name, Kept::Start),
            _ if cells == 0 => (Rank::Empty, Kept::Start),
            "name" | "id" | "module" | "subject" => (Rank::Name, Kept::Start),
            "what to do" | "what happened" if is_last => (Rank::Whole, Kept::Start),
            "description" | "text" | "what" | "reason" | "why" if is_last => (Rank::Prose, Kept::Start),
            "file" | "root" | "binary" | "made in" => (Rank::Detail, Kept::End),
            "uri" => (Rank::Fact, Kept::End),
            "where" => (Rank::Fact, Kept::EndOfPath),
            "bytes" | "revision" | "updated" | "created" | "made" | "targets" | "mime type" | "runs" | "by"
            | "files" | "modules" | "before" | "after" | "ms" | "at" | "asked by" | "project" => {
                (Rank::Detail, Kept::Start)
            }
            _ => (Rank::Fact, Kept::Start),
        };
        Self { index, width: heading_width.max(cells), kept, rank }
    }

    /// Whether its cells are read whole or not at all.
    pub(super) fn is_whole(&self) -> bool {
        self.rank == Rank::Whole
    }

    /// Whether it tells which row this is: its cells are never cut, but go on below.
    pub(super) fn is_name(&self) -> bool {
        self.rank == Rank::Name
    }

    /// Whether nothing stands in it.
    pub(super) fn is_empty(&self) -> bool {
        self.rank == Rank::Empty
    }

    /// The least width at which the column still says something on a terminal of `width` columns.
    fn least(&self, width: usize) -> usize {
        self.width.min(match self.rank {
            Rank::Empty | Rank::Whole => self.width,
            Rank::Prose => PROSE,
            Rank::Detail | Rank::Fact => FACT,
            // A terminal may not know its width, which then is as large as can be.
            Rank::Name => width.saturating_mul(3) / 5,
        })
    }
}

/// Returns the columns that `width` has room for, in order, each as wide as it may be: those that matter least are cut
/// first, then left out.
pub(super) fn fit(mut columns: Vec<Column>, width: usize) -> Vec<Column> {
    while columns.len() > 1 && total(columns.iter().map(|column| column.least(width))) > width {
        // Of columns that matter alike, the last one goes.
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

/// Takes from the widest columns of a rank what the table is too wide.
fn shrink(columns: &mut [Column], rank: Rank, width: usize) {
    while total(columns.iter().map(|column| column.width)) > width {
        let can_give = |column: &&mut Column| column.rank == rank && column.width > column.least(width);
        match columns.iter_mut().filter(can_give).max_by_key(|column| column.width) {
            Some(widest) => widest.width -= 1,
            None => return,
        }
    }
}

/// The width of columns with the gaps between them.
fn total(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    widths.len().saturating_sub(1) * GAP + widths.sum::<usize>()
}
