//! Rules that apply to every option in the shell: how often it may be given, and how much of its help is shown.

use clap::{ArgAction, Command};

/// Returns a command that shows only the first clause of each option's help with `-h`, and all of it with `--help`. A flag
/// may be repeated. An option with a single value may not, because all but the last value would silently be ignored.
pub fn for_shell(command: Command) -> Command {
    command.mut_args(|arg| {
        let id = arg.get_id().clone();
        let arg = if matches!(arg.get_action(), ArgAction::SetTrue) { arg.overrides_with(id) } else { arg };
        match arg.get_help().filter(|_| arg.get_long_help().is_none()).map(ToString::to_string) {
            Some(whole) => arg.help(brief(&whole)).long_help(whole),
            None => arg,
        }
    })
}

const ENDS: [&str; 11] =
    ["; ", ". ", ": ", ", and ", ", also ", ", from ", ", where ", ", which ", ", whose ", ", without ", ", such as "];

/// Returns the first clause of a command's description, for lists of commands.
pub fn first_clause(text: &str) -> String {
    cut(text, &ENDS)
}

/// Returns the first clause of an option's help, without the list of possible values.
fn brief(text: &str) -> String {
    cut(text, &["; ", " [", ". "])
}

fn cut(text: &str, ends: &[&str]) -> String {
    let end = ends.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_cut_after_its_first_clause() {
        for (whole, first) in [
            (
                "Port to listen on, or 0 for any free port [default: 3000; 3100 with --sse alone]",
                "Port to listen on, or 0 for any free port",
            ),
            ("Another folder; give it once for each", "Another folder"),
            ("Print the data and errors as JSON", "Print the data and errors as JSON"),
            ("At most this many.", "At most this many"),
        ] {
            assert_eq!(brief(whole), first);
        }
        for (whole, first) in [
            ("Rename a prompt; its history stays with it", "Rename a prompt"),
            ("Create, check, show and manage skills", "Create, check, show and manage skills"),
            ("Show the trail: every change", "Show the trail"),
            ("Install a tool globally. After installation, call it.", "Install a tool globally"),
        ] {
            assert_eq!(first_clause(whole), first);
        }
    }
}
