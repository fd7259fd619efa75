//! Tests tools/list for installed tools: many, broken and unverified ones, toolsets, and notifications of changes.

use std::time::Duration;

use mcpkg_registry::package::archive;
use mcpkg_registry::trust::Policy;
use mcpkg_registry::trust::records::Record;
use mcpkg_store::blobs;
use mcpkg_store::tools::installs::{self, Scope};
use mcpkg_store::tools::packages::{self, Manifest, Release, Visibility};
use mcpkg_store::tools::{names, trust};
use serde_json::{Value, json};

use super::installed::{META, data, enact, extract, listed, no_sandbox, signed, with_extract};
use super::trusting;
use crate::support::{Client, Http, Scratch, Wait, eventually, http, memory};

const TOOL: &str = "alice/pdf/extract";
const PROJECTED: &str = "alice__pdf__extract";

/// Sets the policy `allow` as a person would at a terminal.
pub(super) fn allow(scratch: &Scratch) {
    let context = scratch.context();
    Record::Policy(Policy::Allow).keep(&context).expect("a record");
    let set = |db: &mcpkg_store::Db<'_>| {
        trust::set_policy(db, "allow")?;
        context.event(db, context.author(), None, "tool.trust.policy", "allow")
    };
    context.store.write(set).expect("a policy");
}

/// Publishes and installs this many tools.
fn install_many(scratch: &Scratch, number: usize) {
    let packed: Vec<_> = (0..number)
        .map(|n| {
            let front = format!(
                "---\nname: many/tool-{n:04}\nversion: 1.0.0\ndescription: The tool number {n} of many\ncommand: \"true\"\n\
                 inputSchema:\n  type: object\n  properties:\n    text: {{type: string, description: What it works on}}\n---\n"
            );
            let file = scratch.file("many/SKILL.md", front);
            archive::pack(file.parent().expect("a folder")).expect("an archive").opened
        })
        .collect();
    let write = |db: &mcpkg_store::Db<'_>| {
        packed.iter().enumerate().try_for_each(|(n, opened)| {
            let name = format!("many/tool-{n:04}");
            let release = Release {
                registry: "local".to_owned(),
                name: name.clone(),
                version: "1.0.0".to_owned(),
                sha256: opened.sha256,
                size: opened.content.size(),
                publisher: None,
                visibility: Visibility::Public,
                published_at: 0,
                yank: None,
            };
            let json = Value::Object(opened.manifest.json.clone()).to_string();
            let blob = blobs::put_source(db, &opened.content)?;
            let package = packages::insert(db, &release, blob, Manifest { json: &json, raw: &opened.raw_manifest }, 0)?;
            installs::install(db, &Scope::Global, (package, &name, "1.0.0"), None, ("test", 0))?;
            names::give(db, &name, "", &[name.replace('/', "__")]).map(drop)
        })
    };
    scratch.store().write(write).expect("the tools are installed");
}

#[test]
fn a_thousand_tools_are_listed_in_pages() {
    let scratch = Scratch::new();
    install_many(&scratch, 1_000);
    let pages = |mut ask: Box<dyn FnMut(Value) -> Value + '_>| {
        let (mut names, mut pages, mut cursor) = (Vec::new(), 0, Value::Null);
        loop {
            let mut result = ask(if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) });
            let tools = result["tools"].as_array().expect("tools");
            assert!(tools.len() <= 250);
            names.extend(tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()));
            pages += 1;
            cursor = result["nextCursor"].take();
            if cursor.is_null() {
                return (names, pages);
            }
        }
    };
    let mut client = enact(&scratch);
    let (names, count) = pages(Box::new(|params| client.result("tools/list", params)));
    assert_eq!((names.len(), count), (META.len() + 1_000, 5));
    assert_eq!(names[META.len()], "many__tool-0000");
    assert!(names[META.len()..].is_sorted(), "by name");
    client.finish();
    let server = Http::start(&scratch, &["--as", "enact"]);
    let (over_http, _) = pages(Box::new(|params| server.modern("/mcp", "tools/list", params)["result"].take()));
    assert_eq!(over_http, names);
    // A toolset of three tools fits on one page.
    for n in [7, 500, 999] {
        let tool = format!("many/tool-{n:04}");
        if n == 7 {
            scratch.ok(&["toolset", "create", "few", "--empty"]);
        }
        scratch.ok(&["toolset", "add", "few", &tool]);
    }
    scratch.ok(&["toolset", "use", "few"]);
    let (few, count) = pages(Box::new(|params| server.modern("/mcp", "tools/list", params)["result"].take()));
    assert_eq!(
        (&few[META.len()..], count),
        (&["many__tool-0007", "many__tool-0500", "many__tool-0999"].map(str::to_owned)[..], 1)
    );
}

#[test]
fn x43_a_broken_package_affects_only_itself() {
    let scratch = with_extract();
    extract(&scratch, "bob/other", "1.0.0");
    signed(&scratch, "bob/other");
    scratch.ok(&["tool", "install", TOOL]);
    scratch.ok(&["tool", "install", "bob/other"]);
    // Damage the archive, as a bad disk would.
    let damage = format!(
        "UPDATE blob SET head = {} WHERE id = (SELECT blob_id FROM tool_package WHERE name = 'bob/other')",
        scratch.in_sql(&[0; 300])
    );
    assert_eq!(scratch.change(&damage), 1);
    let mut client = enact(&scratch);
    let names = listed(&mut client);
    assert!(names.contains(&PROJECTED.to_owned()) && !names.contains(&"bob__other".to_owned()), "{names:?}");
    let tools = data(&mut client, "enact__list", json!({}))["tools"].take();
    let line = |name: &str| tools.as_array().expect("tools").iter().find(|tool| tool["name"] == name).cloned();
    let broken = line("bob/other").expect("its own line");
    assert!(broken["description"].as_str().is_some_and(|text| text.starts_with("broken: ")), "{broken}");
    assert_eq!(line(TOOL).expect("the other's line")["description"], "Takes the text out of a PDF");
    // Calling the broken tool returns the reason.
    let refused = client.result("tools/call", json!({ "name": "bob__other", "arguments": { "file": "x" } }));
    assert_eq!(refused["_meta"]["mcpkg/error"]["code"], "E_DAMAGED", "{refused}");
    let called = client.result("tools/call", json!({ "name": PROJECTED, "arguments": { "file": "x" } }));
    if !no_sandbox(&called) {
        assert_eq!(called["structuredContent"], json!({ "text": "x" }), "{called}");
    }
    client.finish();
}

#[test]
fn unsigned_tools_are_marked_as_unverified_if_the_policy_allows_them() {
    let scratch = Scratch::new();
    extract(&scratch, TOOL, "1.2.0");
    allow(&scratch);
    let mut client = enact(&scratch);
    let installed = data(&mut client, "enact__install", json!({ "tool": TOOL }));
    assert_eq!(installed["verification"]["status"], "unverified", "{installed}");
    assert!(installed["warnings"][0].as_str().is_some_and(|text| text.contains("nobody you trust")), "{installed}");
    client.notification("notifications/tools/list_changed");
    let shown = |client: &mut Client| {
        let tools = client.result("tools/list", json!({}))["tools"].take();
        let tool = tools.as_array().expect("tools").iter().find(|tool| tool["name"] == PROJECTED).cloned();
        let tool = tool.expect("the installed tool");
        (tool["title"].clone(), tool["_meta"]["mcpkg/tool"].clone())
    };
    let (title, known) = shown(&mut client);
    assert_eq!(title, "alice/pdf/extract (unverified)");
    assert_eq!(known, json!({ "tool": TOOL, "version": "1.2.0", "verification": "unverified" }));
    assert_eq!(data(&mut client, "enact__list", json!({}))["tools"][0]["status"], "unverified");
    let called = client.result("tools/call", json!({ "name": PROJECTED, "arguments": { "file": "x" } }));
    if !no_sandbox(&called) {
        let verification = &called["_meta"]["mcpkg/run"]["verification"];
        assert_eq!(
            (&verification["status"], &verification["policy"]),
            (&json!("unverified"), &json!("allow")),
            "{called}"
        );
    }
    // After a trusted signature, clients are notified that the list has changed.
    let key = scratch.json(&["tool", "key", "new"]);
    trusting(&scratch, key["identity"].as_str().expect("an identity"));
    scratch.ok(&["tool", "sign", TOOL]);
    client.notification("notifications/tools/list_changed");
    let (title, known) = shown(&mut client);
    assert_eq!(title, TOOL);
    assert_eq!(known, json!({ "tool": TOOL, "version": "1.2.0" }));
    client.finish();
}

#[test]
fn x49_a_toolset_limits_each_server_and_runs_by_name() {
    let scratch = with_extract();
    extract(&scratch, "bob/other", "1.0.0");
    signed(&scratch, "bob/other");
    scratch.ok(&["tool", "install", TOOL]);
    scratch.ok(&["tool", "install", "bob/other"]);
    for (set, tool) in [("pdf", TOOL), ("rest", "bob/other")] {
        scratch.ok(&["toolset", "create", set, "--empty"]);
        scratch.ok(&["toolset", "add", set, tool]);
    }
    let serve = |set: &str| {
        let mut command = scratch.command();
        command.args(["serve", "--as", "enact", "--toolset", set]);
        Client::spawn(&mut command).shake_hands("2025-06-18")
    };
    let (mut pdf, mut rest) = (serve("pdf"), serve("rest"));
    let projected = |client: &mut Client| {
        let mut names = listed(client);
        names.retain(|name| !META.contains(&name.as_str()));
        names
    };
    assert_eq!(
        (projected(&mut pdf), projected(&mut rest)),
        (vec![PROJECTED.to_owned()], vec!["bob__other".to_owned()])
    );
    // The active toolset does not affect servers with `--toolset`.
    scratch.ok(&["toolset", "use", "rest"]);
    assert_eq!(projected(&mut pdf), [PROJECTED]);
    let run = |tool: &str| json!({ "tool": tool, "args": { "file": "x" } });
    let refused = data(&mut pdf, "enact__run", run("bob/other"));
    assert_eq!(refused["error"]["code"], "E_NOT_IN_TOOLSET", "{refused}");
    // A tool that is not installed is refused too, instead of being fetched and run.
    extract(&scratch, "carol/third", "1.0.0");
    signed(&scratch, "carol/third");
    assert_eq!(data(&mut pdf, "enact__run", run("carol/third"))["error"]["code"], "E_NOT_IN_TOOLSET");
    let ran = data(&mut pdf, "enact__run", run(TOOL));
    if !no_sandbox(&ran) {
        assert_eq!(ran["output"], json!({ "text": "x" }), "{ran}");
    }
    pdf.finish();
    rest.finish();
}

#[test]
fn a_call_completes_if_the_toolset_is_switched() {
    let scratch = with_extract();
    let slow = "---\nname: bob/slow\nversion: 1.0.0\ndescription: Takes its time\n\
                command: sleep 2; echo done\n---\n";
    let folder = scratch.file("slow/SKILL.md", slow).parent().expect("a folder").display().to_string();
    scratch.ok(&["tool", "publish", &folder, "--to", "local"]);
    signed(&scratch, "bob/slow");
    scratch.ok(&["tool", "install", "bob/slow"]);
    scratch.ok(&["tool", "install", TOOL]);
    scratch.ok(&["toolset", "create", "pdf", "--empty"]);
    scratch.ok(&["toolset", "add", "pdf", TOOL]);
    let mut client = enact(&scratch);
    let call = json!({ "name": "bob__slow", "arguments": {} });
    let id = client.post("tools/call", call.clone());
    eventually("the tool runs", || {
        let runs = scratch.json(&["tool", "runs"])["runs"].take();
        (!runs.as_array().expect("runs").is_empty()).then_some(())
    });
    scratch.ok(&["toolset", "use", "pdf"]);
    client.notification("notifications/tools/list_changed");
    assert!(!listed(&mut client).contains(&"bob__slow".to_owned()));
    assert_eq!(client.result("tools/call", call)["_meta"]["mcpkg/error"]["code"], "E_NOT_IN_TOOLSET");
    let ended = client.answer(&json!(id));
    if !no_sandbox(&ended) {
        assert_eq!(ended["result"]["content"][0]["text"], "done\n", "{ended}");
    }
    client.finish();
}

#[test]
fn many_installs_at_once_cause_few_notifications() {
    let scratch = Scratch::new();
    let mut client = enact(&scratch);
    listed(&mut client);
    const TOOLS: usize = 200;
    let context = scratch.context();
    install_many(&scratch, TOOLS);
    for n in 0..TOOLS {
        let event = |db: &mcpkg_store::Db<'_>| {
            context.event(db, context.author(), None, "tool.install", &format!("many/tool-{n:04}"))
        };
        context.store.write(event).expect("an event");
    }
    client.notification("notifications/tools/list_changed");
    let mut told = 1;
    while let Wait::Line(line) = client.wait(Duration::from_millis(300)) {
        assert_eq!(line["method"], "notifications/tools/list_changed");
        told += 1;
    }
    // The list changed once. Further events do not change it, so the client gets no more notifications.
    assert_eq!(told, 1);
    assert_eq!(listed(&mut client).len(), META.len() + TOOLS);
    client.finish();
}

#[test]
fn a_client_that_never_reads_costs_no_memory_and_blocks_nobody() {
    let scratch = with_extract();
    let loud = "---\nname: bob/loud\nversion: 1.0.0\ndescription: Says much\ncommand: yes | head -c 1000000\n---\n";
    let folder = scratch.file("loud/SKILL.md", loud).parent().expect("a folder").display().to_string();
    scratch.ok(&["tool", "publish", &folder, "--to", "local"]);
    signed(&scratch, "bob/loud");
    scratch.ok(&["tool", "install", "bob/loud"]);
    scratch.ok(&["tool", "install", TOOL]);
    let server = Http::start(&scratch, &["--as", "enact"]);
    let call = json!({ "name": "bob__loud", "arguments": {} });
    if no_sandbox(&server.modern("/mcp", "tools/call", call.clone())) {
        return;
    }
    let before = memory(server.pid(), "VmRSS");
    // Forty results of a million bytes each. Nobody reads them.
    let unread: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = server.connect();
            let request = http::modern("/mcp", "tools/call", call.clone());
            std::io::Write::write_all(&mut stream, &request.bytes()).expect("sent");
            stream
        })
        .collect();
    // Meanwhile, other clients can list and call tools.
    let tools = server.modern("/mcp", "tools/list", json!({}))["result"]["tools"].take();
    assert_eq!(tools.as_array().map(Vec::len), Some(META.len() + 2));
    let called = server.modern("/mcp", "tools/call", json!({ "name": PROJECTED, "arguments": { "file": "x" } }));
    assert_eq!(called["result"]["structuredContent"], json!({ "text": "x" }), "{called}");
    let grown = memory(server.pid(), "VmRSS").saturating_sub(before);
    assert!(grown < 256 << 10, "{grown} KiB");
    drop(unread);
}
