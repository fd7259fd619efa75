//! Converts shell code that a command runs before a model sees its text: `` !`date` `` in Claude Code, `!{date}` in Gemini.

/// Converts shell code from Claude Code's syntax to Gemini's: `` !`date` `` -> `!{date}`. Code with line breaks or
/// unbalanced braces stays unchanged.
pub fn shell_to_gemini(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for at in starts_of_shell(text) {
        let Some(end) = text[at + 2..].find('`').map(|end| at + 2 + end) else { continue };
        let inner = &text[at + 2..end];
        let is_plain = at >= from && !inner.contains('\n') && is_balanced(inner);
        if is_plain {
            out += &text[from..at];
            out += &format!("!{{{inner}}}");
            from = end + 1;
        }
    }
    out + &text[from..]
}

/// Converts shell code from Gemini's syntax to Claude Code's: `!{date}` -> `` !`date` ``.
pub fn shell_from_gemini(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("!{") {
        let inner = &rest[at + 2..];
        let mut depth = 1_usize;
        let end = inner.find(|c| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some(end) = end else { break };
        out += &format!("{}!`{}`", &rest[..at], &inner[..end]);
        rest = &inner[end + 1..];
    }
    out + rest
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    text.chars().all(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth >= 0
    }) && depth == 0
}

/// Returns where shell code begins for Claude Code: `` !` `` at the start of the text or after whitespace.
pub fn starts_of_shell(text: &str) -> Vec<usize> {
    let begins = |at: &usize| text[..*at].chars().next_back().is_none_or(char::is_whitespace);
    text.match_indices("!`").map(|(at, _)| at).filter(begins).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_code_converts_between_both_forms() {
        assert_eq!(shell_from_gemini("a !{b {{args}} c} d !{"), "a !`b {{args}} c` d !{");
        for text in ["On !`date` and !`git log {{args}}`\n!`x`", "(!`x`)", "!`a}{`", "a !` b"] {
            let gemini = shell_to_gemini(text);
            assert_eq!(shell_from_gemini(&gemini), text, "{gemini}");
        }
        assert_eq!(shell_to_gemini("On !`date`, (!`x`)"), "On !{date}, (!`x`)");
    }
}
