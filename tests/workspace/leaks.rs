//! Secrets in what builds print: in nothing that an agent is answered, that is kept, or that is logged.

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{at_a_terminal, skipped};
use crate::workspace::builds::{Builds, build, refused};

const KEY_LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDabcdefghijklm";

/// What programs print of secrets, each with the part that nobody may see again.
fn shapes() -> Vec<(&'static str, String, &'static str)> {
    let key = |kind: &str| {
        format!("-----BEGIN {kind}PRIVATE KEY-----\n{KEY_LINE}\n{KEY_LINE}\nqvYw==\n-----END {kind}PRIVATE KEY-----")
    };
    let plain = [
        ("GitHub, classic", "token ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789"),
        ("GitHub, OAuth", "gho_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F"),
        ("GitHub, fine-grained", "x=github_pat_11ABCDEFG0abcdefghijkl_MNOPqrstuvwxyz0123456789", "11ABCDEFG0"),
        ("AWS, id", "AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
        ("AWS, secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
        ("JSON Web Token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N", "dozjgNryP4J3"),
        ("a password in YAML", "  password: swordfish1", "swordfish1"),
        ("a variable", "DB_PASSWORD=correct-horse", "correct-horse"),
        ("JSON", "{\"api_key\": \"battery-staple\", \"n\": 1}", "battery-staple"),
        ("a query", "GET /x?token=tok-in-query&b=1", "tok-in-query"),
        ("OpenAI", "sk-proj-abcdefghijklmnop0123456789", "abcdefghijklmnop0123"),
        ("Slack", "xoxb-123456789012-slackslack", "slackslack"),
        ("Slack, person", "xoxp-123456789012-personperson", "personperson"),
        ("Google", "AIzaSyA-1234567890abcdefghijklmnopqrstuv", "SyA-1234567890"),
        ("GitLab", "glpat-gitlabGITLAB0123", "gitlabGITLAB"),
        ("npm", "npm_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz"),
        ("a header", "> Authorization: Bearer opaque-credential", "opaque-credential"),
        ("HTTP Basic", "Authorization: Basic YWRhOmh1bnRlcjI=", "YWRhOmh1bnRl"),
        ("an address", "fetch https://ada:in-the-url@example.org/x", "in-the-url"),
        ("an option", "+ deploy --password in-an-option --now", "in-an-option"),
        ("XML", "<password>in-an-element</password>", "in-an-element"),
        ("colours", "\u{1b}[1mpassword\u{1b}[0m: \u{1b}[32min-colour\u{1b}[0m", "in-colour"),
    ];
    let plain = plain.map(|(name, printed, secret)| (name, printed.to_owned(), secret));
    let keys = [
        ("a private key", key("RSA "), "KcwggSjAgEAA"),
        ("a private key, line by line", key(""), "qvYw"),
        ("a private key in a setting", format!("KEY=\"{}\"", key("EC ").replace('\n', "\\n")), "KcwggSjAgEAA"),
        ("a private key behind names", key("OPENSSH ").replace('\n', "\napi-1  | "), "KcwggSjAgEAA"),
    ];
    plain.into_iter().chain(keys).collect()
}

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
    // The repository with what is printed lies outside of what is searched.
    let shapes = shapes();
    let secrets: Vec<_> = shapes.iter().map(|(name, _, secret)| (*name, *secret)).collect();
    let outside = tempfile::tempdir().expect("a folder");
    let text: String = shapes.iter().map(|(name, printed, _)| format!("{name}:\n{printed}\n")).collect();
    let (all, slow) = (outside.path().join("all.txt"), outside.path().join("slow.txt"));
    fs::write(&all, &text).expect("a file");
    fs::write(&slow, &shapes[shapes.len() - 3].1).expect("a file");
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
    // The server's log among them.
    assert!(log.exists());
    search_files(shop.scratch.path(), &secrets);
}

#[test]
fn whoever_watches_a_build_sees_it_as_it_is() {
    let shop = Builds::new(&[("lib", "build_cmd = \"sh -c 'echo password: seen-live; sleep 1'\"")]);
    let mut command = shop.command();
    command.arg("build").env("TERM", "xterm");
    let Some((shown, ok)) = at_a_terminal(&command, "") else { return skipped("there is no script") };
    assert!(ok && shown.contains("password: seen-live"), "{shown}");
    let (_, kept): (_, Value) = shop.json(&["builds", "show", "--repo", "lib"]);
    assert_eq!(kept["results"][0]["output"], "password: ***\n", "{kept}");
}
