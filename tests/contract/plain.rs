//! Tests that texts for users avoid phrases that are hard to follow, as far as a search can find them.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use syn::visit::{self, Visit};

use super::house::{code, sources};
use super::pages::{pages, prose};

/// Patterns of refused phrases. The comment above each says what to write instead.
const REFUSED: [&str; 7] = [
    // "is not a", "is invalid".
    r"\b(is|are|was|were) none\b",
    // "is not a".
    r"\b(is|are|was|were) no [a-z]",
    // "is skipped", "stays unchanged".
    r"\blet be\b",
    // "again".
    r"\banew\b",
    // "accepted for compatibility".
    r"with it or without",
    // "unless".
    r", but with `?--",
    // "reports what".
    r"\btells? (what|who|how|that)\b",
];

/// Phrases that match those patterns but are plain.
const PLAIN: &str = r"\b[Tt]here (is|are|was|were) (none|no )|(is|are) no (longer|more than|such|need|way)\b|--anew\b";

/// Returns the refused parts of a text.
fn refused(text: &str) -> Vec<String> {
    static PATTERNS: LazyLock<(RegexSet, Regex)> =
        LazyLock::new(|| (RegexSet::new(REFUSED).expect("patterns"), Regex::new(PLAIN).expect("a pattern")));
    let (refused, plain) = &*PATTERNS;
    let text = plain.replace_all(text, "_");
    let found = text.split(['.', ';', '\n']).filter(|part| refused.is_match(part));
    found.map(|part| part.trim().to_owned()).collect()
}

/// Collects the string literals of a file.
#[derive(Default)]
struct Literals(Vec<String>);

impl Literals {
    fn tokens(&mut self, tokens: impl IntoIterator<Item = proc_macro2::TokenTree>) {
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Group(group) => self.tokens(group.stream()),
                proc_macro2::TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.0.push(text.value());
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Literals {
    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.0.push(text.value());
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.tokens(called.tokens.clone());
    }

    // Skips attributes: comments, and text that only the compiler reads.
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !item.attrs.iter().any(|attribute| attribute.path().is_ident("test")) {
            visit::visit_item_fn(self, item);
        }
    }
}

#[test]
fn texts_are_plain() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let shown = path.display().to_string();
        if shown.contains("/tests/") || shown.ends_with("tests.rs") {
            continue;
        }
        let file = syn::parse_file(&code(&text)).expect("Rust");
        let mut literals = Literals::default();
        literals.visit_file(&file);
        faults.extend(literals.0.iter().flat_map(|text| refused(text)).map(|part| format!("{shown}: {part}")));
    }
    for (page, text) in pages() {
        faults.extend(refused(&prose(&text)).into_iter().map(|part| format!("{page}: {part}")));
    }
    let mut root = mcpkg::cli::command();
    root.build();
    helps(&mut root, &mut faults);
    assert!(faults.is_empty(), "{} texts are not plain:\n{}", faults.len(), faults.join("\n"));
}

/// Adds the refused parts in the help of a command and its subcommands.
fn helps(command: &mut clap::Command, faults: &mut Vec<String>) {
    let help = command.render_long_help().to_string();
    // A sentence may continue on the next line.
    let help = Regex::new(r"\b\n *\b").expect("a pattern").replace_all(&help, " ");
    faults.extend(refused(&help).into_iter().map(|part| format!("{}: {part}", command.get_name())));
    command.get_subcommands_mut().for_each(|inner| helps(inner, faults));
}

#[test]
fn refused_phrases_are_found() {
    assert_eq!(refused("`x` is no file; there is no other. It is no longer here"), ["`x` is no file"]);
    assert_eq!(refused("The fixture is none"), ["The fixture is none"]);
    assert_eq!(refused("Make it anew"), ["Make it anew"]);
    assert_eq!(refused("Make it again. The mode is none of its own"), ["The mode is none of its own"]);
}
