//! Property test: exports of random projects, including unusual names and URIs, import back unchanged.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::item::{self, Entry, Origin};
use crate::media;
use mcpkg_store::blobs::NewContent;

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        "[ -~\né]{0,40}".prop_map(String::into_bytes),
        "---\ndescription: [a-z ]{0,9}\n---\n[a-z]{0,9}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..40),
    ]
}

fn uri() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("a"),
        Just("A"),
        Just("b%20"),
        Just("a.md"),
        Just(".."),
        Just("."),
        Just(""),
        Just("%2F"),
        Just("%00"),
        Just("é"),
        Just(".git"),
        Just(".gitignore"),
        Just("CLAUDE.md"),
        Just(".claude"),
        Just("commands"),
        Just("skills"),
        Just("rules"),
        Just("mcpkg.export.json")
    ];
    let scheme = prop_oneof![
        Just("file:///"),
        Just("skill://"),
        Just("instructions://"),
        Just("file://"),
        Just("test://"),
        Just("urn:")
    ];
    let any_path =
        (scheme, prop::collection::vec(part, 1..5)).prop_map(|(scheme, parts)| scheme.to_owned() + &parts.join("/"));
    let known = prop_oneof![
        Just("skill://a/../b"),
        Just("file:///../../etc/passwd"),
        Just("file:////etc/passwd"),
        Just("file:///.agents/skills/a/b"),
        Just("file:///.claude/skills/a/b"),
        Just("skill://a/b"),
        Just("file:///a/b"),
        Just("file:///mcpkg.files/a"),
    ];
    prop_oneof![any_path, known.prop_map(str::to_owned)]
}

pub(super) fn description() -> impl Strategy<Value = Option<String>> {
    prop_oneof![Just(None), "[ -~\n\t\u{7f}\u{85}é]{1,30}".prop_map(Some)]
}

pub(super) fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-bA-B.]{1,3}", "[A-Za-z0-9._-]{1,20}", "[a-z]{250,255}", Just("CLAUDE.md".to_owned())]
}

pub(super) fn resource() -> impl Strategy<Value = (Entry, NewContent)> {
    let mime_type =
        prop_oneof![Just(None), Just(Some("text/markdown")), Just(Some("image/png")), Just(Some("application/json"))];
    (name(), uri(), description(), mime_type, any::<bool>(), content()).prop_filter_map(
        "it fits",
        |(name, uri, description, mime_type, executable, bytes)| {
            let decided = media::from_file(bytes.into(), mime_type, Path::new(&uri)).ok()?;
            let mime_type = Some(decided.mime_type);
            let attributes = resources::Attributes { uri, description, mime_type, text: decided.text, executable };
            Some((Entry { name, what: What::Resource(attributes), origin: Origin::default() }, decided.content))
        },
    )
}

pub(super) fn prompt() -> impl Strategy<Value = (Entry, NewContent)> {
    let argument = ("[a-c]|arg1|arguments", description(), any::<bool>())
        .prop_map(|(name, description, required)| prompts::Argument { name, description, required });
    let text = prop_oneof![
        "[ -~\r\né]{1,40}",
        "(\\$1|\\{\\{ arg1 \\}\\}|\\{\\{ arguments \\}\\}|a| ){1,6}",
        "(\\$1|\\$ARGUMENTS|\\{\\{ a \\}\\}|---\n|\\{#| ){1,6}",
        "\u{feff}?[a-z]{1,9}"
    ];
    let front = prop::option::of("---\n(model: [a-z]{1,3}\n)?(description: [a-z]{1,3}\n)?(arguments: \\[a\\]\n)?---\n");
    let file = prop::option::of("([a-b]/)?[a-b -]{1,3}.md");
    let dialect = prop::option::of(prop_oneof![Just(prompts::Dialect::Claude), Just(prompts::Dialect::OpenCode)]);
    let made = (any::<bool>(), dialect);
    (name(), description(), made, prop::collection::vec(argument, 0..3), text, front, file).prop_map(
        |(name, description, (template, dialect), arguments, text, front_matter, file)| {
            let attributes = prompts::Attributes { description, template, dialect, arguments, front_matter, file };
            (Entry { name, what: What::Prompt(attributes), origin: Origin::default() }, text.into_bytes().into())
        },
    )
}

proptest! {
    #![proptest_config(crate::seed::config(64))]

    #[test]
    fn what_is_exported_imports_back(items in prop::collection::vec(prop_oneof![resource(), prompt()], 0..12)) {
        let (from, to) = (World::new(), World::new());
        // Skip items that the store does not accept, such as duplicates of a name or URI.
        for (entry, content) in items {
            if item::check(&entry, &content).is_err() {
                continue;
            }
            let _ = from.context.write("test", "", |db, project, author| {
                let item = item::Item { path: String::new(), entry, content };
                let planned = (&[&item][..], &[Action::Create][..]);
                merge::apply::apply(db, author, project, &from.context.clock, planned, &HashMap::new(), |_| Ok(()))
            });
        }
        let out = from.path("out");
        from.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
        to.run::<Import>(&[], &[out]).unwrap();
        prop_assert_eq!(from.items(), to.items());
        let beside: Vec<_> = std::fs::read_dir(from.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
        prop_assert_eq!(beside, ["out"]);
    }
}
