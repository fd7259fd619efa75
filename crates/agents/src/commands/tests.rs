use proptest::prelude::*;

use super::*;
use mcpkg_store::prompts::Argument;

fn prompt(file: &str) -> (Attributes, String) {
    let Read { attributes, content, odd } = read(file, Dialect::Claude);
    assert!(odd.is_none(), "{file}: {odd:?}");
    (attributes, content)
}

fn argument(name: &str, description: Option<&str>, required: bool) -> Argument {
    Argument { name: name.to_owned(), description: description.map(str::to_owned), required }
}

fn jinja(arguments: Vec<Argument>) -> Attributes {
    Attributes { template: true, arguments, ..Attributes::default() }
}

#[test]
fn front_matter_that_mcp_does_not_know_is_kept() {
    let file =
        "---\ndescription: Review a PR\nargument-hint: [pr]\nallowed-tools: Bash(git:*)\n---\nReview $1 as {{ x }}\n";
    let (mut attributes, text) = prompt(file);
    assert_eq!(text, "Review $1 as {{ x }}\n");
    assert_eq!(to_file("a", &attributes, &text).unwrap(), file);

    attributes.description = Some("Look".to_owned());
    let edited = to_file("a", &attributes, "Look at $1").unwrap();
    assert_eq!(edited, "---\ndescription: \"Look\"\nargument-hint: [pr]\nallowed-tools: Bash(git:*)\n---\nLook at $1");
    attributes.arguments = vec![argument("arg1", Some("number"), true), argument("arg2", Some("focus"), false)];
    attributes.description = None;
    let edited = to_file("a", &attributes, "Look at $1 for $2").unwrap();
    assert_eq!(edited, "---\nargument-hint: \"<number> [focus]\"\nallowed-tools: Bash(git:*)\n---\nLook at $1 for $2");
    let (back, _) = from_file(&edited, &attributes, "Look at $1 for $2").unwrap();
    assert_eq!(back.arguments, attributes.arguments);
}

#[test]
fn only_declared_arguments_make_a_template() {
    let given = |text: &str| declared(text, false).unwrap();
    for plain in [
        "Fix $ARGUMENTS",
        "---\ndescription: x\n---\nFix $ARGUMENTS {{ y }}",
        "---\nargument-hint: [pr]\n---\nTakes none",
        "---\narguments: [pr]\n---\n",
        "---\n---\nx",
    ] {
        assert_eq!(given(plain), None, "{plain}");
    }
    let file = "---\ndescription: Fix\nargument-hint: [pr]\nmodel: x\n---\nFix $1 {{ y }}";
    let (attributes, text) = given(file).unwrap();
    assert_eq!((attributes.description.as_deref(), text.as_str()), (Some("Fix"), "Fix $1 {{ y }}"));
    assert_eq!(to_file("a", &attributes, &text).unwrap(), file);
    assert_eq!(given("---\narguments: [pr]\n---\nFix {{ pr }}").unwrap().1, "Fix {{ pr }}");
    assert!(declared("---\narguments: 3\n---\nx", false).is_err());
    // If a text has both kinds of placeholders, only one kind counts.
    let mixed = given("---\narguments: [arg1]\n---\n{{ arg1 }} and $1").unwrap();
    assert_eq!((mixed.0.dialect, mixed.1.as_str()), (None, "{{ arg1 }} and $1"));
    let named = given("---\narguments: [topic]\n---\nOn $topic, {{ x }}").unwrap();
    assert_eq!((named.0.dialect, named.1.as_str()), (Some(Dialect::Claude), "On $topic, {{ x }}"));
}

#[test]
fn new_front_matter_replaces_the_stored_one() {
    let (attributes, text) = declared("---\nmodel: y\n---\nLook", true).unwrap().unwrap();
    assert_eq!((attributes.front_matter.as_deref(), text.as_str()), (Some("---\nmodel: y\n---\n"), "Look"));
    assert_eq!(declared("Look", true).unwrap(), None);
}

#[test]
fn an_exported_file_is_read_back_as_the_same_prompt() {
    let file = "---\ndescription: Fix\nmodel: x\n---\nFix $1";
    let (known, text) = prompt(file);
    assert_eq!(exact("a", &known, &text).as_deref(), Some(file));
    assert_eq!(listed(file, &known), (known.clone(), text.clone()));
    // Older exports contain only the text.
    assert_eq!(listed("Fix $1 and $2", &known), (known.clone(), "Fix $1 and $2".to_owned()));
    // The exported file was edited, including its front matter.
    let (edited, text) = listed("---\ndescription: Mend\nmodel: x\n---\nMend $1", &known);
    assert_eq!((edited.description.as_deref(), text.as_str()), (Some("Mend"), "Mend $1"));
    assert_eq!(exact("a", &edited, &text).unwrap(), "---\ndescription: Mend\nmodel: x\n---\nMend $1");

    let toml = "description = \"b\"\nprompt = \"Do {{args}}\"\n";
    let (known, text) = toml_file::read(toml).unwrap();
    assert_eq!(exact("a", &known, &text).as_deref(), Some(toml));
    assert_eq!(listed(toml, &known), (known, text));

    // A plain prompt becomes an ordinary file, with the `$` escaped.
    assert_eq!(to_list("a", &Attributes::default(), "Costs $1"), "Costs \\$1");
    // This text would be read differently by itself, so a marker comes before it.
    assert_eq!(
        to_list("a", &Attributes::default(), "Costs \\$1"),
        "---\n# The text follows as it is; mcpkg.export.json says the rest.\n---\nCosts \\$1"
    );
    // No file can express these attributes, so the export contains only the text.
    let known =
        Attributes { dialect: Some(Dialect::Claude), description: Some("b".to_owned()), ..Attributes::default() };
    let text = "---\nmodel: y\n---\nLook";
    assert_eq!((exact("a", &known, text), to_list("a", &known, text).as_str()), (None, text));
}

#[test]
fn front_matter_that_mcpkg_wrote_is_not_stored() {
    for file in ["text", "---\ndescription: \"Look\"\n---\ntext", "---\nargument-hint: \"[pr]\"\n---\n$1", "$0"] {
        assert_eq!(prompt(file).0.front_matter, None, "{file}");
    }
    let attributes = jinja(vec![argument("file", None, true)]);
    let exported = matter::write(&attributes) + "Look at {{ file }}";
    assert_eq!(prompt(&exported), (attributes, "Look at {{ file }}".to_owned()));
}

#[test]
fn a_template_declares_its_arguments_as_commands_do() {
    let file = |attributes: &Attributes, text: &str| to_file("a", attributes, text);
    let one = jinja(vec![argument("file", None, true)]);
    let text = "Look at {{ file }}{% if file %}!{% endif %}";
    assert_eq!(file(&one, text).unwrap(), "---\nargument-hint: \"<file>\"\n---\nLook at $ARGUMENTS!");
    let two = jinja(vec![argument("file", None, true), argument("focus", None, false)]);
    assert_eq!(
        file(&two, "{{ file|upper }} {{ focus }}").unwrap(),
        "---\nargument-hint: \"<file> [focus]\"\narguments: [file, focus]\n---\n$file $focus"
    );
    // `$5` and `$file` are escaped. If a letter follows a name, the placeholder uses the number: `$ARGUMENTS[0]s`.
    assert_eq!(
        file(&two, "{{ file }}s for $5, {{ focus }}: $file").unwrap(),
        "---\nargument-hint: \"<file> [focus]\"\narguments: [file, focus]\n---\n$ARGUMENTS[0]s for \\$5, $focus: \\$file"
    );
    let own = jinja(vec![argument("arg2", None, true), argument("arguments", None, false)]);
    assert_eq!(
        file(&own, "{{ arg2 }}{{arguments}}").unwrap(),
        "---\nargument-hint: \"<arg2> [arguments]\"\narguments: [arg2, arguments]\n---\n$arg2$arguments"
    );
    assert_eq!(file(&one, "{{ nobody }}").unwrap_err().code(), Code::TemplateFailed);
}

#[test]
fn the_text_of_a_template_cannot_be_edited_in_its_file() {
    let before = jinja(vec![argument("file", None, true)]);
    let text = "Look at {{ file }}";
    let edited = "---\ndescription: Looks\nmodel: x\n---\nLook at $ARGUMENTS";
    let (attributes, same) = from_file(edited, &before, text).unwrap();
    assert_eq!((attributes.description.as_deref(), same.as_str()), (Some("Looks"), text));
    assert_eq!(to_file("a", &attributes, text).unwrap(), edited);
    let refused = from_file("Look again at $ARGUMENTS", &before, text).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(from_file("---\ndescription: x\n---\n", &Attributes::default(), "x").is_err());
}

#[test]
fn a_plain_prompt_that_gets_an_argument_becomes_a_template() {
    let before = Attributes { file: Some("a/b.md".to_owned()), ..Attributes::default() };
    let (attributes, text) = from_file("Look at $1", &before, "Look").unwrap();
    assert_eq!((attributes.template, attributes.file.as_deref(), text.as_str()), (true, Some("a/b.md"), "Look at $1"));
    assert_eq!(path("a.b", &attributes), "a/b.md");
}

#[test]
fn text_that_looks_like_a_placeholder_is_escaped_and_comes_back() {
    let plain = Attributes::default();
    let file = to_file("a", &plain, "It costs $0.50, not ${1}").unwrap();
    assert_eq!(file, "It costs \\$0.50, not ${1}");
    assert_eq!(prompt(&file), (plain.clone(), "It costs $0.50, not ${1}".to_owned()));
    let (attributes, text) = from_file(&file.replace("50", "75"), &plain, "It costs $0.50, not ${1}").unwrap();
    assert_eq!((attributes, text.as_str()), (plain, "It costs $0.75, not ${1}"));
}

#[test]
fn a_command_of_opencode_counts_from_zero_in_claude_code() {
    let Read { attributes, content, .. } = read("Fix $1 of $2, not $name", Dialect::OpenCode);
    let names: Vec<_> = attributes.arguments.iter().map(|argument| argument.name.as_str()).collect();
    assert_eq!((names, content.as_str()), (vec!["arg1", "arg2"], "Fix $1 of $2, not $name"));
    let file = to_file("a", &attributes, &content).unwrap();
    assert_eq!(file, "Fix $0 of $1, not $name");
    let (again, edited) = from_file(&file.replace("Fix", "Mend"), &attributes, &content).unwrap();
    assert_eq!((again, edited.as_str()), (attributes, "Mend $1 of $2, not $name"));
    let Read { attributes, content, .. } = read("Fix $1", Dialect::OpenCode);
    assert_eq!(to_file("a", &attributes, &content).unwrap(), "Fix $ARGUMENTS");
}

#[test]
fn arguments_are_the_same_as_in_claude_code() {
    let names = |file: &str| {
        let (attributes, _) = prompt(file);
        attributes.arguments.into_iter().map(|argument| argument.name).collect::<Vec<_>>()
    };
    assert_eq!(
        names("---\narguments: [topic, reader]\n---\n$reader $0 $2 $ARGUMENTS"),
        ["topic", "reader", "arg2", "arguments"]
    );
    assert_eq!(names("---\narguments: topic, reader\n---\n$reader"), ["arg0", "reader"]);
    assert_eq!(names("---\narguments:\n- name: topic\n---\n$topic $0"), ["arg0"]);
    assert_eq!(names("---\nargument-hint: [pr]\n---\nTakes it at its end"), ["arguments"]);
    assert!(names("No places").is_empty());
}

#[test]
fn many_placeholders_are_read_quickly() {
    let numbers: String = (0..100_000).map(|number| format!("${number} ")).collect();
    let (attributes, content) = prompt(&numbers);
    assert_eq!((attributes.arguments.len(), content.len()), (template::MAX_ARGUMENTS, numbers.len()));
    let spelled = words::text(&numbers, &[], words::Spelling::Words);
    assert_eq!(words::back(&numbers, &[], words::Spelling::Words, "", &spelled).unwrap(), numbers);
    let names: Vec<String> = (0..100_000).map(|number| format!("n{number}")).collect();
    let named = format!("---\narguments: [{}]\n---\n{}", names.join(", "), "$".repeat(100_000));
    assert_eq!(read(&named, Dialect::Claude).content.len(), named.len(), "taken as it is");
}

#[test]
fn origins_are_checked() {
    for file in ["a/b c.md", "a\\b.md", "a\nb.md"] {
        assert!(check_origin(Some("---\na: 1\n---\n"), Some(file)).is_ok(), "{file}");
    }
    for file in ["/a.md", "../a.md", "a", "a\0.md", "a//b.md"] {
        assert!(check_origin(None, Some(file)).is_err(), "{file}");
    }
    assert!(check_origin(Some("---\na: 1\n---\nmore"), None).is_err());
    assert!(check_origin(Some("---\na: 1\n"), None).is_err());
}

fn front() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("description: Review: a PR"),
        Just("description: \"x\""),
        Just("description: >\n  two\n  lines"),
        Just("argument-hint: [pr] [focus]"),
        Just("argument-hint: \"[pr]\""),
        Just("allowed-tools: Bash(git:*), Read"),
        Just("model: opus"),
        Just("# a comment"),
        Just("arguments: [file]"),
        Just("arguments: topic, file"),
        Just("arguments:\n- name: arg1\n  required: true"),
        Just("arguments:\n  - arguments"),
        Just("- broken"),
        Just(""),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    let whole =
        (prop::collection::vec(line, 0..4), end, "\u{feff}?", "( |\t)?").prop_map(|(lines, end, mark, space)| {
            let lines: String = lines.iter().map(|line| line.replace('\n', end) + end).collect();
            format!("{mark}---{space}{end}{lines}---{end}")
        });
    prop_oneof![Just(String::new()), whole.clone(), whole]
}

const BODY: &str = "(\\$0|\\$file|\\\\|\\$1|\\$2|\\$10|\\$ARGUMENTS|\\$|\\{\\{ file \\}\\}|\\{\\{ arg1 \\}\\}|\\{\\{ arguments \\}\\}|\\{\\{ '\\{' \\}\\}|\\{|\\{\\{|\\}\\}|\\{%|\\{#| |\r?\n|a|é|---\n){0,8}";

/// Generates attributes of prompts, including those that no file can express.
fn attributes() -> impl Strategy<Value = Attributes> {
    let text = || prop::option::of("[ -~\n\t\u{7f}\u{85}é]{1,9}");
    let argument = ("[a-c]|arg1|arguments", text(), any::<bool>())
        .prop_map(|(name, description, required)| argument(&name, description.as_deref(), required));
    let dialect = prop::option::of(prop_oneof![Just(Dialect::Claude), Just(Dialect::OpenCode)]);
    let front = prop::option::of("---\n(model: [a-z]{1,3}\n)?(description: [a-z]{1,3}\n)?(arguments: \\[a\\]\n)?---\n");
    (text(), any::<bool>(), dialect, prop::collection::vec(argument, 0..3), front).prop_map(
        |(description, template, dialect, arguments, front_matter)| Attributes {
            description,
            template,
            dialect,
            arguments,
            front_matter,
            file: None,
        },
    )
}

proptest! {
    #![proptest_config(crate::seed::config(256))]

    #[test]
    fn a_file_survives_a_round_trip_byte_for_byte(front in front(), body in BODY) {
        let file = front + &body;
        for dialect in [Dialect::Claude, Dialect::OpenCode] {
            let Read { attributes, content, .. } = read(&file, dialect);
            let is_jinja = attributes.template && attributes.dialect.is_none();
            if !content.is_empty() && (attributes.dialect.is_some() || is_jinja || dialect == Dialect::Claude) {
                prop_assert_eq!(source("a", &attributes, &content).unwrap(), file.clone());
            }
            if !content.is_empty() && !is_jinja && dialect == Dialect::Claude {
                prop_assert_eq!(to_file("a", &attributes, &content).unwrap(), file.clone());
            }
        }
    }

    #[test]
    fn any_exported_file_is_read_back_as_the_same_prompt(known in attributes(), was in (front(), BODY)) {
        let text = was.0 + &was.1 + "x";
        let file = to_list("a", &known, &text);
        prop_assert_eq!(listed(&file, &known), (known, text), "{}", file);
    }

    #[test]
    fn an_edited_file_deploys_as_it_was_edited(was in (front(), BODY), now in (front(), BODY), description in "[a-z ]{0,5}") {
        let Read { mut attributes, content, .. } = read(&(was.0 + &was.1), Dialect::Claude);
        // A description that was changed in mcpkg after the deploy must not affect the result.
        attributes.description = Some(description).filter(|text| !text.is_empty());
        let file = now.0 + &now.1;
        if let Ok((attributes, content)) = from_file(&file, &attributes, &content) {
            prop_assert_eq!(to_file("a", &attributes, &content).unwrap(), file);
        }
    }
}
