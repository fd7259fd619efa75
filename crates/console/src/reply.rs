//! Renders the reply of any operation as lines.

use mcpkg_base::error::Error;
use mcpkg_core::op::{Body, LISTED_BY_VERBOSE, Reply, grouped};
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
/// they may come from an agent, an API or a file.
pub fn lines(reply: &Reply) -> Vec<Line> {
    let mut lines = Vec::new();
    push(&reply.body, &mut lines);
    let warning = |text: &String| Line::of(Tone::Warning, "warning: ").then(Tone::Plain, text);
    lines.extend(warnings(reply).iter().map(warning));
    lines
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
            Body::Table(_) | Body::Diff(_) | Body::Media(_) => None,
        }
    }
    match (first(&reply.body), reply.data["state"].as_str()) {
        (Some(first), _) => first.to_owned(),
        (None, Some(state)) => format!("Done: {state}"),
        (None, None) => "Done".to_owned(),
    }
}

pub fn body(body: &Body) -> Vec<Line> {
    let mut lines = Vec::new();
    push(body, &mut lines);
    lines
}

/// Returns the lines of an error: its message and its hints.
pub fn error(error: &Error) -> Vec<Line> {
    let message = Line::of(Tone::Bad, "error: ").then(Tone::Plain, &error.to_string());
    let hints = error.hints().iter().map(|hint| Line::of(Tone::Name, "hint: ").then(Tone::Plain, hint));
    std::iter::once(message).chain(hints).collect()
}

fn push(body: &Body, lines: &mut Vec<Line>) {
    match body {
        Body::Sentence(text) | Body::Text(text) => lines.extend(quoted(text)),
        Body::Diff(text) => lines.extend(diff::lines(text)),
        Body::Table(table) => {
            let text = present::aligned(table, Some(WIDTH));
            lines.extend(if table.rows.is_empty() { vec![Line::plain(&table.empty)] } else { quoted(&text).collect() });
        }
        Body::Several(bodies) => bodies.iter().for_each(|body| push(body, lines)),
        Body::Below(folder, body) => {
            lines.push(Line::of(Tone::Dim, folder));
            push(body, lines);
        }
        Body::Media(media) => {
            let kind = media.mime_type.as_deref().unwrap_or("unknown type");
            lines.push(Line::of(Tone::Dim, &format!("{kind}, {} bytes; not shown here", media.bytes.len())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_that_differ_in_names_are_one_line_with_their_number() {
        let of = |name: &str| format!("skill '{name}' has no description");
        let reply = Reply::new(Body::Several(Vec::new()), serde_json::json!({})).warn(["a", "b", "c", "d"].map(of));
        let text: Vec<String> = lines(&reply).iter().map(Line::text).collect();
        assert_eq!(text, ["warning: 4 skills: skill 'a' has no description; the same for 'b', 'c' and 1 more"]);
    }
}
