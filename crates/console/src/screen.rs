//! A screen as data: what a terminal or a page draws, without knowing either.

use std::borrow::Cow;

use mcpkg_base::marks;

use crate::action::Action;
use crate::place::Place;

/// How a span is emphasised. Each tone has a word or a sign beside it, so that a screen reads the same without colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    /// Less important, such as a time.
    Dim,
    /// The name of a thing.
    Name,
    /// A heading.
    Strong,
    /// Done, or only reads.
    Good,
    /// Writes, or a warning.
    Warning,
    /// Destroys, or an error.
    Bad,
    /// A line that a diff adds.
    Added,
    /// A line that a diff removes.
    Removed,
    /// The words of a line that differ.
    Changed,
}

/// A piece of text in one tone. Its characters are visible: the constructor marks hidden and control characters, so that
/// stored text cannot act on the terminal or imitate the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    text: String,
    pub tone: Tone,
}

impl Span {
    pub fn new(tone: Tone, text: &str) -> Self {
        let text = match text.contains('\t') {
            true => marks::line(&text.replace('\t', "    ")).into_owned(),
            false => marks::line(text).into_owned(),
        };
        Self { text, tone }
    }

    pub fn plain(text: &str) -> Self {
        Self::new(Tone::Plain, text)
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A line of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub spans: Vec<Span>,
    /// Whether the line was written by an agent, an API, a repository or a file. A face draws it behind a bar.
    pub is_quoted: bool,
    /// Whether `.` and `,` stop here: a hunk, a finding, a hidden character.
    pub is_stop: bool,
}

impl Line {
    pub fn of(tone: Tone, text: &str) -> Self {
        Self { spans: vec![Span::new(tone, text)], ..Self::default() }
    }

    pub fn plain(text: &str) -> Self {
        Self::of(Tone::Plain, text)
    }

    pub fn blank() -> Self {
        Self::default()
    }

    /// A line that somebody else wrote. It is a stop if it has hidden characters.
    pub fn quoted(text: &str) -> Self {
        let is_stop = matches!(marks::line(text), Cow::Owned(_));
        Self { is_quoted: true, is_stop, ..Self::plain(text) }
    }

    pub fn then(mut self, tone: Tone, text: &str) -> Self {
        self.spans.push(Span::new(tone, text));
        self
    }

    pub fn stop(self) -> Self {
        Self { is_stop: true, ..self }
    }

    pub fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }
}

/// Quotes a text of several lines.
pub fn quoted(text: &str) -> impl Iterator<Item = Line> + '_ {
    text.lines().map(Line::quoted)
}

/// A row of a list.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// What the row is about. The selection follows it when rows come and go.
    pub id: String,
    /// One cell per column of the list.
    pub cells: Vec<Span>,
    /// The place that enter opens. Its screen is also the row's preview.
    pub look: Option<Place>,
    pub actions: Vec<Action>,
    /// A heading of the rows below. It cannot be selected.
    pub is_heading: bool,
}

impl Row {
    pub fn heading(text: &str) -> Self {
        Self { cells: vec![Span::new(Tone::Strong, text)], is_heading: true, ..Self::default() }
    }

    /// Whether `/` keeps the row for this filter.
    pub fn matches(&self, filter: &str) -> bool {
        let filter = filter.to_lowercase();
        filter.split_whitespace().all(|word| self.cells.iter().any(|cell| cell.text().to_lowercase().contains(word)))
    }
}

#[derive(Clone, Debug, Default)]
pub struct List {
    /// The headings; none if there is one column.
    pub columns: &'static [&'static str],
    pub rows: Vec<Row>,
    /// What to show without rows: what belongs here, and the key that fills it.
    pub empty: &'static str,
    /// Whether the preview stands beside the list from 80 columns, since its rows are short; otherwise from 100.
    pub is_narrow: bool,
}

#[derive(Clone, Debug)]
pub enum Body {
    List(List),
    Text(Vec<Line>),
    Form(crate::form::Form),
    /// The text of a workflow or draft, which a face lets the user edit.
    Editor(Box<crate::document::Document>),
}

/// What a place shows.
#[derive(Clone, Debug)]
pub struct Screen {
    /// What row 2 says, such as `Inbox: 9 wait for you, the first until 13:48`.
    pub title: String,
    pub body: Body,
    /// The actions that do not depend on the selected row.
    pub actions: Vec<Action>,
    /// The names of its views, which `v` goes through.
    pub views: &'static [&'static str],
}

impl Screen {
    pub fn list(title: impl Into<String>, list: List) -> Self {
        Self { title: title.into(), body: Body::List(list), actions: Vec::new(), views: &[] }
    }

    pub fn text(title: impl Into<String>, lines: Vec<Line>) -> Self {
        Self { title: title.into(), body: Body::Text(lines), actions: Vec::new(), views: &[] }
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
}
