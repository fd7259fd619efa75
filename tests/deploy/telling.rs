//! Tests that agentpack's defects D20 to D23, D26 and D36 to D38 are fixed: messages and refusals.

use serde_json::{Value, json};

use crate::deploy::answers::{tool, tool_data, word};
use crate::deploy::place::{Place, UPSTREAM};

#[test]
fn d20_a_failure_has_its_cause_and_its_own_code() {
    let place = Place::with_project();
    place.deploy(&[]);
    let error = place.refused(&["rollback", "--to", "1795294153964472037", "--yes"], "E_SNAPSHOT_NOT_FOUND");
    assert!(word(&error["message"]).contains("1795294153964472037"), "{error:#}");
    assert!(error["details"]["reason_code"].is_string() && error["details"]["next_actions"].is_array(), "{error:#}");

    let place = Place::with_repo(&["codex: project"], &[("skill:s", "no front matter\n")]);
    let repo = place.repo().display().to_string();
    let error = place.refused(&["plan", "--repo", &repo], "E_CONFIG_INVALID");
    assert!(word(&error["message"]).contains("skill:s") && word(&error["message"]).contains("SKILL.md"), "{error:#}");
    assert_eq!(error["details"]["module_id"], "skill:s", "{error:#}");
    let error = place.refused(&["plan", "--repo", &repo, "--profile", "wrok"], "E_NOT_FOUND");
    assert!(word(&error["message"]).contains("wrok"), "{error:#}");
    let error = place.refused(&["plan", "--repo", "/nowhere/at/all"], "E_CONFIG_MISSING");
    assert!(word(&error["message"]).contains("/nowhere/at/all"), "{error:#}");
}

#[test]
fn d21_usage_errors_are_json_with_the_json_flag() {
    let place = Place::new();
    for (arguments, command) in [
        (&["plan", "--no-such-flag"][..], "plan"),
        (&["evolve", "propose", "--overlay", "nowhere"], "evolve.propose"),
        (&["rollback"], "rollback"),
        (&["status", "--only", "gone"], "status"),
    ] {
        let envelope = place.envelope(arguments);
        assert_eq!((&envelope["ok"], &envelope["command"]), (&json!(false), &json!(command)), "{envelope:#}");
        assert_eq!(envelope["errors"][0]["code"], "E_INVALID_ARGUMENT", "{envelope:#}");
        assert!(!word(&envelope["errors"][0]["message"]).is_empty());
        assert_eq!(place.run(&[&["--json"], arguments].concat()).status, 2);
    }
}

#[test]
fn d22_a_failure_names_its_whole_command() {
    let place = Place::new();
    for (arguments, command, id) in [
        (&["evolve", "propose"][..], "evolve.propose", "evolve propose"),
        (&["evolve", "restore"], "evolve.restore", "evolve restore"),
        (&["explain", "status"], "explain.status", "explain status"),
        (&["deploy", "--apply"], "deploy", "deploy --apply"),
        (&["snapshot", "show", "nothing"], "snapshot.show", "snapshot show"),
    ] {
        let envelope = place.envelope(arguments);
        assert_eq!(envelope["ok"], false, "{envelope:#}");
        assert_eq!((&envelope["command"], &envelope["command_id"]), (&json!(command), &json!(id)), "{envelope:#}");
        let path: Vec<&str> = command.split('.').collect();
        assert_eq!(envelope["command_path"], json!(path), "{envelope:#}");
    }
}

#[test]
fn d23_explain_returns_the_kind_that_was_requested() {
    let place = Place::with_project();
    let mut client = place.server(&["--as", "agentpack"]);
    for kind in ["plan", "diff", "status"] {
        let envelope = place.envelope(&["explain", kind]);
        assert_eq!((&envelope["ok"], &envelope["command"]), (&json!(true), &json!(format!("explain.{kind}"))));
        let envelope = tool(&mut client, "explain", json!({ "kind": kind }));
        assert_eq!((&envelope["ok"], &envelope["command"]), (&json!(true), &json!(format!("explain.{kind}"))));
    }
    client.finish();
}

#[test]
fn d26_a_corrupt_lockfile_is_an_error() {
    let place = Place::with_repo(&["codex: project"], &[("instructions:a", "A\n")]);
    let repo = place.repo().display().to_string();
    for (text, code) in [
        ("{", "E_LOCKFILE_INVALID"),
        ("", "E_LOCKFILE_INVALID"),
        (r#"{"version":1,"modules":[{"id":7}]}"#, "E_LOCKFILE_INVALID"),
        (r#"{"version":9,"generated_at":"2026-01-01T00:00:00Z","modules":[]}"#, "E_LOCKFILE_UNSUPPORTED_VERSION"),
    ] {
        place.write("repo/agentpack.lock.json", text);
        for command in ["plan", "status", "deploy"] {
            let error = place.refused(&[command, "--repo", &repo], code);
            assert!(word(&error["message"]).contains("agentpack.lock.json"), "{error:#}");
        }
    }
    // Files that differ from the pinned files were not reviewed, so they are refused.
    let place = Place::with_git_source(&["codex: project"]);
    let upstream = place.scratch.path().join("upstream");
    let commit = place.git(&upstream, &["rev-parse", "HEAD"]);
    let lock = json!({
        "version": 1,
        "generated_at": "2026-01-01T00:00:00Z",
        "modules": [{
            "id": "instructions:z",
            "type": "instructions",
            "resolved_source": {
                "local_path": null,
                "git": { "url": UPSTREAM, "commit": commit.trim(), "subdir": "" },
            },
            "resolved_version": commit.trim(),
            "sha256": "0".repeat(64),
            "file_manifest": [],
        }],
    });
    place.write("repo/agentpack.lock.json", lock.to_string());
    let repo = place.repo().display().to_string();
    let error = place.refused(&["plan", "--repo", &repo], "E_LOCKFILE_INVALID");
    assert_eq!(error["details"]["module_id"], "instructions:z", "{error:#}");
}

#[test]
fn d36_unknown_keys_are_warnings_with_position_and_suggestion_and_the_rest_works() {
    let place = Place::with_repo(&["codex: project"], &[("instructions:a", "A\n")]);
    let manifest = place.read("repo/agentpack.yaml");
    let manifest = manifest.replace("version: 1\n", "version: 1\nowner: us\n");
    place.write("repo/agentpack.yaml", manifest.replace("scope: project}", "scope: project, optoins: {}}"));
    let repo = place.repo().display().to_string();
    for command in [&["plan"][..], &["diff"], &["preview"], &["status"], &["doctor"], &["deploy", "--apply", "--yes"]] {
        let words = [command, &["--repo", &repo]].concat();
        let envelope = place.envelope(&words);
        assert_eq!(envelope["ok"], true, "{envelope:#}");
        let warnings = envelope["warnings"].as_array().expect("warnings").iter().map(word).collect::<Vec<_>>();
        let owner = "/agentpack.yaml:2:1`: unknown key `owner` is ignored; the known keys are version, profiles, targets, modules";
        let options = "/agentpack.yaml:6:27`: unknown key `optoins` is ignored; did you mean `options`?";
        for expected in [owner, options] {
            assert!(
                warnings.iter().any(|warning| warning.ends_with(expected)),
                "{command:?} {expected}: {warnings:#?}"
            );
        }
        let ran = place.run(&words);
        assert!(ran.stderr.contains("unknown key `owner`") && ran.stderr.contains("did you mean `options`?"), "{ran}");
    }
    let mut client = place.server(&[]);
    for name in ["plan", "deploy", "status"] {
        let envelope = tool(&mut client, name, place.arguments(json!({})));
        assert!(envelope["warnings"].to_string().contains("did you mean `options`?"), "{envelope:#}");
    }
    client.finish();
    // If a required key is misspelt, the error suggests the right key.
    for (text, key, meant) in [
        ("version: 1\nprofiels: {default: {}}\n", "profiels", "profiles"),
        (
            "version: 1\nprofiles: {default: {}}\nmodules: [{id: a, type: skill, source: {local: {path: a}, gitt: {}}}]\n",
            "gitt",
            "git",
        ),
    ] {
        place.write("repo/agentpack.yaml", text);
        let error = place.refused(&["plan", "--repo", &repo], "E_CONFIG_INVALID");
        let said = error.to_string();
        assert!(said.contains(key) && said.contains("did you mean") && said.contains(meant), "{error:#}");
    }
    // A known key with a value of the wrong type is an error.
    for text in ["version: 1\nprofiles: {default: {include_tags: base}}\n", "version: 1\nprofiles: [default]\n"] {
        place.write("repo/agentpack.yaml", text);
        let error = place.refused(&["plan", "--repo", &repo], "E_CONFIG_INVALID");
        assert!(error.to_string().contains("line"), "{error:#}");
    }
}

#[test]
fn d37_conflict_markers_are_not_deployed() {
    let place = Place::with_repo(&["codex: project"], &[("instructions:a", "A\n")]);
    let marked = "Top\n<<<<<<< ours\nA\n=======\nB\n>>>>>>> theirs\n";
    place.write("repo/overlays/instructions_a--1b59cb31ea/AGENTS.md", marked);
    let before = place.tree();
    let repo = place.repo().display().to_string();
    for arguments in [&["plan", "--repo", &repo][..], &["deploy", "--apply", "--yes", "--repo", &repo]] {
        let envelope = place.envelope(arguments);
        assert_eq!(envelope["ok"], false, "{envelope:#}");
        assert!(word(&envelope["errors"][0]["message"]).contains("AGENTS.md"), "{envelope:#}");
    }
    assert_eq!(place.tree(), before);
}

#[test]
fn d38_check_reports_drift_by_the_exit_status() {
    let place = Place::with_project();
    let status = |arguments: &[&str]| place.run(arguments).status;
    for command in ["plan", "diff", "preview", "deploy", "status"] {
        assert_eq!(status(&[command, "--check"]), 3, "{command}: nothing is deployed yet");
        assert_eq!(status(&[command]), 0, "{command}");
    }
    place.deploy(&[]);
    for command in ["plan", "diff", "preview", "deploy", "status"] {
        assert_eq!(status(&[command, "--check"]), 0, "{command}");
    }
    place.write("root/.claude/commands/stray.md", "x\n");
    assert_eq!(status(&["status", "--check"]), 0, "a file of the user's own is not a drift");
    for asked in [&["--extras"][..], &["--only", "extra"]] {
        assert_eq!(status(&[&["status", "--check"], asked].concat()), 3, "unless asked: {asked:?}");
    }
    assert_eq!(status(&["plan", "--check"]), 0, "and no change");
    assert_eq!(status(&["status", "--check", "--only", "modified,missing"]), 0);
    let envelope = place.envelope(&["status", "--check"]);
    assert_eq!((&envelope["ok"], &envelope["data"]["summary"]["extra"]), (&json!(true), &json!(1)));
    std::fs::remove_file(place.root().join(".claude/commands/review.md")).expect("a file");
    assert_eq!(status(&["status", "--check"]), 3, "what is missing is one");
    let mut client = place.server(&[]);
    let data: Value = tool_data(&mut client, "status", json!({ "only": ["extra"] }));
    assert_eq!(data["summary_total"], json!({ "modified": 0, "missing": 1, "extra": 1 }), "{data:#}");
    client.finish();
}
