//! Reads Markdown as pieces that a terminal or a page can draw. Nothing in the pieces loads, runs or hides anything: HTML
//! is text, addresses are shown, and an image is either one of the project's own or a link.

use std::ops::Range;

use percent_encoding::percent_decode_str;
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

/// The longest text that is rendered, in bytes.
pub const LONGEST: usize = 256 << 10;

/// The number of nested parts. Deeper ones are drawn as if they were not nested.
const DEEPEST: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Open(Part),
    Close(Part),
    Text(String),
    Code(String),
    /// Text to show unchanged: code, HTML or front matter. The first string says what it is.
    Block(String, String),
    /// The address of a link or an image. Left out for a link whose text is its address.
    Address(String),
    /// An image that is stored in the project as the resource with this URI. Its description follows as text.
    Image(String),
    Break,
    Rule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Paragraph,
    /// A heading, with its level from 0. Levels are never skipped: a heading below a level 0 heading has level 1.
    Heading(usize),
    Quote,
    /// A list, and its first number if it is numbered.
    List(Option<u64>),
    Item,
    Table,
    Row,
    /// A cell of a table, and whether it is in the first row.
    Cell(bool),
    Strong,
    Emphasis,
    Struck,
    Link(Target),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An address of the schemes `http`, `https` or `mailto`.
    Away(String),
    /// A resource of the project.
    Resource(String),
    /// Any other address, which is only shown.
    Nowhere,
}

/// Returns whether a resource with this URI and MIME type is Markdown.
pub fn is_markdown(uri: &str, mime_type: &str) -> bool {
    let ends =
        |end: &str| uri.get(uri.len().saturating_sub(end.len())..).is_some_and(|own| own.eq_ignore_ascii_case(end));
    let mime_type = mime_type.split(';').next().unwrap_or_default().trim();
    mime_type.eq_ignore_ascii_case("text/markdown")
        || ends(".md")
        || ends(".markdown")
        || uri.starts_with("instructions://")
        || uri.starts_with("rule://")
}

/// Parses a Markdown text. `base` is the URI of its resource, which resolves relative addresses. It is empty for a text
/// that is not a resource.
pub fn pieces(text: &str, base: &str) -> Vec<Piece> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let parser = Parser::new_ext(text, options);
    let definitions: Vec<Range<usize>> =
        parser.reference_definitions().iter().map(|(_, found)| found.span.clone()).collect();
    let mut reader = Reader { base, ..Reader::default() };
    let (mut depth, mut end, mut row, mut unseen) = (0_usize, 0, 0, Vec::new());
    for (event, range) in parser.into_offset_iter() {
        if depth == 0 && range.start >= end {
            unseen.push(end..range.start);
            end = range.end;
        }
        match &event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        let is_row_end = matches!(event, Event::End(TagEnd::TableRow));
        if matches!(event, Event::Start(Tag::TableRow)) {
            row = reader.pieces.len();
        }
        reader.take(event);
        if is_row_end && letters(&text[range.clone()]) > reader.letters_from(row) {
            unseen.push(range);
        }
    }
    unseen.push(end..text.len());
    // A text that no block covers is a link definition, and can contain anything. If a row has more cells than the table
    // has columns, the parser drops them. Show both at the end, so that nothing is hidden.
    unseen.sort_unstable_by_key(|range| range.end);
    let mut inner = outside(definitions, unseen.iter());
    inner.extend(unseen);
    inner.sort_unstable_by_key(|range| range.start);
    let unseen: Vec<&str> = inner.into_iter().filter_map(|range| text.get(range)).map(str::trim).collect();
    let unseen = unseen.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    if !unseen.is_empty() {
        reader.pieces.push(Piece::Block("not shown above, such as definitions of links".to_owned(), unseen));
    }
    reader.pieces
}

/// Returns those of the ranges that are not inside one of `others`. Neither overlap among themselves, and `others` are
/// sorted. A hostile text has many of both, so each is looked at once.
fn outside<'o>(mut ranges: Vec<Range<usize>>, others: impl Iterator<Item = &'o Range<usize>>) -> Vec<Range<usize>> {
    let mut others = others.peekable();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.retain(|range| {
        while others.next_if(|other| other.end < range.end).is_some() {}
        others.peek().is_none_or(|other| other.start > range.start)
    });
    ranges
}

fn letters(text: &str) -> usize {
    text.chars().filter(|char| char.is_alphanumeric()).count()
}

#[derive(Default)]
struct Reader<'b> {
    base: &'b str,
    pieces: Vec<Piece>,
    /// The open parts. `None` is a part that is nested too deeply to be drawn.
    open: Vec<Option<Part>>,
    /// The Markdown levels of the headings that contain the current text.
    levels: Vec<usize>,
    /// The open block: what it is, such as `rust`, and its text.
    block: Option<(String, String)>,
    /// The open link: its address, and the number of pieces before its text.
    link: Option<(String, usize)>,
    /// The outermost open image.
    image: Option<Image>,
    is_head: bool,
}

struct Image {
    address: String,
    title: String,
    alt: String,
    /// The number of open images inside its description.
    inner: usize,
}

impl Reader<'_> {
    fn take(&mut self, event: Event) {
        if let Some(image) = &mut self.image {
            match event {
                Event::Start(Tag::Image { dest_url, title, .. }) => {
                    image.inner += 1;
                    image.alt.push_str(&format!("({}) ", titled(&dest_url, &title)));
                }
                Event::Start(Tag::Link { dest_url, title, .. }) => {
                    image.alt.push_str(&format!("({}) ", titled(&dest_url, &title)));
                }
                Event::End(TagEnd::Image) if image.inner > 0 => image.inner -= 1,
                Event::End(TagEnd::Image) => self.end_image(),
                Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => image.alt.push_str(&text),
                Event::SoftBreak | Event::HardBreak => image.alt.push(' '),
                _ => {}
            }
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) | Event::Html(text) if self.block.is_some() => {
                self.block.iter_mut().for_each(|block| block.1.push_str(&text));
            }
            Event::Text(text) => self.pieces.push(Piece::Text(text.into_string())),
            Event::SoftBreak => self.pieces.push(Piece::Text(" ".to_owned())),
            Event::HardBreak => self.pieces.push(Piece::Break),
            Event::Rule => self.pieces.push(Piece::Rule),
            Event::TaskListMarker(is_done) => {
                self.pieces.push(Piece::Code(if is_done { "[x]" } else { "[ ]" }.to_owned()));
                self.pieces.push(Piece::Text(" ".to_owned()));
            }
            Event::Code(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.pieces.push(Piece::Code(text.into_string())),
        }
    }

    /// Counts the letters and digits of the pieces from an index on.
    fn letters_from(&self, index: usize) -> usize {
        self.pieces[index..].iter().filter_map(Piece::words).map(letters).sum()
    }

    fn open(&mut self, part: Part) {
        let part = (self.open.len() < DEEPEST).then_some(part);
        self.pieces.extend(part.clone().map(Piece::Open));
        self.open.push(part);
    }

    fn close(&mut self) {
        self.pieces.extend(self.open.pop().flatten().map(Piece::Close));
    }

    fn start(&mut self, tag: Tag) {
        let block = |about: &str| Some((about.to_owned(), String::new()));
        match tag {
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => self.block = block(&info),
            Tag::CodeBlock(CodeBlockKind::Indented) => self.block = block(""),
            Tag::HtmlBlock => self.block = block("HTML, shown as text"),
            Tag::MetadataBlock(_) => self.block = block("front matter"),
            Tag::Paragraph => self.open(Part::Paragraph),
            Tag::Heading { level, .. } => {
                let level = level as usize;
                self.levels.retain(|above| *above < level);
                let part = Part::Heading(self.levels.len());
                self.levels.push(level);
                self.open(part);
            }
            Tag::BlockQuote(_) => self.open(Part::Quote),
            Tag::List(first) => self.open(Part::List(first)),
            Tag::Item => self.open(Part::Item),
            Tag::Table(_) => self.open(Part::Table),
            Tag::TableHead => {
                self.is_head = true;
                self.open(Part::Row);
            }
            Tag::TableRow => self.open(Part::Row),
            Tag::TableCell => self.open(Part::Cell(self.is_head)),
            Tag::Strong => self.open(Part::Strong),
            Tag::Emphasis => self.open(Part::Emphasis),
            Tag::Strikethrough => self.open(Part::Struck),
            Tag::Link { link_type, dest_url, title, .. } => {
                let address = match link_type {
                    LinkType::Email => format!("mailto:{dest_url}"),
                    _ => dest_url.into_string(),
                };
                let target = target(self.base, &address);
                self.open(Part::Link(target));
                self.link = Some((titled(&address, &title), self.pieces.len()));
            }
            Tag::Image { dest_url, title, .. } => {
                let (address, title) = (dest_url.into_string(), title.into_string());
                self.image = Some(Image { address, title, alt: String::new(), inner: 0 });
            }
            // `pieces` does not enable the extensions that have other tags.
            _ => self.open(Part::Paragraph),
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => {
                self.pieces.extend(self.block.take().map(|(about, text)| Piece::Block(about, text)));
            }
            TagEnd::TableHead => {
                self.is_head = false;
                self.close();
            }
            TagEnd::Link => {
                self.close();
                if let Some((address, from)) = self.link.take() {
                    let words: String = self.pieces[from..].iter().filter_map(Piece::words).collect();
                    if words != address && format!("mailto:{words}") != address {
                        self.pieces.push(Piece::Address(address));
                    }
                }
            }
            _ => self.close(),
        }
    }

    fn end_image(&mut self) {
        let Some(Image { address, title, alt, .. }) = self.image.take() else { return };
        let text = Piece::Text(if alt.is_empty() { "image".to_owned() } else { alt });
        match target(self.base, &address) {
            Target::Resource(uri) if is_image(&uri) => self.pieces.extend([Piece::Image(uri), text]),
            // An image inside a link gets no link of its own, because links cannot be nested.
            target @ (Target::Away(_) | Target::Resource(_)) if self.link.is_none() => {
                self.pieces.extend([Piece::Open(Part::Link(target.clone())), text, Piece::Close(Part::Link(target))]);
            }
            _ => self.pieces.push(text),
        }
        self.pieces.push(Piece::Address(titled(&address, &title)));
    }
}

impl Piece {
    fn words(&self) -> Option<&str> {
        match self {
            Piece::Text(text) | Piece::Code(text) | Piece::Address(text) => Some(text),
            _ => None,
        }
    }
}

fn titled(address: &str, title: &str) -> String {
    if title.is_empty() { address.to_owned() } else { format!("{address} \"{title}\"") }
}

/// Returns whether a URI has the file extension of an image that a page can show.
pub fn is_image(uri: &str) -> bool {
    let end = uri.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    matches!(end.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp")
}

fn target(base: &str, address: &str) -> Target {
    let lower = address.to_ascii_lowercase();
    if ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme)) {
        return Target::Away(address.to_owned());
    }
    resolved(base, address).map_or(Target::Nowhere, Target::Resource)
}

/// Returns the URI of the resource that a relative address leads to. It cannot leave the skill: `../` never changes the
/// part of the URI between `://` and the next slash.
fn resolved(base: &str, address: &str) -> Option<String> {
    let path = address.split(['#', '?']).next().filter(|path| !path.is_empty())?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    if path.starts_with('/') || path.contains([':', '\\']) || path.contains(char::is_control) {
        return None;
    }
    let root = base.find("://")? + 3;
    let root = root + base[root..].find('/')? + 1;
    let folder = base[root..].rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(format!("{}{}", &base[..root], parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_addresses_stay_inside_their_skill() {
        let of = |address| resolved("skill://tidy/docs/SKILL.md", address);
        assert_eq!(of("a%20b.png#x").as_deref(), Some("skill://tidy/docs/a b.png"));
        assert_eq!(of("./../img/a.png?x").as_deref(), Some("skill://tidy/img/a.png"));
        for away in [
            "../../other/a.png",
            "/a.png",
            "//evil.example/a.png",
            "data:x",
            "a\\b",
            "%2e%2e/%2e%2e/a",
            "",
            "#a",
            "a%0Ab",
            "%ff",
        ] {
            assert_eq!(of(away), None, "{away}");
        }
        assert_eq!(resolved("", "a.png"), None);
        assert_eq!(resolved("instructions://style", "a.png"), None);
        assert_eq!(resolved("file:///notes.md", "a.png").as_deref(), Some("file:///a.png"));
    }

    #[test]
    fn only_web_and_mail_addresses_are_links() {
        for address in [
            "javascript:alert(1)",
            "JAVASCRIPT:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            " https://a",
        ] {
            assert_eq!(target("skill://a/b.md", address), Target::Nowhere, "{address}");
        }
        for address in ["https://a.example", "HTTP://a.example", "mailto:a@b.example"] {
            assert_eq!(target("", address), Target::Away(address.to_owned()));
        }
    }

    #[test]
    fn remote_images_are_links_and_own_images_are_shown() {
        let found = pieces(
            "![a *b*](https://evil.example/x.png \"t\")\n![own](x.png)\n[![badge](x.svg)](https://a.example)",
            "skill://s/SKILL.md",
        );
        let images: Vec<&Piece> = found.iter().filter(|piece| matches!(piece, Piece::Image(_))).collect();
        assert_eq!(images, [&Piece::Image("skill://s/x.png".to_owned())]);
        let away = Piece::Open(Part::Link(Target::Away("https://evil.example/x.png".to_owned())));
        assert!(found.contains(&away) && found.contains(&Piece::Text("a b".to_owned())), "{found:?}");
        assert!(found.contains(&Piece::Address("https://evil.example/x.png \"t\"".to_owned())), "{found:?}");
        let opened = found.iter().filter(|piece| matches!(piece, Piece::Open(Part::Link(_)))).count();
        assert_eq!(opened, 2, "no link is inside of another one: {found:?}");
    }

    #[test]
    fn what_markdown_hides_is_shown() {
        let text = "[//]: # (do evil)\n\nText [a].\n\n[a]: https://a.example\n[a]: https://b.example 'again'\n\n> [b]: /c 'inner'\n\n| a |\n| - |\n| b | excess |\n| c |\n\n![x [y](z 'in it')](i.png)\n\n<!-- comment -->\n\n```sh hidden words\ncode\n```\n";
        let found = pieces(text, "");
        let block = |about: &str, text: &str| Piece::Block(about.to_owned(), text.to_owned());
        assert!(found.contains(&block("sh hidden words", "code\n")), "{found:?}");
        assert!(found.contains(&block("HTML, shown as text", "<!-- comment -->\n")), "{found:?}");
        let Some(Piece::Block(_, definitions)) = found.last() else { panic!("{found:?}") };
        for hidden in ["do evil", "b.example 'again'", "'inner'", "| b | excess |"] {
            assert!(definitions.contains(hidden), "{hidden}: {definitions}");
        }
        assert!(!definitions.contains("| c |"), "{definitions}");
        assert!(found.contains(&Piece::Text("x (z \"in it\") y".to_owned())), "{found:?}");
    }

    #[test]
    fn a_hostile_text_takes_steps_in_proportion_to_its_length() {
        let ranges = |of: usize| (0..of).map(|at| 10 * at..10 * at + 5).collect::<Vec<_>>();
        for (many, others) in [(1, 30_000), (30_000, 30_000), (30_000, 1)] {
            let (mut steps, others) = (0, ranges(others));
            let inside = outside(ranges(many), others.iter().inspect(|_| steps += 1));
            assert_eq!(inside.len(), many.saturating_sub(others.len()));
            assert!(steps <= others.len(), "{steps}");
        }
        assert_eq!(outside(vec![6..8, 2..5, 12..13], [0..3, 6..9, 12..12].iter()), [2..5, 12..13]);
        let text: String = (0..18_000).map(|at| format!("> [{at}]: x\n\n")).collect();
        assert!(text.len() <= LONGEST);
        let Some(Piece::Block(_, hidden)) = pieces(&text, "").pop() else { panic!("the definitions are not shown") };
        assert_eq!(hidden.lines().count(), 18_000);
    }

    #[test]
    fn headings_skip_no_level_and_deep_nesting_ends() {
        let levels = |text: &str| -> Vec<usize> {
            let levels = pieces(text, "").into_iter().filter_map(|piece| match piece {
                Piece::Open(Part::Heading(level)) => Some(level),
                _ => None,
            });
            levels.collect()
        };
        assert_eq!(levels("### a\n##### b\n#### c\n# d\n### e"), [0, 1, 1, 0, 1]);
        let deep = pieces(&format!("{}x", "> ".repeat(5_000)), "");
        let opened = deep.iter().filter(|piece| matches!(piece, Piece::Open(_))).count();
        let closed = deep.iter().filter(|piece| matches!(piece, Piece::Close(_))).count();
        assert_eq!((opened, closed), (DEEPEST, DEEPEST));
    }
}
