//! Draws rendered Markdown. The pieces are drawn one after the other, so that deep nesting needs no deep recursion.

use maud::{Markup, PreEscaped, Render, html};

use mcpkg_console::markdown::{Part, Piece, Target};
use mcpkg_console::place::Place;

use super::address;
use super::image;
use super::text::shown;

pub fn markdown(pieces: &[Piece]) -> Markup {
    let mut body = String::new();
    for piece in pieces {
        match piece {
            Piece::Open(part) => open(part, &mut body),
            Piece::Close(part) => close(part, &mut body),
            piece => drawn(piece).render_to(&mut body),
        }
    }
    html! {
        @if !pieces.is_empty() {
            div.quoted.markdown role="group" aria-label="Quoted text" { (PreEscaped(body)) }
        }
    }
}

fn drawn(piece: &Piece) -> Markup {
    html! {
        @match piece {
            Piece::Text(text) => (shown(text)),
            Piece::Code(text) => code { (shown(text)) },
            Piece::Block(about, text) => {
                @if !about.is_empty() { p.dim { (shown(about)) } }
                pre { @for line in text.lines() { (shown(line)) "\n" } }
            }
            Piece::Address(address) => span.dim { " (" (shown(address)) ")" },
            // The description follows as text that everybody can read, so `alt` is empty.
            Piece::Image(uri) => { img src=(image::address(uri)) alt="" loading="lazy"; " " }
            Piece::Break => { br; }
            Piece::Rule => { hr; }
            Piece::Open(_) | Piece::Close(_) => {}
        }
    }
}

fn open(part: &Part, body: &mut String) {
    match part {
        Part::Link(Target::Away(to)) => {
            body.push_str("<a rel=\"noopener noreferrer\" href=\"");
            to.render_to(body);
            body.push_str("\">");
        }
        Part::Link(Target::Resource(uri)) => {
            body.push_str("<a href=\"");
            address::of(&Place::Resource(uri.clone())).unwrap_or_default().render_to(body);
            body.push_str("\">");
        }
        Part::List(Some(first)) if *first != 1 => body.push_str(&format!("<ol start=\"{first}\">")),
        Part::Table => body.push_str(
            "<div class=\"scroll\" role=\"group\" aria-label=\"Table\" tabindex=\"0\"><table class=\"cells\">",
        ),
        Part::Cell(true) => body.push_str("<th scope=\"col\">"),
        part => body.push_str(&format!("<{}>", tag(part))),
    }
}

fn close(part: &Part, body: &mut String) {
    body.push_str(&format!("</{}>", tag(part)));
    if *part == Part::Table {
        body.push_str("</div>");
    }
}

fn tag(part: &Part) -> &'static str {
    match part {
        Part::Paragraph => "p",
        // The title of the page is the only `h1`.
        Part::Heading(0) => "h2",
        Part::Heading(1) => "h3",
        Part::Heading(2) => "h4",
        Part::Heading(3) => "h5",
        Part::Heading(_) => "h6",
        Part::Quote => "blockquote",
        Part::List(None) => "ul",
        Part::List(Some(_)) => "ol",
        Part::Item => "li",
        Part::Table => "table",
        Part::Row => "tr",
        Part::Cell(true) => "th",
        Part::Cell(false) => "td",
        Part::Strong => "strong",
        Part::Emphasis => "em",
        Part::Struck => "del",
        Part::Link(Target::Nowhere) => "span",
        Part::Link(_) => "a",
    }
}

#[cfg(test)]
mod tests {
    use mcpkg_console::markdown::pieces;

    use super::*;

    fn drawn(text: &str) -> String {
        let page = markdown(&pieces(text, "skill://s/SKILL.md")).into_string();
        let inside = page.split_once('>').expect("a tag").1;
        inside.strip_suffix("</div>").expect("an end").to_owned()
    }

    #[test]
    fn markdown_becomes_elements() {
        assert_eq!(
            drawn("# a\n\nb *c* **d** ~~e~~ `f`"),
            "<h2>a</h2><p>b <em>c</em> <strong>d</strong> <del>e</del> <code>f</code></p>"
        );
        assert_eq!(drawn("3. a\n4. b"), "<ol start=\"3\"><li>a</li><li>b</li></ol>");
        assert_eq!(drawn("- [x] a\n\n> b"), "<ul><li><code>[x]</code> a</li></ul><blockquote><p>b</p></blockquote>");
        assert!(
            drawn("| a |\n| - |\n| b |").contains("<tr><th scope=\"col\">a</th></tr><tr><td>b</td></tr></table></div>")
        );
        let link = "<p><a rel=\"noopener noreferrer\" href=\"https://a.example/?a&amp;b\">x</a>";
        assert_eq!(
            drawn("[x](https://a.example/?a&b)"),
            format!("{link}<span class=\"dim\"> (https://a.example/?a&amp;b)</span></p>")
        );
        assert!(drawn("[x](a.md)").contains("<a href=\"/resource?uri=skill%3A%2F%2Fs%2Fa.md\">x</a>"));
        assert!(
            drawn("![x](a.png)")
                .contains("<img src=\"/image?uri=skill%3A%2F%2Fs%2Fa.png\" alt=\"\" loading=\"lazy\"> x")
        );
    }

    #[test]
    fn hostile_markdown_is_text() {
        let hostile = [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[a](javascript:alert(1))",
            "[a](<JaVaScRiPt:alert(1)>)",
            "[a](&#106;avascript:alert(1))",
            "[a](https://a.example/\" onclick=\"alert(1))",
            "[a](<https://a.example/\"onclick=\"alert(1)>)",
            "![a\" onerror=\"alert(1)](x.png)",
            "![a](data:image/svg+xml,<svg onload=alert(1)>)",
            "![a](//evil.example/x.png)",
            "![a](https://evil.example/x.png)",
            "<svg onload=alert(1)>",
            "```\"><script>\n</pre><script>alert(1)</script>\n```",
            "# </h2><script>alert(1)</script>",
            "| </td><script> |\n| - |\n| <iframe src=x> |",
            "---\ntitle: </pre><script>\n---\n",
            "[a]: javascript:alert(1) '</pre><script>'\n\n[a]",
        ];
        let tag = regex::Regex::new(r"<(/?[a-z0-9]+)([^>]*)>").expect("a pattern");
        let quoted = regex::Regex::new("\"[^\"]*\"").expect("a pattern");
        for text in hostile {
            let page = drawn(text);
            for found in tag.captures_iter(&page) {
                let (name, bare) = (found[1].trim_start_matches('/'), quoted.replace_all(&found[2], "\"\""));
                assert!(!matches!(name, "script" | "svg" | "iframe" | "style" | "object"), "{text}: {page}");
                assert!(!bare.contains("on"), "{text}: {page}");
                assert!(!found[2].contains("javascript") && !found[2].contains("href=\"data"), "{text}: {page}");
                assert!(name != "img" || found[2].starts_with(" src=\"/image?uri="), "{text}: {page}");
            }
        }
    }
}
