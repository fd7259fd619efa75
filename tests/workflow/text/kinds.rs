//! Tests that there is a text for each kind of finding, and that the finding has the right position.

use std::collections::BTreeSet;

use mcpkg_workflow::check::checked;
use mcpkg_workflow::finding::Kind;

use super::api::Api;
use super::places;

/// Findings: code, line, column, and a text that has it. A text without `workflow:` is a list of steps.
const TEXTS: &[(&str, usize, usize, &str)] = &[
    ("yaml_syntax", 1, 4, "a: [1"),
    ("duplicate_key", 2, 1, "workflow: w\nworkflow: x\nsteps: [{id: a, run: apps:list}]"),
    ("multi_document", 3, 1, "workflow: w\nsteps: [{id: a, run: apps:list}]\n---\nworkflow: x"),
    ("non_scalar_key", 2, 1, "workflow: w\n1: x\nsteps: [{id: a, run: apps:list}]"),
    ("mustache_without_dollar", 1, 50, "- {id: a, run: apps:info, with: {app: \"a\"}, if: '{{ inputs.a }}'}"),
    ("unsupported_yaml", 1, 17, "workflow: !!str w\nsteps: [{id: a, run: apps:list}]"),
    ("limit_exceeded", 1, 67, "- {id: a, run: apps:list, repeat: {until: \"1 == 1\", max_attempts: 10001}}"),
    ("ambiguous_scalar", 1, 11, "workflow: yes\nsteps: [{id: a, run: apps:list}]"),
    ("unknown_key", 2, 1, "workflow: w\nstep: []\nsteps: [{id: a, run: apps:list}]"),
    ("wrong_type", 2, 8, "workflow: w\nsteps: {}"),
    ("missing_field", 1, 3, "- {id: a}"),
    ("bad_identifier", 1, 8, "- {id: 'a b', run: apps:list}"),
    ("duplicate_step_id", 2, 8, "- {id: a, run: apps:list}\n- {id: a, run: apps:list}"),
    ("empty_steps", 2, 1, "workflow: w\nsteps: []"),
    ("default_shape", 2, 23, "workflow: w\ninputs: {a: {default: us}}\nsteps: [{id: a, run: apps:list}]"),
    ("reserved_key", 1, 27, "- {id: a, run: apps:list, flags: {}}"),
    ("catalog_requirement", 2, 12, "workflow: w\nrequires: [heroku]\nsteps: [{id: a, run: apps:list}]"),
    ("unknown_input_ref", 1, 38, "- {id: a, run: apps:list, if: inputs.a}"),
    ("unknown_step_ref", 1, 37, "- {id: a, run: apps:list, if: steps.b}"),
    ("self_ref", 1, 37, "- {id: a, run: apps:list, if: steps.a}"),
    (
        "missing_depends_on",
        3,
        55,
        "- {id: a, run: apps:list}\n- {id: b, run: apps:list}\n- {id: c, run: apps:list, depends_on: [a], if: 'steps.b'}",
    ),
    (
        "dependency_cycle",
        1,
        8,
        "- {id: a, run: apps:list, depends_on: [b]}\n- {id: b, run: apps:list, depends_on: [a]}",
    ),
    (
        "input_cycle",
        2,
        10,
        "workflow: w\ninputs: {a: {depends_on: [b]}, b: {depends_on: [a]}}\nsteps: [{id: a, run: apps:list}]",
    ),
    ("unknown_dependency", 1, 40, "- {id: a, run: apps:list, depends_on: [b]}"),
    ("env_not_allowed", 1, 35, "- {id: a, run: apps:list, if: env.HOME}"),
    (
        "depends_on_conditional_step",
        2,
        8,
        "- {id: a, run: apps:list, if: env.REGION}\n- {id: b, run: apps:list, depends_on: [a]}",
    ),
    ("unused_input", 2, 10, "workflow: w\ninputs: {a: {}}\nsteps: [{id: a, run: apps:list}]"),
    ("expr_syntax", 1, 38, "- {id: a, run: apps:list, if: inputs.}"),
    ("unsupported_operator", 1, 34, "- {id: a, run: apps:list, if: '1 < 2'}"),
    ("bad_regex", 2, 34, "workflow: w\ninputs: {a: {validate: {pattern: '['}}}\nsteps: [{id: a, run: apps:list}]"),
    ("bad_duration", 1, 58, "- {id: a, run: apps:list, repeat: {until: 'true', every: soon}}"),
    ("repeat_without_until", 1, 27, "- {id: a, run: apps:list, repeat: {every: 5s}}"),
    ("repeat_unbounded", 1, 27, "- {id: a, run: apps:list, repeat: {until: 'true'}}"),
    ("unknown_command", 1, 16, "- {id: a, run: apps:lst}"),
    ("ambiguous_command", 1, 16, "- {id: a, run: create}"),
    ("not_runnable", 1, 16, "- {id: a, run: files:upload}"),
    ("deprecated_command", 1, 16, "- {id: a, run: apps:old}"),
    ("missing_required_arg", 1, 3, "- {id: a, run: apps:info}"),
    ("unknown_with_key", 1, 34, "- {id: a, run: apps:list, with: {page: 1}}"),
    ("enum_violation", 1, 53, "- {id: a, run: apps:create, with: {name: x, region: moon}}"),
    ("literal_type_mismatch", 1, 45, "- {id: a, run: apps:list, with: {page_size: many}}"),
    ("template_type_mismatch", 1, 45, "- {id: a, run: apps:list, with: {page_size: '${{ env.REGION }}'}}"),
    ("base_url_missing", 1, 16, "- {id: a, run: lost:list}"),
    ("secret_missing", 1, 16, "- {id: a, run: jobs:start}"),
    ("unknown_provider", 2, 24, "workflow: w\ninputs: {a: {provider: addons:lst}}\nsteps: [{id: a, run: apps:list}]"),
    ("provider_not_list", 2, 24, "workflow: w\ninputs: {a: {provider: apps:create}}\nsteps: [{id: a, run: apps:list}]"),
    (
        "missing_provider_arg",
        2,
        24,
        "workflow: w\ninputs: {a: {provider: addons:list}}\nsteps: [{id: a, run: apps:list}]",
    ),
    (
        "contract_tag_mismatch",
        2,
        39,
        "- {id: p, run: apps:list}\n- {id: a, run: apps:info, with: {app: '${{ steps.p.output[0].region }}'}}",
    ),
    (
        "prefer_not_used",
        2,
        39,
        "- {id: p, run: apps:list}\n- {id: a, run: apps:info, with: {app: '${{ steps.p.output[0].name }}'}}",
    ),
    (
        "missing_depends_on_for_provider_arg",
        2,
        78,
        "workflow: w\ninputs: {a: {}, b: {provider: addons:list, provider_args: {app: {from_input: a}}}}\nsteps: [{id: a, run: apps:list}]",
    ),
    (
        "value_field_missing",
        2,
        60,
        "workflow: w\ninputs: {a: {provider: regions:list, select: {value_field: uid}}}\nsteps: [{id: a, run: apps:list}]",
    ),
    (
        "value_field_not_scalar",
        2,
        60,
        "workflow: w\ninputs: {a: {provider: regions:list, select: {value_field: geo}}}\nsteps: [{id: a, run: apps:list}]",
    ),
    ("select_ambiguous", 2, 24, "workflow: w\ninputs: {a: {provider: regions:list}}\nsteps: [{id: a, run: apps:list}]"),
    (
        "id_field_recommended",
        2,
        43,
        "workflow: w\ninputs: {a: {provider: apps:list, select: {value_field: id}}}\nsteps: [{id: a, run: apps:list}]",
    ),
    (
        "output_path_missing",
        2,
        58,
        "- {id: p, run: apps:list}\n- {id: a, run: apps:info, with: {app: '${{ steps.p.output[0].uid }}'}}",
    ),
    ("output_unverifiable", 2, 38, "- {id: p, run: jobs:start}\n- {id: a, run: apps:list, if: steps.p.ok}"),
    (
        "array_index_missing",
        2,
        58,
        "- {id: p, run: apps:list}\n- {id: a, run: apps:info, with: {app: '${{ steps.p.output.id }}'}}",
    ),
    ("secret_literal", 1, 52, "- {id: a, run: apps:create, with: {name: x, token: 'hunter2'}}"),
    ("secret_wrong_catalog", 1, 52, "- {id: a, run: apps:info, with: {app: '${{ secrets.other }}'}}"),
    ("mutation_before_read", 1, 16, "- {id: a, run: apps:update, with: {app: x, name: y}}"),
    ("unguarded_mutation", 1, 16, "- {id: a, run: apps:delete, with: {app: x}}"),
    ("create_without_check", 1, 16, "- {id: a, run: apps:create, with: {name: x}}"),
];

/// Returns the whole text and the line in it. A list of steps gets a header.
fn whole(text: &str, line: usize) -> (String, usize) {
    match text.starts_with("- ") {
        true => (format!("workflow: w\nsteps:\n{text}\n"), line + 2),
        false => (text.to_owned(), line),
    }
}

#[test]
fn each_kind_is_found_at_its_position() {
    let mut wrong = Vec::new();
    for (code, line, column, text) in TEXTS {
        let (text, line) = whole(text, *line);
        let found = places(&text);
        if !found.contains(&(code, line, *column)) {
            wrong.push(format!("{code} is not at {line}:{column}: {found:?}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let known: BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    let shown: BTreeSet<&str> = TEXTS.iter().map(|text| text.0).collect();
    assert_eq!(known.difference(&shown).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn applying_the_fixes_removes_their_findings() {
    for (code, _, _, text) in TEXTS {
        let (text, _) = whole(text, 0);
        let found = checked(&text, &Api::new()).expect("findings").findings;
        let mending: Vec<_> = found.into_iter().filter(|found| found.fix.is_some()).collect();
        if mending.is_empty() {
            continue;
        }
        let (mended, _) = mcpkg_workflow::finding::mended(&text, &mending);
        let left = checked(&mended, &Api::new()).expect("findings").findings;
        for found in mending {
            assert!(!left.iter().any(|left| left.code == found.code), "{code}: {mended}\n{left:?}");
        }
    }
}
