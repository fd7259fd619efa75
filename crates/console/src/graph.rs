//! The steps of a workflow as a graph: which steps each step runs after, in layers.

use std::collections::HashMap;

use serde_json::{Value, json};

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{self, Invocation};
use crate::data::{rows, text, texts, time};
use crate::line::{Line, Tone};
use crate::place::Place;
use crate::time::until;
use crate::words;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The steps, in the order of the text.
    pub steps: Vec<Step>,
    /// The indices of the steps. Each step is in the first layer after all layers that contain a step it needs. Steps in
    /// a cycle, and steps that need one of them, share the last layer.
    pub layers: Vec<Vec<usize>>,
    pub last_run: Option<LastRun>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub id: String,
    /// The id of the command, or its name in the text if there is no such command.
    pub command: String,
    /// The effect in words, such as `writes`, and its tone; `None` if the command is unknown.
    pub effect: Option<(&'static str, Tone)>,
    /// The indices of the steps that it runs after.
    pub needs: Vec<usize>,
    /// The step's state in the last run; empty if there is none.
    pub state: String,
}

/// The newest run of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    pub id: String,
    pub state: String,
    /// The time at which it began, such as `13:48`.
    pub began: String,
}

impl LastRun {
    pub fn place(&self) -> Place {
        Place::Run(self.id.clone())
    }
}

/// The number of newest runs among which to look for the workflow's last run.
const RECENT: &str = "100";

/// Returns the graph of a workflow's text, with the last run of the saved workflow `name`. The graph has no steps if the
/// text is not a workflow.
pub fn read(context: &Context, written: &str, name: Option<&str>) -> Graph {
    let described = action::read(context, "workflow describe", json!({ "yaml": written })).unwrap_or_default();
    let run = name.filter(|_| !rows(&described, "steps").is_empty()).and_then(|name| last(context, name).ok()?);
    let mut graph = Graph::of(&described, run.as_ref().unwrap_or(&Value::Null));
    graph.last_run = run.map(|run| LastRun {
        id: text(&run, "run").to_owned(),
        state: text(&run, "state").to_owned(),
        began: time(&run, "began_at").map(|at| until(at, context.clock.now())).unwrap_or_default(),
    });
    graph
}

/// Returns the newest run of a workflow, with its steps.
fn last(context: &Context, name: &str) -> Result<Option<Value>> {
    let listed = Invocation::new("workflow runs").option("--limit", RECENT).read(context)?;
    let is_of = |run: &&Value| text(run, "kind") == "workflow" && text(run, "name") == name;
    match rows(&listed, "runs").iter().find(is_of) {
        Some(run) => Invocation::new("workflow runs").with(text(run, "run")).read(context).map(Some),
        None => Ok(None),
    }
}

impl Graph {
    /// Makes the graph from the data of `workflow describe` and of `workflow runs RUN`.
    fn of(described: &Value, run: &Value) -> Self {
        let described = rows(described, "steps");
        let mut places = HashMap::new();
        for (at, step) in described.iter().enumerate() {
            places.entry(text(step, "id")).or_insert(at);
        }
        let states: HashMap<&str, &str> =
            rows(run, "steps").iter().map(|step| (text(step, "id"), text(step, "state"))).collect();
        let step = |found: &Value| Step {
            id: text(found, "id").to_owned(),
            command: match text(found, "command") {
                "" => text(found, "run").to_owned(),
                command => command.to_owned(),
            },
            effect: found["effect"].as_str().map(words::effect),
            needs: texts(found, "needs").into_iter().filter_map(|id| places.get(id).copied()).collect(),
            state: states.get(text(found, "id")).copied().unwrap_or_default().to_owned(),
        };
        let steps: Vec<Step> = described.iter().map(step).collect();
        Self { layers: layers(&steps), steps, last_run: None }
    }

    /// Returns a heading and a line for each step. Returns no lines if there are no steps.
    pub fn lines(&self) -> Vec<Line> {
        if self.steps.is_empty() {
            return Vec::new();
        }
        let mut heading = Line::of(Tone::Strong, "Steps");
        if let Some(run) = &self.last_run {
            let (_, tone) = words::sign(&run.state);
            heading = heading.then(Tone::Dim, &format!("  last run at {}: ", run.began)).then(tone, &run.state);
        }
        std::iter::once(heading).chain(self.steps.iter().map(|step| self.line(step))).collect()
    }

    fn line(&self, step: &Step) -> Line {
        let mut line = Line::of(Tone::Name, &step.id).then(Tone::Plain, &format!("  {}", step.command));
        if let Some((effect, tone)) = step.effect {
            line = line.then(tone, &format!("  {effect}"));
        }
        let needs: Vec<&str> = step.needs.iter().map(|need| self.steps[*need].id.as_str()).collect();
        if !needs.is_empty() {
            line = line.then(Tone::Dim, &format!("  after {}", needs.join(", ")));
        }
        match step.state.as_str() {
            "" => line,
            state => line.then(words::sign(state).1, &format!("  {state}")),
        }
    }
}

fn layers(steps: &[Step]) -> Vec<Vec<usize>> {
    let mut is_placed = vec![false; steps.len()];
    let mut left: Vec<usize> = (0..steps.len()).collect();
    let mut layers = Vec::new();
    while !left.is_empty() {
        let is_ready = |at: &usize| steps[*at].needs.iter().all(|need| is_placed[*need]);
        let (mut layer, rest): (Vec<usize>, Vec<usize>) = left.iter().copied().partition(is_ready);
        left = rest;
        if layer.is_empty() {
            layer.append(&mut left);
        }
        layer.iter().for_each(|at| is_placed[*at] = true);
        layers.push(layer);
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(needs: &[(&str, &[&str])], run: &Value) -> Graph {
        let step = |(id, needs): &(&str, &[&str])| json!({ "id": id, "run": format!("shop:{id}"), "needs": needs });
        Graph::of(&json!({ "steps": needs.iter().map(step).collect::<Vec<_>>() }), run)
    }

    #[test]
    fn a_step_is_in_the_layer_after_all_that_it_needs() {
        let none: &[&str] = &[];
        let graph = graph(
            &[("d", &["b", "c"]), ("a", none), ("b", &["a"]), ("c", &["b", "gone"]), ("alone", none)],
            &Value::Null,
        );
        assert_eq!(graph.layers, [vec![1, 4], vec![2], vec![3], vec![0]]);
        assert_eq!(graph.steps[0].needs, [2, 3]);
        assert_eq!(Graph::of(&Value::Null, &Value::Null), Graph::default());
    }

    #[test]
    fn steps_in_a_cycle_come_last() {
        let graph = graph(&[("a", &["b"]), ("b", &["a"]), ("c", &["a"]), ("d", &[])], &Value::Null);
        assert_eq!(graph.layers, [vec![3], vec![0, 1, 2]]);
    }

    #[test]
    fn each_step_is_a_line_with_what_it_runs_after_and_its_state() {
        let run = json!({ "steps": [{ "id": "look", "state": "succeeded" }, { "id": "make", "state": "uncertain" }] });
        let mut graph = graph(&[("look", &[]), ("make", &["look"])], &run);
        graph.steps[1].effect = Some(words::effect("write"));
        graph.last_run = Some(LastRun { id: "1".to_owned(), state: "uncertain".to_owned(), began: "13:48".to_owned() });
        let lines: Vec<String> = graph.lines().iter().map(Line::text).collect();
        assert_eq!(
            lines,
            [
                "Steps  last run at 13:48: uncertain",
                "look  shop:look  succeeded",
                "make  shop:make  writes  after look  uncertain",
            ]
        );
        assert!(Graph::default().lines().is_empty());
    }
}
