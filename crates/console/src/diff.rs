//! Renders unified diffs, on every screen: with line numbers, marked words, and a stop at each hunk.

use std::borrow::Cow;

use similar::{ChangeTag, TextDiff};

use mcpkg_base::marks;

use crate::screen::{Line, Tone};

/// Returns the lines of a unified diff.
///
/// For example, `-   4  Look for missing tests first.` and `+   4  Look for missing tests and unsafe SQL first.` The
/// numbers are line numbers in the old and the new text. Words that differ have [`Tone::Changed`].
pub fn lines(unified: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut old, mut new) = (0_usize, 0_usize);
    let mut all = unified.lines().peekable();
    while let Some(line) = all.next() {
        if let Some((from, to)) = hunk(line) {
            (old, new) = (from, to);
            lines.push(Line::of(Tone::Dim, line).stop());
            continue;
        }
        if old == 0 && new == 0 {
            // Lines before the first hunk, which name both sides.
            if !line.starts_with("---") && !line.starts_with("+++") || line.len() > 4 {
                lines.push(Line::of(Tone::Strong, line));
            }
            continue;
        }
        match line.chars().next() {
            Some('-') => {
                let mut removed = vec![&line[1..]];
                while let Some(next) = all.next_if(|next| next.starts_with('-')) {
                    removed.push(&next[1..]);
                }
                let mut added = Vec::new();
                while let Some(next) = all.next_if(|next| next.starts_with('+')) {
                    added.push(&next[1..]);
                }
                changed(&removed, &added, &mut old, &mut new, &mut lines);
            }
            Some('+') => {
                lines.push(numbered('+', new, Tone::Added).then(Tone::Added, &line[1..]).by_others(&line[1..]));
                new += 1;
            }
            Some('\\') => lines.push(Line::of(Tone::Dim, line)),
            _ => {
                lines.push(
                    numbered(' ', new, Tone::Dim).then(Tone::Plain, line.get(1..).unwrap_or_default()).by_others(line),
                );
                (old, new) = (old + 1, new + 1);
            }
        }
    }
    lines
}

/// Adds replaced lines. It compares the first removed line with the first added line, and so on, and marks the words
/// that differ in each pair.
fn changed(removed: &[&str], added: &[&str], old: &mut usize, new: &mut usize, lines: &mut Vec<Line>) {
    let words: Vec<_> = removed.iter().zip(added).map(|(old, new)| TextDiff::from_words(*old, *new)).collect();
    let side = |sign, number, tone, text: &str, pair: Option<&TextDiff<'_, '_, str>>, tag| {
        let line = numbered(sign, number, tone);
        match pair.filter(|pair| pair.ratio() > 0.4) {
            Some(pair) => pair
                .iter_all_changes()
                .filter(|change| change.tag() == ChangeTag::Equal || change.tag() == tag)
                .fold(line, |line, change| match change.tag() {
                    ChangeTag::Equal => line.then(tone, change.value()),
                    _ => line.then(Tone::Changed, change.value()),
                }),
            None => line.then(tone, text),
        }
        .by_others(text)
    };
    for (at, text) in removed.iter().enumerate() {
        lines.push(side('-', *old, Tone::Removed, text, words.get(at), ChangeTag::Delete));
        *old += 1;
    }
    for (at, text) in added.iter().enumerate() {
        lines.push(side('+', *new, Tone::Added, text, words.get(at), ChangeTag::Insert));
        *new += 1;
    }
}

fn numbered(sign: char, number: usize, tone: Tone) -> Line {
    Line::of(tone, &format!("{sign}{number:>4}  "))
}

/// Parses the line numbers at which a hunk starts: `@@ -4,2 +5,3 @@` -> 4 and 5.
fn hunk(line: &str) -> Option<(usize, usize)> {
    let mut sides = line.strip_prefix("@@ -")?.split(' ');
    let first = |side: &str| side.trim_start_matches('+').split(',').next()?.parse().ok();
    Some((first(sides.next()?)?, first(sides.next()?)?))
}

impl Line {
    fn by_others(self, text: &str) -> Self {
        let is_stop = matches!(marks::line(&text.replace('\t', " ")), Cow::Owned(_));
        Self { is_quoted: true, is_stop, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_only_the_words_that_differ_are_marked() {
        let unified = "--- review 1\n+++ review 2\n@@ -3,3 +3,3 @@\n same\n-Look for missing tests first.\n+Look for missing tests and unsafe SQL first.\n more\n";
        let shown = lines(unified);
        let text: Vec<String> = shown.iter().map(Line::text).collect();
        assert_eq!(
            text,
            [
                "--- review 1",
                "+++ review 2",
                "@@ -3,3 +3,3 @@",
                "    3  same",
                "-   4  Look for missing tests first.",
                "+   4  Look for missing tests and unsafe SQL first.",
                "    5  more"
            ]
        );
        let marked = |line: &Line| -> String {
            line.spans.iter().filter(|span| span.tone == Tone::Changed).map(|span| span.text()).collect()
        };
        assert_eq!((marked(&shown[4]), marked(&shown[5])), (String::new(), "and unsafe SQL ".to_owned()));
        assert!(shown[2].is_stop && shown[4].is_quoted);
    }
}
