//! Splits Markdown into the parts that spec rules check: sections, paragraphs, list items and comments.
//!
//! A real Markdown parser reads the text, so a heading, item or checkbox inside a code block or comment does not count.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

mod comments;
mod lines;
mod marks;

use lines::Lines;
pub(super) use marks::Mark;

#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// The sections in order. The first one holds the text before the first heading.
    pub(super) sections: Vec<Section>,
    /// Words in the prose that mark unfinished work.
    pub(super) marks: Vec<Mark>,
}

/// A heading and its content, up to the next heading of any level.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// The heading's level from 1; 0 for the text before the first heading.
    pub(super) level: u8,
    pub(super) title: String,
    /// The heading's line, counted from 1.
    pub(super) line: usize,
    /// The content.
    pub(super) blocks: Vec<Block>,
}

/// A paragraph, list item, table row or other element with text.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// The first line of the block, counted from 1.
    pub(super) line: usize,
    /// The visible text, without the text of nested blocks.
    pub(super) text: String,
    /// The ranges of emphasized text at the start of a line, such as **Choice:**.
    pub(super) leads: Vec<Range<usize>>,
    /// Whether the text starts with a strikethrough.
    pub(super) struck: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A paragraph, possibly inside a list item or quote.
    Paragraph,
    /// A list item.
    Item {
        /// The number of list items in which this item is nested.
        depth: usize,
        /// Whether the item's checkbox is checked; `None` without a checkbox.
        checked: Option<bool>,
    },
    Code,
    Row,
    Comment,
}

impl Markdown {
    /// Parses a document. Any text is valid Markdown, so this cannot fail.
    pub(super) fn read(text: &str) -> Self {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
        let mut reader = Reader::new(text);
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            reader.take(event, range);
        }
        reader.finish()
    }

    /// Returns the sections with this title, each followed by its subsections. Ignores case, a leading number such as
    /// `2.`, and a trailing colon.
    pub(super) fn titled(&self, title: &str) -> impl Iterator<Item = &[Section]> {
        let title = title.to_lowercase();
        let begins = move |section: &Section| section.level > 0 && normalized(&section.title) == title;
        self.sections.iter().enumerate().filter(move |(_, section)| begins(section)).map(|(at, section)| {
            let rest = &self.sections[at + 1..];
            let below = rest.iter().take_while(|other| other.level > section.level).count();
            &self.sections[at..=at + below]
        })
    }

    /// Returns all blocks, each with its section.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (&Section, &Block)> {
        self.sections.iter().flat_map(|section| section.blocks.iter().map(move |block| (section, block)))
    }
}

impl Block {
    fn new(kind: Kind, line: usize, text: String) -> Self {
        Self { kind, line, text, leads: Vec::new(), struck: false }
    }

    /// Returns whether the block has visible text. Comments do not count.
    pub(super) fn says_something(&self) -> bool {
        self.kind != Kind::Comment && !self.is_blank()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// Returns the form of a title used for comparison.
fn normalized(title: &str) -> String {
    let title = title.trim().trim_end_matches(':').trim_end();
    let unnumbered = title.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')'));
    // Strip the number only if a space follows it.
    let title = if unnumbered.starts_with(' ') { unnumbered } else { title };
    title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The element that the current text belongs to.
enum Open {
    Block(Block),
    Heading(Section),
    /// The HTML read so far, and the number of its first line. At its end, it is split into text and comments.
    Html(String, usize),
    /// Text to ignore: the metadata at the top of the document.
    Nothing,
}

/// Builds sections and blocks from the parser's events.
struct Reader<'t> {
    text: &'t str,
    lines: Lines,
    document: Markdown,
    open: Option<Open>,
    /// The number of open list items.
    items: usize,
    /// The number of open list items and quotes. Headings inside them do not start a section.
    containers: usize,
    /// The number of open emphases, if the outermost one started a line; otherwise 0.
    lead: usize,
    /// Whether the current line of the block is still empty.
    line_begins: bool,
    in_code: bool,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        let document = Markdown { sections: vec![Section { line: 1, ..Section::default() }], marks: Vec::new() };
        let (lines, open, in_code) = (Lines::of(text), None, false);
        Self { text, lines, document, open, items: 0, containers: 0, lead: 0, line_begins: true, in_code }
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(&tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => {
                if !self.in_code {
                    self.mark(&range);
                }
                self.push(&text);
            }
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&text),
            Event::Html(html) => {
                self.mark(&range);
                match &mut self.open {
                    Some(Open::Html(all, _)) => all.push_str(&html),
                    _ => self.push(&comments::apart(&html).0),
                }
            }
            Event::InlineHtml(html) => self.inline_html(&html, &range),
            Event::SoftBreak | Event::HardBreak => {
                self.push(" ");
                self.line_begins = true;
            }
            Event::TaskListMarker(is_checked) => {
                if let Some(Open::Block(Block { kind: Kind::Item { checked, .. }, .. })) = &mut self.open {
                    *checked = Some(is_checked);
                }
            }
            Event::FootnoteReference(_) | Event::Rule => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        let line = self.line(&range);
        match tag {
            Tag::Heading { level, .. } if self.containers == 0 => {
                let section = Section { level: *level as u8, line, ..Section::default() };
                self.begin(Open::Heading(section));
            }
            // The first paragraph of an item is the item's own text, not a separate block.
            Tag::Paragraph if self.is_fresh_item() => {}
            Tag::Paragraph | Tag::Heading { .. } => self.block(Kind::Paragraph, line),
            Tag::Item => {
                self.block(Kind::Item { depth: self.items, checked: None }, line);
                self.items += 1;
                self.containers += 1;
            }
            Tag::BlockQuote(_) => {
                self.close();
                self.containers += 1;
            }
            Tag::CodeBlock(_) => {
                self.block(Kind::Code, line);
                self.in_code = true;
            }
            Tag::TableHead | Tag::TableRow => self.block(Kind::Row, line),
            Tag::HtmlBlock => self.begin(Open::Html(String::new(), line)),
            Tag::MetadataBlock(_) => self.begin(Open::Nothing),
            Tag::List(_) => self.close(),
            Tag::Emphasis | Tag::Strong if self.lead > 0 || self.line_begins => {
                if self.lead == 0
                    && let Some(Open::Block(block)) = &mut self.open
                {
                    block.leads.push(block.text.len()..block.text.len());
                }
                self.lead += 1;
            }
            Tag::Strikethrough if self.is_at_its_beginning() => {
                if let Some(Open::Block(block)) = &mut self.open {
                    block.struck = true;
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong => self.lead = self.lead.saturating_sub(1),
            TagEnd::TableCell => self.push(" "),
            TagEnd::CodeBlock => {
                self.in_code = false;
                self.close();
            }
            TagEnd::Item => {
                self.close();
                self.items = self.items.saturating_sub(1);
                self.containers = self.containers.saturating_sub(1);
            }
            TagEnd::BlockQuote(_) => {
                self.close();
                self.containers = self.containers.saturating_sub(1);
            }
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::HtmlBlock
            | TagEnd::MetadataBlock(_) => self.close(),
            _ => {}
        }
    }

    fn inline_html(&mut self, html: &str, range: &Range<usize>) {
        self.mark(range);
        let (text, comments) = comments::apart(html);
        self.push(&text);
        let line = self.line(range);
        for comment in comments {
            self.add(Block::new(Kind::Comment, line, comment));
        }
    }

    /// Appends text to the open element.
    fn push(&mut self, text: &str) {
        match &mut self.open {
            Some(Open::Block(block)) => {
                block.text.push_str(text);
                self.line_begins &= text.trim().is_empty();
                if self.lead > 0
                    && let Some(lead) = block.leads.last_mut()
                {
                    lead.end = block.text.len();
                }
            }
            Some(Open::Heading(section)) => section.title.push_str(text),
            Some(Open::Html(..) | Open::Nothing) | None => {}
        }
    }

    fn is_at_its_beginning(&self) -> bool {
        matches!(&self.open, Some(Open::Block(block)) if block.is_blank())
    }

    fn is_fresh_item(&self) -> bool {
        matches!(&self.open, Some(Open::Block(block)) if block.is_blank() && matches!(block.kind, Kind::Item { .. }))
    }

    fn block(&mut self, kind: Kind, line: usize) {
        self.begin(Open::Block(Block::new(kind, line, String::new())));
        self.line_begins = true;
    }

    fn begin(&mut self, open: Open) {
        self.close();
        self.open = Some(open);
    }

    fn close(&mut self) {
        self.lead = 0;
        match self.open.take() {
            Some(Open::Block(block)) => self.add(block),
            Some(Open::Heading(section)) => self.document.sections.push(section),
            Some(Open::Html(html, line)) => {
                let (text, comments) = comments::apart(&html);
                for comment in comments {
                    self.add(Block::new(Kind::Comment, line, comment));
                }
                if !text.trim().is_empty() {
                    self.add(Block::new(Kind::Paragraph, line, text));
                }
            }
            Some(Open::Nothing) | None => {}
        }
    }

    fn add(&mut self, block: Block) {
        if let Some(section) = self.document.sections.last_mut() {
            section.blocks.push(block);
        }
    }

    fn mark(&mut self, range: &Range<usize>) {
        let found = marks::find(self.text, range.clone());
        self.document.marks.extend(found.map(|(word, at)| Mark { word, line: self.lines.of_byte(at) }));
    }

    /// Returns the line where a range starts, ignoring leading white space.
    fn line(&self, range: &Range<usize>) -> usize {
        let text = self.text.get(range.clone()).unwrap_or_default();
        self.lines.of_byte(range.start + (text.len() - text.trim_start().len()))
    }

    fn finish(mut self) -> Markdown {
        self.close();
        self.document
    }
}

#[cfg(test)]
mod tests;
