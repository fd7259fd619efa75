//! Tests `mcpkg tool outdated` and `mcpkg tool update` with the real binary.

use serde_json::{Value, json};

use super::homes::{Homes, TOOL, code, key};
use super::team::{Team, done, with_token};
use super::trusting;
use crate::support::{Client, Scratch, at_a_terminal, skipped};

const SCHEMA: &str = "scripts:\n  main: [echo, '{{city}}']\ninputSchema:\n  type: object\n  properties:\n    \
                      city: {type: string}\n";

const NEW_SCHEMA: &str = "scripts:\n  main: [echo, '{{city}}']\n  more: [\"true\"]\ninputSchema:\n  type: object\n  \
                          properties:\n    city: {type: integer}\n    days: {type: integer}\n  required: [days]\n";

fn line(home: &Scratch) -> Value {
    let ran = home.run(&["--json", "tool", "outdated"]);
    let data: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    data["tools"][0].clone()
}

/// Returns the only tool in the result of an update.
fn updated(home: &Scratch, arguments: &[&str]) -> Value {
    home.json(&[&["tool", "update"], arguments].concat())["tools"][0].clone()
}

fn one(version: &str) -> Vec<(String, String, bool)> {
    vec![(TOOL.to_owned(), version.to_owned(), true)]
}

#[test]
fn x51_an_update_uses_the_tools_registry_and_reports_changes() {
    let homes = Homes::new();
    let user = &homes.user;
    homes.publish_as(TOOL, "1.0.0", SCHEMA, "alice", "team");
    user.ok(&["tool", "install", TOOL]);
    user.ok(&["toolset", "create", "kit"]);
    assert_eq!((line(user)["state"].as_str(), line(user)["newer"].as_str()), (Some("current"), None));
    // Another registry has a higher version, but the tool did not come from there.
    homes.author.ok(&["registry", "add", "other", "other-tools", "--create"]);
    homes.publish_as(TOOL, "9.0.0", SCHEMA, "alice", "other");
    user.ok(&["registry", "add", "other", &homes.folder("other"), "--priority", "-9"]);
    assert_eq!(user.run(&["tool", "outdated", "--check"]).status, 0);
    assert_eq!(updated(user, &["--all"])["state"], "current");

    homes.publish_as(TOOL, "1.1.0", NEW_SCHEMA, "alice", "team");
    assert!(user.json(&["tool", "list"])["tools"][0]["newer"].is_null(), "nobody was asked");
    let ran = user.run(&["tool", "outdated", "--check"]);
    assert!(ran.status == 3 && ran.stdout.contains("1.1.0") && ran.stdout.contains("outdated"), "{ran}");
    assert_eq!(user.run(&["tool", "outdated"]).status, 0);
    // `tool list` then knows the newer version too.
    assert_eq!(user.json(&["tool", "list"])["tools"][0]["newer"], "1.1.0");

    let dry = updated(user, &[TOOL, "--dry-run"]);
    assert_eq!(
        (&dry["state"], &dry["from"], &dry["to"]),
        (&json!("would be updated"), &json!("1.0.0"), &json!("1.1.0"))
    );
    assert_eq!(homes.installed(), one("1.0.0"));
    let done = updated(user, &[TOOL]);
    assert_eq!(done["state"], "updated");
    assert_eq!(done["differences"], dry["differences"], "{done} {dry}");
    let differences = &done["differences"];
    assert_eq!(differences["actions"], json!({ "added": ["more"], "removed": [] }));
    assert_eq!(differences["mcp_tools"], json!({ "added": ["alice__weather___more"], "removed": [] }));
    let input = &differences["schemas"][0];
    assert_eq!((&input["action"], &input["of"]), (&json!("main"), &json!("input")));
    assert_eq!(input["properties"], json!({ "added": ["days"], "removed": [] }));
    assert_eq!((&input["changed"], &input["required"]), (&json!(["city"]), &json!(["days"])));
    assert_eq!(done["publisher"], json!({ "before": homes.identity, "now": homes.identity }));
    assert_eq!(homes.installed(), one("1.1.0"));
    // The toolset still contains the tool, and the audit trail contains the update.
    assert_eq!(user.json(&["toolset", "show", "kit"])["tools"], json!([TOOL]));
    assert!(user.ok(&["events"]).contains("tool.update"));
    assert_eq!(updated(user, &[TOOL])["state"], "current");
    user.ok(&["tool", "install", "alice/weather@1.0.0"]);
}

#[test]
fn a_chosen_version_is_kept_until_the_tool_is_updated_by_name() {
    let homes = Homes::new();
    let user = &homes.user;
    for version in ["1.0.0", "1.1.0"] {
        homes.publish(TOOL, version);
        user.ok(&["tool", "install", &format!("{TOOL}@{version}")]);
    }
    user.ok(&["tool", "use", "alice/weather@1.0.0"]);
    homes.publish(TOOL, "1.2.0");
    let held = updated(user, &["--all"]);
    assert_eq!((&held["state"], &held["newer"]), (&json!("held"), &json!("1.1.0")));
    let done = updated(user, &[TOOL]);
    assert_eq!((&done["to"], &done["beside"]), (&json!("1.2.0"), &json!(["1.1.0", "1.0.0"])));
    let versions: Vec<(String, bool)> =
        homes.installed().into_iter().map(|(_, version, active)| (version, active)).collect();
    assert_eq!(versions, [("1.0.0", false), ("1.1.0", false), ("1.2.0", true)].map(|(v, a)| (v.to_owned(), a)));
    // The newest version replaces the previous one. The other installed versions stay.
    homes.publish(TOOL, "1.3.0");
    assert_eq!(updated(user, &["--all"])["to"], "1.3.0");
    assert!(homes.installed().iter().all(|(_, version, _)| version != "1.2.0"));
    // A range limits the update.
    homes.publish(TOOL, "1.4.0");
    homes.publish(TOOL, "2.0.0");
    assert_eq!(updated(user, &["alice/weather@^1"])["to"], "1.4.0");
    assert_eq!(updated(user, &["alice/weather@^1"])["state"], "current");
    homes.publish(TOOL, "2.1.0-rc.1");
    assert_eq!(updated(user, &["--all", "--dry-run"])["to"], "2.0.0");
    assert_eq!(updated(user, &["--all", "--dry-run", "--pre"])["to"], "2.1.0-rc.1");
}

#[test]
fn another_scope_keeps_its_version() {
    let homes = Homes::new();
    let user = &homes.user;
    user.ok(&["project", "create", "p"]);
    homes.publish(TOOL, "1.0.0");
    user.ok(&["tool", "install", TOOL, "--for-project"]);
    let ran = user.run(&["tool", "update", TOOL]);
    assert!(ran.status == 1 && ran.stderr.contains("--for-project"), "{ran}");
    user.ok(&["tool", "install", TOOL]);
    homes.publish(TOOL, "1.1.0");
    assert_eq!(updated(user, &[TOOL])["scope"], "global");
    let scopes = |home: &Scratch| {
        let listed = home.json(&["tool", "list"])["tools"].clone();
        let tools = listed.as_array().expect("tools").iter();
        tools.map(|tool| (tool["scope"].clone(), tool["version"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(scopes(user), [(json!("project"), json!("1.0.0")), (json!("global"), json!("1.1.0"))]);
    assert_eq!(updated(user, &["--all", "--for-project"])["to"], "1.1.0");
    assert_eq!(code(user, &["tool", "update", "alice/nope"]), "E_TOOL_NOT_FOUND");
    assert_eq!(code(user, &["tool", "update", TOOL, TOOL]), "E_INVALID_ARGUMENT");
    assert_eq!(user.run(&["tool", "update"]).status, 2);
}

#[test]
fn another_publisher_is_accepted_only_at_a_terminal() {
    let homes = Homes::new();
    let user = &homes.user;
    homes.publish(TOOL, "1.0.0");
    user.ok(&["tool", "install", TOOL]);
    let mallory = key(&homes.author, "mallory");
    trusting(user, &mallory);
    homes.publish_as(TOOL, "1.1.0", "", "mallory", "team");
    for verb in ["update", "install"] {
        assert_eq!(code(user, &["tool", verb, TOOL]), "E_PUBLISHER_CHANGED");
        assert_eq!(code(user, &["tool", verb, TOOL, "--accept-publisher", "--yes"]), "E_TERMINAL_REQUIRED");
    }
    let dry = updated(user, &[TOOL, "--dry-run"]);
    assert_eq!(dry["publisher"], json!({ "before": homes.identity, "now": mallory }));
    assert_eq!(homes.installed(), one("1.0.0"));
    let mut command = user.command();
    command.args(["tool", "update", TOOL, "--accept-publisher"]);
    let Some((shown, done)) = at_a_terminal(&command, "n\n") else { return skipped("there is no script") };
    assert!(!done && shown.contains(&mallory) && shown.contains("publisher of alice/weather"), "{shown}");
    assert_eq!(homes.installed(), one("1.0.0"));
    let (shown, done) = at_a_terminal(&command, "y\n").expect("there is a script");
    assert!(done, "{shown}");
    assert_eq!(homes.installed(), one("1.1.0"));
}

#[test]
fn the_publisher_of_an_uninstalled_tool_is_remembered() {
    let homes = Homes::new();
    let user = &homes.user;
    homes.publish(TOOL, "1.0.0");
    user.ok(&["tool", "install", TOOL]);
    let mallory = key(&homes.author, "mallory");
    trusting(user, &mallory);
    homes.publish_as(TOOL, "1.1.0", "", "mallory", "team");
    let newer = "alice/weather@1.1.0";
    assert_eq!(code(user, &["tool", "run", newer]), "E_PUBLISHER_CHANGED");
    let ran = user.run(&["tool", "run", newer]);
    assert!(ran.stderr.contains("`mcpkg tool install alice/weather@1.1.0 --accept-publisher` at a terminal"), "{ran}");
    user.ok(&["tool", "run", "alice/weather@1.0.0"]);
    user.ok(&["tool", "uninstall", TOOL]);
    for verb in ["run", "install"] {
        assert_eq!(code(user, &["tool", verb, newer]), "E_PUBLISHER_CHANGED");
        assert_eq!(code(user, &["tool", verb, TOOL]), "E_PUBLISHER_CHANGED");
    }
    user.ok(&["tool", "install", "alice/weather@1.0.0"]);
    let at = |arguments: &[&str]| {
        let mut command = user.command();
        command.args(arguments);
        at_a_terminal(&command, "y\n")
    };
    let Some((shown, done)) = at(&["tool", "update", TOOL, "--accept-publisher"]) else {
        return skipped("there is no script");
    };
    let back = ["tool", "install", "alice/weather@1.0.0", "--accept-publisher"];
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(done && shown.contains(&format!("to go back, run `mcpkg {}` at a terminal", back.join(" "))), "{shown}");
    assert_eq!(homes.installed(), one("1.1.0"));
    user.ok(&["tool", "run", newer]);
    let (shown, done) = at(&back).expect("there is a script");
    assert!(done, "{shown}");
    assert_eq!(code(user, &["tool", "install", newer]), "E_PUBLISHER_CHANGED");
}

#[test]
fn verify_fetches_the_latest_attestations() {
    let homes = Homes::new();
    let user = &homes.user;
    homes.publish(TOOL, "1.0.0");
    user.ok(&["tool", "install", TOOL]);
    let verified = |tool: &str| user.run(&["tool", "verify", tool]);
    assert_eq!(verified(TOOL).status, 0);
    homes.author.ok(&[
        "tool",
        "audit",
        TOOL,
        "--registry",
        "team",
        "--result",
        "failed",
        "--key",
        "alice",
        "--to",
        "team",
    ]);
    let ran = verified(TOOL);
    assert!(ran.status == 1 && ran.stdout.contains("is refused"), "{ran}");
    // A newer version is known, but not stored. If its archive is not the signed one, each check reports this.
    homes.publish(TOOL, "1.1.0");
    let archive = std::path::Path::new(&homes.folder("team")).join("tools/alice/weather/1.1.0/bundle.tar.gz");
    let whole = std::fs::read(&archive).expect("an archive");
    std::fs::write(&archive, b"evil").expect("written");
    let newer = "alice/weather@1.1.0";
    for verb in ["install", "verify", "verify"] {
        assert_eq!(code(user, &["tool", verb, newer]), "E_DIGEST_MISMATCH");
    }
    std::fs::write(&archive, whole).expect("written");
    assert_eq!(verified(newer).status, 0);
    // If the registry is gone, the known result is shown, with a note that it may be outdated.
    std::fs::rename(homes.folder("team"), homes.author.path().join("away")).expect("moved");
    let ran = verified(newer);
    assert!(ran.status == 0 && ran.stderr.contains("could not ask registry 'team' for its latest signatures"), "{ran}");
}

#[test]
fn a_registry_without_its_token_counts_as_unreachable() {
    let homes = Homes::new();
    let user = &homes.user;
    homes.publish(TOOL, "1.0.0");
    user.ok(&["registry", "add", "locked", "http://127.0.0.1:1", "--token", "env:MCPKG_NO_SUCH", "--priority", "-9"]);
    let learned = user.run(&["tool", "learn", TOOL]);
    assert_eq!(learned.status, 0, "{learned}");
    let ran = user.run(&["tool", "learn", "alice/weather@9.9.9"]);
    assert!(ran.status == 1 && ran.stderr.contains("has no version 9.9.9"), "{ran}");
    let why = "Cannot read the token of registry 'locked': Cannot read the secret `env:MCPKG_NO_SUCH`";
    assert!(ran.stderr.contains(&format!("another registry was not checked: {why}")), "{ran}");
    let ran = user.run(&["tool", "install", "nobody/none"]);
    let unknown = format!("None of the reachable registries has a tool 'nobody/none'. {why}");
    assert!(ran.status == 1 && ran.stderr.contains(&unknown) && ran.stderr.contains("store the token there"), "{ran}");
    user.ok(&["tool", "install", TOOL]);
    // A search fails if its only registry cannot be asked.
    assert_eq!(code(user, &["tool", "search", "x", "--registry", "locked"]), "E_SECRET_MISSING");
    let ran = user.run(&["tool", "search", "x", "--registry", "locked"]);
    assert!(ran.status == 1 && ran.stderr.starts_with(&format!("error: {why}")), "{ran}");
    assert_eq!(user.run(&["tool", "search", "weather"]).status, 0);
    assert_eq!(user.run(&["tool", "search", "nosuchword"]).status, 0, "another one answered");
}

#[test]
fn a_tool_with_several_signers_keeps_its_publisher() {
    let homes = Homes::new();
    let user = &homes.user;
    let others = ["bob", "carol", "dave"];
    for name in others {
        trusting(user, &key(&homes.author, name));
    }
    homes.publish(TOOL, "1.0.0");
    user.ok(&["tool", "install", TOOL]);
    // Whatever the order of the fingerprints is, the publisher does not change.
    let folder = homes.package(TOOL, "1.1.0", "");
    for name in others {
        homes.author.ok(&["tool", "sign", &folder, "--key", name]);
    }
    homes.publish(TOOL, "1.1.0");
    assert_eq!(updated(user, &[TOOL])["publisher"]["now"], homes.identity);
    homes.publish(TOOL, "1.2.0");
    assert_eq!(updated(user, &[TOOL])["to"], "1.2.0");
}

#[test]
fn an_update_asks_for_trust_and_a_refused_one_changes_nothing() {
    let homes = Homes::new();
    let user = &homes.user;
    user.ok(&["tool", "trust", "policy", "require_attestation"]);
    homes.publish(TOOL, "1.0.0");
    homes.publish("alice/other", "1.0.0");
    user.ok(&["tool", "install", TOOL]);
    user.ok(&["tool", "install", "alice/other"]);
    homes.publish_as(TOOL, "1.1.0", "x-secret: never shown\n", "", "team");
    homes.publish("alice/other", "1.1.0");
    let dry = updated(user, &[TOOL, "--dry-run"]);
    assert_eq!((&dry["verification"]["status"], &dry["differences"]), (&json!("unverified"), &json!(null)));
    assert_eq!(code(user, &["tool", "update", TOOL]), "E_TRUST_REQUIRED");
    // When several tools are updated, a refused one does not stop the others.
    let ran = user.run(&["--json", "tool", "update", "--all"]);
    assert_eq!(ran.status, 1, "{ran}");
    let data: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let states: Vec<&str> =
        data["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["state"].as_str()).collect();
    assert_eq!(states, ["updated", "failed"], "{data}");
    assert_eq!(user.ok(&["tool", "run", TOOL]).trim(), "Sun 1.0.0");
    assert_eq!(user.ok(&["tool", "run", "alice/other"]).trim(), "Sun 1.1.0");
}

#[test]
fn a_tool_that_was_vetoed_later_is_refused_at_the_next_call() {
    let homes = Homes::new();
    let user = &homes.user;
    homes.publish(TOOL, "1.0.0");
    user.ok(&["tool", "install", TOOL]);
    user.ok(&["tool", "run", TOOL]);
    let folder = homes.package(TOOL, "1.0.0", "");
    homes.author.ok(&["tool", "audit", &folder, "--result", "failed", "--key", "alice"]);
    homes.author.ok(&["tool", "publish", &folder, "--to", "team"]);
    user.ok(&["tool", "run", TOOL]);
    user.ok(&["tool", "outdated"]);
    assert_eq!(code(user, &["tool", "run", TOOL]), "E_TRUST_FAILED");
    assert_eq!(user.json(&["tool", "list"])["tools"][0]["status"], "refused");
    // A version without a veto replaces the refused one.
    homes.publish(TOOL, "1.0.1");
    assert_eq!(updated(user, &[TOOL])["to"], "1.0.1");
    user.ok(&["tool", "run", TOOL]);
}

#[test]
fn x13_an_updated_tool_runs_with_every_registry_gone() {
    let homes = Homes::new();
    let user = &homes.user;
    user.ok(&["tool", "trust", "policy", "require_attestation"]);
    homes.publish(TOOL, "1.0.0");
    user.ok(&["tool", "install", TOOL]);
    homes.publish(TOOL, "1.1.0");
    user.ok(&["tool", "update", TOOL]);
    std::fs::remove_dir_all(homes.folder("team")).expect("the registry goes");
    assert_eq!(user.ok(&["tool", "run", TOOL]).trim(), "Sun 1.1.0");
    let stale = line(user);
    assert_eq!((&stale["state"], &stale["error"]["code"]), (&json!("unknown"), &json!("E_REGISTRY_UNREACHABLE")));
    assert_eq!(user.run(&["tool", "outdated", "--check"]).status, 1);
    // The error names a registry that was removed.
    user.ok(&["registry", "remove", "team"]);
    let ran = user.run(&["tool", "update", TOOL]);
    assert!(ran.status == 1 && ran.stderr.contains("registry 'team', which was removed"), "{ran}");
    let gone = line(user);
    assert!(gone["error"]["message"].as_str().is_some_and(|why| why.contains("'team'")), "{gone}");
    assert_eq!(user.ok(&["tool", "run", TOOL]).trim(), "Sun 1.1.0");
}

#[test]
fn a_yank_and_a_replaced_archive_are_reported() {
    let homes = Homes::new();
    let user = &homes.user;
    homes.publish(TOOL, "1.0.0");
    user.ok(&["tool", "install", TOOL]);
    let yank = ["tool", "yank", "alice/weather@1.0.0", "--registry", "team", "--reason", "wrong units"];
    homes.author.ok(&[&yank[..], &["--replacement", "1.0.1"]].concat());
    let told = line(user);
    assert_eq!((&told["state"], &told["yanked"]["reason"]), (&json!("yanked"), &json!("wrong units")));
    assert_eq!(user.run(&["tool", "outdated", "--check"]).status, 3);
    assert_eq!(user.json(&["tool", "list"])["tools"][0]["yanked"], true);
    assert!(user.ok(&["tool", "list"]).contains("verified, yanked"));
    let current = updated(user, &[TOOL]);
    assert_eq!((&current["state"], &current["yanked"]["replacement"]), (&json!("current"), &json!("1.0.1")));
    homes.publish(TOOL, "1.0.1");
    assert_eq!(updated(user, &[TOOL])["to"], "1.0.1");
    // The installed version's archive is replaced in the registry.
    let record = format!("{}/tools/{TOOL}/1.0.1/package.json", homes.folder("team"));
    let text = std::fs::read_to_string(&record).expect("the record");
    let sha256 = serde_json::from_str::<Value>(&text).expect("JSON")["sha256"].as_str().expect("a digest").to_owned();
    std::fs::write(&record, text.replace(&sha256, &"ab".repeat(32))).expect("written");
    assert_eq!(line(user)["error"]["code"], "E_DIGEST_CHANGED");
    homes.publish(TOOL, "1.0.2");
    assert_eq!(code(user, &["tool", "update", TOOL]), "E_DIGEST_CHANGED");
    assert_eq!(homes.installed(), one("1.0.1"));
    assert_eq!(user.ok(&["tool", "run", TOOL]).trim(), "Sun 1.0.1");
}

#[test]
fn a_running_server_notices_an_update() {
    let homes = Homes::new();
    let user = &homes.user;
    homes.publish_as(TOOL, "1.0.0", SCHEMA, "alice", "team");
    user.ok(&["tool", "install", TOOL]);
    let mut command = user.command();
    command.args(["serve", "--as", "enact"]);
    let mut client = Client::spawn(&mut command).shake_hands("2025-06-18");
    let names = |client: &mut Client| client.result("tools/list", json!({}))["tools"].to_string();
    assert!(!names(&mut client).contains("alice__weather___more"));
    homes.publish_as(TOOL, "1.1.0", NEW_SCHEMA, "alice", "team");
    user.ok(&["tool", "update", TOOL]);
    client.notification("notifications/tools/list_changed");
    assert!(names(&mut client).contains("alice__weather___more"));
    client.finish();
}

#[test]
fn a_folder_is_installed_by_its_path_as_an_archive() {
    let homes = Homes::new();
    let author = &homes.author;
    let folder = homes.package(TOOL, "1.0.0", "");
    assert_eq!(code(author, &["tool", "install", &folder]), "E_CONSENT_REQUIRED", "nobody signed it");
    author.ok(&["tool", "sign", &folder, "--key", "alice"]);
    trusting(author, &homes.identity);
    assert_eq!(author.json(&["tool", "install", &folder])["tool"], TOOL);
    assert_eq!(author.ok(&["tool", "run", TOOL]).trim(), "Sun 1.0.0");
    assert_eq!((line(author)["state"].as_str(), line(author)["registry"].as_str()), (Some("current"), Some("path")));
    assert_eq!(updated(author, &["--all"])["state"], "current");
    // The archive is installed, so later changes of the folder do not affect it.
    author.file(&format!("packages/{TOOL}-1.0.0/more.txt"), "more");
    author.ok(&["tool", "sign", &folder, "--key", "alice"]);
    let ran = author.run(&["--json", "tool", "install", &folder]);
    assert!(ran.stdout.contains("E_TRUST_FAILED") || ran.stdout.contains("E_DIGEST_CHANGED"), "{ran}");
    assert_eq!(author.ok(&["tool", "run", TOOL]).trim(), "Sun 1.0.0");
    author.ok(&["tool", "pack", &homes.package(TOOL, "1.1.0", ""), "-o", "new.tar.gz"]);
    author.ok(&["tool", "sign", "new.tar.gz", "--key", "alice"]);
    author.ok(&["tool", "install", "new.tar.gz"]);
    assert_eq!(author.ok(&["tool", "run", TOOL]).trim(), "Sun 1.1.0");
    assert_eq!(code(author, &["registry", "add", "path", "anywhere"]), "E_INVALID_ARGUMENT");
    // An agent cannot install from a path.
    let mut command = author.command();
    let mut client = Client::spawn(command.args(["serve", "--as", "enact"])).shake_hands("2025-06-18");
    let call = json!({ "name": "enact__install", "arguments": { "tool": folder } });
    let refused = client.result("tools/call", call);
    assert_eq!(refused["structuredContent"]["error"]["code"], "E_INVALID_ARGUMENT", "{refused}");
    client.finish();
}

#[test]
fn updates_come_from_a_remote_registry_and_locked_archives_from_a_folder() {
    let homes = Homes::new();
    let (author, user, web) = (&homes.author, &homes.user, Team::start(&[]));
    let token = web.key(&["ci", "--read-only", "--publish", "alice", "--attest"]);
    for home in [author, user] {
        home.ok(&["registry", "add", "web", &web.url(), "--token", "env:TEAM_TOKEN", "--priority", "-1"]);
    }
    let publish = |version: &str| {
        let folder = homes.package(TOOL, version, "");
        author.ok(&["tool", "sign", &folder, "--key", "alice"]);
        done(author, &token, &["tool", "publish", &folder, "--to", "web"]);
        folder
    };
    publish("1.0.0");
    done(user, &token, &["tool", "install", TOOL]);
    let folder = publish("1.1.0");
    let ran = with_token(user, &token, &["tool", "outdated", "--check"]);
    assert!(ran.status == 3 && ran.stdout.contains("\"1.1.0\""), "{ran}");
    let update = |to: &str| {
        let done = done(user, &token, &["tool", "update", TOOL])["tools"][0].clone();
        assert_eq!((&done["to"], &done["registry"]), (&json!(to), &json!("web")), "{done}");
    };
    update("1.1.0");
    // Once `tool outdated` has fetched a failed audit, the next run is refused.
    author.ok(&["tool", "audit", &folder, "--result", "failed", "--key", "alice"]);
    done(author, &token, &["tool", "publish", &folder, "--to", "web"]);
    user.ok(&["tool", "run", TOOL]);
    done(user, &token, &["tool", "outdated"]);
    assert_eq!(code(user, &["tool", "run", TOOL]), "E_TRUST_FAILED");
    publish("1.2.0");
    update("1.2.0");
    drop(web.server);
    let ran = with_token(user, &token, &["tool", "outdated", "--check"]);
    assert!(ran.status == 1 && ran.stdout.contains("E_REGISTRY_UNREACHABLE"), "{ran}");
    assert_eq!(user.ok(&["tool", "run", TOOL]).trim(), "Sun 1.2.0");
    // The same files make the same archive, wherever they are.
    user.ok(&["tool", "lock", "web.lock"]);
    homes.publish(TOOL, "1.2.0");
    let home = Scratch::new();
    home.ok(&["registry", "add", "stick", &homes.folder("team")]);
    trusting(&home, &homes.identity);
    let lock = user.path().join("web.lock").display().to_string();
    let installed = home.json(&["tool", "install", "--locked", &lock]);
    assert_eq!(installed["tools"][0]["registry"], "stick", "{installed}");
}

#[test]
fn uninstalling_a_version_reports_what_agents_no_longer_see() {
    let homes = Homes::new();
    let user = &homes.user;
    for version in ["1.0.0", "1.1.0"] {
        homes.publish(TOOL, version);
        user.ok(&["tool", "install", &format!("{TOOL}@{version}")]);
    }
    let gone = |version: &str| user.json(&["tool", "uninstall", &format!("{TOOL}@{version}")])["mcp_tools"].clone();
    assert_eq!(gone("1.0.0"), json!([]), "another version has the name");
    assert_eq!(gone("1.1.0"), json!(["alice__weather"]));
    assert_eq!(homes.installed(), []);
    assert_eq!(code(user, &["tool", "uninstall", TOOL]), "E_TOOL_NOT_FOUND");
}
