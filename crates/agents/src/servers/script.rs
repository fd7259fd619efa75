//! Starts scripts through `cmd /c`, for agents that start only `.exe` files on Windows. There, `npx` and its like are
//! scripts (`npx.cmd`).

use mcpkg_store::servers::{Definition, Text};

/// Commands that npm and its like install as scripts.
const SCRIPTS: [&str; 6] = ["corepack", "npm", "npx", "pnpm", "pnpx", "yarn"];

/// Characters with a meaning of their own for `cmd`, even inside quotes.
const SPECIAL: &str = "&|<>^%!\"()";

/// Returns the server with `cmd /c` before its command. `None` if its command is not a script, or if a word of the
/// command line could mean something else to `cmd`. That includes words with a reference, such as to an environment
/// variable, because the reference could stand for any text.
pub(super) fn through_cmd(definition: &Definition) -> Option<Definition> {
    let command = definition.command.as_ref()?.literal()?;
    // A command with a space needs quotes, and `cmd` may remove them.
    if !is_script(command) || command.contains(' ') {
        return None;
    }
    let words = definition.command.iter().chain(&definition.args);
    let is_plain = |word: &Text| {
        word.literal().is_some_and(|word| !word.contains(|c: char| c.is_control() || SPECIAL.contains(c)))
    };
    words.clone().all(is_plain).then(|| {
        let args = std::iter::once(Text::plain("/c")).chain(words.cloned()).collect();
        Definition { command: Some(Text::plain("cmd")), args, ..definition.clone() }
    })
}

/// Removes what [`through_cmd`] adds.
pub(super) fn without_cmd(definition: Definition) -> Definition {
    let is = |text: Option<&Text>, word: &str| {
        text.and_then(Text::literal).is_some_and(|text| text.eq_ignore_ascii_case(word))
    };
    let shell = definition.command.as_ref();
    if !(is(shell, "cmd") || is(shell, "cmd.exe")) || !is(definition.args.first(), "/c") {
        return definition;
    }
    let plain = Definition {
        command: definition.args.get(1).cloned(),
        args: definition.args.iter().skip(2).cloned().collect(),
        ..definition.clone()
    };
    // Remove `cmd /c` only if [`through_cmd`] would add it again.
    if through_cmd(&plain).is_some() { plain } else { definition }
}

fn is_script(command: &str) -> bool {
    let command = command.to_ascii_lowercase();
    SCRIPTS.contains(&command.as_str()) || command.ends_with(".cmd") || command.ends_with(".bat")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_store::servers::Part;

    fn server(words: &[&str]) -> Definition {
        let mut words = words.iter().map(|word| Text::plain(*word));
        let command = words.next().unwrap();
        Definition { args: words.collect(), ..Definition::stdio(command) }
    }

    #[test]
    fn scripts_start_through_cmd() {
        for (plain, wrapped) in [
            (&["npx", "-y", "@a/b@1.2"][..], &["cmd", "/c", "npx", "-y", "@a/b@1.2"][..]),
            (&["C:\\x\\run.cmd"], &["cmd", "/c", "C:\\x\\run.cmd"]),
            (&["NPX", "x"], &["cmd", "/c", "NPX", "x"]),
        ] {
            assert_eq!(through_cmd(&server(plain)), Some(server(wrapped)));
            assert_eq!(without_cmd(server(wrapped)), server(plain));
        }
        assert_eq!(without_cmd(server(&["CMD.EXE", "/C", "npm", "x"])), server(&["npm", "x"]));
    }

    #[test]
    fn commands_that_need_no_cmd_or_that_cmd_would_change_stay() {
        for words in [
            &["node", "x.js"][..],
            &["uvx", "x"],
            &["npx", "x&calc"],
            &["npx", "https://h/?a=1&b=2"],
            &["npx", "%PATH%"],
            &["npx", "a\nb"],
            &["npx", "a\"b"],
            &["C:\\Program Files\\x\\run.cmd"],
        ] {
            assert_eq!(through_cmd(&server(words)), None, "{words:?}");
        }
        let reference = Definition { args: vec![Text::new([Part::env("URL")])], ..server(&["npx"]) };
        assert_eq!(through_cmd(&reference), None);
        for words in
            [&["cmd"][..], &["cmd", "/c"], &["cmd", "/c", "dir"], &["cmd", "/k", "npx"], &["cmd", "/c", "npx", "a&b"]]
        {
            assert_eq!(without_cmd(server(words)), server(words), "{words:?}");
        }
    }
}
