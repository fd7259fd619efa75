//! Checks references: the names in expressions and `depends_on` must exist, and there must be no cycles. Also reports unused
//! inputs, invalid defaults, and steps that depend on a step with a condition.

use std::collections::HashSet;

use super::book::Book;
use super::fixes::meant;
use super::known::Known;
use super::templates::{Slot, Use};
use crate::definition::{Bound, InputType, Origin, is_identifier};
use crate::expression::Root;
use crate::finding::Kind;
use crate::graph::Graph;
use mcpkg_base::error::{Result, nearest};

/// Reports each default whose `value` does not fit its `from`. Also reports a secret input whose default comes from an earlier
/// run.
fn defaults(book: &mut Book<'_>, known: &Known<'_>) {
    let inputs = &known.definition.inputs;
    for (index, named) in inputs.list.iter().enumerate() {
        let Some(default) = &named.input.default else { continue };
        let is_secret = named.input.r#type == InputType::Secret;
        let wrong = match default.from {
            Origin::Literal => continue,
            Origin::History | Origin::WorkflowOutput if is_secret => {
                "a secret cannot take its default from an earlier run, because \
                runs do not store secrets"
            }
            Origin::Env if default.text().is_none() => "with `from: env`, `value` must be the name of a variable",
            Origin::WorkflowOutput if default.output().is_none_or(|(workflow, _)| !is_identifier(workflow)) => {
                "with `from: workflow_output`, `value` must be a workflow and a path in its output, such as `other.app.id`"
            }
            _ => continue,
        };
        book.at(Kind::DefaultShape, &format!("{}/default", inputs.pointer(index)), wrong);
    }
}

/// Checks all references. Returns the dependencies between steps.
pub(super) fn check(book: &mut Book<'_>, known: &Known<'_>, uses: &[Use]) -> Result<Graph> {
    let definition = known.definition;
    let mut graph = Graph::new(definition.steps.len());
    stated(book, known, &mut graph);
    let mut used_inputs = HashSet::new();
    let mut inferred = Vec::new();
    for used in uses {
        for path in used.paths() {
            match &path.root {
                Root::Input(name) => match known.input(name) {
                    Some(input) => {
                        used_inputs.insert(input);
                        inferred.extend(used.slot.step().map(|step| (step, input)));
                    }
                    None => {
                        unknown(book, Kind::UnknownInputRef, "input", used, &path.name_at, name, known.input_names())
                    }
                },
                Root::Step(name) => match (known.step(name), used.slot.step()) {
                    (None, _) => {
                        unknown(book, Kind::UnknownStepRef, "step", used, &path.name_at, name, known.step_names())
                    }
                    (Some(step), Some(own)) if step == own => {
                        if used.slot != Slot::Until(own) {
                            let message = format!("step `{name}` uses its own output");
                            let found = book.inside(Kind::SelfRef, &used.pointer, &path.name_at, message);
                            found.hint("only `repeat.until` can use the step's own output");
                        }
                    }
                    (Some(step), Some(own)) => {
                        let stated = &definition.steps[own].depends_on;
                        if !stated.is_empty() && !stated.contains(name) && !graph.reaches(own, step) {
                            let message =
                                format!("this step uses the output of `{name}`, but `depends_on` does not list it");
                            let found = book.inside(Kind::MissingDependsOn, &used.pointer, &path.name_at, message);
                            found.hint(format!(
                                "the reference already makes it a dependency; add `{name}` to `depends_on`, or \
                                    remove `depends_on`"
                            ));
                        }
                        graph.add(own, step);
                    }
                    (Some(_), None) => {}
                },
                Root::Env(name) => {
                    if known.commands.variable(name)?.is_none() {
                        let message = format!("the project does not allow the variable `{name}`");
                        let found = book.inside(Kind::EnvNotAllowed, &used.pointer, &path.name_at, message);
                        found.hint(
                            "a person can allow the variable for the project; mcpkg never reads it from the process environment",
                        );
                    }
                }
                Root::Secret(_) => {}
            }
        }
    }
    // A step that uses an input also depends on the steps whose output the input's provider needs.
    for (step, input) in inferred {
        for needed in needed_by_provider(known, input) {
            if needed != step {
                graph.add(step, needed);
            }
        }
    }
    inputs(book, known, uses, &mut used_inputs);
    defaults(book, known);
    circles(book, known, &graph);
    conditional(book, known, &graph);
    Ok(graph)
}

fn unknown<'a>(
    book: &mut Book<'_>,
    kind: Kind,
    what: &str,
    used: &Use,
    at: &std::ops::Range<usize>,
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) {
    let near = nearest(name, names.clone());
    let fix = meant(name, names).and_then(|name| book.fix_inside(&used.pointer, at, name));
    let found = book.inside(kind, &used.pointer, at, format!("there is no {what} `{name}`"));
    found.fix = fix;
    found.hint = near.map(|near| format!("did you mean `{near}`?"));
}

fn stated(book: &mut Book<'_>, known: &Known<'_>, graph: &mut Graph) {
    for (index, step) in known.definition.steps.iter().enumerate() {
        for (at, name) in step.depends_on.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let pointer = format!("/steps/{index}/depends_on/{at}");
            match known.step(name) {
                Some(other) if other == index => {
                    book.at(Kind::SelfRef, &pointer, format!("step `{name}` depends on itself"));
                }
                Some(other) => graph.add(index, other),
                None => {
                    let near = nearest(name, known.step_names());
                    let fix = meant(name, known.step_names()).and_then(|name| book.fix_value(&pointer, &name.into()));
                    let found = book.at(Kind::UnknownDependency, &pointer, format!("there is no step `{name}`"));
                    found.fix = fix;
                    found.hint = near.map(|near| format!("did you mean `{near}`?"));
                }
            }
        }
    }
}

/// Returns the steps whose output the provider of an input uses, and the steps that the input's `depends_on` lists.
fn needed_by_provider(known: &Known<'_>, input: usize) -> Vec<usize> {
    let input = &known.definition.inputs.list[input].input;
    let bound = input.provider_args.values().filter_map(|value| match Bound::of(value)? {
        Bound::Step { id, .. } => known.step(id),
        _ => None,
    });
    let named =
        input.depends_on.iter().filter_map(|name| known.input(name).is_none().then(|| known.step(name)).flatten());
    bound.chain(named).collect()
}

/// Checks the dependencies of inputs, and reports unused inputs.
fn inputs(book: &mut Book<'_>, known: &Known<'_>, uses: &[Use], used: &mut HashSet<usize>) {
    let definition = known.definition;
    let mut graph = Graph::new(definition.inputs.list.len());
    for (index, named) in definition.inputs.list.iter().enumerate() {
        let pointer = definition.inputs.pointer(index);
        for (at, name) in named.input.depends_on.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            match (known.input(name), known.step(name)) {
                (Some(other), _) => {
                    used.insert(other);
                    graph.add(index, other);
                }
                (None, Some(_)) => {}
                (None, None) => {
                    let names = || known.input_names().chain(known.step_names());
                    let (near, at) = (nearest(name, names()), format!("{pointer}/depends_on/{at}"));
                    let fix = meant(name, names()).and_then(|name| book.fix_value(&at, &name.into()));
                    let message = format!("there is no input or step `{name}`");
                    let found = book.at(Kind::UnknownDependency, &at, message);
                    found.fix = fix;
                    found.hint = near.map(|near| format!("did you mean `{near}`?"));
                }
            }
        }
        for value in named.input.provider_args.values() {
            if let Some(Bound::Input { id, .. }) = Bound::of(value)
                && let Some(other) = known.input(id)
            {
                used.insert(other);
                graph.add(index, other);
            }
        }
    }
    for used in uses {
        let Slot::ProviderArg(index, _) = &used.slot else { continue };
        for path in used.paths() {
            if let Root::Input(name) = &path.root
                && let Some(other) = known.input(name)
            {
                graph.add(*index, other);
            }
        }
    }
    for circle in graph.circles() {
        let names: Vec<&str> =
            circle.iter().chain(circle.first()).map(|input| &*definition.inputs.list[*input].id).collect();
        let message = format!("inputs depend on each other in a cycle: {}", names.join(" -> "));
        book.at_key(Kind::InputCycle, &definition.inputs.pointer(circle[0]), message);
    }
    for (index, named) in definition.inputs.list.iter().enumerate() {
        if !used.contains(&index) && !named.id.is_empty() {
            let message = format!("nothing uses the input `{}`", named.id);
            book.at_key(Kind::UnusedInput, &definition.inputs.pointer(index), message);
        }
    }
}

fn circles(book: &mut Book<'_>, known: &Known<'_>, graph: &Graph) {
    for circle in graph.circles() {
        let names: Vec<&str> =
            circle.iter().chain(circle.first()).map(|step| &*known.definition.steps[*step].id).collect();
        let message = format!("steps depend on each other in a cycle: {}", names.join(" -> "));
        book.at(Kind::DependencyCycle, &format!("/steps/{}/id", circle[0]), message);
    }
}

/// Reports each step that has no condition of its own, but depends on a step that has one.
fn conditional(book: &mut Book<'_>, known: &Known<'_>, graph: &Graph) {
    let steps = &known.definition.steps;
    for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.condition.is_none()) {
        for other in graph.of(index).iter().filter(|other| steps[**other].condition.is_some()) {
            let other = &steps[*other].id;
            let message = format!("step `{}` depends on `{other}`, which has a condition", step.id);
            let found = book.at(Kind::DependsOnConditionalStep, &format!("/steps/{index}/id"), message);
            found.hint(format!(
                "this step is skipped when `{other}` is skipped; to make that explicit, give both steps the same condition"
            ));
        }
    }
}
