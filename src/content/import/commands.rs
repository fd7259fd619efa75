//! Slash commands as prompts: front matter, and `$ARGUMENTS` and `$1` to `$9` as arguments of a template.

use super::matter::{self, Matter};
use crate::content::template;
use crate::error::Result;
use crate::store::prompts::{Argument, Attributes};

/// A command as a prompt.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// What the front matter says of it.
    pub attributes: Attributes,
    /// The text behind the front matter.
    pub text: String,
    /// The keys that MCP has no place for.
    pub left_out: Vec<String>,
}

impl Command {
    /// Returns the prompt that front matter and the text behind it make. What takes arguments is a template.
    pub fn of(matter: Matter, body: &str) -> Self {
        let Matter { description, hint, arguments, other } = matter;
        // Who declares arguments writes a template; a text that does not parse as one was not meant as one.
        let mut rewritten = rewrite(body, arguments.is_empty());
        if !arguments.is_empty() && template::check(&rewritten.text).is_err() {
            rewritten = rewrite(body, true);
        }
        let arguments = declare(arguments, &rewritten.arguments, hint.as_deref());
        let template = !arguments.is_empty();
        let text = if template { rewritten.text } else { body.to_owned() };
        let attributes = Attributes { description, template, arguments, ..Attributes::default() };
        Self { attributes, text, left_out: other }
    }

    /// Returns the template that `text` is where it begins with front matter that declares arguments; `None` for any
    /// other text, which goes out as it stands.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` where front matter is malformed.
    pub fn declared(text: &str) -> Result<Option<Self>> {
        let Some((yaml, body)) = matter::split(text)? else {
            return Ok(None);
        };
        let matter = matter::parse(yaml)?;
        let declares = !body.is_empty() && (matter.hint.is_some() || !matter.arguments.is_empty());
        let command = declares.then(|| Self::of(matter, body));
        Ok(command.filter(|command| command.attributes.template))
    }
}

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
        out.text.push_str(if opens { "{{ '{' }}" } else { &rest[..1] });
        rest = &rest[1..];
    }
    out.text.push_str(rest);
    out
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

    fn render(text: &str, given: &[(&str, &str)]) -> String {
        let rewritten = rewrite(text, true);
        let arguments = declare(Vec::new(), &rewritten.arguments, None);
        let given: BTreeMap<_, _> = given.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        template::render("p", &rewritten.text, &arguments, &given, 1 << 20).unwrap()
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

    #[test]
    fn only_declared_arguments_make_a_template() {
        let declared = |text: &str| Command::declared(text).unwrap();
        for plain in [
            "Fix $ARGUMENTS",
            "---\ndescription: x\n---\nFix $ARGUMENTS {{ y }}",
            "---\nargument-hint: [pr]\n---\nTakes none",
            "---\narguments: [pr]\n---\n",
            "---\n---\nx",
        ] {
            assert_eq!(declared(plain), None, "{plain}");
        }
        let command = declared("---\ndescription: Fix\nargument-hint: [pr]\nmodel: x\n---\nFix $1 {{ y }}").unwrap();
        assert_eq!(command.text, "Fix {{ arg1 }} {{ '{' }}{ y }}");
        assert_eq!(
            (command.attributes.description.as_deref(), command.left_out),
            (Some("Fix"), vec!["model".to_owned()])
        );
        assert_eq!(declared("---\narguments: [pr]\n---\nFix {{ pr }}").unwrap().text, "Fix {{ pr }}");
        assert!(Command::declared("---\narguments: 3\n---\nx").is_err());
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
