//! Lines of text, which consist of spans with a tone. Text from agents, APIs and files is marked as quoted, so that it
//! cannot imitate the console's own text.

use std::borrow::Cow;

use mcpkg_base::marks;

/// How a span is emphasised. A screen must stay readable without colour, so never express a meaning by tone alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    /// For less important text, such as a time.
    Dim,
    /// The name of a thing.
    Name,
    /// A heading.
    Strong,
    /// For success, and for operations that only read.
    Good,
    /// For warnings, and for operations that write.
    Warning,
    /// For errors, and for operations that destroy something.
    Bad,
    /// A line that a diff adds.
    Added,
    /// A line that a diff removes.
    Removed,
    /// Words that differ between two versions of a line.
    Changed,
}

/// A piece of text in one tone. [`Span::new`] replaces tabs with spaces, and hidden and control characters with visible
/// marks, so that stored text cannot send escape sequences to the terminal or imitate the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    text: String,
    pub tone: Tone,
    /// Whether the text names keys. Pages in a browser leave it out, because they have buttons instead.
    pub names_keys: bool,
}

impl Span {
    pub fn new(tone: Tone, text: &str) -> Self {
        let text = match text.contains('\t') {
            true => marks::line(&text.replace('\t', "    ")).into_owned(),
            false => marks::line(text).into_owned(),
        };
        Self { text, tone, names_keys: false }
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
    /// Whether the text comes from an agent, an API, a repository or a file. Such lines are drawn behind a bar.
    pub is_quoted: bool,
    /// Whether `.` and `,` jump to this line, such as the first line of a hunk, a finding, or hidden characters.
    pub is_stop: bool,
    /// Whether the line is a row of an aligned table, which must not be wrapped where it can be scrolled.
    pub is_row: bool,
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

    /// Makes a line from the text of an agent, an API, a repository or a file. `.` and `,` stop at the line if it has
    /// hidden characters.
    pub fn quoted(text: &str) -> Self {
        // Tabs do not count as hidden: they are drawn as spaces.
        let is_stop = matches!(marks::line(&text.replace('\t', " ")), Cow::Owned(_));
        Self { is_quoted: true, is_stop, ..Self::plain(text) }
    }

    pub fn then(mut self, tone: Tone, text: &str) -> Self {
        self.spans.push(Span::new(tone, text));
        self
    }

    /// Adds a text that names keys.
    pub fn then_keys(mut self, text: &str) -> Self {
        self.spans.push(Span { names_keys: true, ..Span::plain(text) });
        self
    }

    pub fn stop(self) -> Self {
        Self { is_stop: true, ..self }
    }

    pub fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }

    /// Encloses the words that a diff changes: `[-removed-]` and `{+added+}`. For screens that cannot emphasise words.
    #[must_use]
    pub fn with_words_marked(self) -> Self {
        let is_removed = self.spans.first().is_some_and(|span| span.text().starts_with('-'));
        let (open, close) = if is_removed { ("[-", "-]") } else { ("{+", "+}") };
        let marked = |span: Span| match span.tone {
            Tone::Changed => vec![Span::new(Tone::Changed, open), span, Span::new(Tone::Changed, close)],
            _ => vec![span],
        };
        Self { spans: self.spans.into_iter().flat_map(marked).collect(), ..self }
    }
}

/// Makes a quoted line for each line of a text.
pub fn quoted(text: &str) -> impl Iterator<Item = Line> + '_ {
    text.lines().map(Line::quoted)
}
