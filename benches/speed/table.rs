//! Collects the results in a table and prints it.

use std::fmt;
use std::time::Duration;

/// A measured value.
#[derive(Clone, Copy)]
pub enum Value {
    /// The time of a request, a page or a process.
    Time(Duration),
    /// The memory of a process, in bytes.
    Memory(u64),
    /// The number of requests per second.
    Rate(f64),
    /// The number of times that something happened.
    Count(usize),
}

/// The limit that a value must keep.
#[derive(Clone, Copy)]
pub enum Bar {
    /// At most this many times the reference.
    Times(f64),
    /// At least this many times the reference.
    AtLeast(f64),
    /// At most this many bytes.
    Bytes(u64),
    /// At most this many bytes more than the reference.
    BytesMore(u64),
    /// At least this count.
    Reaches(usize),
    /// The count must be zero.
    Never,
    /// No limit. The value is only shown for comparison.
    None,
}

/// One line of the table.
pub struct Row {
    /// The name of the row: a description of what is measured.
    pub what: String,
    /// mcpkg's value.
    pub ours: Value,
    /// mcpkg's value with its fast path (the front) switched off, if that makes a difference.
    pub off: Option<Value>,
    /// The reference's value, if there is a reference.
    pub reference: Option<Value>,
    /// The limit for mcpkg's value.
    pub bar: Bar,
}

/// The rows measured so far.
pub struct Table {
    filter: String,
    rows: Vec<Row>,
}

impl Table {
    /// Returns an empty table for the rows whose names contain `filter`.
    pub fn new(filter: &str) -> Self {
        Self { filter: filter.to_lowercase(), rows: Vec::new() }
    }

    /// Returns whether the user asked for the row `what`.
    pub fn wants(&self, what: &str) -> bool {
        what.to_lowercase().contains(&self.filter)
    }

    /// Adds a row, if the user asked for it.
    pub fn push(&mut self, row: Row) {
        if self.wants(&row.what) {
            eprintln!("measured: {}", row.cells().join("; "));
            self.rows.push(row);
        }
    }

    /// Returns whether every row is within its limit.
    pub fn kept(&self) -> bool {
        self.rows.iter().all(|row| row.kept() != Some(false))
    }
}

impl Value {
    fn number(self) -> f64 {
        match self {
            Value::Time(time) => time.as_secs_f64(),
            Value::Memory(bytes) => bytes as f64,
            Value::Rate(rate) => rate,
            Value::Count(count) => count as f64,
        }
    }

    /// Returns this value divided by `reference`.
    fn times(self, reference: Value) -> f64 {
        self.number() / reference.number()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Time(time) if *time < Duration::from_millis(1) => write!(f, "{:.1} us", self.number() * 1e6),
            Value::Time(_) => write!(f, "{:.2} ms", self.number() * 1e3),
            Value::Memory(bytes) if *bytes < 1 << 20 => write!(f, "{:.1} KiB", self.number() / 1024.0),
            Value::Memory(_) => write!(f, "{:.1} MiB", self.number() / f64::from(1 << 20)),
            Value::Rate(rate) => write!(f, "{rate:.0}/s"),
            Value::Count(count) => write!(f, "{count}"),
        }
    }
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        self.reference.map(|reference| self.ours.times(reference))
    }

    /// Returns whether the row is within its limit; `None` if it has no limit.
    fn kept(&self) -> Option<bool> {
        match self.bar {
            Bar::Times(bar) => Some(self.ratio().is_some_and(|ratio| ratio <= bar)),
            Bar::AtLeast(bar) => Some(self.ratio().is_some_and(|ratio| ratio >= bar)),
            Bar::Bytes(bar) => Some(self.ours.number() <= bar as f64),
            Bar::BytesMore(bar) => {
                Some(self.reference.is_some_and(|reference| self.ours.number() <= reference.number() + bar as f64))
            }
            Bar::Reaches(bar) => Some(self.ours.number() >= bar as f64),
            Bar::Never => Some(self.ours.number() == 0.0),
            Bar::None => None,
        }
    }

    fn cells(&self) -> [String; 7] {
        let nothing = || "-".to_owned();
        let off = self.off.map_or_else(nothing, |off| match self.reference {
            Some(reference) => format!("{off} ({:.2})", off.times(reference)),
            None => off.to_string(),
        });
        let bar = match self.bar {
            Bar::Times(bar) => format!("<= {bar}"),
            Bar::AtLeast(bar) => format!(">= {bar}"),
            Bar::Bytes(bar) => format!("<= {}", Value::Memory(bar)),
            Bar::BytesMore(bar) => format!("<= {} more", Value::Memory(bar)),
            Bar::Reaches(bar) => format!(">= {bar}"),
            Bar::Never => "0".to_owned(),
            Bar::None => nothing(),
        };
        [
            self.what.clone(),
            self.ours.to_string(),
            self.reference.map_or_else(nothing, |reference| reference.to_string()),
            self.ratio().map_or_else(nothing, |ratio| format!("{ratio:.2}")),
            bar,
            self.kept().map_or_else(nothing, |kept| if kept { "yes" } else { "NO" }.to_owned()),
            off,
        ]
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["what", "ours", "reference", "ratio", "bar", "ok", "front off (ratio)"].map(str::to_owned);
        let lines: Vec<[String; 7]> = std::iter::once(head).chain(self.rows.iter().map(Row::cells)).collect();
        let widths: [usize; 7] =
            std::array::from_fn(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0));
        // The last column is shown only if at least one row has a value for it.
        let columns = if self.rows.iter().any(|row| row.off.is_some()) { 7 } else { 6 };
        for (number, line) in lines.iter().enumerate() {
            for (cell, width) in line.iter().zip(widths).take(columns) {
                write!(f, "| {cell:<width$} ")?;
            }
            writeln!(f, "|")?;
            if number == 0 {
                for width in widths.iter().take(columns) {
                    write!(f, "| {} ", "-".repeat(*width))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

/// Returns the median of some samples.
pub fn median<T: Ord + Copy>(samples: &mut [T]) -> T {
    assert!(!samples.is_empty(), "nothing was sampled");
    let middle = samples.len() / 2;
    *samples.select_nth_unstable(middle).1
}
