//! Tests of subscriptions to contract 003's resources: one notification for each burst of changes, and only if a read
//! returns something new.

use std::time::Duration;

use serde_json::json;

use super::shop::Shop;
use crate::support::{Client, Http, Request, Wait, http};

const BRANCHES: &str = "smctl://flow/branches";
const CONFIG: &str = "smctl://workspace/config";
const TASKS: &str = "smctl://spec/login/tasks";
const WORKTREES: &str = "smctl://worktree/list";
const STATUS: &str = "smctl://workspace/status";
const UPDATED: &str = "notifications/resources/updated";

/// Longer than the longest pause within a burst.
const QUIET: Duration = Duration::from_millis(1500);

/// A client with subscriptions, in an older revision or the newest.
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
            // The server handles the first request of a connection in a different way, so do not subscribe with it.
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

    /// Waits for exactly one notification of each of these resources.
    #[track_caller]
    fn told_once(&mut self, what: &str, uris: &[&str]) {
        let mut told: Vec<_> = uris.iter().map(|_| self.client.notification(UPDATED)["params"]["uri"].take()).collect();
        told.sort_by_key(ToString::to_string);
        assert_eq!(told, uris, "{what}");
        self.told_nothing(what);
    }

    #[track_caller]
    fn told_nothing(&mut self, what: &str) {
        assert_eq!(self.client.wait(QUIET), Wait::Nothing, "{what}, modern: {}", self.modern);
    }
}

/// Runs a test for a client of an older revision and for one of the newest. The tests mostly wait, so both run at the
/// same time.
fn for_both(test: fn(bool)) {
    std::thread::scope(|threads| {
        for modern in [false, true] {
            threads.spawn(move || test(modern));
        }
    });
}

#[test]
fn x37_a_burst_of_git_is_notified_once() {
    for_both(a_burst_of_git_is_told_once);
}

#[test]
fn x37_a_burst_of_mcpkg_or_an_editor_is_notified_once() {
    for_both(a_burst_of_mcpkg_or_an_editor_is_told_once);
}

fn a_burst_of_git_is_told_once(modern: bool) {
    let shop = Shop::new();
    let lib = shop.repo("lib");
    shop.git(&lib, &["branch", "feature/old", "develop"]);
    shop.ok(&["spec", "new", "login"]);
    let mut subscribed = Subscribed::to(&shop, modern, &[BRANCHES, CONFIG, TASKS, STATUS, WORKTREES]);
    subscribed.told_nothing("nothing happened");
    shop.git(&lib, &["switch", "-q", "feature/old"]);
    subscribed.told_once("git switch", &[STATUS]);
    shop.commit(&lib, "a.txt", "a\n");
    subscribed.told_once("git commit", &[BRANCHES, STATUS]);
    shop.git(&lib, &["switch", "-q", "develop"]);
    subscribed.told_once("git switch back", &[STATUS]);
    shop.git(&lib, &["branch", "-q", "-D", "feature/old"]);
    subscribed.told_once("git branch -D", &[BRANCHES]);
    let place = shop.root().join(".worktrees/x/lib");
    shop.git(&lib, &["worktree", "add", "-q", "-b", "feature/x", &place.display().to_string()]);
    subscribed.told_once("git worktree add", &[BRANCHES, WORKTREES]);
    subscribed.client.finish();
}

fn a_burst_of_mcpkg_or_an_editor_is_told_once(modern: bool) {
    let shop = Shop::new();
    let lib = shop.repo("lib");
    shop.ok(&["spec", "new", "login"]);
    let mut subscribed = Subscribed::to(&shop, modern, &[BRANCHES, CONFIG, TASKS, STATUS, WORKTREES]);
    subscribed.told_nothing("nothing happened");
    shop.ok(&["flow", "feature", "start", "login", "--repo", "api"]);
    subscribed.told_once("another process's start", &[BRANCHES, STATUS]);
    shop.ok(&["flow", "feature", "finish", "login"]);
    subscribed.told_once("another process's finish", &[BRANCHES, STATUS]);
    // These commands change no resource, so there is no notification.
    shop.git(&lib, &["fetch", "-q", "--all"]);
    shop.git(&lib, &["gc", "-q"]);
    shop.ok(&["project", "create", "elsewhere"]);
    subscribed.told_nothing("the answers are the same");
    let manifest = shop.root().join(".smctl/workspace.toml");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    // Editors save like this: they write another file and rename it.
    std::fs::write(manifest.with_extension("new"), format!("# by hand\n{text}")).expect("a file");
    std::fs::rename(manifest.with_extension("new"), &manifest).expect("renamed");
    subscribed.told_once("an edit of the manifest", &[CONFIG]);
    let tasks = shop.root().join("openspec/changes/login/tasks.md");
    std::fs::write(&tasks, "## Implementation\n- [ ] one\n").expect("a file");
    subscribed.told_once("an edit of a spec", &[TASKS]);
    // No watch notices this edit, but the check every few seconds does.
    std::fs::write(shop.repo("web").join("code.txt"), "edited\n").expect("a file");
    subscribed.told_once("an edit of a tracked file", &[STATUS]);
    subscribed.client.finish();
}

#[test]
fn x37_the_end_of_a_build_is_notified() {
    let shop = Shop::new();
    let manifest = shop.root().join(".smctl/workspace.toml");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let text = text.replace("[[repos]]\n", "[[repos]]\nbuild_cmd = \"true\"\n");
    std::fs::write(&manifest, text).expect("a file");
    let mut subscribed = Subscribed::to(&shop, false, &[STATUS]);
    shop.ok(&["build"]);
    subscribed.told_once("the end of a build", &[STATUS]);
    subscribed.client.finish();
}

#[test]
fn a_client_that_unsubscribed_is_not_notified() {
    let shop = Shop::new();
    let mut subscribed = Subscribed::to(&shop, false, &[BRANCHES]);
    subscribed.client.result("resources/unsubscribe", json!({ "uri": BRANCHES }));
    shop.git(&shop.repo("lib"), &["branch", "feature/x"]);
    subscribed.told_nothing("it gave up");
    // Subscribing again starts the watch again.
    subscribed.client.result("resources/subscribe", json!({ "uri": BRANCHES }));
    shop.git(&shop.repo("lib"), &["branch", "-q", "-D", "feature/x"]);
    subscribed.told_once("subscribed again", &[BRANCHES]);
    subscribed.client.finish();
}

#[test]
fn a_new_workspace_is_notified() {
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
fn the_default_identity_is_notified_of_new_tools_when_a_workspace_is_created() {
    let shop = Shop::bare();
    let mut client = Client::spawn(shop.command().arg("serve")).shake_hands("2025-11-25");
    let has_them = |client: &mut Client| client.result("tools/list", json!({})).to_string().contains("smctl_build");
    assert!(!has_them(&mut client));
    shop.ok(&shop.init_line());
    client.notification("notifications/tools/list_changed");
    assert!(has_them(&mut client));
    client.finish();
}

#[test]
fn clients_over_sse_are_notified_too() {
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
