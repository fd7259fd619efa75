//! A text that is being written: lines that no YAML can be made of are passed over.

use std::borrow::Cow;

use crate::workflow::yaml;

/// How many lines are passed over at most.
const MOST: usize = 16;

/// Returns a text of which YAML can be made, where it can be had by emptying a few lines; each of the others stays where it is.
/// Of the line that is being written the key stays.
pub fn unbroken(text: &str, written: Option<usize>) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..MOST {
        let read = yaml::read(&text);
        let Some(found) = read.findings.first().filter(|_| read.value.is_none()) else { break };
        let line = found.span.line;
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let Some(broken) = lines.get_mut(line - 1) else { break };
        let key = broken.find(": ").filter(|_| Some(line) == written && !broken.ends_with(": "));
        let left = key.map_or(String::new(), |end| broken[..end + 2].to_owned());
        if *broken == left {
            break;
        }
        *broken = left;
        text = Cow::Owned(lines.join("\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_break_a_text_are_emptied_and_the_others_stay() {
        let text = "workflow: a\nsteps: [}\ninputs:\n  app: {provider: apps}\n";
        assert_eq!(unbroken(text, Some(4)), "workflow: a\n\ninputs:\n  app: {provider: apps}\n");
        assert_eq!(unbroken("a: 1\n", None), "a: 1\n");
        // What is being written keeps its key.
        let written = "inputs:\n  app:\n    provider: [apps\nworkflow: a\n";
        assert!(
            unbroken(written, Some(3)).starts_with("inputs:\n  app:\n    provider: "),
            "{}",
            unbroken(written, Some(3))
        );
    }
}
