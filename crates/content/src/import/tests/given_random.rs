//! Tests exports of random projects as plugins: what an import of the plugin does not restore is listed.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::given::{json, lines};
use super::round_trip::{prompt, resource};
use super::*;
use crate::export::plugin::{Content, PluginFile, named};
use crate::item::{self, Entry, Origin, server::Server};
use mcpkg_store::agent_files;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::servers::{Definition, Part, Text, Transport};

/// Returns a validator for a published schema.
fn schema(name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/agent-plugins").join(name);
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn a_text() -> impl Strategy<Value = Text> {
    let part = prop_oneof![
        "[a-z/. :$-]{1,6}".prop_map(Part::Text),
        Just(Part::Text("${PLUGIN_ROOT}".to_owned())),
        Just(Part::Text("https://h/x#y".to_owned())),
        prop_oneof![Just("TOKEN"), Just("CLAUDE_PLUGIN_ROOT"), Just("PLUGIN_DATA"), Just("extensionPath")]
            .prop_map(Part::env),
        Just(Part::Env { env: "A".to_owned(), default: Some("d".to_owned()) }),
        Just(Part::Input { input: "id".to_owned() }),
    ];
    prop::collection::vec(part, 1..4).prop_map(Text::new)
}

fn a_server() -> impl Strategy<Value = (String, Definition, bool)> {
    let named = || prop::collection::vec(("[A-Za-z]{1,3}|PLUGIN_ROOT|Authorization", a_text()), 0..3);
    let transport = prop_oneof![Just(Transport::Stdio), Just(Transport::Http), Just(Transport::Sse)];
    let url = prop_oneof![Just(Text::plain("https://h/mcp")), a_text()];
    let made = (transport, prop_oneof![Just(Text::plain("npx")), a_text()], url, prop::option::of(a_text()));
    (("[a-zA-Z._-]{1,6}", any::<bool>()), made, prop::collection::vec(a_text(), 0..3), named(), named()).prop_map(
        |((name, enabled), (transport, command, url, cwd), args, env, headers)| {
            let definition = match transport {
                Transport::Stdio => Definition { args, env, cwd, ..Definition::stdio(command) },
                _ => Definition { headers, ..Definition::remote(transport, url) },
            };
            (name, definition, enabled)
        },
    )
}

/// Generates a skill's file, a subagent or instructions.
fn known() -> impl Strategy<Value = (Entry, NewContent)> {
    let front = "(---\n(name: [a-zA-B-]{1,3}\n)?(description: [a-z: ]{1,9}\n)?(tools: Read, X\n)?---\n)?[a-z\n]{1,9}";
    let uri = prop_oneof![
        "skill://(a|A|b-c|B_c|ü)/(SKILL.md|SKILL.md|x/y.md|skill.md)",
        "subagent://[a-b.]{1,3}",
        "instructions://[a-b]\\.md",
    ];
    (uri, front, any::<bool>()).prop_map(|(uri, front, executable)| {
        let name = uri.split_once("://").map(|(_, rest)| item::name::letters(rest)).unwrap();
        let attributes = resources::Attributes {
            uri,
            description: None,
            mime_type: Some("text/markdown".to_owned()),
            text: true,
            executable,
        };
        (Entry { name, what: What::Resource(attributes), origin: Origin::default() }, front.into_bytes().into())
    })
}

fn hook() -> impl Strategy<Value = (Entry, NewContent)> {
    let path =
        prop_oneof![Just("hooks/hooks.json"), Just("hooks/a.sh"), Just(".claude/hooks/a.sh"), Just(".claudeignore")];
    (path, "(\\$\\{CLAUDE_PLUGIN_ROOT\\}/(a|hooks/a.sh)| |\"){0,3}", any::<bool>()).prop_map(
        |(path, text, executable)| {
            let holds = if path == ".claudeignore" { agent_files::Kind::Ignore } else { agent_files::Kind::Hook };
            let origin =
                Origin { agent: Some("claude_code".to_owned()), path: Some(path.to_owned()), ..Origin::default() };
            (
                Entry { name: path.to_owned(), what: What::AgentFile { holds, executable }, origin },
                text.into_bytes().into(),
            )
        },
    )
}

/// Returns a project's items by kind and name, without the files that an export generates for a plugin.
fn things(content: Content) -> BTreeMap<(&'static str, String), Vec<String>> {
    let mut things: BTreeMap<(&'static str, String), Vec<String>> = BTreeMap::new();
    for (entry, content) in content.items {
        let made = [agent_files::Kind::Plugin, agent_files::Kind::Servers];
        let what = match entry.what.clone() {
            What::AgentFile { holds, .. } if made.contains(&holds) => continue,
            What::Prompt(attributes) => What::Prompt(prompts::Attributes { file: None, ..attributes }),
            what => what,
        };
        let thing = named(&Entry { what: what.clone(), ..entry.clone() });
        let bytes = content.bytes().unwrap();
        things.entry(thing).or_default().push(format!("{} {what:?} {bytes:?}", entry.name));
    }
    for Server { name, definition, .. } in content.servers {
        things.entry(("MCP server", name)).or_default().push(format!("{definition:?}"));
    }
    things.values_mut().for_each(|parts| parts.sort_unstable());
    things
}

proptest! {
    #![proptest_config(crate::seed::config(96))]

    #[test]
    fn what_an_import_of_the_plugin_does_not_restore_is_listed(
        items in prop::collection::vec(prop_oneof![resource(), prompt(), known(), known(), hook()], 0..12),
        servers in prop::collection::vec(a_server(), 0..4),
    ) {
        let (from, to) = (World::new(), World::new());
        items.into_iter().for_each(|(entry, content)| from.put(entry, content));
        for (name, definition, enabled) in servers {
            from.server(&name, definition, enabled);
        }
        let plugin = from.plugin();
        prop_assert!(schema("plugin.schema.json").is_valid(&json(&plugin, "plugin.json")));
        if plugin.files.iter().any(|file| file.path == "mcp.json") {
            let servers = json(&plugin, "mcp.json");
            prop_assert!(schema("mcp.schema.json").is_valid(&servers), "{servers}");
        }
        for PluginFile { path, .. } in &plugin.files {
            prop_assert!(mcpkg_base::inside::stays_inside(path), "{path}");
        }
        let out = from.path("out");
        let Ok(_) = from.run::<Export>(&["--plugin"], std::slice::from_ref(&out)) else {
            prop_assert!(plugin.holds.is_empty());
            return Ok(());
        };
        to.run::<Import>(&[], &[out]).unwrap();
        let (before, after) = (things(from.content()), things(to.content()));
        for (thing, parts) in &before {
            let (word, name) = thing;
            let is_listed = plugin.remarks.iter().any(|remark| {
                remark.covers(word, name) || remark.names.iter().any(|listed| remark.agents.is_empty() && listed.starts_with(&format!("{name}/")))
            });
            prop_assert!(after.get(thing) == Some(parts) || is_listed, "{thing:?}\n{parts:?}\n{:?}\n{:#?}", after.get(thing), lines(&plugin));
        }
        for word in ["command", "skill", "subagent", "agent's file", "MCP server"] {
            let count = |things: &BTreeMap<(&str, String), _>| things.keys().filter(|(of, _)| *of == word).count();
            prop_assert!(count(&after) <= count(&before), "{word}: {:?} {:?}", before.keys(), after.keys());
        }
    }
}
