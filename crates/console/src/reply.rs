//! Renders the reply of any operation as lines.

use mcpkg_base::error::Error;
use mcpkg_core::op::{AskedIn, Body, LISTED_BY_VERBOSE, Reply, grouped};
use mcpkg_core::present;

use crate::diff;
use crate::screen::{Line, Tone, quoted};

/// The width of tables in a text: an 80-column terminal minus the bar of quoted lines.
const WIDTH: u16 = 76;

/// Returns the warnings of a reply. Warnings that differ only in names become one, with their number and some names.
pub fn warnings(reply: &Reply) -> Vec<String> {
    let found = grouped(reply.warnings.clone()).into_iter();
    found.map(|warning| warning.strip_suffix(LISTED_BY_VERBOSE).map(str::to_owned).unwrap_or(warning)).collect()
}

/// Returns the lines of a reply: its body and its [`warnings`]. Sentences, texts, tables and diffs are quoted, because
/// they may come from an agent, an API or a file. In a terminal, tables are cut to its width; a page can scroll.
pub fn lines(reply: &Reply, seen_in: AskedIn) -> Vec<Line> {
    let mut lines = body(&reply.body, seen_in);
    let warning = |text: &String| Line::of(Tone::Warning, "warning: ").then(Tone::Plain, text);
    lines.extend(warnings(reply).iter().map(warning));
    lines
}

/// Returns whether the operation did what it was asked for. A command that creates something says so in its data.
pub fn is_done(reply: &Reply) -> bool {
    reply.data["created"] != false
}

/// Returns the first sentence, or first line of text, of the reply. If the reply has only tables, diffs, media or JSON,
/// returns `Done`, with the state in its data if there is one, such as `Done: succeeded`.
pub fn sentence(reply: &Reply) -> String {
    fn first(body: &Body) -> Option<&str> {
        match body {
            Body::Sentence(text) => Some(text),
            Body::Several(bodies) => bodies.iter().find_map(first),
            Body::Below(_, body) => first(body),
            Body::Text(text) => text.lines().find(|line| !line.is_empty()).filter(|line| !line.starts_with(['{', '['])),
            Body::Table(table) => Some(&*table.empty).filter(|empty| table.rows.is_empty() && !empty.is_empty()),
            Body::Diff(_) | Body::Media(_) => None,
        }
    }
    match (first(&reply.body), reply.data["state"].as_str()) {
        (Some(first), _) => first.to_owned(),
        (None, Some(state)) => format!("Done: {state}"),
        (None, None) => "Done".to_owned(),
    }
}

/// Returns the lines of a body; see [`lines`].
pub fn body(body: &Body, seen_in: AskedIn) -> Vec<Line> {
    let width = match seen_in {
        AskedIn::Terminal => Some(WIDTH),
        AskedIn::Browser => None,
    };
    let mut lines = Vec::new();
    push(body, (width, None), &mut lines);
    lines
}

/// Returns the lines of an error: its message and its hints.
pub fn error(error: &Error) -> Vec<Line> {
    let message = Line::of(Tone::Bad, "error: ").then(Tone::Plain, &error.to_string());
    let hints = error.hints().iter().map(|hint| Line::of(Tone::Name, "hint: ").then(Tone::Plain, hint));
    std::iter::once(message).chain(hints).collect()
}

/// Adds the lines of a body. Tables are cut to `width`, and their paths below `folder` are relative to it.
fn push(body: &Body, (width, folder): (Option<u16>, Option<&str>), lines: &mut Vec<Line>) {
    match body {
        Body::Sentence(text) | Body::Text(text) => lines.extend(quoted(text)),
        Body::Diff(text) => lines.extend(diff::lines(text)),
        Body::Table(table) if table.rows.is_empty() => lines.push(Line::plain(&table.empty)),
        Body::Table(table) => {
            let text = match folder {
                Some(folder) => present::aligned(&present::below(table.clone(), folder), width),
                None => present::aligned(table, width),
            };
            lines.extend(quoted(&text).map(|line| Line { is_row: true, ..line }));
        }
        Body::Several(bodies) => bodies.iter().for_each(|body| push(body, (width, folder), lines)),
        Body::Below(folder, body) => {
            lines.push(Line::of(Tone::Dim, folder));
            push(body, (width, Some(folder)), lines);
        }
        Body::Media(media) => {
            let kind = media.mime_type.as_deref().unwrap_or("unknown type");
            lines.push(Line::of(Tone::Dim, &format!("{kind}, {} bytes; not shown here", media.bytes.len())));
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpkg_core::op::Table;

    use super::*;

    #[test]
    fn warnings_that_differ_in_names_are_one_line_with_their_number() {
        let of = |name: &str| format!("skill '{name}' has no description");
        let reply = Reply::new(Body::Several(Vec::new()), serde_json::json!({})).warn(["a", "b", "c", "d"].map(of));
        let text: Vec<String> = lines(&reply, AskedIn::Terminal).iter().map(Line::text).collect();
        assert_eq!(text, ["warning: 4 skills: skill 'a' has no description; the same for 'b', 'c' and 1 more"]);
    }

    #[test]
    fn a_page_gets_tables_that_are_not_cut_with_paths_below_their_folder() {
        let long = "would overwrite an existing file that mcpkg did not write, which is a long reason";
        let path = format!("/home/ada/work/{}.md", "name-".repeat(12));
        let rows = vec![vec!["update".to_owned(), path, long.to_owned()]];
        let table = Body::Table(Table { columns: &["op", "path", "reason"], rows, empty: String::new() });
        let below = Body::Below("/home/ada/work".to_owned(), Box::new(table));
        let of = |lines: Vec<Line>| lines.iter().map(Line::text).collect::<Vec<_>>().join("\n");
        let (page, terminal) = (of(body(&below, AskedIn::Browser)), of(body(&below, AskedIn::Terminal)));
        assert!(page.contains(long) && page.contains(&format!("  {}.md", "name-".repeat(12))), "{page}");
        assert!(!terminal.contains(long), "{terminal}");
        assert!(body(&below, AskedIn::Browser).iter().skip(1).all(|line| line.is_row && line.is_quoted));
    }

    #[test]
    fn a_reply_without_rows_or_effect_is_not_called_done() {
        let table = Table { columns: &["what"], rows: Vec::new(), empty: "No deployed file was changed".to_owned() };
        let reply = Reply::new(Body::Table(table), serde_json::json!({ "created": false }));
        assert_eq!((sentence(&reply).as_str(), is_done(&reply)), ("No deployed file was changed", false));
        assert!(is_done(&Reply::sentence("Deployed", serde_json::json!({}))));
    }
}
