//! Subscriptions to contract 003's resources: told once a burst, exactly when a read answers something else.

use std::time::Duration;

use serde_json::json;

use super::shop::Shop;
use crate::support::{Client, Http, Request, Wait, http};

const BRANCHES: &str = "smctl://flow/branches";
const CONFIG: &str = "smctl://workspace/config";
const UPDATED: &str = "notifications/resources/updated";

/// Longer than a burst that goes on.
const QUIET: Duration = Duration::from_millis(1500);

/// A client that is told of changes, in an older revision or the newest.
struct Subscribed {
    client: Client,
    modern: bool,
}

impl Subscribed {
    fn to(shop: &Shop, modern: bool, uris: &[&str]) -> Self {
        let mut command = shop.command();
        command.args(["serve", "--as", "smctl"]);
        let mut client = match modern {
            true => Client::modern_with(&mut command, json!({})),
            false => Client::spawn(&mut command).shake_hands("2025-11-25"),
        };
        if modern {
            // The first request of all goes to the protocol engine.
            client.result("tools/list", json!({}));
            client.post("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": uris } }));
            client.notification("notifications/subscriptions/acknowledged");
        } else {
            for uri in uris {
                client.result("resources/subscribe", json!({ "uri": uri }));
            }
        }
        Self { client, modern }
    }

    /// Waits until it is told of this resource, and no more.
    #[track_caller]
    fn told_once(&mut self, what: &str, uri: &str) {
        let told = self.client.notification(UPDATED);
        assert_eq!(told["params"]["uri"], uri, "{what}: {told}");
        self.told_nothing(what);
    }

    #[track_caller]
    fn told_nothing(&mut self, what: &str) {
        assert_eq!(self.client.wait(QUIET), Wait::Nothing, "{what}, modern: {}", self.modern);
    }
}

#[test]
fn x37_a_burst_is_told_once() {
    for modern in [false, true] {
        let shop = Shop::new();
        let lib = shop.repo("lib");
        shop.git(&lib, &["branch", "feature/old", "develop"]);
        let mut subscribed = Subscribed::to(&shop, modern, &[BRANCHES, CONFIG]);
        subscribed.told_nothing("nothing happened");
        shop.git(&lib, &["switch", "-q", "feature/old"]);
        subscribed.told_once("git switch", BRANCHES);
        shop.commit(&lib, "a.txt", "a\n");
        subscribed.told_once("git commit", BRANCHES);
        shop.git(&lib, &["switch", "-q", "develop"]);
        subscribed.told_once("git switch back", BRANCHES);
        shop.git(&lib, &["branch", "-q", "-D", "feature/old"]);
        subscribed.told_once("git branch -D", BRANCHES);
        let place = shop.root().join(".worktrees/x/lib");
        shop.git(&lib, &["worktree", "add", "-q", "-b", "feature/x", &place.display().to_string()]);
        subscribed.told_once("git worktree add", BRANCHES);
        // Another process, and another database's event.
        shop.ok(&["flow", "feature", "start", "login", "--repos", "api"]);
        subscribed.told_once("another process's start", BRANCHES);
        // What nobody is told of: the answers are the same.
        shop.git(&lib, &["fetch", "-q", "--all"]);
        std::fs::write(lib.join("code.txt"), "edited\n").expect("a file");
        shop.git(&lib, &["add", "code.txt"]);
        shop.git(&lib, &["gc", "-q"]);
        shop.ok(&["project", "create", "elsewhere"]);
        subscribed.told_nothing("the answers are the same");
        let manifest = shop.root().join(".smctl/workspace.toml");
        let text = std::fs::read_to_string(&manifest).expect("a manifest");
        // As editors save: beside, and renamed.
        std::fs::write(manifest.with_extension("new"), format!("# by hand\n{text}")).expect("a file");
        std::fs::rename(manifest.with_extension("new"), &manifest).expect("renamed");
        subscribed.told_once("an edit of the manifest", CONFIG);
        subscribed.client.finish();
    }
}

#[test]
fn who_gave_up_its_subscription_is_told_nothing() {
    let shop = Shop::new();
    let mut subscribed = Subscribed::to(&shop, false, &[BRANCHES]);
    subscribed.client.result("resources/unsubscribe", json!({ "uri": BRANCHES }));
    shop.git(&shop.repo("lib"), &["branch", "feature/x"]);
    subscribed.told_nothing("it gave up");
    // And again: the watch begins anew.
    subscribed.client.result("resources/subscribe", json!({ "uri": BRANCHES }));
    shop.git(&shop.repo("lib"), &["branch", "-q", "-D", "feature/x"]);
    subscribed.told_once("subscribed again", BRANCHES);
    subscribed.client.finish();
}

#[test]
fn a_workspace_that_comes_is_told_of() {
    let shop = Shop::bare();
    let mut subscribed = Subscribed::to(&shop, false, &[CONFIG]);
    shop.ok(&shop.init_line());
    let told = subscribed.client.notification(UPDATED);
    assert_eq!(told["params"]["uri"], CONFIG);
    let read = subscribed.client.result("resources/read", json!({ "uri": CONFIG }));
    assert!(read["contents"][0]["text"].as_str().is_some_and(|text| text.contains("shop")));
    subscribed.client.finish();
}

#[test]
fn clients_over_sse_are_told_too() {
    let shop = Shop::new();
    let server =
        Http::spawn(shop.command().args(["--json", "serve", "--mcp", "--sse", "--port", "0", "--as", "smctl"]));
    let events = server.open(&Request::new("GET", "/sse"));
    let address = events.data();
    assert!(address.starts_with("/messages"), "{address}");
    let send = |sent: serde_json::Value| {
        assert_eq!(server.send(&http::message(&address, &sent)).status, 202);
    };
    send(http::hello("2024-11-05"));
    assert_eq!(events.message()["result"]["serverInfo"]["name"], "smctl");
    send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    send(json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": { "uri": BRANCHES } }));
    assert_eq!(events.message()["id"], 2);
    shop.git(&shop.repo("lib"), &["branch", "feature/x"]);
    let told = events.message();
    assert_eq!((&told["method"], &told["params"]["uri"]), (&json!(UPDATED), &json!(BRANCHES)), "{told}");
}
