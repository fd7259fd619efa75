//! Tests the suggestions of providers for an incomplete workflow.

use serde_json::{Value, json};

use super::{Ground, call};
use crate::support::Client;

const TEXT: &str = "\
workflow: w
inputs:
  app:
    provider: 
steps:
  - id: look
    run: hosting:apps:list
  - id: logs
    run: hosting:apps:logs:list
    with:
      app_id: ${{ inputs.app }}
  - id: broken
    run: hosting:nothing:here
    if: ${{ inputs. }}
";

fn ids(answer: &Value) -> Vec<&str> {
    answer["providers"]
        .as_array()
        .expect("providers")
        .iter()
        .map(|found| found["id"].as_str().expect("an id"))
        .collect()
}

#[test]
fn a_provider_is_suggested_by_place_and_by_pointer_with_its_reason() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    let by_place = call(&mut client, "suggest_providers", json!({ "yaml": TEXT, "line": 4, "column": 15 }));
    assert_eq!(by_place["pointer"], "/inputs/app/provider");
    assert_eq!(by_place["argument"], "hosting:apps:logs:list.app_id");
    let first = &by_place["providers"][0];
    assert_eq!(first["id"], "hosting:apps:list", "{by_place:#}");
    assert_eq!(first["select"], json!({ "value_field": "id", "display_field": "name", "id_field": "id" }));
    assert!(
        first["why"].to_string().contains("it is the declared provider of hosting:apps:logs:list.app_id"),
        "{first}"
    );
    let by_pointer = call(&mut client, "suggest_providers", json!({ "yaml": TEXT, "pointer": "/inputs/app" }));
    assert_eq!(ids(&by_pointer), ids(&by_place));
    let argument = call(&mut client, "suggest_providers", json!({ "yaml": TEXT, "line": 11, "column": 20 }));
    assert_eq!((&argument["pointer"], ids(&argument)[0]), (&json!("/steps/1/with/app_id"), "hosting:apps:list"));
    client.finish();
}

#[test]
fn arguments_of_a_provider_are_bound_to_what_ran_before() {
    let ground = Ground::new();
    let text = "\
workflow: w
inputs:
  addon: {}
steps:
  - {id: create_app, run: hosting:apps:create, with: {name: a, region: eu}}
  - {id: use, run: hosting:apps:create, with: {name: '${{ inputs.addon }}', region: eu}, depends_on: [create_app]}
";
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    let found = call(
        &mut client,
        "suggest_providers",
        json!({ "yaml": text, "pointer": "/inputs/addon", "partial": "addons" }),
    );
    let addons = found["providers"].as_array().expect("providers").iter();
    let addons =
        addons.clone().find(|found| found["id"] == "hosting:apps:addons:list-for-app").expect("the list of an app");
    assert_eq!(addons["bindings"]["app_id"]["source"], "steps.create_app.output.id", "{found:#}");
    client.finish();
}

#[test]
fn incomplete_lines_are_tolerated_and_invalid_positions_reported() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-11-25");
    let broken = TEXT.replace("    if: ${{ inputs. }}", "    if: [}");
    let found = call(&mut client, "suggest_providers", json!({ "yaml": broken, "line": 4, "column": 15 }));
    assert_eq!(ids(&found)[0], "hosting:apps:list", "{found}");
    for arguments in [
        json!({ "yaml": TEXT, "pointer": "/workflow" }),
        json!({ "yaml": TEXT, "pointer": "/steps/9/with/x" }),
        json!({ "yaml": TEXT }),
        json!({ "yaml": TEXT, "line": 1, "pointer": "/inputs/app" }),
    ] {
        let refused = call(&mut client, "suggest_providers", arguments.clone());
        assert_eq!(refused["error"]["code"], "E_INVALID_ARGUMENT", "{arguments}: {refused}");
    }
    client.finish();
}
