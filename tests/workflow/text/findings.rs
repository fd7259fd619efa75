//! Tests that mistakes are reported with their code and position. A test whose name begins with `x` and a number covers
//! a defect of oatty. The mistakes in `recorded` were made by a model.

use mcpkg_workflow::finding::{Severity, mended};

use super::{check, only, places};

/// Returns a workflow with these inputs and steps, which must be indented by two.
fn workflow(inputs: &str, steps: &str) -> String {
    let inputs = if inputs.is_empty() { String::new() } else { format!("inputs:\n{inputs}") };
    format!("workflow: w\n{inputs}steps:\n{steps}")
}

#[test]
fn x20_a_yaml_error_is_described_in_yaml_terms() {
    let found = only("workflow: w\nsteps: [{id: a, run: apps:list\n", "yaml_syntax");
    assert!(!found.message.to_lowercase().contains("json"), "{}", found.message);
    assert!(!found.message.contains("expected value at line"), "{}", found.message);
    // A model once mistook an error message about JSON for a workflow.
    assert_eq!(places("expected value at line 1 column 1")[0], ("wrong_type", 1, 1));
}

#[test]
fn x21_every_mistake_is_found_at_once_and_in_order() {
    let text = "workflow: my flow\nsteps:\n  - id: 1\n    run: apps:lst\n    condition: true\n    wiht: {}\n  - run: apps:list\n";
    assert_eq!(
        places(text),
        [
            ("bad_identifier", 1, 11),
            ("wrong_type", 3, 9),
            ("unknown_command", 4, 10),
            ("reserved_key", 5, 5),
            ("unknown_key", 6, 5),
            ("missing_field", 7, 5),
        ]
    );
}

#[test]
fn x22_an_unknown_input_is_found_in_the_middle_of_a_text() {
    let found = only(
        &workflow(
            "  region: {}\n",
            "  - id: a\n    run: apps:info\n    with:\n      app: \"é ${{ inputs.regoin }}\"\n",
        ),
        "unknown_input_ref",
    );
    assert_eq!((found.span.line, found.span.column, found.span.end_column), (8, 26, 32));
    assert_eq!(found.hint.as_deref(), Some("did you mean `region`?"));
}

#[test]
fn x23_unknown_and_missing_arguments_are_found() {
    let text = workflow("", "  - id: a\n    run: apps:create\n    with:\n      regoin: eu\n");
    let found = only(&text, "unknown_with_key");
    assert_eq!((found.span.line, found.span.column), (6, 7));
    assert_eq!(found.hint.as_deref(), Some("did you mean `region`?"));
    assert_eq!(only(&text, "missing_required_arg").message, "apps:create requires `name`");
}

#[test]
fn x24_values_and_their_types_are_checked_against_the_command() {
    let text = workflow(
        "",
        "  - id: a\n    run: apps:create\n    with: {name: 5, region: moon, size: many, labels: [a, 1]}\n",
    );
    let found: Vec<_> =
        places(&text).into_iter().filter(|found| found.0.contains("mismatch") || found.0.contains("enum")).collect();
    assert_eq!(
        found,
        [
            ("literal_type_mismatch", 5, 18),
            ("enum_violation", 5, 29),
            ("literal_type_mismatch", 5, 41),
            ("literal_type_mismatch", 5, 59),
        ]
    );
}

#[test]
fn x25_cycles_and_duplicates_are_found_before_a_run() {
    let text = workflow(
        "",
        "  - {id: a, run: apps:list, depends_on: [b]}\n  - {id: b, run: apps:list, depends_on: [c]}\n  - {id: c, run: apps:list, depends_on: [a]}\n  - {id: a, run: apps:list, depends_on: [gone]}\n",
    );
    let circle = only(&text, "dependency_cycle");
    assert_eq!(circle.message, "steps depend on each other in a cycle: a -> b -> c -> a");
    assert_eq!((circle.span.line, circle.span.column), (3, 10));
    assert_eq!(only(&text, "duplicate_step_id").span.line, 6);
    assert_eq!(only(&text, "unknown_dependency").span.line, 6);
    let text = workflow("  a: {depends_on: [b]}\n  b: {depends_on: [a]}\n", "  - {id: x, run: apps:list}\n");
    assert_eq!(only(&text, "input_cycle").message, "inputs depend on each other in a cycle: a -> b -> a");
}

#[test]
fn x26_a_reference_is_a_dependency() {
    let text = workflow(
        "",
        "  - id: late\n    run: apps:info\n    with: {app: \"${{ steps.early.output[0].id }}\"}\n  - {id: early, run: apps:list}\n",
    );
    let sound = check(&text).sound.expect("a sound workflow");
    assert_eq!(sound.order, [1, 0]);
    let text = workflow(
        "",
        "  - {id: one, run: apps:list}\n  - {id: two, run: apps:list}\n  - id: three\n    run: apps:info\n    depends_on: [one]\n    with: {app: \"${{ steps.two.output[0].id }}\"}\n",
    );
    assert_eq!(only(&text, "missing_depends_on").severity, Severity::Warning);
}

#[test]
fn x27_what_an_argument_accepts_and_prefers_is_checked() {
    let steps = |field: &str| {
        workflow(
            "",
            &format!(
                "  - {{id: list, run: apps:list}}\n  - id: a\n    run: apps:info\n    with: {{app: \"${{{{ steps.list.output[0].{field} }}}}\"}}\n"
            ),
        )
    };
    assert_eq!(places(&steps("id")), []);
    assert_eq!(
        only(&steps("region"), "contract_tag_mismatch").message,
        "apps:info.app must accept one of [app_id, app_name]"
    );
    let prefer = only(&steps("name"), "prefer_not_used");
    assert_eq!(prefer.hint.as_deref(), Some("use the field `id` instead"));
    // A field without tags is checked only by its type: `ready` is a boolean.
    assert_eq!(places(&steps("ready")), [("template_type_mismatch", 6, 17)]);
}

#[test]
fn x29_an_optional_input_is_not_required() {
    let text = workflow(
        "  a: {validate: {required: false}}\n  b: {optional: true}\n  c: {}\n",
        "  - {id: x, run: apps:list}\n",
    );
    let checked = check(&text);
    let inputs = &checked.definition().expect("a definition").inputs;
    let required = |name: &str| inputs.get(name).expect("an input").is_required();
    assert_eq!((required("a"), required("b"), required("c")), (false, false, true));
}

#[test]
fn x32_an_undescribed_output_is_a_warning() {
    let text = workflow("", "  - {id: a, run: jobs:start}\nfinal_output: ${{ steps.a.output.id }}\n");
    let found = only(&text, "output_unverifiable");
    assert_eq!((found.severity, found.span.line), (Severity::Warning, 4));
    assert!(check(&text).sound.is_some());
}

#[test]
fn x28_durations_and_limits_of_a_repeat_are_read() {
    let steps = |repeat: &str| {
        workflow(
            "",
            &format!(
                "  - id: list\n    run: apps:list\n  - id: a\n    run: apps:info\n    with: {{app: \"${{{{ steps.list.output[0].id }}}}\"}}\n    repeat: {{{repeat}}}\n"
            ),
        )
    };
    let code = |repeat: &str| places(&steps(repeat)).into_iter().map(|found| found.0).collect::<Vec<_>>();
    assert_eq!(code("until: steps.a.output.ready, timeout: 5m"), [] as [&str; 0]);
    assert_eq!(code("until: steps.a.output.ready, timeout: soon"), ["bad_duration"]);
    assert_eq!(code("until: steps.a.output.ready, timeout: 25h"), ["limit_exceeded"]);
    assert_eq!(code("until: steps.a.output.ready, max_attempts: 10001"), ["limit_exceeded"]);
    assert_eq!(code("until: steps.a.output.ready"), ["repeat_unbounded"]);
    assert_eq!(code("every: 5s"), ["repeat_without_until"]);
}

/// Six mistakes, one after another, from a recorded conversation with a model.
mod recorded {
    use super::*;

    #[test]
    fn a_workflow_without_a_name() {
        let found = only("steps:\n  - {id: a, run: apps:list}\n", "missing_field");
        assert_eq!((found.path.as_str(), found.span.line, found.span.column), ("/workflow", 1, 1));
    }

    #[test]
    fn braces_without_a_dollar() {
        let text =
            workflow("  app: {}\n", "  - id: a\n    run: apps:info\n    with:\n      app: \"{{ inputs.app }}\"\n");
        let found = only(&text, "mustache_without_dollar");
        assert_eq!((found.span.line, found.span.column, found.span.end_column), (8, 13, 29));
        let checked = check(&text);
        let (mended, count) = mended(&text, &checked.findings);
        assert_eq!(count, 1);
        assert!(mended.contains("app: \"${{ inputs.app }}\""), "{mended}");
        assert!(check(&mended).sound.is_some());
        let bare = workflow("  app: {}\n", "  - id: a\n    run: apps:info\n    with:\n      app: {{ inputs.app }}\n");
        let found = only(&bare, "mustache_without_dollar");
        assert_eq!((found.span.line, found.span.column), (8, 12));
        let (mended, _) = super::mended(&bare, &check(&bare).findings);
        assert!(check(&mended).sound.is_some(), "{mended}");
    }

    #[test]
    fn condition_in_place_of_if() {
        let text = workflow("", "  - id: a\n    run: apps:list\n    condition: \"1 == 1\"\n");
        let found = only(&text, "reserved_key");
        assert_eq!((found.span.line, found.span.column), (5, 5));
        let (mended, _) = mended(&text, &check(&text).findings);
        assert!(mended.contains("    if: \"1 == 1\""), "{mended}");
        assert_eq!(places(&mended), []);
    }

    #[test]
    fn a_bare_default() {
        let text = workflow(
            "  region:\n    default: us\n",
            "  - id: a\n    run: apps:create\n    with: {name: x, region: \"${{ inputs.region }}\"}\n",
        );
        let found = only(&text, "default_shape");
        assert_eq!((found.span.line, found.span.column), (4, 14));
        let (mended, _) = mended(&text, &check(&text).findings);
        assert!(mended.contains("default: {from: literal, value: \"us\"}"), "{mended}");
        assert!(check(&mended).sound.is_some());
    }

    #[test]
    fn a_message_about_json_for_a_text_that_is_yaml() {
        let found = only("workflow: w\nsteps:\n  - id: a\n   run: apps:list\n", "yaml_syntax");
        assert_eq!(found.span.line, 4);
        assert!(!found.message.contains("JSON"), "{}", found.message);
    }

    #[test]
    fn an_object_as_an_example() {
        let found = only(&workflow("  app:\n    example: {id: 1}\n", "  - {id: a, run: apps:list}\n"), "wrong_type");
        assert_eq!((found.span.line, found.span.column), (4, 14));
        assert_eq!(found.message, "`example` must be a string or a number or a boolean, but is an object");
    }
}

#[test]
fn an_unquoted_template_in_braces_is_a_yaml_error_at_the_inner_brace() {
    let text = workflow("  app: {}\n", "  - {id: a, run: apps:info, with: {app: ${{ inputs.app }}}}\n");
    let found = only(&text, "yaml_syntax");
    assert_eq!((found.span.line, found.span.column), (5, 42));
    assert!(found.hint.as_ref().is_some_and(|hint| hint.contains("quotes")), "{found:?}");
}

#[test]
fn an_aliased_value_says_where_it_was_written() {
    let text = "workflow: w\nsteps:\n  - id: a\n    run: apps:create\n    with: &with {name: x, region: moon}\n  - id: b\n    run: apps:create\n    with: *with\n";
    let checked = check(text);
    let found: Vec<_> = checked.findings.iter().filter(|found| found.code.name() == "enum_violation").collect();
    assert_eq!((found[0].span.line, found[1].span.line, found[1].span.column), (5, 8, 11));
    assert_eq!(found[1].details, Some(serde_json::json!({ "defined_at": { "line": 5, "column": 35 } })));
}

#[test]
fn lists_and_maps_of_inputs_are_both_read() {
    let text = "workflow: w\ninputs:\n  - name: app\n    type: string\nsteps:\n  - id: a\n    run: apps:info\n    with: {app: \"${{ inputs.app }}\"}\n";
    assert_eq!(places(text), []);
    assert_eq!(only("workflow: w\ninputs: 5\nsteps: [{id: a, run: apps:list}]\n", "wrong_type").span.column, 9);
}

#[test]
fn a_version_that_is_not_known_is_refused() {
    let api = super::api::Api::new();
    let refused = |version: &str| {
        let text = format!("schema_version: \"{version}\"\nworkflow: w\nsteps: [{{id: a, run: apps:list}}]\n");
        mcpkg_workflow::check::checked(&text, &api).err().map(|error| error.code().name())
    };
    assert_eq!((refused("1.0"), refused("1.7"), refused("2.0")), (None, None, Some("E_SCHEMA_VERSION")));
}
