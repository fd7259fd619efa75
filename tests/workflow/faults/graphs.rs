//! Runs workflows with random dependencies. Each step must run once, after the steps it needs. If a step fails, the
//! steps that need it are skipped.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Value, json};

use super::approved;
use crate::support::api::Trouble;
use crate::support::{Client, Random};
use crate::workflow::runs::{Ground, execute};

const GRAPHS: usize = 16;

/// A step. `needs` contains the indexes of the steps that it depends on.
#[derive(Debug, Default)]
struct Step {
    needs: BTreeSet<usize>,
}

/// Returns random steps without cycles. Their order in the text does not depend on their dependencies.
fn random_steps(random: &mut Random) -> Vec<Step> {
    let count = 3 + random.below(8);
    let mut places: Vec<usize> = (0..count).collect();
    for n in (1..count).rev() {
        places.swap(n, random.below(n + 1));
    }
    let mut steps: Vec<Step> = (0..count).map(|_| Step::default()).collect();
    for later in 1..count {
        for earlier in 0..later {
            if random.below(3) == 0 {
                steps[places[later]].needs.insert(places[earlier]);
            }
        }
    }
    steps
}

/// Writes the steps as a workflow. A dependency is listed in `depends_on`, or follows from an expression.
fn written(steps: &[Step], random: &mut Random) -> String {
    let mut text = "workflow: graph\nsteps:\n".to_owned();
    for (place, step) in steps.iter().enumerate() {
        let (said, used): (Vec<usize>, Vec<usize>) = step.needs.iter().partition(|_| random.below(2) == 0);
        let _ =
            writeln!(text, "  - id: s{place}\n    run: hosting:apps:update\n    with: {{ app_id: s{place}, name: x }}");
        if !used.is_empty() {
            let used: Vec<String> = used.iter().map(|need| format!("steps.s{need}.output")).collect();
            let _ = writeln!(text, "    if: {}", used.join(" && "));
            // If `depends_on` is not empty, list all dependencies there, because a missing one would be a warning.
            let all: Vec<String> = step.needs.iter().map(|need| format!("s{need}")).collect();
            let _ =
                writeln!(text, "    depends_on: [{}]", if said.is_empty() { String::new() } else { all.join(", ") });
        } else if !said.is_empty() {
            let said: Vec<String> = said.iter().map(|need| format!("s{need}")).collect();
            let _ = writeln!(text, "    depends_on: [{}]", said.join(", "));
        }
    }
    text
}

/// Returns the steps in the order in which they run: always the first step in the text whose dependencies are done.
fn ordered(steps: &[Step]) -> Vec<usize> {
    let mut done: Vec<usize> = Vec::new();
    while done.len() < steps.len() {
        let ready = |place: &usize| !done.contains(place) && steps[*place].needs.iter().all(|need| done.contains(need));
        let next = (0..steps.len()).find(ready).expect("there is no circle");
        done.push(next);
    }
    done
}

#[test]
fn random_graphs_run_in_a_valid_order() {
    let mut random = Random::new();
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    for _ in 0..GRAPHS {
        let steps = random_steps(&mut random);
        let text = written(&steps, &mut random);
        // One of the requests fails. If `failing` is too large, no request fails.
        let failing = random.below(steps.len() + 2);
        let (mut states, mut sent) = (vec!["pending"; steps.len()], Vec::new());
        for place in ordered(&steps) {
            states[place] = match steps[place].needs.iter().all(|need| states[*need] == "succeeded") {
                false => "skipped",
                true => {
                    sent.push(place);
                    if sent.len() == failing + 1 { "failed" } else { "succeeded" }
                }
            };
        }
        let mut arguments = approved(&ground, &mut client, &text, &json!({}));
        arguments["wait_s"] = json!(20);
        ground.api.reset();
        if failing < sent.len() {
            ground.api.trouble_after(failing, Trouble::Status(500, Vec::new(), "{}"));
        }
        let done = execute(&mut client, arguments);
        let run = match done["run"].as_str() {
            Some(id) => id.to_owned(),
            None => done["error"]["details"]["run"].as_str().expect("an id").to_owned(),
        };
        let told = ground.scratch.json(&["workflow", "runs", &run]);
        let lines: Vec<String> = ground.api.seen().into_iter().map(|seen| seen.line).collect();
        let expected: Vec<String> = sent.iter().map(|place| format!("PATCH /api/v1/apps/s{place}")).collect();
        assert_eq!(lines, expected, "{text}");
        for step in told["steps"].as_array().expect("steps") {
            let place: usize = step["id"].as_str().expect("an id")[1..].parse().expect("a place");
            assert_eq!(step["state"], states[place], "s{place} of\n{text}\n{step}");
        }
        let ended: Value = told["state"].clone();
        assert_eq!(ended, if failing < sent.len() { "failed" } else { "succeeded" }, "{text}");
    }
    client.finish();
}
