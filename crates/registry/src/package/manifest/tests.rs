use proptest::prelude::*;
use serde_json::json;

use std::time::Duration;

use super::*;
use crate::package::mcp_name;

/// Reads a manifest from these files.
fn of(files: &[(&str, &str)]) -> Checked {
    let found = |name: &str| files.iter().find(|(file, _)| *file == name).map(|(_, text)| text.as_bytes().to_vec());
    read(&mut |name| Ok(found(name))).unwrap()
}

fn good(files: &[(&str, &str)]) -> Manifest {
    of(files).manifest().unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the errors of a manifest in YAML, as lines.
fn errors(yaml: &str) -> Vec<String> {
    of(&[("enact.yaml", yaml)]).errors.iter().map(Problem::shown).collect()
}

fn warnings(yaml: &str) -> Vec<String> {
    of(&[("enact.yaml", yaml)]).warnings.iter().map(Problem::shown).collect()
}

const BARE: &str = "name: a/b\ndescription: x\n";

#[test]
fn the_first_file_that_exists_is_the_manifest() {
    let yaml = |name: &str| format!("name: a/{name}\ndescription: x\n");
    let markdown = |name: &str| format!("---\nname: a/{name}\ndescription: x\n---\nBody of {name}\n");
    let mut files: Vec<(&str, String)> = Vec::new();
    for (at, file) in FILES.into_iter().enumerate().rev() {
        let name = format!("m{at}");
        files.push((file, if file.ends_with(".md") { markdown(&name) } else { yaml(&name) }));
        let present: Vec<(&str, &str)> = files.iter().map(|(file, text)| (*file, text.as_str())).collect();
        let checked = of(&present);
        // Next to SKILL.md, a manifest in YAML is the main file.
        let leads = if file == "SKILL.md" { FILES[1] } else { file };
        assert_eq!(checked.file, leads);
        let doc = checked.manifest().unwrap().doc;
        assert_eq!(doc.is_some(), file.ends_with(".md"), "{file}");
    }
    let none = read(&mut |_| Ok(None)).unwrap_err();
    assert_eq!((none.code(), none.message()), (Code::ManifestInvalid, "There is no manifest"));
}

#[test]
fn x19_fields_from_skill_md_are_filled_in_before_the_check() {
    let skill = "---\nname: other\ndescription: From the skill\nlicense: MIT\nversion: 9.9.9\n---\n\n# Doc\n";
    let manifest = good(&[("SKILL.md", skill), ("skill.yml", "name: a/b\nversion: 1.0.0\ncommand: echo hi\n")]);
    assert_eq!(manifest.description, "From the skill");
    assert_eq!(manifest.license.as_deref(), Some("MIT"));
    assert_eq!(manifest.doc.as_deref(), Some("# Doc"));
    assert_eq!(manifest.reference(), "a/b@1.0.0");
    let manifest = good(&[("SKILL.md", skill), ("enact.yaml", "name: a/b\ndescription: Own\n")]);
    assert_eq!((manifest.description.as_str(), manifest.version), ("Own", None));
    // Without front matter, SKILL.md is only documentation.
    let manifest = good(&[("SKILL.md", "# Doc"), ("enact.yaml", BARE)]);
    assert_eq!(manifest.doc.as_deref(), Some("# Doc"));
}

#[test]
fn x20_the_body_of_a_single_markdown_file_is_its_documentation() {
    let manifest = good(&[("SKILL.md", "---\r\nname: pdf\r\ndescription: Reads PDFs\r\n---\r\n\r\n# How\r\n")]);
    assert_eq!(manifest.doc.as_deref(), Some("# How"));
    assert!(manifest.is_document() && manifest.action(None).unwrap().is_none());
    assert_eq!(manifest.json["doc"], "# How");
}

#[test]
fn every_field_is_read() {
    let manifest = good(&[(
        "enact.yaml",
        r#"
enact: "2.0.0"
name: "@alice/utils/weather"
version: 1.2.3-rc.1
description: |
  Tells the weather.
  Twice.
from: python:3.12-slim
timeout: 1h30m
license: MIT
tags: [weather, api]
env:
  KEY: { description: The key, secret: true, required: true }
  LEVEL: { default: 3 }
  FREE:
hooks: { build: [make, make test], postinstall: echo done }
resources: { memory: 512Mi, disk: 1GB, gpu: 1 }
inputSchema: { properties: { city: { type: string } }, required: [city] }
outputSchema: { type: object }
annotations: { readOnlyHint: true }
scripts:
  now: "python now.py {{city}}"
  raw: [python, raw.py, [--units, "{{city}}"]]
  full:
    command: python full.py
    title: Full
    description: All of it
    timeout: 5s
    inputSchema: { type: object, properties: {} }
    outputSchema: { type: array }
    annotations: { destructiveHint: true }
x-own: 1
authors: [{ name: Alice }]
"#,
    )]);
    assert_eq!(manifest.name.as_str(), "@alice/utils/weather");
    assert_eq!(manifest.description, "Tells the weather.\nTwice.");
    assert_eq!(manifest.from, Base::Image("python:3.12-slim".to_owned()));
    assert_eq!(manifest.tags, ["weather", "api"]);
    assert_eq!((manifest.build.len(), manifest.postinstall.as_slice()), (2, &["echo done".to_owned()][..]));
    assert_eq!(
        manifest.resources,
        Resources { memory: Some(512 << 20), disk: Some(1_000_000_000), gpu: Some("1".to_owned()) }
    );
    let [key, level, free] = manifest.env.as_slice() else { panic!("{:?}", manifest.env) };
    assert!(key.secret && key.required && key.default.is_none());
    assert_eq!((level.default.as_deref(), free.name.as_str()), (Some("3"), "FREE"));
    let [now, raw, full] = manifest.actions.as_slice() else { panic!("{:?}", manifest.actions) };
    // A script inherits the fields that only the tool sets.
    assert_eq!(now.timeout, Some(Duration::from_secs(5400)));
    assert_eq!(now.input_schema.as_ref().unwrap()["type"], "object");
    assert_eq!(raw.annotations.as_ref().unwrap()["readOnlyHint"], true);
    // A field that the script sets replaces the tool's.
    assert_eq!((full.title.as_deref(), full.timeout), (Some("Full"), Some(Duration::from_secs(5))));
    assert_eq!(full.output_schema, Some(json!({ "type": "array" })));
    assert_eq!(full.annotations.as_ref().unwrap().get("readOnlyHint"), None);
    assert_eq!(now.command.parameters(), ["city"]);
    let names: Vec<_> = manifest.projected().iter().map(|(action, _)| mcp_name(&manifest.name, *action)).collect();
    assert!(names[0].starts_with("alice__utils__weather___now_"), "{names:?}");
    // A manifest is unchanged after it is written as JSON and read back.
    let again = Manifest::from_json(&Value::Object(manifest.json.clone())).unwrap();
    assert_eq!(again, manifest);
}

#[test]
fn a_command_is_the_action_main() {
    let manifest = good(&[("enact.yaml", &format!("{BARE}command: echo ${{x}}\nscripts: {{ more: ls }}\n"))]);
    assert_eq!(manifest.action(None).unwrap().unwrap().name, "main");
    assert_eq!(manifest.action(Some("more")).unwrap().unwrap().name, "more");
    assert_eq!(manifest.projected().iter().map(|(name, _)| *name).collect::<Vec<_>>(), [None, Some("more")]);
    let unknown = manifest.action(Some("moer")).unwrap_err();
    assert_eq!(unknown.hints(), ["did you mean 'more'?"]);
    let only = good(&[("enact.yaml", &format!("{BARE}scripts: {{ run: ls }}\n"))]);
    assert_eq!(only.action(None).unwrap().unwrap().name, "run");
    assert_eq!(only.projected()[0].0, None);
    let several = good(&[("enact.yaml", &format!("{BARE}scripts: {{ a: ls, b: ls }}\n"))]);
    assert_eq!(
        several.action(None).unwrap_err().hints(),
        ["append an action to the name, as in `:a`; the actions are a, b"]
    );
}

#[test]
fn all_errors_are_reported_with_their_positions() {
    let found =
        errors("name: A/b\ndescription: ''\nversion: 1.0\ntimeout: 5 min\nscripts:\n  x y: ls\n  z:\n    title: Z\n");
    let places: Vec<&str> = found.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(
        places,
        ["enact.yaml:1:7", "enact.yaml:2:14", "enact.yaml:3:10", "enact.yaml:4:10", "enact.yaml:6:3", "enact.yaml:8:5"],
        "{found:#?}"
    );
    assert!(found[5].contains("`scripts.z.command`"), "{}", found[5]);
    // Line numbers in front matter count from the start of the file.
    let markdown = of(&[("SKILL.md", "---\nname: pdf\ndescription: [a]\n---\n")]);
    assert_eq!((markdown.errors[0].line, markdown.errors[0].path.as_str()), (3, "/description"));
    let error = of(&[("enact.yaml", "name: 1\n")]).manifest().unwrap_err();
    assert_eq!(error.code(), Code::ManifestInvalid);
    assert_eq!(error.details().unwrap()["errors"][0]["code"], "type");
    assert_eq!(error.details().unwrap()["errors"][1]["path"], "/description");
}

#[test]
fn a_broken_rule_is_an_error() {
    for (yaml, says) in [
        ("", "empty"),
        ("- a\n", "not a mapping"),
        ("a: [\n", "enact.yaml:"),
        ("name: a/b\nname: c/d\n", "duplicate"),
        ("description: x\n", "`name` is missing"),
        ("name: a/b\n", "`description` is missing"),
        ("name: enact/x\ndescription: x\n", "reserved"),
        ("name: a/b/c/d/e/f/g/h/i\ndescription: x\n", "9 segments"),
        (&format!("name: a/b\ndescription: {}\n", "x".repeat(1025)), "1025 characters"),
        ("name: a/b\ndescription: \"a\\e[31mb\"\n", "control character"),
        (&format!("{BARE}version: v1\n"), "not a valid version"),
        (&format!("{BARE}version: 1.0.0/..\n"), "not a valid version"),
        (&format!("{BARE}timeout: 5\n"), "no unit"),
        (&format!("{BARE}env: [A]\n"), "mapping"),
        (&format!("{BARE}env: {{ A-B: }}\n"), "variable's name"),
        (&format!("{BARE}env: {{ A: {{ secret: yes }} }}\n"), "true or false"),
        (&format!("{BARE}resources: {{ memory: lots }}\n"), "number"),
        (&format!("{BARE}tags: [1]\n"), "string"),
        (&format!("{BARE}inputSchema: {{ type: string }}\n"), "must be `object`"),
        (
            &format!("{BARE}inputSchema: {{ properties: {{ a: {{ type: strin }} }} }}\n"),
            "`inputSchema.properties.a.type`: \"strin\" is not a type",
        ),
        (&format!("{BARE}outputSchema: {{ $ref: 'https://example.com/x' }}\n"), "points to nothing"),
        (&format!("{BARE}annotations: {{ readOnlyHint: 1 }}\n"), "true or false"),
        (&format!("{BARE}command: [a]\n"), "string"),
        (&format!("{BARE}command: echo $(( ${{x}} ))\n"), "as an expression"),
        (&format!("{BARE}command: ls\nscripts: {{ main: ls }}\n"), "already"),
        (&format!("{BARE}scripts: [ls]\n"), "mapping"),
        (&format!("{BARE}scripts: {{ a: 5 }}\n"), "command line"),
        (&format!("{BARE}scripts: {{ a: [] }}\n"), "does not name a program"),
        (&format!("{BARE}scripts: {{ a: 'ls {{{{x' }}\n"), "no `}}`"),
        (
            &format!("{BARE}inputSchema: {{ properties: {{ city: {{}} }} }}\nscripts: {{ a: 'w {{{{cty}}}}' }}\n"),
            "did you mean 'city'?",
        ),
        (&format!("{BARE}build: a\nhooks: {{ build: b }}\n"), "remove one of them"),
    ] {
        let found = errors(yaml);
        assert!(found.iter().any(|line| line.contains(says)), "{yaml}: {found:?}");
    }
    for (markdown, says) in [
        ("# Text", "no front matter"),
        ("---\n---\nText", "no front matter"),
        ("---\nname: a\n", "is not closed"),
        ("---\n- a\n---\n", "not a mapping"),
    ] {
        let found = of(&[("enact.md", markdown)]).errors;
        assert!(found[0].message.contains(says) && found[0].line > 0, "{markdown}: {found:?}");
    }
}

#[test]
fn no_manifest_declares_a_variable_that_every_run_has() {
    for name in ["HOME", "LANG", "PATH", "PWD", "TMPDIR", "USER"] {
        let found = errors(&format!("{BARE}env: {{ {name}: }}\n"));
        assert!(found.iter().any(|line| line.contains("already sets this variable")), "{name}: {found:?}");
    }
    assert!(errors(&format!("{BARE}env: {{ USERNAME: }}\n")).is_empty());
}

#[test]
fn a_possible_improvement_is_a_warning() {
    let found = warnings(&format!(
        "{BARE}descripton: y\nx-own: 1\nzzz: 1\nenv:\n  A: {{ secret: true, default: a }}\n  B: {{ required: true, default: b \
            }}\nresources: {{ gpu: 1 }}\ninputSchema: {{ properties: {{ u: {{}} }} }}\nscripts: {{ a: 'w -u {{{{u}}}} | wc' }}\n"
    ));
    for says in [
        "enact.yaml:3:1: `descripton`: unknown field; did you mean `description`?",
        "enact.yaml:5:1: `zzz`: unknown field",
        "`version` is missing",
        "`license` is missing",
        "`outputSchema` is missing",
        "`timeout` is missing",
        "`env.A`: everybody can read a secret's default value in the manifest",
        "`env.B`: a required variable with a default",
        "`resources.gpu`",
        "`-u` is passed even if",
        "`|` is passed as an argument",
    ] {
        assert!(found.iter().any(|line| line.contains(says)), "{says}: {found:#?}");
    }
    assert!(!found.iter().any(|line| line.contains("x-own")));
    let whole = "name: a/b\ndescription: x\nversion: 1.0.0\nlicense: MIT\n";
    assert!(warnings(whole).is_empty(), "a document needs no timeout: {:?}", warnings(whole));
}

#[test]
fn an_unused_parameter_is_reported() {
    let yaml = format!(
        "{BARE}inputSchema: {{ properties: {{ city: {{}}, days: {{}} }} }}\nscripts: {{ a: 'w ${{city}} {{{{city}}}}' }}\n"
    );
    let found = warnings(&yaml);
    let told = |says: &str| found.iter().any(|line| line.contains(says));
    assert!(
        told("`${city}` is passed unchanged here, since no shell runs this command; write `{{city}}`"),
        "{found:#?}"
    );
    assert!(told("no command uses the argument 'days'") && !told("no command uses the argument 'city'"), "{found:#?}");
}

#[test]
fn schema_errors_have_a_line_and_do_not_hide_warnings() {
    let yaml =
        format!("{BARE}descripton: y\ninputSchema:\n  properties:\n    a:\n      type: strin\nscripts: {{ a: w }}\n");
    let found = errors(&yaml);
    let told =
        "enact.yaml:7:13: `inputSchema.properties.a.type`: \"strin\" is not a type: `type` must be array, boolean";
    assert!(found[0].starts_with(told), "{found:?}");
    let refused = of(&[("enact.yaml", &yaml)]).manifest().expect_err("a type");
    assert!(refused.hints()[0].contains("did you mean `description`?"), "{:?}", refused.hints());
    assert!(refused.details().expect("details")["advice"].as_array().is_some_and(|advice| !advice.is_empty()));
}

#[test]
fn x16_a_published_package_needs_a_version_and_a_publisher() {
    assert!(good(&[("enact.yaml", BARE)]).published("packed").unwrap_err().message().contains("no version"));
    let one = good(&[("enact.yaml", "name: b\ndescription: x\nversion: 1.0.0\n")]);
    assert_eq!(one.published("packed").unwrap_err().code(), Code::ManifestInvalid);
    let whole = good(&[("enact.yaml", &format!("{BARE}version: 1.0.0\n"))]);
    assert_eq!(whole.published("packed").unwrap().to_string(), "1.0.0");
}

proptest! {
    #![proptest_config(crate::seed::config(256))]

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..FILES.len()) {
        let _ = read(&mut |name| Ok((name == FILES[at]).then(|| bytes.clone())));
    }

    #[test]
    fn no_yaml_makes_the_reader_panic(text in "((name|scripts|env|timeout|command|inputSchema|hooks): ?[\\[{&*!a-z0-9$ '\"]{0,8}\n? \
        {0,3}-?){0,8}") {
        let _ = of(&[("enact.yaml", &text)]);
    }
}
