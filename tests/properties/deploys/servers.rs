//! Tests that MCP servers are the same after a deploy and an import, and that a rollback restores every file.

use crate::support::config;
use mcpkg_agents::agents::{self, Agent};
use mcpkg_store::servers::{self, Definition, Origin, Part, Text, Transport};

use super::*;

/// Generates a text of words and references to variables.
fn text() -> impl Strategy<Value = Text> {
    let part = prop_oneof![
        4 => "(-y|--flag|pkg|a b|it's|\"q\"|ü|/p/q){1,2}".prop_map(Part::Text),
        2 => "[A-C]{1,2}".prop_map(Part::env),
        1 => ("[A-C]{1,2}", "[a-z]{1,3}").prop_map(|(env, default)| Part::Env { env, default: Some(default) }),
    ];
    prop::collection::vec(part, 1..3).prop_map(Text::new)
}

/// Generates the value of a variable or header. It is a reference, because an import does not take literal values.
fn value() -> impl Strategy<Value = Text> {
    let variable = "[A-C]{1,2}";
    prop_oneof![
        3 => variable.prop_map(|env| Text::new([Part::env(env)])),
        1 => variable.prop_map(|env| Text::new([Part::Text("Bearer ".to_owned()), Part::env(env)])),
    ]
}

fn definition() -> impl Strategy<Value = Definition> {
    let named = |name: &'static str| {
        prop::collection::btree_map(name, value(), 0..3).prop_map(|named| named.into_iter().collect::<Vec<_>>())
    };
    let program = (text(), prop::collection::vec(text(), 0..3), named("[A-C]{1,2}"), any::<bool>(), any::<bool>());
    let program = program.prop_map(|(command, args, env, cwd, extra)| {
        let mut made = Definition { args, env, ..Definition::stdio(command) };
        made.cwd = cwd.then(|| Text::plain("sub/folder"));
        if extra {
            made.extra.insert("timeout".to_owned(), json!(5));
            made.extra.insert("alwaysAllow".to_owned(), json!(["b", "a"]));
        }
        made
    });
    let transport = prop_oneof![Just(Transport::Http), Just(Transport::Sse)];
    let remote = (transport, named("Authorization|X-[A-C]"), "[a-c]{1,4}").prop_map(|(transport, headers, path)| {
        Definition { headers, ..Definition::remote(transport, Text::plain(format!("https://h.example/{path}"))) }
    });
    prop_oneof![program, remote]
}

/// Generates an agent and a server, reduced to what this agent's file can express.
fn server() -> impl Strategy<Value = (&'static Agent, Definition)> {
    let ids = proptest::sample::select(vec!["claude_code", "codex", "cursor", "vscode"]);
    (ids, definition()).prop_filter_map("its agent says it", |(agent, definition)| {
        let agent = agents::with_id(agent)?;
        Some((agent, agent.servers.as_read(&definition, true)?))
    })
}

type Bare = (String, Definition, bool);

fn all(context: &Context) -> Vec<Bare> {
    let found = context.read(|db, project| servers::all(db, project.id)).expect("servers");
    found.into_iter().map(|server| (server.name, server.definition, server.enabled)).collect()
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn a38_deployed_servers_are_imported_as_the_same_servers(
        servers in prop::collection::btree_map("[a-z]{1,6}", server(), 1..5),
        mine in any::<bool>(),
    ) {
        let ground = Ground::new();
        let mut context = context(&ground);
        // The user at the terminal consents.
        context.confirmation = Confirmation::Ask;
        if mine {
            std::fs::create_dir_all(ground.root().join(".cursor")).expect("a folder");
            let text = "{\n  // mine\n  \"mcpServers\": { \"Own\": { \"url\": \"https://own.example\" } }\n}\n";
            std::fs::write(ground.root().join(".cursor/mcp.json"), text).expect("a file");
        }
        let before = ground.tree();
        for (name, (agent, definition)) in &servers {
            let origin = Origin {
                agent: Some(agent.id.to_owned()),
                path: agent.servers.project.map(str::to_owned),
                entry: None,
            };
            let (uuid, definition) = (context.clock.uuid(), definition.clone());
            let made = context.write("test", name, |db, project, author| {
                servers::insert(db, project, uuid, name, definition, origin, true, author.now)
            });
            made.expect("a server");
        }
        deploy(&context, "all").expect("a deploy");
        let first = all(&context);
        run(&context, "create_project", json!({ "name": "q" })).expect("a project");
        run(&context, "select_project", json!({ "name": "q" })).expect("a project");
        run(&context, "import_files", json!({ "paths": [ground.root()] })).expect("an import");
        let mut again = all(&context);
        again.retain(|(name, ..)| name != "Own");
        prop_assert_eq!(&first, &again);
        run(&context, "select_project", json!({ "name": "p" })).expect("a project");
        let nothing = run(&context, "deploy_shell", json!({ "apply": true, "target": "all" })).expect("a deploy");
        prop_assert_eq!(&nothing["reason"], "no_changes");
        rollback(&context, "pristine", false).expect("a rollback");
        prop_assert!(ground.tree() == before, "a rollback leaves every file as it was");
    }
}
