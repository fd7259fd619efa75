//! Tests the sources of values: project variables, earlier runs, other workflows, and secrets of a catalog.

use base64::Engine;
use serde_json::{Value, json};

use super::{Ground, code, execute, with_nonce};
use crate::support::{Client, set_mode};

#[track_caller]
fn run(ground: &Ground, client: &mut Client, arguments: &Value) -> Value {
    let asked = execute(client, arguments.clone());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    ground.approve(&asked);
    execute(client, with_nonce(arguments, &asked))
}

#[test]
fn project_variables_are_filled_in_and_part_of_the_plan() {
    let ground = Ground::new();
    let text = "workflow: w\nsteps:\n  - id: a\n    run: hosting:apps:create\n    with: { name: web, region: '${{ env.REGION }}' }\n";
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let arguments = json!({ "yaml": text });
    let unknown = execute(&mut client, arguments.clone());
    assert_eq!(code(&unknown), "E_WORKFLOW_INVALID", "{unknown}");
    ground.scratch.ok(&["workflow", "env", "set", "REGION", "eu"]);
    let asked = execute(&mut client, arguments.clone());
    ground.approve(&asked);
    ground.scratch.ok(&["workflow", "env", "set", "REGION", "us"]);
    let changed = execute(&mut client, with_nonce(&arguments, &asked));
    assert_eq!(changed["error"]["details"]["mismatch_kind"], "plan_changed", "{changed}");
    let done = run(&ground, &mut client, &arguments);
    assert_eq!(done["final_output"]["region"], "us", "{done}");
    client.finish();
}

#[test]
fn a_default_comes_from_the_last_run_or_from_another_workflow() {
    let ground = Ground::new();
    let first = "\
workflow: first
inputs:
  region: { default: { from: history } }
  key: { type: string, optional: true }
steps:
  - id: app
    run: hosting:apps:create
    with: { name: web, region: '${{ inputs.region }}' }
final_output: { app: '${{ steps.app.output }}' }
";
    let second = "\
workflow: second
inputs:
  app: { default: { from: workflow_output, value: first.app.id } }
steps:
  - id: look
    run: hosting:apps:info
    with: { app_id: '${{ inputs.app }}' }
";
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    for text in [first, second] {
        let missing = execute(&mut client, json!({ "yaml": text }));
        assert_eq!(code(&missing), "E_INPUTS_REQUIRED", "{missing}");
    }
    run(&ground, &mut client, &json!({ "yaml": first, "inputs": { "region": "eu" } }));
    let again = run(&ground, &mut client, &json!({ "yaml": first }));
    assert_eq!(again["final_output"]["app"]["region"], "eu", "{again}");
    let look = run(&ground, &mut client, &json!({ "yaml": second }));
    assert_eq!(look["final_output"]["id"], "app-2", "{look}");
    // A value from history that the input no longer accepts counts as missing.
    let narrower = first.replace("from: history }", "from: history }, enum: [us]");
    let missing = execute(&mut client, json!({ "yaml": narrower }));
    assert_eq!(code(&missing), "E_INPUTS_REQUIRED", "{missing}");
    // Damaged data is an error, and does not count as missing.
    ground.scratch.ok(&["prompt", "create", "odd", "no JSON"]);
    for (column, text) in [("blob_id", first), ("output_blob", second)] {
        let odd =
            format!("UPDATE run SET {column} = (SELECT blob_id FROM prompt WHERE name = 'odd') WHERE name = 'first'");
        assert_eq!(ground.scratch.change(&odd), 2);
        let damaged = execute(&mut client, json!({ "yaml": text }));
        assert_eq!(code(&damaged), "E_DAMAGED", "{damaged}");
    }
    client.finish();
}

const SECRET: &str = "c4talog/own+s3cret";

#[test]
fn a_catalogs_secret_is_sent_only_to_its_origin_and_not_stored() {
    let ground = Ground::new();
    let token = ground.scratch.file("token", SECRET);
    set_mode(&token, 0o600);
    let text = "\
workflow: w
steps:
  - id: a
    run: hosting:apps:create
    with: { name: 'key-${{ secrets.token }}', region: eu }
final_output: { name: '${{ steps.a.output.name }}' }
";
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let arguments = json!({ "yaml": text });
    // The secret is not set yet: the run starts with a warning, and fails right before the request.
    let failed = run(&ground, &mut client, &arguments);
    assert_eq!(failed["error"]["details"]["code"], "E_SECRET_MISSING", "{failed}");
    assert_eq!(ground.changes(), 0);
    let reference = format!("token=file:{}", token.display());
    ground.scratch.ok(&["catalog", "set", "hosting", "--auth", &reference, "--yes"]);
    let done = run(&ground, &mut client, &arguments);
    assert_eq!(done["final_output"], json!({ "name": "key-***" }), "{done}");
    let sent = ground.api.seen().pop().expect("a request");
    assert!(String::from_utf8_lossy(&sent.body).contains(SECRET), "{sent:?}");
    client.finish();
    ground.scratch.ok(&["backup", "copy.db"]);
    let forms = [
        SECRET.to_owned(),
        SECRET.replace('/', "%2F").replace('+', "%2B"),
        base64::engine::general_purpose::STANDARD.encode(SECRET),
        SECRET.replace('/', "\\/"),
    ];
    let mut places = vec![("the answer", done.to_string().into_bytes())];
    places.push(("events", ground.scratch.ok(&["events"]).into_bytes()));
    for name in ["copy.db", "test.db", "test.db-wal"] {
        places.extend(std::fs::read(ground.scratch.path().join(name)).map(|bytes| (name, bytes)));
    }
    for (place, bytes) in places {
        for form in &forms {
            assert!(!bytes.windows(form.len()).any(|window| window == form.as_bytes()), "{place} holds {form}");
        }
    }
}

#[test]
fn a_requirement_that_no_catalog_meets_is_found_before_the_run() {
    let ground = Ground::new();
    let text = "workflow: w\nrequires: [elsewhere]\nsteps:\n  - id: a\n    run: hosting:apps:list\n";
    ground.scratch.file("w.yaml", text);
    let found = ground.scratch.run(&["--json", "workflow", "validate", "w.yaml"]).stdout;
    assert!(found.contains("catalog_requirement") && found.contains("secret_missing"), "{found}");
    ground.scratch.file("w.yaml", text.replace("elsewhere", "hosting"));
    ground.scratch.ok(&["catalog", "set", "hosting", "--auth", "token=env:NO_SUCH_TOKEN", "--yes"]);
    let found = ground.scratch.ok(&["--json", "workflow", "validate", "w.yaml"]);
    assert!(!found.contains("catalog_requirement") && !found.contains("secret_missing"), "{found}");
}

#[test]
fn the_plan_shows_the_source_of_a_default() {
    let ground = Ground::new();
    for default in [
        "{ from: workflow_output }",
        "{ from: workflow_output, value: 7 }",
        "{ from: workflow_output, value: .id }",
        "{ from: env }",
    ] {
        let text = format!(
            "workflow: w\ninputs:\n  x: {{ default: {default} }}\nsteps:\n  - id: a\n    run: hosting:apps:list\n    if: inputs.x\n"
        );
        ground.scratch.file("w.yaml", text);
        let found = ground.scratch.run(&["--json", "workflow", "validate", "w.yaml"]).stdout;
        assert!(found.contains("default_shape"), "{default}: {found}");
    }
}
