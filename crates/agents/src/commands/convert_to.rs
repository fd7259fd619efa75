//! Converts a Claude Code command for agents with fewer kinds of placeholders: OpenCode numbers the words, and Gemini knows
//! only the whole typed line.

use super::dialect::{self, Dialect, Piece};
use super::inert;
use super::shell_lines::starts_of_shell;
use super::words::{self, Spelling};
use crate::forms::matter;
use crate::forms::toml_text;
use mcpkg_store::prompts::Argument;

/// The reason why a command cannot be written for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsayable {
    /// The agent would read a part of the text as a placeholder, and has no way to escape it.
    Placeholders,
    /// The agent would run a part of the text as shell code.
    WouldRun,
}

/// Returns the file of a command for OpenCode.
pub fn opencode(file: &str, known: &[Argument]) -> Result<String, Unsayable> {
    let mut text = words::text(file, known, Spelling::Numbers);
    let shell = starts_of_shell(&text).len();
    // `words::text` breaks up placeholders with spaces. A space within shell code would change the code.
    if shell > 0 && words::breaks_up(file, Spelling::Numbers) {
        return Err(Unsayable::Placeholders);
    }
    // OpenCode runs code after `!` and a backtick anywhere, Claude Code only at the start of a line or after a space.
    if text.matches("!`").count() != shell {
        if shell > 0 {
            return Err(Unsayable::WouldRun);
        }
        text = inert::without_shell(&text).into_owned().into();
    }
    let meant: Vec<_> = words::places_of(file);
    let found: Vec<_> = dialect::pieces(Dialect::OpenCode, &text, &[]).iter().filter_map(Piece::place).collect();
    if meant != found {
        return Err(Unsayable::Placeholders);
    }
    let description = description(file);
    let front = description.map(|text| matter::line("description", &text)).unwrap_or_default();
    Ok(matter::between_marks(&front) + &text)
}

/// Returns whether OpenCode runs shell code before it sends a command.
pub fn runs_in_opencode(file: &str) -> bool {
    file.contains("!`")
}

/// Returns the file of a command for Gemini.
pub fn gemini(file: &str, known: &[Argument]) -> Result<String, Unsayable> {
    // `words::text` breaks up placeholders with spaces. A space within shell code would change the code.
    if !starts_of_shell(words::body(file)).is_empty() && words::breaks_up(file, Spelling::OneLine) {
        return Err(Unsayable::WouldRun);
    }
    let text = words::text(file, known, Spelling::OneLine);
    let description = description(file);
    let keys: Vec<(&str, &str)> = description.as_deref().map(|text| ("description", text)).into_iter().collect();
    Ok(toml_text::write(&keys, toml_text::PROMPT, &text))
}

fn description(file: &str) -> Option<String> {
    let (yaml, _) = matter::split(file).ok().flatten()?;
    matter::parse_for_agents(yaml).ok()?.description
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opencode_counts_from_one_and_text_does_not_become_a_placeholder() {
        let named =
            "---\narguments: [topic, reader]\nmodel: opus\ndescription: \"d: e\"\n---\nExplain $topic to $reader\n";
        assert_eq!(opencode(named, &[]).unwrap(), "---\ndescription: \"d: e\"\n---\nExplain $1 to $2\n");
        assert_eq!(opencode("Fix $0 of $ARGUMENTS", &[]).unwrap(), "Fix $1 of $ARGUMENTS");
        for (text, written) in [("costs \\$0.50", "costs $ 0.50"), ("$5 and \\$ARGUMENTS", "$6 and $ ARGUMENTS")] {
            assert_eq!(opencode(text, &[]).as_deref(), Ok(written), "text gets a space: {text}");
        }
        for text in ["$ARGUMENTS[0]0", "!`awk '{print \\$1}' x`"] {
            assert_eq!(opencode(text, &[]), Err(Unsayable::Placeholders), "{text}");
        }
    }

    #[test]
    fn shell_code_that_claude_code_does_not_run_runs_nowhere() {
        assert_eq!(opencode("On (!`date`)", &[]).as_deref(), Ok("On (! `date`)"));
        assert_eq!(opencode("On !`date` (!`date`)", &[]), Err(Unsayable::WouldRun));
        assert!(runs_in_opencode(&opencode("On !`date`", &[]).unwrap()));
        assert_eq!(gemini("On (!`date`)", &[]).unwrap(), "prompt = \"On (!`date`)\"\n");
        assert_eq!(gemini("On !`git log $ARGUMENTS`.", &[]).unwrap(), "prompt = \"On !{git log {{args}}}.\"\n");
        for (text, written) in [
            ("!{x}", "! {x}"),
            ("see @{x}", "see @ {x}"),
            ("{{args}}", "{ {args}}"),
            ("Do it!$ARGUMENTS @$ARGUMENTS", "Do it! {{args}} @ {{args}}"),
        ] {
            assert_eq!(gemini(text, &[]).unwrap(), format!("prompt = \"{written}\"\n"), "text gets a space: {text}");
        }
        let named = gemini("---\narguments: [args, b]\n---\n{$args} and !$b", &[]).unwrap();
        assert!(named.contains("\n{ {args}} and ! {b}"), "{named}");
        for text in ["!`echo !{x}`", "!`date` {{args}}"] {
            assert_eq!(gemini(text, &[]), Err(Unsayable::WouldRun), "{text}");
        }
    }

    #[test]
    fn gemini_gets_a_list_of_the_words_in_a_line() {
        let named = "---\narguments: [topic, reader]\n---\nExplain $topic to $reader";
        assert_eq!(
            gemini(named, &[]).unwrap(),
            "prompt = \"\"\"\nThe user gives these arguments, one after the other: {{args}}\n- {topic}\n- {reader}\n\n\
             Explain {topic} to {reader}\"\"\"\n"
        );
        assert_eq!(gemini("Fix $ARGUMENTS, \\$0.50", &[]).unwrap(), "prompt = \"Fix {{args}}, $0.50\"\n");
    }
}
