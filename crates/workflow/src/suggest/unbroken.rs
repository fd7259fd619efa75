//! Repairs a text that is still being written, by emptying the lines that break the YAML.

use std::borrow::Cow;

use crate::yaml;

/// Maximum number of lines to empty.
const MOST: usize = 16;

/// Returns valid YAML, or the text unchanged if it cannot be repaired. A few lines may be emptied, but all lines keep their
/// numbers. The line being written keeps at least its key.
pub fn unbroken(text: &str, written: Option<usize>) -> Cow<'_, str> {
    let kept = passed_over(Cow::Borrowed(text), written);
    kept.or_else(|| passed_over(Cow::Owned(keyed(text, written?)?), written)).unwrap_or(Cow::Borrowed(text))
}

/// Empties invalid lines. Returns `None` if there are too many, or if the line being written is one of them.
fn passed_over(mut text: Cow<'_, str>, written: Option<usize>) -> Option<Cow<'_, str>> {
    for _ in 0..=MOST {
        let read = yaml::read(&text);
        let Some(found) = read.findings.first().filter(|_| read.value.is_none()) else { return Some(text) };
        let line = found.span.line;
        text = Cow::Owned(with_line(&text, line, |_| Some("")).filter(|_| Some(line) != written)?);
    }
    None
}

/// Cuts a line after its key.
fn keyed(text: &str, line: usize) -> Option<String> {
    with_line(text, line, |line| line.find(": ").map(|end| &line[..end + 2]))
}

/// Returns a text with one line replaced. `None` if the line stays the same.
fn with_line<'t>(text: &'t str, line: usize, other: impl Fn(&'t str) -> Option<&'t str>) -> Option<String> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let place = lines.get_mut(line - 1)?;
    let other = other(place).filter(|other| other != place)?;
    *place = other;
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_that_break_a_text_are_emptied_and_the_others_stay() {
        let text = "workflow: a\nsteps: [}\ninputs:\n  app: {provider: apps}\n";
        assert_eq!(unbroken(text, Some(4)), "workflow: a\n\ninputs:\n  app: {provider: apps}\n");
        assert_eq!(unbroken("a: 1\n", None), "a: 1\n");
        // The line being written keeps its key.
        let written = "inputs:\n  app:\n    provider: [apps\nworkflow: a\n";
        assert_eq!(unbroken(written, Some(3)), "inputs:\n  app:\n    provider: \nworkflow: a\n");
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn every_other_line_stays_where_it_is(text in "([a-z]{0,3}[:\\[\\]{}\"' -]{0,3}[a-z]{0,2}\n){0,12}", written in prop::option::of(1_usize..12)) {
            let whole = unbroken(&text, written);
            prop_assert_eq!(whole.split('\n').count(), text.split('\n').count());
            let changed = whole.split('\n').zip(text.split('\n')).filter(|(now, before)| now != before);
            prop_assert!(changed.count() <= MOST);
        }
    }
}
