//! A screen as data, independent of how it is drawn.

use crate::action::{Action, Does};
use crate::figure::Figure;
use crate::place::Place;

pub use crate::line::{Line, Span, Tone, quoted};

/// A row of a list.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Identifies the row. The selection stays on this id when other rows are added or removed.
    pub id: String,
    /// At most one cell for each column of the list.
    pub cells: Vec<Span>,
    /// The place that Enter opens. Its screen is also the row's preview.
    pub look: Option<Place>,
    pub actions: Vec<Action>,
    /// Whether the row is a heading, which cannot be selected.
    pub is_heading: bool,
}

impl Row {
    pub fn heading(text: &str) -> Self {
        Self { cells: vec![Span::new(Tone::Strong, text)], is_heading: true, ..Self::default() }
    }

    /// Returns whether the row loads more rows ([`Does::More`]).
    pub fn is_more(&self) -> bool {
        self.actions.iter().any(|action| matches!(action.does, Does::More))
    }

    /// Returns whether each word of the filter occurs in some cell, and no word after a `!` does. Case does not
    /// matter. A row that loads more rows matches any filter, because it stands for rows that are not loaded.
    pub fn matches(&self, filter: &str) -> bool {
        if self.is_more() {
            return true;
        }
        let filter = filter.to_lowercase();
        let has = |word: &str| self.cells.iter().any(|cell| cell.text().to_lowercase().contains(word));
        filter.split_whitespace().all(|word| match word.strip_prefix('!') {
            Some(word) => word.is_empty() || !has(word),
            None => has(word),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_needs_all_words_and_none_after_an_exclamation_mark() {
        let row = Row { cells: ["ASK", "mcp:codex"].map(Span::plain).into(), ..Row::default() };
        let matches = ["ask codex", "ASK", "!draft", "ask !claude", "!"].map(|filter| row.matches(filter));
        assert_eq!(matches, [true; 5]);
        assert_eq!(["ask claude", "!ask", "ask !codex"].map(|filter| row.matches(filter)), [false; 3]);
    }
}

#[derive(Clone, Debug, Default)]
pub struct List {
    /// The column headings; empty for a list without them.
    pub columns: &'static [&'static str],
    pub rows: Vec<Row>,
    /// The text of an empty list. It explains what the list shows, and which action adds something: `{+}` stands for the
    /// action with the key `+`; see [`List::keys_when_empty`] and [`Screen::when_empty`].
    pub empty: &'static str,
    /// Whether the rows are short. If so, a terminal shows the preview next to the list from 80 columns on, otherwise
    /// from 100.
    pub is_narrow: bool,
    /// Whether the last cells are prose, which wraps instead of being cut.
    pub wraps: bool,
    /// The signs in the first column, each with its meaning. Plain output and web pages show the meaning instead of the
    /// sign.
    pub signs: &'static [(&'static str, &'static str)],
}

impl List {
    /// Returns the text of an empty list for a terminal, which names the keys.
    pub fn keys_when_empty(&self) -> String {
        self.empty.replace(['{', '}'], "")
    }
}

#[derive(Clone, Debug)]
pub enum Body {
    List(List),
    Text(Vec<Line>),
    Diff(Box<crate::diff::Diff>),
    Form(crate::form::Form),
    /// A workflow or draft to edit.
    Editor(Box<crate::document::Document>),
}

/// The content of a place, and the actions that it offers.
#[derive(Clone, Debug)]
pub struct Screen {
    /// The title, such as `Inbox: 9 wait for you, the first until 13:48`.
    pub title: String,
    pub body: Body,
    /// The actions that do not depend on the selected row.
    pub actions: Vec<Action>,
    /// The names of the views that `v` cycles through.
    pub views: &'static [&'static str],
    /// The figures of the body, if it is a text, in the order of their lines.
    pub figures: Vec<Figure>,
}

impl Screen {
    /// Returns a screen without actions, views and figures.
    pub fn of(title: impl Into<String>, body: Body) -> Self {
        Self { title: title.into(), body, actions: Vec::new(), views: &[], figures: Vec::new() }
    }

    pub fn list(title: impl Into<String>, list: List) -> Self {
        Self::of(title, Body::List(list))
    }

    pub fn text(title: impl Into<String>, lines: Vec<Line>) -> Self {
        Self::of(title, Body::Text(lines))
    }

    pub fn diff(title: impl Into<String>, diff: crate::diff::Diff) -> Self {
        Self::of(title, Body::Diff(Box::new(diff)))
    }

    /// Returns the text of an empty list for a page, in which `name` names the actions of the screen by their buttons.
    pub fn when_empty(&self, name: impl Fn(&Action) -> String) -> String {
        let Body::List(list) = &self.body else { return String::new() };
        self.actions
            .iter()
            .fold(list.empty.to_owned(), |text, action| text.replace(&format!("{{{}}}", action.key), &name(action)))
    }

    #[must_use]
    pub fn with(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.actions.extend(actions);
        self
    }

    #[must_use]
    pub fn views(self, views: &'static [&'static str]) -> Self {
        Self { views, ..self }
    }

    #[must_use]
    pub fn figures(self, figures: impl IntoIterator<Item = Figure>) -> Self {
        Self { figures: figures.into_iter().collect(), ..self }
    }
}
