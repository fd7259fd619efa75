//! Tests plugins that are mcpkg servers, remote plugins, and a plugin that switches to the handshake.

use serde_json::{Value, json};

use super::{call, person, person_runs};
use crate::support::{Http, Scratch};

fn tool_of(scratch: &Scratch, server: &Http, name: &str, more: Value) -> Result<Value, mcpkg_base::error::Error> {
    let mut given = json!({ "name": name, "url": format!("http://{}/mcp", server.address) });
    for (key, value) in more.as_object().into_iter().flatten() {
        given[key] = value.clone();
    }
    person_runs(scratch, &["plugin", "add"], given)
}

#[test]
fn another_mcpkg_is_a_plugin_in_both_eras() {
    let (here, there) = (Scratch::with_project(), Scratch::with_project());
    there.ok(&["prompt", "create", "hello", "Hi"]);
    let server = Http::start(&there, &[]);
    let added = tool_of(&here, &server, "there", json!({})).expect("it is added");
    assert_eq!((&added["state"], &added["transport"]), (&json!("well"), &json!("http")));
    let plugin = || mcpkg_workflow::plugin::plugins::all(&person(&here)).expect("plugins").remove(0);
    assert_eq!(plugin().era.map(|era| era.word()), Some("discover"));
    let read = || {
        let answered = call(&person(&here), "there:get_prompt", json!({ "name": "hello" })).expect("an answer");
        assert_eq!(answered.output.to_string(), "\"Hi\"");
    };
    read();
    let set = |era: &str| {
        let id = plugin().server.id;
        here.store().write(|db| mcpkg_store::plugins::set_era(db, id, era)).expect("kept");
        // A changed description makes mcpkg connect again.
        here.ok(&["mcp", "set", "there", "--description", era]);
    };
    set("handshake");
    read();
    assert_eq!(plugin().era.map(|era| era.word()), Some("handshake"));
    // After the server ended, the error says that the plugin is unavailable, and that the call had no effect.
    server.end();
    let failed = call(&person(&here), "there:get_prompt", json!({ "name": "hello" })).expect_err("nobody");
    assert_eq!((failed.error.code().name(), failed.may_be_done), ("E_PLUGIN_UNAVAILABLE", false), "{}", failed.error);
}

#[test]
fn a_plugin_that_switches_to_the_handshake_still_works() {
    let (here, there) = (Scratch::with_project(), Scratch::with_project());
    let play = crate::support::plugin::Play::new(here.path(), &json!({ "tools": super::tools(), "era": "modern" }));
    let mut given = play.given();
    given["name"] = json!("toy");
    person_runs(&here, &["plugin", "add"], given).expect("it is added");
    let era = || mcpkg_workflow::plugin::plugins::all(&person(&here)).expect("plugins")[0].era.map(|era| era.word());
    assert_eq!(era(), Some("discover"));
    play.now(&json!({ "tools": super::tools(), "era": "legacy" }));
    call(&person(&here), "toy:add_note", json!({})).expect("an answer");
    assert_eq!(era(), Some("handshake"));
    person_runs(&here, &["plugin", "remove"], json!({ "name": "toy" })).expect("it is removed");
    drop(there);
}

#[test]
fn mcpkg_cannot_be_a_plugin_of_its_own_database() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    let refused = tool_of(&scratch, &server, "me", json!({})).expect_err("itself");
    assert_eq!(refused.code().name(), "E_PLUGIN_UNAVAILABLE");
    assert!(refused.message().contains("mcpkg itself"), "{refused}");
    server.end();
    let database = scratch.db();
    let program = json!({ "name": "me", "command": [crate::support::BINARY, "serve", "--db", database] });
    let refused = person_runs(&scratch, &["plugin", "add"], program).expect_err("itself");
    assert!(refused.message().contains("mcpkg itself"), "{refused}");
    assert_eq!(scratch.json(&["mcp", "list"])["servers"], json!([]));
    // An mcpkg server with another database can be a plugin.
    let other = Scratch::with_project();
    let program = json!({ "name": "other", "command": [crate::support::BINARY, "serve", "--db", other.db()] });
    person_runs(&scratch, &["plugin", "add"], program).expect("it is added");
}

#[test]
fn plugin_urls_without_https_or_with_private_addresses_are_refused() {
    let scratch = Scratch::with_project();
    let refused = |url: &str| {
        let refused = person_runs(&scratch, &["plugin", "add"], json!({ "name": "far", "url": url })).expect_err(url);
        assert_eq!(refused.code().name(), "E_PLUGIN_UNAVAILABLE", "{refused}");
        refused.message().to_owned()
    };
    assert!(refused("http://mcp.example.com/").contains("use https"));
    assert!(refused("https://10.0.0.1/mcp").contains("private address"));
    let sse = json!({ "name": "far", "url": "https://mcp.example.com/sse", "transport": "sse" });
    let refused = person_runs(&scratch, &["plugin", "add"], sse).expect_err("given up");
    assert!(refused.message().contains("deprecated HTTP+SSE transport"), "{refused}");
}
