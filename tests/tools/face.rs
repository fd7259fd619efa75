//! Tests a server's registry with a second mcpkg process that publishes to it and installs from it.

use std::io::{BufReader, Write};

use serde_json::{Value, json};

use super::team::{Team, body, done, fails, form, refused, request};
use super::trust::folder;
use super::trusting;
use crate::support::http::read_response;
use crate::support::{Request, Scratch, eventually};

const TOOL: &str = "alice/utils/weather";
const VERSION: &str = "/tools/alice/utils/weather/versions/1.0.0";

/// Returns a team, alice's key for its registry, her home, and the identity of her signing key.
fn alice() -> (Team, String, Scratch, String) {
    let team = Team::start(&[]);
    let key = team.key(&["alice-ci", "--read-only", "--publish", "alice", "--attest"]);
    let home = team.home();
    let made = home.json(&["tool", "key", "new"]);
    (team, key, home, made["identity"].as_str().expect("an identity").to_owned())
}

/// Signs and publishes version 1.0.0.
fn published(home: &Scratch, key: &str) -> Value {
    folder(home, TOOL, "Sun");
    done(home, key, &["tool", "sign", "./packages/alice/utils/weather"]);
    done(home, key, &["tool", "publish", "packages/alice/utils/weather", "--to", "team"])
}

#[test]
fn a_second_mcpkg_publishes_finds_and_installs() {
    let (team, key, home, identity) = alice();
    let search = ["tool", "search", "weather", "--registry", "team"];
    assert_eq!(done(&home, &key, &search)["total"], 0);
    let made = published(&home, &key);
    assert_eq!(done(&home, &key, &search)["total"], 1, "what was kept of the registry is forgotten");
    assert_eq!((&made["published"], &made["attestations"]), (&json!(true), &json!(1)), "{made}");
    let again = done(&home, &key, &["tool", "publish", "packages/alice/utils/weather", "--to", "team"]);
    assert_eq!(again["published"], false);
    folder(&home, TOOL, "Rain");
    let publish = ["tool", "publish", "packages/alice/utils/weather", "--to", "team"];
    assert_eq!(fails(&home, &key, &publish), "E_ALREADY_EXISTS");
    let events = team.scratch.json(&["events"]);
    assert!(events.to_string().contains("key:alice-ci:registry"), "{events}");

    // Another user has a key that can only read.
    let user = team.home();
    let reader = team.key(&["reader", "--read-only"]);
    let found = done(&user, &reader, &["tool", "search", "weather", "--registry", "team"]);
    assert_eq!((&found["results"][0]["name"], &found["total"]), (&json!(TOOL), &json!(1)), "{found}");
    assert_eq!(fails(&user, "mcpkg_wrong", &["tool", "info", TOOL, "--registry", "team"]), "E_REGISTRY_REFUSED");
    assert_eq!(fails(&user, &reader, &["tool", "install", TOOL]), "E_CONSENT_REQUIRED");
    trusting(&user, &identity);
    let installed = done(&user, &reader, &["tool", "install", TOOL]);
    assert_eq!((&installed["sha256"], &installed["verification"]["status"]), (&made["sha256"], &json!("verified")));
    let stored = eventually("downloads are counted", || {
        let tool = body(&team.ask("GET", "/tools/alice/utils/weather", Some(&reader)));
        // The refused archive was downloaded too.
        (tool["total_downloads"] == 2).then_some(tool)
    });
    assert_eq!(stored["versions"][0]["downloads"], 2);
    // The tool stays installed after its registry is gone.
    drop(team.server);
    assert_eq!(user.json(&["tool", "list"])["tools"][0]["name"], TOOL);
}

#[test]
fn a_later_signature_is_sent_to_the_registry() {
    let (team, key, home, _) = alice();
    published(&home, &key);
    home.ok(&["tool", "key", "new", "work"]);
    let sign = ["tool", "sign", "./packages/alice/utils/weather", "--key", "work", "--to", "team"];
    let signed = done(&home, &key, &sign);
    assert_eq!((&signed["added"], &signed["registry"]), (&json!(true), &json!("team")), "{signed}");
    let list = || body(&team.ask("GET", &format!("{VERSION}/attestations"), Some(&key)));
    assert_eq!((&list()["total"], &list()["attestations"][1]["auditor"]), (&json!(2), &signed["identity"]));
    let again = done(&home, &key, &sign);
    assert_eq!(
        (&again["added"], &again["bundle"]),
        (&json!(false), &signed["bundle"]),
        "the same again is not a failure"
    );
    assert_eq!(list()["total"], 2);
    // The registry has a different archive, so the signature is not sent.
    folder(&home, TOOL, "Rain");
    assert_eq!(fails(&home, &key, &sign), "E_DIGEST_MISMATCH");
    assert_eq!(list()["total"], 2);
    // A registry in a folder accepts later signatures too.
    home.ok(&["registry", "add", "folder", "team-tools", "--create"]);
    home.ok(&["tool", "publish", "packages/alice/utils/weather", "--to", "folder"]);
    home.ok(&["tool", "sign", "./packages/alice/utils/weather", "--key", "default", "--to", "folder"]);
    let kept = home.path().join("team-tools/tools/alice/utils/weather/1.0.0/attestations");
    assert_eq!(std::fs::read_dir(kept).expect("a folder").count(), 2);
}

#[test]
fn a_yank_applies_to_later_requests_and_is_remembered() {
    let (team, key, home, identity) = alice();
    published(&home, &key);
    let reference = format!("{TOOL}@1.0.0");
    let yank = ["tool", "yank", &reference, "--registry", "team", "--reason", "wrong units", "--replacement", "1.0.1"];
    done(&home, &key, &yank);
    let gone = team.ask("GET", &format!("{VERSION}/download"), Some(&key));
    assert_eq!(refused(&gone), (410, "VERSION_YANKED".to_owned()));
    let details = json!({ "yank_reason": "wrong units", "replacement_version": "1.0.1" });
    assert_eq!(body(&gone)["error"]["details"], details);
    let taken = team.ask("GET", &format!("{VERSION}/download?acknowledge_yanked=true"), Some(&key));
    assert_eq!(taken.status, 200);

    let user = team.home();
    trusting(&user, &identity);
    assert_eq!(fails(&user, &key, &["tool", "install", &reference]), "E_VERSION_YANKED");
    assert_eq!(fails(&user, &key, &["tool", "install", TOOL]), "E_VERSION_NOT_FOUND");
    done(&user, &key, &["tool", "install", &reference, "--allow-yanked"]);
    done(&home, &key, &["tool", "unyank", &reference, "--registry", "team"]);
    assert_eq!(team.ask("GET", &format!("{VERSION}/download"), Some(&key)).status, 200);
    // The user's database remembers the yank, even though it was withdrawn.
    user.ok(&["tool", "uninstall", TOOL]);
    assert_eq!(fails(&user, &key, &["tool", "install", &reference]), "E_VERSION_YANKED");
}

#[test]
fn audits_are_shared_and_failed_ones_cannot_be_revoked() {
    let (team, key, home, publisher) = alice();
    published(&home, &key);
    let (auditor, auditors) = (team.home(), team.key(&["carol", "--read-only", "--attest"]));
    let carol = auditor.json(&["tool", "key", "new"])["identity"].as_str().expect("an identity").to_owned();
    let archive = team.ask("GET", &format!("{VERSION}/download"), Some(&auditors));
    auditor.file("bundle.tar.gz", &archive.body);
    let audit = |key: &str, result: &str| {
        done(&auditor, key, &["tool", "audit", "./bundle.tar.gz", "--result", result, "--to", "team"])
    };
    // A key without permission to attest cannot post an audit. The signature stays in the auditor's database.
    let reader = team.key(&["reader", "--read-only"]);
    let words = ["tool", "audit", "./bundle.tar.gz", "--result", "passed", "--to", "team"];
    assert_eq!(fails(&auditor, &reader, &words), "E_REGISTRY_REFUSED");
    assert_eq!(audit(&auditors, "passed")["registry"], "team");
    let listed = || body(&team.ask("GET", &format!("{VERSION}/attestations"), Some(&reader)));
    let list = listed();
    assert_eq!((&list["total"], &list["attestations"][1]["auditor"]), (&json!(2), &json!(carol)), "{list}");
    assert_eq!(
        (&list["attestations"][1]["part"], &list["attestations"][1]["result"]),
        (&json!("auditor"), &json!("passed"))
    );
    let search = body(&team.ask("GET", "/tools/search?q=weather", Some(&reader)));
    assert_eq!(search["tools"][0]["trust_status"]["auditor_count"], 1);

    // Only the key that posted an attestation can revoke it.
    let escaped = carol.replace(':', "%3A").replace('/', "%2F").replace('+', "%2B");
    let revoke = format!("{VERSION}/attestations?auditor={escaped}");
    assert_eq!(refused(&team.ask("DELETE", &revoke, Some(&reader))), (403, "FORBIDDEN".to_owned()));
    assert_eq!(refused(&team.ask("DELETE", &revoke, Some(&key))), (403, "FORBIDDEN".to_owned()));
    assert_eq!(team.ask("DELETE", &revoke, Some(&auditors)).status, 200);
    assert_eq!(listed()["total"], 1);
    assert_eq!(team.ask("DELETE", &revoke, Some(&auditors)).status, 404);

    // A failed audit is a veto for users who trust the auditor, and cannot be revoked.
    audit(&auditors, "failed");
    assert_eq!(refused(&team.ask("DELETE", &revoke, Some(&auditors))), (403, "FORBIDDEN".to_owned()));
    let user = team.home();
    trusting(&user, &publisher);
    trusting(&user, &carol);
    assert_eq!(fails(&user, &reader, &["tool", "install", TOOL]), "E_TRUST_FAILED");
    // The veto holds even after the registry lost the attestation.
    let sha256 = archive_of(&team);
    team.scratch
        .store()
        .write(|db| {
            for row in mcpkg_store::tools::attestations::of(db, &sha256)? {
                mcpkg_store::tools::attestations::remove(db, &sha256, &row.sha256)?;
            }
            Ok(())
        })
        .expect("removed");
    assert_eq!(listed()["total"], 0);
    assert_eq!(fails(&user, &reader, &["tool", "install", TOOL]), "E_TRUST_FAILED");
}

fn archive_of(team: &Team) -> [u8; 32] {
    let row = team.scratch.store().read(|db| mcpkg_store::tools::packages::get(db, "local", TOOL, "1.0.0"));
    row.expect("an answer").expect("a package").release.sha256
}

#[test]
fn x14_a_posted_attestation_does_not_verify_a_tool() {
    let (team, key, home, _) = alice();
    published(&home, &key);
    // A stranger signs another tool, and somebody posts that signature for Alice's tool.
    let stranger = Scratch::new();
    folder(&stranger, "mallory/other", "Evil");
    stranger.ok(&["tool", "key", "new"]);
    let signed = stranger.json(&["tool", "sign", "./packages/mallory/other"]);
    let bundle: Value = serde_json::from_str(signed["bundle"].as_str().expect("a bundle")).expect("JSON");
    let attestations = format!("{VERSION}/attestations");
    let posted = team.tell("POST", &attestations, Some(&key), &json!({ "bundle": bundle }));
    assert_eq!(posted.status, 201, "{}", posted.text());
    assert_eq!(body(&posted)["part"], Value::Null, "it is about something else");
    let user = team.home();
    trusting(&user, signed["identity"].as_str().expect("an identity"));
    assert_eq!(fails(&user, &key, &["tool", "install", TOOL]), "E_CONSENT_REQUIRED");
    let said = done(&user, &key, &["tool", "search", "weather", "--registry", "team"]);
    assert_eq!(said["results"][0]["trust"], "unverified");
    // The registry refuses unreadable bundles, duplicates, and too many from one key.
    for odd in [json!({ "bundle": { "a": 1 } }), json!({ "bundle": "x" })] {
        assert_eq!(refused(&team.tell("POST", &attestations, Some(&key), &odd)).0, 422, "{odd}");
    }
    for odd in [json!({}), json!({ "bundle": 7 }), json!([])] {
        assert_eq!(refused(&team.tell("POST", &attestations, Some(&key), &odd)).0, 400, "{odd}");
    }
    assert_eq!(team.tell("POST", &attestations, Some(&key), &json!({ "bundle": bundle })).status, 200);
    for n in 0..18 {
        let mut other = bundle.clone();
        other["signatures"][0]["keyid"] = json!(format!("{n}"));
        assert_eq!(team.tell("POST", &attestations, Some(&key), &json!({ "bundle": other })).status, 201, "{n}");
    }
    let full = team.tell("POST", &attestations, Some(&key), &json!({ "bundle": { "payloadType": "x" } }));
    assert_eq!(full.status, 422);
    let mut other = bundle.clone();
    other["signatures"][0]["keyid"] = json!("more");
    let full = team.tell("POST", &attestations, Some(&key), &json!({ "bundle": other }));
    assert_eq!(refused(&full), (409, "CONFLICT".to_owned()));
}

#[test]
fn x63_an_auditors_attestation_has_a_url() {
    let (team, key, home, identity) = alice();
    published(&home, &key);
    let at = |who: &str| {
        let escaped = who.replace(':', "%3A").replace('/', "%2F").replace('+', "%2B");
        team.ask("GET", &format!("{VERSION}/trust/attestations/{escaped}"), Some(&key))
    };
    let bundle = body(&at(&identity));
    assert_eq!(bundle["payloadType"], "application/vnd.in-toto+json", "{bundle}");
    assert_eq!(refused(&at("ed25519:SHA256:nobody")), (404, "NOT_FOUND".to_owned()));
    let page = body(&team.ask("GET", &format!("{VERSION}/attestations?limit=1&offset=1"), Some(&key)));
    assert_eq!((&page["attestations"], &page["total"], &page["offset"]), (&json!([]), &json!(1), &json!(1)));
}

#[test]
fn x59_total_counts_all_matches_and_tags_filter_before_the_limit() {
    let team = Team::start(&[]);
    let key = team.key(&["ci", "--publish", "alice"]);
    for (n, tag) in ["red", "blue", "red", "red"].into_iter().enumerate() {
        let manifest = format!(
            "name: alice/tool-{n}\nversion: 1.0.0\ndescription: Paints things\ntags: [{tag}]\nlicense: MIT\ncommand: echo {n}\n"
        );
        let file = team.scratch.file(&format!("tool-{n}/enact.yaml"), manifest);
        let published = team.publish(file.parent().expect("a folder"), "public", Some(&key));
        assert_eq!(published.status, 201, "{}", published.text());
    }
    let search = |query: &str| body(&team.ask("GET", &format!("/tools/search?{query}"), Some(&key)));
    let names = |found: &Value| {
        let tools = found["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect::<Vec<String>>()
    };
    let red = search("q=paints&tags=red&limit=2");
    assert_eq!((names(&red), &red["total"]), (vec!["alice/tool-0".to_owned(), "alice/tool-2".to_owned()], &json!(3)));
    let rest = search("q=paints&tags=red&limit=2&offset=2");
    assert_eq!((names(&rest), &rest["total"]), (vec!["alice/tool-3".to_owned()], &json!(3)));
    assert_eq!(search("q=nothing")["total"], 0);
    assert_eq!(search("q=%22paints")["total"], 4, "any text is a query");
    assert_eq!(search("")["total"], 4);
    assert_eq!((&search("q=paints")["limit"], &search("q=paints&limit=500")["limit"]), (&json!(20), &json!(100)));
    for bad in ["limit=x", "offset=-1", "offset=99999", "q=%ff"] {
        let answer = team.ask("GET", &format!("/tools/search?{bad}"), Some(&key));
        assert_eq!(refused(&answer), (400, "BAD_REQUEST".to_owned()), "{bad}");
    }
}

#[test]
fn a_version_cannot_be_overwritten_or_deleted_and_must_match_its_archive() {
    let team = Team::start(&[]);
    let key = team.key(&["ci", "--publish", "alice"]);
    let sun = folder(&team.scratch, TOOL, "Sun");
    let first = team.publish(&sun, "public", Some(&key));
    assert_eq!((first.status, &body(&first)["already_published"]), (201, &json!(false)));
    let again = team.publish(&sun, "public", Some(&key));
    assert_eq!((again.status, &body(&again)["already_published"]), (200, &json!(true)));
    assert_eq!(body(&first)["bundle_hash"], body(&again)["bundle_hash"]);
    folder(&team.scratch, TOOL, "Rain");
    assert_eq!(refused(&team.publish(&sun, "public", Some(&key))), (409, "CONFLICT".to_owned()));
    for (method, path) in [("DELETE", VERSION), ("PUT", VERSION), ("DELETE", "/tools/alice/utils/weather")] {
        let answer = team.ask(method, path, Some(&key));
        assert_eq!((refused(&answer).0, answer.header("allow")), (405, Some("GET")), "{method} {path}");
    }
    // Publish with another name, with a different manifest next to the archive, or without a valid archive.
    let opened = mcpkg_registry::package::archive::pack(&sun).expect("an archive").opened;
    let to = |path: &str| request("POST", path, Some(&key));
    let elsewhere = team.server.send(&form(
        to("/tools/alice/other/versions"),
        &opened.content.bytes().expect("its bytes"),
        "public",
    ));
    assert_eq!(refused(&elsewhere), (422, "VALIDATION_ERROR".to_owned()));
    let versions = "/tools/alice/utils/weather/versions";
    let no_archive = team.server.send(&form(to(versions), b"no archive", "public"));
    assert_eq!(refused(&no_archive), (422, "VALIDATION_ERROR".to_owned()));
    let odd = team.server.send(&form(to(versions), &opened.content.bytes().expect("its bytes"), "everybody"));
    assert_eq!(refused(&odd), (422, "VALIDATION_ERROR".to_owned()));
    let in_json = |manifest: Value| {
        use base64::Engine as _;
        let bundle = base64::engine::general_purpose::STANDARD.encode(opened.content.bytes().expect("its bytes"));
        team.tell("POST", versions, Some(&key), &json!({ "manifest": manifest, "bundle": bundle }))
    };
    let other = in_json(json!({ "name": TOOL, "version": "2.0.0" }));
    assert_eq!(refused(&other), (422, "VALIDATION_ERROR".to_owned()));
    assert_eq!(refused(&in_json(json!({ "name": TOOL, "version": "1.0.0" }))), (409, "CONFLICT".to_owned()));
    let too_large =
        to(versions).with("Content-Type", "multipart/form-data; boundary=b").with("Content-Length", "99999999");
    let mut stream = team.server.connect();
    stream.write_all(&too_large.bytes()).expect("sent");
    stream.shutdown(std::net::Shutdown::Write).expect("no more comes");
    let answer = read_response(&mut BufReader::new(stream)).expect("an answer");
    assert_eq!(refused(&answer), (413, "BUNDLE_TOO_LARGE".to_owned()));
    let trail = team.scratch.json(&["events"]).to_string();
    assert!(trail.contains("E_ALREADY_EXISTS"), "what was refused leaves a trace: {trail}");
}

#[test]
fn without_the_flag_there_is_no_registry() {
    let scratch = Scratch::new();
    let server = crate::support::Http::start(&scratch, &[]);
    assert_eq!(server.send(&Request::new("GET", "/registry/tools/search")).status, 404);
    let alone = scratch.run(&["serve", "--registry"]);
    assert!(alone.status == 2 && alone.stderr.contains("--registry needs --http"), "{alone}");
}
