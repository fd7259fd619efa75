//! Slash commands as prompts: front matter, and `$ARGUMENTS` and `$1` to `$9` as arguments of a template.

use crate::store::prompts::Argument;

/// A brace that opens no tag.
const BRACE: &str = "{{ '{' }}";

/// A command's text as a template.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The template.
    pub text: String,
    /// The arguments it takes by `$`, in order of appearance.
    pub arguments: Vec<String>,
}

/// Rewrites each `$ARGUMENTS` to `{{ arguments }}` and each `$1` to `{{ arg1 }}`. With `escape` all else renders as
/// it stands, byte for byte; without it the text is taken for a template already.
pub fn rewrite(text: &str, escape: bool) -> Rewritten {
    let mut out = Rewritten { text: String::with_capacity(text.len()), arguments: Vec::new() };
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{']) {
        out.text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((name, after)) = placeholder(rest) {
            out.text.push_str(&format!("{{{{ {name} }}}}"));
            if !out.arguments.contains(&name) {
                out.arguments.push(name);
            }
            rest = after;
            continue;
        }
        // A brace opens a tag with what follows it; before `$` that may be the tag just made of a placeholder.
        let opens = escape && rest.starts_with('{') && rest[1..].starts_with(['{', '%', '#', '$']);
        out.text.push_str(if opens { BRACE } else { &rest[..1] });
        rest = &rest[1..];
    }
    out.text.push_str(rest);
    out
}

/// Undoes [`rewrite`]: each `{{ arg1 }}` becomes `$1`, but for the names in `keep`; with `escaped` each `{{ '{' }}` a
/// brace. What `rewrite` did not make comes out as something else, so whoever asks compares.
pub fn restore(template: &str, keep: &[Argument], escaped: bool) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("{{ ") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let tag = rest[3..].split_once(" }}");
        match tag.and_then(|(inner, after)| Some((inner, dollar(inner)?, after))) {
            Some((name, word, after)) if !keep.iter().any(|argument| argument.name == name) => {
                out.push_str(&word);
                rest = after;
            }
            _ if escaped && rest.starts_with(BRACE) => {
                out.push('{');
                rest = &rest[BRACE.len()..];
            }
            _ => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Returns how a command asks for an argument of this name, where it has one of its own.
pub fn dollar(name: &str) -> Option<String> {
    match name {
        "arguments" => Some("$ARGUMENTS".to_owned()),
        _ => {
            let digit = name.strip_prefix("arg")?;
            matches!(digit.as_bytes(), [b'1'..=b'9']).then(|| format!("${digit}"))
        }
    }
}

/// Returns the argument that `text` begins with, and what follows; `$10` and `$ARGUMENTS_X` are none.
fn placeholder(text: &str) -> Option<(String, &str)> {
    let word = text.strip_prefix('$')?;
    let (name, rest) = match word.strip_prefix("ARGUMENTS") {
        Some(rest) => ("arguments".to_owned(), rest),
        None => {
            let digit = word.chars().next().filter(|c| matches!(c, '1'..='9'))?;
            (format!("arg{digit}"), &word[1..])
        }
    };
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    ends.then_some((name, rest))
}

/// Returns the declared arguments and those taken by `$`, which nobody has to give.
pub fn declare(declared: Vec<Argument>, taken: &[String], hint: Option<&str>) -> Vec<Argument> {
    let mut arguments = declared;
    for name in taken {
        if !arguments.iter().any(|argument| argument.name == *name) {
            let description = hint.map(str::to_owned);
            arguments.push(Argument { name: name.clone(), description, required: false });
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::content::template;

    fn render(text: &str, given: &[(&str, &str)]) -> String {
        let rewritten = rewrite(text, true);
        let arguments = declare(Vec::new(), &rewritten.arguments, None);
        let given: BTreeMap<_, _> = given.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        template::render("p", &rewritten.text, &arguments, &given, 1 << 20).unwrap()
    }

    #[test]
    fn a_rewritten_text_is_restored() {
        for text in ["Fix $1 {{ x }}", "{{ }}", "{{ $ARGUMENTS", "{{$1", "}} {% $2 }}", "{{{ '{' }}"] {
            assert_eq!(restore(&rewrite(text, true).text, &[], true), text);
        }
        let declared = Argument { name: "arg1".to_owned(), description: None, required: false };
        assert_eq!(restore("{{ arg1 }} {{ arg2 }} {{ a }}", &[declared], false), "{{ arg1 }} $2 {{ a }}");
    }

    #[test]
    fn placeholders_become_arguments() {
        let rewritten = rewrite("Fix $ARGUMENTS, $2 of $1; $10 $ARGUMENTS_X $$ $0", true);
        assert_eq!(rewritten.text, "Fix {{ arguments }}, {{ arg2 }} of {{ arg1 }}; $10 $ARGUMENTS_X $$ $0");
        assert_eq!(rewritten.arguments, ["arguments", "arg2", "arg1"]);
        assert_eq!(
            render("a {{ b }} {% c %} {# d #} $1\r\n", &[("arg1", "{{x}}")]),
            "a {{ b }} {% c %} {# d #} {{x}}\r\n"
        );
        assert_eq!(render("{$1} {{$1}} {{{%$ARGUMENTS", &[("arg1", "1")]), "{1} {{1}} {{{%");
    }

    proptest! {
        #[test]
        fn what_is_no_placeholder_renders_as_it_stands(text in "([{}%#$1A\n\r é'\"\\\\-]|\\$ARGUMENTS|\\{\\{|raw|endraw){0,40}") {
            let mut plain = String::new();
            let mut rest = text.as_str();
            while let Some(c) = rest.chars().next() {
                match placeholder(rest) {
                    Some((_, after)) => rest = after,
                    None => { plain.push(c); rest = &rest[c.len_utf8()..]; }
                }
            }
            prop_assert_eq!(render(&text, &[]), plain);
        }
    }
}
