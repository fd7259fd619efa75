//! Measures how long it takes to check, plan and write workflows. A check is compared with a YAML parser that only
//! parses, with a check of fewer steps, and with a check against fewer commands. Plans and writing are compared with
//! a check.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpkg_base::error::Result;
use mcpkg_workflow::check::{Checked, checked, shaped};
use mcpkg_workflow::plan::{KnownValues, planned};
use mcpkg_workflow::source::{Commands, Resolved};
use mcpkg_workflow::spec::{CommandSpec, ProviderContract};
use serde_json::{Value as Json, json};

use crate::Effort;
use crate::table::{Bar, Row, Table, Value};

const VALIDATE: &str = "workflow: validate 500 steps, against serde-saphyr into a value";
const GROWTH: &str = "workflow: validate 500 steps, against 50 steps";
const PLAN: &str = "workflow: dry run of 500 steps, against validate";
const RENDER: &str = "workflow: render 500 steps, against validate";
const COMMANDS: &str = "workflow: validate 500 steps with 5,000 commands, against 500 commands";

/// A set of commands, by id.
struct Many(HashMap<String, Arc<CommandSpec>>);

impl Many {
    fn new(count: usize) -> Self {
        let spec = |n: usize| {
            let spec = json!({
                "id": format!("group{}:thing{n}:info", n % 50), "group": format!("group{}", n % 50), "name": format!("thing{n}:info"),
                "summary": "Shows a thing", "source": "catalogs", "effect": "read", "idempotency": "safe", "method": "GET",
                "path": format!("/things/{n}/{{thing}}"), "base_url": "https://api.example.org", "runnable": true,
                "flags": [{ "name": "filter", "type": "string", "in": "query" }, { "name": "size", "type": "integer", "in": "query" }],
                "positionals": [{ "name": "thing", "type": "string", "accepts": ["thing_id"], "prefer": "thing_id" }],
                "output_contract": { "fields": [
                    { "name": "id", "type": "string", "tags": ["thing_id"] }, { "name": "name", "type": "string", "tags": ["thing_name"] },
                ] },
            });
            Arc::new(serde_json::from_value(spec).expect("a spec"))
        };
        let specs = (0..count).map(spec);
        Self(specs.map(|spec: Arc<CommandSpec>| (spec.id.clone(), spec)).collect())
    }
}

impl Commands for Many {
    fn resolve(&self, typed: &str) -> Result<Resolved> {
        let found = self.0.get(typed).map(Arc::clone);
        Ok(found.map_or(Resolved::None(Vec::new()), Resolved::One))
    }

    fn provider(&self, _: &str) -> Result<Option<Arc<ProviderContract>>> {
        Ok(None)
    }
}

/// Returns a workflow with this many steps. Each step uses the previous step's answer.
pub fn text(steps: usize) -> String {
    let mut text = String::from("workflow: many\ninputs:\n  thing:\n    description: Where it begins\nsteps:\n");
    for step in 0..steps {
        let from = match step {
            0 => "inputs.thing".to_owned(),
            _ => format!("steps.step_{}.output.id", step - 1),
        };
        text.push_str(&format!(
            "  - id: step_{step}\n    run: group{}:thing{}:info\n    description: The step of number {step}\n    with:\n      thing: ${{{{ {from} }}}}\n      filter: \"of ${{{{ inputs.thing }}}}\"\n      size: {step}\n",
            step % 50, step % 500,
        ));
    }
    text
}

pub fn measure(effort: &Effort, table: &mut Table) {
    let rows = [VALIDATE, GROWTH, PLAN, RENDER, COMMANDS];
    if !rows.iter().any(|row| table.wants(row)) {
        return;
    }
    let (many, few) = (text(500), text(50));
    let (commands, more) = (Many::new(500), Many::new(5_000));
    let check = |text: &str, commands: &Many| -> Checked { checked(text, commands).expect("a check") };
    assert!(check(&many, &commands).findings.is_empty(), "{:?}", check(&many, &commands).findings);
    let of = |what: &str, ours: &dyn Fn(), reference: &dyn Fn(), bar: f64, table: &mut Table| {
        if !table.wants(what) {
            return;
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for _ in 0..effort.samples(50) * effort.rounds {
            a.push(time(ours));
            b.push(time(reference));
        }
        let (ours, reference) = (Value::Time(median(&mut a)), Value::Time(median(&mut b)));
        table.push(Row { what: what.to_owned(), ours, off: None, reference: Some(reference), bar: Bar::Times(bar) });
    };
    let validate = || drop(check(&many, &commands));
    let read = || drop(serde_saphyr::from_str::<Json>(&many).expect("a value"));
    of(VALIDATE, &validate, &read, 4.0, table);
    of(GROWTH, &validate, &|| drop(check(&few, &commands)), 12.0, table);
    let plan = || drop(planned(&check(&many, &commands), &commands, &KnownValues::default()).expect("a plan"));
    of(PLAN, &plan, &validate, 1.5, table);
    let render = || {
        let (definition, _) = shaped(&many).expect("a definition");
        drop(definition.expect("a definition").to_yaml().expect("a text"));
    };
    of(RENDER, &render, &validate, 1.0, table);
    of(COMMANDS, &|| drop(check(&many, &more)), &validate, 1.2, table);
}

fn time(f: &dyn Fn()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
