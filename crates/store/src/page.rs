//! Pages of lists ordered by name or id. The cost of a page does not depend on how many rows come before it.

/// Selects the part of an ordered list that a page shows.
#[derive(Clone, Debug)]
pub struct Page {
    /// The name or id after which the page begins; empty for the first page.
    pub after: String,
    /// The maximum number of rows on the page.
    pub limit: usize,
}

#[derive(Clone, Debug)]
pub struct Slice<T> {
    /// The rows, at most the page's limit.
    pub rows: Vec<T>,
    /// Whether more rows follow.
    pub more: bool,
}

impl Page {
    /// Returns the first page, with up to `limit` rows.
    pub fn first(limit: usize) -> Self {
        Self { after: String::new(), limit }
    }

    /// Returns a page without a limit.
    pub fn all() -> Self {
        Self::first(i32::MAX as usize - 1)
    }

    /// Returns the number of rows to query: one more than the limit. The extra row shows that there are more, without
    /// counting them.
    pub(super) fn fetch(&self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX).saturating_add(1)
    }

    /// Turns the queried rows into a page: removes the extra row of [`Page::fetch`].
    pub(super) fn slice<T>(&self, mut rows: Vec<T>) -> Slice<T> {
        let more = rows.len() > self.limit;
        rows.truncate(self.limit);
        Slice { rows, more }
    }
}
