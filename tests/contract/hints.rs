//! Tests that hints suit their reader: commands for people at a shell, tools for agents.

use mcpkg::mcp::hints::Reader;
use mcpkg_core::op::{Entry, Surface};

/// A hint in the sources.
struct Written {
    file: String,
    text: String,
    for_agents: bool,
}

/// Returns the hints in all sources, with `x` instead of inserted values.
fn written() -> Vec<Written> {
    let mut found = Vec::new();
    for (path, source) in super::house::sources() {
        let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let file = path.display().to_string();
        for name in [".hint(", ".suggest(", ".hint_for("] {
            for (at, _) in source.match_indices(name) {
                for (n, text) in literals(&source[at + name.len()..]).into_iter().enumerate() {
                    found.push(Written { file: file.clone(), text, for_agents: name == ".hint_for(" && n % 2 == 1 });
                }
            }
        }
    }
    found
}

/// Returns the string literals in the arguments of a call. `source` begins after the opening parenthesis.
fn literals(source: &str) -> Vec<String> {
    let (mut found, mut depth) = (Vec::new(), 1);
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => break,
            ')' => depth -= 1,
            '"' => {
                let mut text = String::new();
                while let Some(c) = rest.next() {
                    match c {
                        '"' => break,
                        '\\' => match rest.next() {
                            Some('\n') => while rest.next_if(|c| c.is_whitespace()).is_some() {},
                            Some(escaped) => text.push(escaped),
                            None => {}
                        },
                        '{' => {
                            while rest.next_if(|c| *c != '}').is_some() {}
                            rest.next();
                            text.push('x');
                        }
                        c => text.push(c),
                    }
                }
                found.push(text);
            }
            _ => {}
        }
    }
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).filter(|word| !word.is_empty())
}

/// Returns whether the text, outside of its commands, contains a shell flag.
fn has_flag(text: &str) -> bool {
    // git's commands are for people who work in a repository.
    let is_command = |part: &str| part.starts_with("mcpkg ") || part.starts_with("git ");
    let prose = text.split('`').enumerate().filter(|(n, part)| n % 2 == 0 || !is_command(part));
    prose.flat_map(|(_, part)| words(part)).any(|word| word.starts_with("--") && word.len() > 2)
}

#[test]
fn a_hint_for_the_shell_names_no_tool() {
    // A one-word name such as `plan` is also a command.
    let is_tool = |word: &str| {
        mcpkg::DOMAINS.operations().any(|entry| entry.faces.tool() && entry.tool == word && word.contains('_'))
    };
    let all = written();
    assert!(all.len() > 600, "{} hints", all.len());
    for Written { file, text, .. } in all.iter().filter(|written| !written.for_agents) {
        assert!(!words(text).any(is_tool), "{file}: `{text}` names a tool");
        assert!(!text.contains("=true"), "{file}: `{text}` names an argument of a tool");
    }
}

#[test]
fn a_hint_for_an_agent_names_no_command_that_has_a_tool() {
    let surface = Surface::default();
    let tools: Vec<&Entry> = mcpkg::DOMAINS.operations().filter(|entry| entry.faces.tool()).collect();
    let mut translated = 0;
    for Written { file, text, for_agents } in written() {
        // The argument that replaces a flag depends on the tool that failed.
        let reads = tools.iter().map(|entry| Some(*entry)).chain([None]);
        let readers: Vec<_> = if has_flag(&text) { reads.collect() } else { vec![None] };
        for failed in readers {
            let reader = Reader { failed, surface: &surface };
            let Some(said) = (if for_agents { Some(text.clone()) } else { reader.hint(&text) }) else { continue };
            assert!(!has_flag(&said), "{file}: an agent reads `{said}`");
            let names_command = said.split('`').skip(1).step_by(2).any(|code| code.starts_with("mcpkg "));
            let is_for_user = ["person", "the user"].iter().any(|word| said.contains(word));
            assert!(is_for_user || !names_command, "{file}: an agent reads `{said}`");
            translated += usize::from(said != text);
        }
    }
    assert!(translated > 150, "{translated} hints");
}
