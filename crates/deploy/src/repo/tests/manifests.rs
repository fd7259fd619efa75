//! Tests what `agentpack.yaml` may contain, and the errors for everything else.

use serde_json::{Value, json};

use super::*;
use crate::repo::config::ModuleSource;

fn parse(text: &str) -> Result<Manifest> {
    Manifest::parse(Path::new("agentpack.yaml"), text, false)
}

fn refused(text: &str) -> (Code, String, Value) {
    let error = parse(text).unwrap_err();
    let hints = error.hints().join("; ");
    (error.code(), format!("{} | {hints}", error.message()), error.details().cloned().unwrap_or_default())
}

const HEAD: &str = "version: 1\nprofiles:\n  default:\n    include_tags: [base]\n";

#[test]
fn reads_what_agentpack_reads() {
    let manifest = parse(&format!(
        "{HEAD}targets:\n  codex:\n    mode: files\n    scope: both\n    options: {{write_repo_skills: 'no', x: 1, \
         y: maybe, codex_home: /c}}\n  cursor: {{scope: project}}\nmodules:\n  - id: instructions:a\n    type: \
         instructions\n    tags: [base]\n    targets: [codex]\n    source: {{local_path: {{path: ./modules/x/../a}}}}\n    \
         metadata: {{owner: [me]}}\n  - id: skill:b\n    type: skill\n    enabled: false\n    source:\n      git: \
         {{url: https://h/o/r.git, subdir: a/b/}}\n"
    ))
    .unwrap();
    let codex = &manifest.targets[&target("codex")];
    assert_eq!(codex.scope, Scope::Both);
    assert_eq!(
        Value::from(codex.options.clone()),
        json!({ "write_repo_skills": "no", "x": 1, "y": "maybe", "codex_home": "/c" })
    );
    let a = &manifest.modules["instructions:a"];
    assert!(a.enabled && matches!(&a.source, ModuleSource::Local(path) if path == Path::new("modules/a")));
    assert_eq!(a.targets, [target("codex")]);
    let b = &manifest.modules["skill:b"];
    let ModuleSource::Git(git) = &b.source else { panic!("git") };
    assert_eq!((git.reference.as_str(), git.subdir.as_str(), git.shallow, b.enabled), ("main", "a/b", true, false));
}

#[test]
fn d36_unknown_keys_are_warnings_with_position_and_suggestion() {
    let text = format!(
        "{HEAD}    exclude: []\nprofils: {{}}\ntargets: {{codex: {{scope: user, mod: files}}}}\nmodules:\n  - id: a\n    type: \
         skill\n    tag: [x]\n    metadata: {{any: 1}}\n    source: {{local_path: {{path: a, pat: b}}, local: {{x: [1]}}}}\n  \
         - id: b\n    type: skill\n    source: {{git: {{url: u, reff: main, depth: 1}}}}\n"
    );
    assert_eq!(
        parse(&text).unwrap().warnings,
        [
            "`agentpack.yaml:6:1`: unknown key `profils` is ignored; did you mean `profiles`?",
            "`agentpack.yaml:5:5`: unknown key `exclude` is ignored; did you mean `exclude_modules`?",
            "`agentpack.yaml:7:32`: unknown key `mod` is ignored; did you mean `mode`?",
            "`agentpack.yaml:11:5`: unknown key `tag` is ignored; did you mean `tags`?",
            "`agentpack.yaml:13:45`: unknown key `local` is ignored; did you mean `local_path`?",
            "`agentpack.yaml:13:36`: unknown key `pat` is ignored; did you mean `path`?",
            "`agentpack.yaml:16:28`: unknown key `reff` is ignored; did you mean `ref`?",
            "`agentpack.yaml:16:40`: unknown key `depth` is ignored; the known keys are url, ref, subdir, shallow",
        ]
    );
    // If a required key is only misspelt, the error suggests the right one.
    let (code, message, _) = refused("version: 1\nprofils:\n  default: {}\n");
    assert_eq!(code, Code::ConfigInvalid);
    assert!(message.contains("no profile `default`") && message.contains("did you mean `profiles`?"), "{message}");
    // An unknown value is an error, because there is no safe default.
    let (_, message, details) = refused(&format!("{HEAD}modules:\n  - id: a\n    type: skil\n"));
    assert!(message.contains("unknown value `skil`") && message.contains("did you mean `skill`"), "{message}");
    assert_eq!((&details["line"], &details["did_you_mean"]), (&json!(7), &json!("skill")));
    let (_, message, details) = refused(&format!("{HEAD}modules:\n  - id: a\n    type: skill\n    tags: x\n"));
    assert!(details["line"] == 8, "{message} {details}");
}

#[test]
fn d10_ids_stay_in_their_folder() {
    for id in ["skill:../../../evil", "'skill:'", "''", "skill:a/b", "skill:a\\b", "'..'", "skill:.", "\"skill:a\\0\""]
    {
        let source = "source: {local_path: {path: a}}";
        let (code, message, details) =
            refused(&format!("{HEAD}modules:\n  - id: {id}\n    type: skill\n    {source}\n"));
        assert_eq!(code, Code::ConfigInvalid, "{id}");
        assert!(message.contains("must not be empty or contain") && details["module_id"].is_string(), "{message}");
    }
}

#[test]
fn errors_say_what_is_wrong_in_a_manifest() {
    let module = |rest: &str| format!("{HEAD}modules:\n  - id: a\n    type: skill\n    {rest}\n");
    let twice = "source: {local_path: {path: a}}\n  - id: a\n    type: skill\n    source: {local_path: {path: a}}";
    for (text, code, says) in [
        ("version: 2\nnews: 1\n".to_owned(), Code::ConfigVersion, "version 2 is not supported"),
        ("profiles: {}\n".to_owned(), Code::ConfigInvalid, "version"),
        ("version: 1\n".to_owned(), Code::ConfigInvalid, "no profile `default`"),
        ("version: [\n".to_owned(), Code::ConfigInvalid, "agentpack.yaml:"),
        (format!("{HEAD}targets: {{cursor: {{scope: user}}}}"), Code::ConfigInvalid, "project or both"),
        (
            format!("{HEAD}targets: {{zed: {{scope: project}}}}"),
            Code::TargetUnsupported,
            "does not support the target `zed`",
        ),
        (format!("{HEAD}targets: {{codx: {{scope: user}}}}"), Code::TargetUnsupported, "did you mean `codex`"),
        (format!("{HEAD}targets: {{codex: {{mode: link, scope: user}}}}"), Code::ConfigInvalid, "`link`"),
        (format!("{HEAD}targets: {{codex: {{}}}}"), Code::ConfigInvalid, "scope"),
        (module("targets: [vim]\n    source: {local_path: {path: a}}"), Code::TargetUnsupported, "`vim`"),
        (module("source: {}"), Code::ConfigInvalid, "has no source"),
        (module("source: {local_path: {path: a}, git: {url: b}}"), Code::ConfigInvalid, "has two sources"),
        (module("source: {local_path: {path: a/../../b}}"), Code::ConfigInvalid, "is outside the repo"),
        (module("source: {git: {url: --upload-pack=x}}"), Code::ConfigInvalid, "the url"),
        (module("source: {git: {url: u, ref: -x}}"), Code::ConfigInvalid, "the ref"),
        (module("source: {git: {url: u, subdir: /etc}}"), Code::ConfigInvalid, "is outside its repository"),
        (module(twice), Code::ConfigInvalid, "used twice"),
    ] {
        let (found, message, _) = refused(&text);
        assert_eq!(found, code, "{text}: {message}");
        assert!(message.contains(says), "{message}");
    }
}
