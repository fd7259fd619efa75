//! Tests that secrets in the output of builds are in no answer to an agent, in no stored data and in no log.

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::secrets::{PLAIN, shapes};
use crate::support::{at_a_terminal, skipped};
use crate::workspace::builds::{Builds, build, refused};

#[track_caller]
fn search(place: &str, text: &str, searched: &[(&'static str, &'static str)]) {
    for (name, secret) in searched {
        assert!(!text.contains(secret), "{name} is in {place}: {text}");
    }
}

/// Searches each file below a folder.
fn search_files(folder: &Path, searched: &[(&'static str, &'static str)]) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            search_files(&path, searched);
        } else if let Ok(bytes) = fs::read(&path) {
            search(&path.display().to_string(), &String::from_utf8_lossy(&bytes), searched);
        }
    }
}

#[test]
fn no_shape_of_a_secret_comes_out_of_a_build() {
    // The folder with the texts that the builds print is outside the folder that is searched.
    let shapes = shapes();
    let secrets: Vec<_> = shapes.iter().map(|(name, _, secret)| (*name, *secret)).collect();
    let outside = tempfile::tempdir().expect("a folder");
    let text: String = shapes.iter().map(|(name, printed, _)| format!("{name}:\n{printed}\n")).collect();
    let (all, slow) = (outside.path().join("all.txt"), outside.path().join("slow.txt"));
    fs::write(&all, &text).expect("a file");
    let by_line = shapes.iter().find(|(name, ..)| *name == "a private key, line by line").expect("a key");
    fs::write(&slow, &by_line.1).expect("a file");
    let print = |more: &str| {
        let slowly = "while IFS= read -r line; do echo $line; sleep 0.02; done";
        format!("build_cmd = \"sh -c 'cat {}; {slowly} < {}; echo the-end; {more}'\"", all.display(), slow.display())
    };
    let shop =
        Builds::new(&[("good", &print("true")), ("bad", &format!("{}\ndepends_on = [\"good\"]", print("exit 3")))]);
    let log = shop.scratch.path().join("server.log");
    let mut command = shop.command();
    command.arg("serve").env("MCPKG_LOG", "debug").stderr(File::create(&log).expect("a log"));
    let mut client = crate::support::Client::spawn(&mut command).shake_hands("2025-11-25");
    refused(&mut client, json!({ "repo": "good" }), "E_CONSENT_REQUIRED");
    if !shop.consent() {
        return;
    }
    let passed = build(&mut client, json!({ "repo": "good" })).to_string();
    search("the answer of smctl_build", &passed, &secrets);
    assert!(passed.contains("the-end") && passed.contains("AWS, secret"), "what is not secret is there: {passed}");
    refused(&mut client, json!({ "repo": "bad" }), "E_CONSENT_REQUIRED");
    shop.consent();
    let failed = refused(&mut client, json!({ "repo": "bad" }), "E_BUILD_FAILED").to_string();
    search("the error of smctl_build", &failed, &secrets);
    assert!(failed.contains("the-end"), "{failed}");
    client.finish();
    for repo in ["good", "bad"] {
        for line in [vec!["builds", "show", "--repo", repo], vec!["--json", "builds", "show", "--repo", repo]] {
            let ran = shop.run(&line);
            search(&format!("{line:?}"), &format!("{}{}", ran.stdout, ran.stderr), &secrets);
        }
    }
    let ran = shop.run(&["-vv", "build"]);
    search("a build at the shell, with its log", &format!("{}{}", ran.stdout, ran.stderr), &secrets);
    // The search includes the server's log, which must exist.
    assert!(log.exists());
    search_files(shop.scratch.path(), &secrets);
}

#[test]
fn the_live_output_of_a_build_is_not_changed() {
    let shop = Builds::new(&[("lib", "build_cmd = \"sh -c 'echo password: seen-live; sleep 1'\"")]);
    let mut command = shop.command();
    command.arg("build").env("TERM", "xterm");
    let Some((shown, ok)) = at_a_terminal(&command, "") else { return skipped("there is no script") };
    assert!(ok && shown.contains("password: seen-live"), "{shown}");
    let (_, kept): (_, Value) = shop.json(&["builds", "show", "--repo", "lib"]);
    assert_eq!(kept["results"][0]["output"], "password: ***\n", "{kept}");
}

#[test]
fn a_secret_that_is_printed_in_pieces_is_removed_completely() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDabcdefghijklm";
    let pieces = [
        "one -----BEGIN PRIV",
        "ATE KEY-----\\n",
        line,
        "\\nqvYw",
        "==\\n-----END PRIVATE",
        " KEY-----\\npass",
        "word: swor",
        "dfish1\\n",
        "token:\\n",
        "  ghp_0123456789",
        "abcdefghijABCDEFGHIJ012345\\nthe",
        "-end\\n",
    ];
    let outside = tempfile::tempdir().expect("a folder");
    let script = outside.path().join("print.sh");
    let text: String = pieces.iter().map(|piece| format!("printf '%b' '{piece}'\nsleep 0.05\n")).collect();
    fs::write(&script, text).expect("a script");
    let shop = Builds::new(&[("lib", &format!("build_cmd = \"sh {}\"", script.display()))]);
    shop.run(&["build"]);
    let (_, kept): (_, Value) = shop.json(&["builds", "show", "--repo", "lib"]);
    assert_eq!(kept["results"][0]["output"], "one ***\npassword: ***\ntoken:\n  ***\nthe-end\n", "{kept}");
}

#[test]
fn text_that_only_looks_like_a_secret_is_kept() {
    let outside = tempfile::tempdir().expect("a folder");
    let all = outside.path().join("all.txt");
    let plain: Vec<&str> = PLAIN.iter().copied().filter(|text| !text.contains('\u{1b}')).collect();
    fs::write(&all, plain.join("\n")).expect("a file");
    let shop = Builds::new(&[("lib", &format!("build_cmd = \"cat {}\"", all.display()))]);
    shop.run(&["build"]);
    let (_, kept): (_, Value) = shop.json(&["builds", "show", "--repo", "lib"]);
    assert_eq!(kept["results"][0]["output"], plain.join("\n"), "{kept}");
}
