//! Keyset pages: the cost of a page does not depend on how many rows stand before it.

/// Which part of a list ordered by name is wanted.
#[derive(Clone, Debug)]
pub struct Page {
    /// The name after which the page begins; empty for the first.
    pub after: String,
    /// The most rows it holds.
    pub limit: usize,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Slice<T> {
    /// The rows, at most the page's limit.
    pub rows: Vec<T>,
    /// Whether more rows follow.
    pub more: bool,
}

impl Page {
    /// Returns the first page of `limit` rows.
    pub fn first(limit: usize) -> Self {
        Self { after: String::new(), limit }
    }

    /// Returns a page that holds everything.
    pub fn all() -> Self {
        Self::first(i32::MAX as usize - 1)
    }

    /// One row more than requested shows whether more follow, without a count.
    pub(super) fn fetch(&self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX).saturating_add(1)
    }

    /// Returns the rows that [`Page::fetch`] brought as a page.
    pub(super) fn slice<T>(&self, mut rows: Vec<T>) -> Slice<T> {
        let more = rows.len() > self.limit;
        rows.truncate(self.limit);
        Slice { rows, more }
    }
}
