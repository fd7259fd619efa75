//! Tests `mcpkg tool init`, `tool validate` and `tool pack` with the real binary.

use insta::assert_snapshot;

use crate::support::Scratch;

#[test]
fn files_with_misleading_names_are_not_packed() {
    let scratch = Scratch::new();
    scratch.ok(&["tool", "init", "alice/greet"]);
    for (name, rule) in [
        ("exe.\u{202e}gnp.sh", "hidden"),
        ("a\u{2067}b", "hidden"),
        ("a\u{61c}b", "hidden"),
        ("a\u{200b}b", "hidden"),
        ("a\u{e0001}b", "hidden"),
        ("a\u{1b}[31mb", "control"),
        ("a\u{9b}b", "control"),
    ] {
        let path = scratch.file(&format!("greet/{name}"), "x");
        let ran = scratch.run(&["--json", "tool", "pack", "greet"]);
        let refused: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let error = &refused["error"];
        assert_eq!((&error["code"], &error["details"]["rule"]), (&"E_ARCHIVE_INVALID".into(), &rule.into()), "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(!message.contains(name) && message.contains("\\u{"), "it is shown with marks: {message}");
        std::fs::remove_file(path).expect("it goes");
    }
    // Zero-width joiners are valid in words of some scripts and in emoji.
    scratch.file("greet/می\u{200c}خواهم.txt", "x");
    scratch.file("greet/👩\u{200d}💻.txt", "x");
    scratch.ok(&["tool", "pack", "greet"]);
}

#[test]
fn a_new_tool_is_valid_and_packs_the_same_each_time() {
    let scratch = Scratch::new();
    assert_snapshot!(scratch.run(&["tool", "init", "alice/utils/hello"]), @r##"
    status: 0
    --- stdout
    Created the tool alice/utils/hello in `hello` with 3 files
    --- stderr
    hint: after your changes, check the tool with `mcpkg tool validate hello`
    "##);
    assert_snapshot!(scratch.run(&["tool", "validate", "hello"]), @r##"
    status: 0
    --- stdout
    alice/utils/hello@0.1.0 is valid: 1 action in `skill.package.yaml`
    --- stderr
    "##);
    let data = scratch.json(&["tool", "pack", "hello"]);
    assert_eq!((&data["name"], &data["version"]), (&"alice/utils/hello".into(), &"0.1.0".into()));
    assert_eq!(data["files"], serde_json::json!(["SKILL.md", "hello.sh", "skill.package.yaml"]));
    let file = scratch.path().join("alice-utils-hello-0.1.0.tar.gz");
    let first = std::fs::read(&file).expect("an archive");
    // Generated and hidden files do not change the archive. Packing the same archive again succeeds.
    scratch.file("hello/.env", "SECRET=1\n");
    scratch.file("hello/node_modules/x/index.js", "x\n");
    assert_snapshot!(scratch.run(&["tool", "pack", "hello", "-o", "alice-utils-hello-0.1.0.tar.gz"]), @r##"
    status: 0
    --- stdout
    Packed alice/utils/hello@0.1.0 into `alice-utils-hello-0.1.0.tar.gz`: 3 files, 773 bytes
    --- stderr
    hint: 2 files or folders left out; `-v` lists them
    "##);
    assert_eq!(std::fs::read(&file).expect("an archive"), first);
    scratch.file("hello/hello.sh", "#!/bin/sh\nexit 1\n");
    assert_snapshot!(scratch.run(&["tool", "pack", "hello", "-o", "alice-utils-hello-0.1.0.tar.gz"]), @r##"
    status: 1
    --- stdout
    --- stderr
    error: `alice-utils-hello-0.1.0.tar.gz` already exists, with different contents
    hint: remove this file, or choose another one with `-o`
    "##);
    assert_eq!(std::fs::read(&file).expect("an archive"), first, "it is never overwritten");
    assert_snapshot!(scratch.run(&["tool", "pack", "hello", "-o", "hello/x.tar.gz"]), @r##"
    status: 2
    --- stdout
    --- stderr
    error: `hello/x.tar.gz` is inside the package, so the next archive would include it
    hint: write the archive elsewhere, or into a folder that packing leaves out
    "##);
}

#[test]
fn existing_files_are_never_overwritten() {
    let scratch = Scratch::new();
    scratch.file("hello/hello.sh", "mine\n");
    assert_snapshot!(scratch.run(&["tool", "init", "alice/hello"]), @r##"
    status: 1
    --- stdout
    --- stderr
    error: `hello/hello.sh` already exists; nothing was written
    hint: choose another folder
    "##);
    assert_eq!(std::fs::read_to_string(scratch.path().join("hello/hello.sh")).expect("a file"), "mine\n");
    assert!(!scratch.path().join("hello/SKILL.md").exists());
    scratch.file("other/enact.yml", "");
    assert_eq!(scratch.run(&["tool", "init", "alice/other", "--kind", "document"]).status, 1);
    assert_snapshot!(scratch.run(&["tool", "init", "Alice/Other"]), @r##"
    status: 2
    --- stdout
    --- stderr
    error: 'Alice/Other' is not a tool name: it cannot contain 'A'
    hint: a name has 2 to 8 segments of a-z, 0-9, - and _, such as alice/utils/weather
    "##);
}

#[test]
fn a_document_is_a_tool_too() {
    let scratch = Scratch::new();
    scratch.ok(&["tool", "init", "alice/guides/review", "guide", "--kind", "document"]);
    assert_snapshot!(scratch.run(&["tool", "validate", "guide"]), @r##"
    status: 0
    --- stdout
    alice/guides/review@0.1.0 is valid: a document in `SKILL.md`
    --- stderr
    "##);
}

#[test]
fn every_error_of_a_manifest_is_reported_with_its_position() {
    let scratch = Scratch::new();
    scratch.file(
        "bad/enact.yaml",
        "name: Alice/bad\ndescription: Bad\ntimeout: 5 parsecs\nscripts:\n  run: cat '{{file}}\n  go:\n    comand: ls\n",
    );
    assert_snapshot!(scratch.run(&["tool", "validate", "bad"]), @r##"
    status: 1
    --- stdout
    --- stderr
    error: The manifest has 4 errors:
      enact.yaml:1:7: `name`: 'Alice/bad' is not a tool name: it cannot contain 'A'
      enact.yaml:3:10: `timeout`: ' parsecs' is not a unit of time; use ns, us, ms, s, m or h
      enact.yaml:5:8: `scripts.run`: a quote is not closed
      enact.yaml:7:5: `scripts.go.command`: a script needs a `command`
    hint: enact.yaml:7:5: `scripts.go.comand`: unknown field; did you mean `command`?
    "##);
    let data = scratch.run(&["--json", "tool", "validate", "bad"]);
    let printed: serde_json::Value = serde_json::from_str(&data.stdout).expect("JSON");
    let errors = printed["error"]["details"]["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 4, "{printed}");
    assert_eq!(
        errors[1],
        serde_json::json!({
            "path": "/timeout",
            "message": "' parsecs' is not a unit of time; use ns, us, ms, s, m or h",
            "code": "value",
            "file": "enact.yaml",
            "line": 3,
            "column": 10,
        })
    );
    scratch
        .file("lax/enact.yaml", "name: lax\ndescription: Lax\ndescripton: x\nscripts: { a: \"ls -l {{x}} | wc\" }\n");
    assert_snapshot!(scratch.run(&["tool", "validate", "lax"]), @r##"
    status: 0
    --- stdout
    lax is valid: 1 action in `enact.yaml`
    --- stderr
    warning: enact.yaml:3:1: `descripton`: unknown field; did you mean `description`?
    warning: enact.yaml:1:1: `version`: `version` is missing; you need it to pack and publish
    warning: enact.yaml:4:15: `scripts.a`: `|` is passed as an argument here, since no shell runs this command; use `command` for shell syntax
    warning: 3 times: enact.yaml:1:1: `outputSchema`: `outputSchema` is missing; the same for `timeout`, `license`; `-v` lists them
    "##);
    assert_snapshot!(scratch.run(&["tool", "pack", "lax"]), @r##"
    status: 1
    --- stdout
    --- stderr
    error: 'lax' has only one segment: you can run the tool by its path, but it cannot be packed
    hint: put the publisher in front of the name, as in alice/weather
    "##);
    assert_snapshot!(scratch.run(&["tool", "validate", "nowhere"]), @r##"
    status: 1
    --- stdout
    --- stderr
    error: Cannot read `nowhere`: No such file or directory (os error 2)
    hint: pass the folder of a package; for an installed tool, pass its name (see `mcpkg tool list`)
    "##);
    assert!(!scratch.db().exists(), "none of it makes a database");
}

#[test]
#[cfg(unix)]
fn x64_a_link_is_not_packed() {
    let scratch = Scratch::new();
    scratch.ok(&["tool", "init", "alice/hello"]);
    std::os::unix::fs::symlink("/etc/passwd", scratch.path().join("hello/passwd")).expect("a link");
    assert_snapshot!(scratch.run(&["tool", "pack", "hello"]), @r##"
    status: 1
    --- stdout
    --- stderr
    error: Invalid archive: `passwd` is a link
    hint: replace this entry with a file, or list it in .gitignore
    "##);
}
