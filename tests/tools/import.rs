//! Tests `mcpkg tool import`, which imports the tools of a home in Enact's layout that it can read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mcpkg_registry::trust::sigstore::is_checked;
use serde_json::{Value, json};

use super::trusting;
use crate::support::{Scratch, at_a_terminal, skipped};

const KEY: &str = "ed25519:SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

/// Writes a package in Enact's layout.
fn skill(scratch: &Scratch, at: &str, name: &str, version: &str) {
    let front = format!(
        "---\nname: {name}\nversion: {version}\ndescription: Says hello\ncommand: sh hello.sh\n\
         env:\n  GREETING: {{description: What to say}}\n  API_TOKEN: {{description: A token, secret: true}}\n---\n# Hello\n"
    );
    scratch.file(&format!("{at}/{name}/SKILL.md"), front);
    scratch.file(&format!("{at}/{name}/hello.sh"), "echo hello\n");
}

/// Returns a home as an Enact user has it after some time.
fn home() -> Scratch {
    let scratch = Scratch::new();
    let tools = json!({
        "tools": { "alice/hello": "1.0.0", "bob/data/csv": "2.1.0", "carol/gone": "0.3.0", "old": "1.0.0" },
        "aliases": { "hello": "alice/hello", "Bad Name": "alice/hello", "odd": "../etc" },
    });
    scratch.file(".enact/tools.json", format!("{tools:#}"));
    let mcp = json!({
        "tools": { "alice/hello": "1.0.0" },
        "toolsets": { "default": ["alice/hello", "carol/gone"], "data": ["bob/data/csv"] },
        "activeToolset": "default",
    });
    scratch.file(".enact/mcp.json", mcp.to_string());
    let config = format!(
        "version: \"1.0.0\"\ntrust:\n  auditors:\n    - github:alice\n    - {KEY}\n  trusted_auditors: [github:bob]\n  \
         policy: require_audit\n  minimum_attestations: 0\ncache:\n  maxSizeMb: 512\n  ttlSeconds: 604800\n\
         execution:\n  defaultTimeout: 30s\n  verbose: true\nregistry:\n  url: https://api.enact.dev\n  authToken: s3cr3t-tok\n  \
         colour: red\n"
    );
    scratch.file(".enact/config.yaml", config);
    scratch.file(".enact/.env", "# mine\nGREETING=\"hello there\"\nAPI_TOKEN=s3cr3t-env\nPATH=/evil\n");
    skill(&scratch, ".agents/skills", "alice/hello", "1.0.0");
    skill(&scratch, ".agents/skills", "bob/data/csv", "2.2.0");
    skill(&scratch, ".agents/skills", "dave/unused", "1.0.0");
    scratch
}

/// Returns Enact's files with their bytes.
fn files(scratch: &Scratch) -> BTreeMap<String, Vec<u8>> {
    fn walk(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path()) {
            match entry.is_dir() {
                true => walk(&entry, found),
                false => drop(found.insert(entry.display().to_string(), fs::read(&entry).expect("a file"))),
            }
        }
    }
    let mut found = BTreeMap::new();
    for folder in [".enact", ".agents"] {
        walk(&scratch.path().join(folder), &mut found);
    }
    found
}

/// Returns the reason why something was left out.
#[track_caller]
fn why(imported: &Value, what: &str) -> String {
    let left = imported["left_out"].as_array().expect("what was left out");
    let Some(found) = left.iter().find(|left| left["what"] == what) else { panic!("no '{what}' in {left:#?}") };
    found["why"].as_str().expect("a reason").to_owned()
}

#[test]
fn a_home_is_imported_and_everything_is_reported() {
    let scratch = home();
    let before = files(&scratch);
    let would = scratch.json(&["tool", "import", "--dry-run"]);
    assert_eq!((&would["dry_run"], &would["policy"]), (&json!(true), &json!("require_attestation")));
    assert_eq!(scratch.json(&["tool", "list"])["tools"], json!([]), "a dry run writes nothing");
    let imported = scratch.json(&["tool", "import"]);
    let names: Vec<&str> =
        imported["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["alice/hello", "bob/data/csv"]);
    assert_eq!(imported["aliases"], json!({ "hello": "alice/hello" }));
    assert_eq!(imported["toolsets"], json!({ "data": ["bob/data/csv"], "default": ["alice/hello"] }));
    assert_eq!(imported["activeToolset"], "default");
    assert_eq!(imported["variables"], json!(["GREETING"]));
    assert_eq!(imported["registry"], "https://api.enact.dev");
    assert!(imported["trusted"] == json!([]), "nobody is trusted without a terminal: {imported}");

    let as_both = "a person at a terminal";
    let (alice, bob, why_not) = match is_checked() {
        true => ("trusted github:alice as both", "trusted github:bob as auditor", as_both),
        false => ("trusted github:alice", "trusted github:bob", "Sigstore"),
    };
    for (what, reason) in [
        ("tool carol/gone@0.3.0", "its files were not found"),
        ("tool old@1.0.0", "one segment"),
        ("bob/data/csv@2.1.0", "its folder contains version 2.2.0"),
        ("alias Bad Name", "is not a valid alias"),
        ("alias odd", "is not a tool name"),
        ("tool carol/gone in toolset default", "is not installed"),
        (alice, why_not),
        (bob, why_not),
        ("minimum_attestations 0", "from 1 to 100"),
        ("registry.authToken", "plain text"),
        ("'registry.colour'", "mcpkg has no such setting"),
        ("execution.verbose", "-v"),
        ("secret API_TOKEN", "secret-tool lookup service enact-cli account alice:API_TOKEN"),
        ("variable API_TOKEN", "looks like a secret"),
        ("variable PATH", "for every tool"),
    ] {
        assert!(why(&imported, what).contains(reason), "{what}: {}", why(&imported, what));
    }
    assert!(why(&imported, &format!("trusted {KEY} as both")).contains(as_both));

    // The tools are installed, but unverified under the policy from the file.
    let listed = scratch.json(&["tool", "list"]);
    let states: Vec<_> = listed["tools"].as_array().expect("tools").iter().map(|tool| &tool["status"]).collect();
    assert_eq!((states, &listed["activeToolset"]), (vec![&json!("unverified"); 2], &json!("default")));
    let run = scratch.run(&["--json", "tool", "run", "hello"]);
    assert!(run.stdout.contains("E_TRUST_REQUIRED"), "{run}");
    assert_eq!(scratch.ok(&["tool", "config", "execution.timeout"]), "30s\n");
    assert_eq!(scratch.ok(&["tool", "config", "cache.size"]), "512MiB\n");
    assert_eq!(scratch.ok(&["tool", "config", "cache.ttl"]), "604800s\n");
    assert_eq!(scratch.json(&["registry", "show", "enact"])["location"], "https://api.enact.dev");
    // Enact's files are unchanged, and the database contains no secrets.
    assert_eq!(files(&scratch), before);
    let database = scratch.bytes();
    for secret in ["s3cr3t-tok", "s3cr3t-env"] {
        assert!(!database.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
        assert!(!imported.to_string().contains(secret));
    }
}

#[test]
fn a_second_import_adds_only_what_a_person_approves_at_a_terminal() {
    let scratch = home();
    scratch.ok(&["tool", "import"]);
    let again = scratch.json(&["tool", "import"]);
    for key in ["tools", "settings", "variables", "trusted"] {
        assert_eq!(again[key], json!([]), "{key}");
    }
    assert_eq!((&again["aliases"], &again["toolsets"], &again["policy"]), (&json!({}), &json!({}), &Value::Null));
    assert!(why(&again, "tool alice/hello@1.0.0").contains("is already installed"));
    let mut command = scratch.command();
    command.args(["tool", "import"]);
    let Some((shown, done)) = at_a_terminal(&command, "n\n") else { return skipped("there is no script") };
    assert!(
        !done && shown.contains("Approve settings that loosen the current rules: ") && shown.contains(KEY),
        "{shown}"
    );
    assert_eq!(scratch.json(&["tool", "trust", "list"])["trusted"], json!([]));
    let Some((shown, done)) = at_a_terminal(&command, "y\n") else { return };
    assert!(done, "{shown}");
    let trusted = scratch.json(&["tool", "trust", "list"]);
    assert_eq!((&trusted["trusted"][0]["identity"], &trusted["trusted"][0]["counts"]), (&json!(KEY), &json!(true)));
}

#[test]
fn x17_x55_a_malformed_file_ends_the_import_before_anything_is_written() {
    for (file, text, says) in [
        ("tools.json", "{\"tools\": {\"alice/hello\": \"1.0.0\",}}", "line 1 column"),
        ("mcp.json", "{\"toolsets\": [1]}", "invalid type"),
        ("config.yaml", "trust: [", "malformed"),
        ("config.yaml", "trust:\n  policy: alow\n", "is not a policy"),
        (".env", "GREETING=hi\nno line\n", "line 2"),
    ] {
        let scratch = home();
        scratch.file(&format!(".enact/{file}"), text);
        let before = files(&scratch);
        let refused = scratch.run(&["tool", "import"]);
        assert!(refused.status == 2 && refused.stderr.contains(says), "{file}: {refused}");
        assert!(refused.stderr.contains(&format!(".enact/{file}")), "{refused}");
        assert_eq!(scratch.json(&["tool", "list"])["tools"], json!([]), "{file}");
        assert_eq!(scratch.json(&["registry", "list"])["registries"].as_array().map(Vec::len), Some(1), "{file}");
        assert_eq!(files(&scratch), before);
    }
}

#[test]
fn a_hostile_home_reaches_nothing_outside_of_it() {
    let scratch = home();
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("SKILL.md"), "---\nname: eve/out\nversion: 1.0.0\ndescription: x\n---\n")
        .expect("a file");
    let skills = scratch.path().join(".agents/skills");
    fs::create_dir_all(skills.join("eve")).expect("a folder");
    std::os::unix::fs::symlink(outside.path(), skills.join("eve/out")).expect("a link");
    skill(&scratch, ".agents/skills", "eve/links", "1.0.0");
    std::os::unix::fs::symlink("/etc/passwd", skills.join("eve/links/stolen.txt")).expect("a link");
    skill(&scratch, ".agents/skills", "eve/huge", "1.0.0");
    fs::File::create(skills.join("eve/huge/zeros.bin")).expect("a file").set_len(1 << 33).expect("sparse");
    skill(&scratch, ".agents/skills", "eve/another", "1.0.0");
    scratch
        .file(".agents/skills/eve/liar/SKILL.md", fs::read(skills.join("eve/another/SKILL.md")).expect("a manifest"));
    scratch.file(".agents/skills/eve/broken/SKILL.md", "---\nname: [\n---\n");
    let names = [
        "eve/out",
        "eve/links",
        "eve/huge",
        "eve/liar",
        "eve/broken",
        "../../etc",
        "eve/../alice",
        "enact/search",
        "eve/%2e",
    ];
    let tools: serde_json::Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), json!("../1"))).collect();
    scratch.file(".enact/tools.json", json!({ "tools": tools }).to_string());
    scratch.file(".enact/mcp.json", "{}");
    let imported = scratch.json(&["tool", "import"]);
    assert_eq!(imported["tools"], json!([]), "{imported}");
    for (name, reason) in [
        ("eve/out", "is a link to a place outside the skills folder"),
        ("eve/links", "link"),
        ("eve/huge", "MiB"),
        ("eve/liar", "contains 'eve/another'"),
        ("../../etc", "is not a tool name"),
        ("enact/search", "reserved"),
    ] {
        let said = why(&imported, &format!("tool {name}"));
        assert!(said.contains(reason), "{name}: {said}");
    }
    // A link that leads out of the home is not read.
    fs::remove_file(scratch.path().join(".enact/.env")).expect("gone");
    std::os::unix::fs::symlink("/etc/passwd", scratch.path().join(".enact/.env")).expect("a link");
    let refused = scratch.run(&["--json", "tool", "import"]);
    assert!(refused.stdout.contains("E_IO_INVALID_PATH"), "{refused}");
    // A huge file is not read either.
    fs::remove_file(scratch.path().join(".enact/.env")).expect("gone");
    fs::File::create(scratch.path().join(".enact/.env")).expect("a file").set_len(1 << 33).expect("sparse");
    assert_eq!(scratch.run(&["tool", "import"]).status, 1);
}

#[test]
fn a_projects_folder_is_imported_to_the_current_project() {
    let scratch = home();
    scratch.ok(&["project", "create", "p"]);
    scratch.file(
        "work/agents/skills.json",
        json!({ "tools": { "erin/here": "1.0.0" }, "aliases": { "here": "erin/here" } }).to_string(),
    );
    scratch.file("work/.enact/tools.json", json!({ "tools": { "dave/unused": "1.0.0" } }).to_string());
    scratch.file("work/.enact/.env", "GREETING=of the project\n");
    skill(&scratch, "work/agents/skills", "erin/here", "1.0.0");
    let imported = scratch.json(&["tool", "import", "--for-project", "work"]);
    let scopes: BTreeMap<&str, &str> = imported["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| Some((tool["name"].as_str()?, tool["scope"].as_str()?)))
        .collect();
    let expected =
        [("alice/hello", "global"), ("bob/data/csv", "global"), ("dave/unused", "project"), ("erin/here", "project")];
    assert_eq!(scopes, BTreeMap::from(expected));
    assert_eq!(imported["aliases"]["here"], "erin/here");
    assert!(why(&imported, "variable GREETING").contains("a different value"), "the project's comes first");
    let wrong = scratch.run(&["tool", "import", "--for-project", "nowhere"]);
    assert_eq!(wrong.status, 1, "{wrong}");
}

#[test]
fn a_person_can_run_imported_tools_but_vetoed_ones_are_not_imported() {
    let scratch = home();
    scratch.file(".enact/config.yaml", "trust:\n  policy: prompt\n");
    scratch.ok(&["tool", "import"]);
    // No person is at a terminal, so nothing runs.
    let refused = scratch.run(&["--json", "tool", "run", "alice/hello"]);
    assert!(refused.status != 0 && !refused.stdout.contains("hello\\n"), "{refused}");
    scratch.ok(&["tool", "key", "new"]);
    let signed = scratch.json(&["tool", "sign", "alice/hello"]);
    trusting(&scratch, signed["identity"].as_str().expect("an identity"));
    assert_eq!(scratch.json(&["tool", "list"])["tools"][0]["status"], "verified");
    // In a second home, a trusted auditor has vetoed the same archive.
    let other = home();
    other.ok(&["tool", "key", "new"]);
    let failed = other.json(&[
        "tool",
        "audit",
        &other.path().join(".agents/skills/alice/hello").display().to_string(),
        "--result",
        "failed",
    ]);
    trusting(&other, failed["identity"].as_str().expect("an identity"));
    let imported = other.json(&["tool", "import"]);
    assert!(why(&imported, "tool alice/hello@1.0.0").contains("vetoed it"));
}
