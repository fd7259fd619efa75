//! Checks providers: each must return a list, get its required arguments, and have the selected field. Also checks that the tags
//! of values fit the arguments that get the values.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use super::book::Book;
use super::commands::command_meant;
use super::fixes::meant;
use super::known::Known;
use super::templates::{Slot, Use};
use crate::binding::{self, Contracts, Source, Wanted};
use crate::definition::{Bound, Input};
use crate::expression::{Node, Root, Segment};
use crate::finding::{Finding, Kind, Why};
use crate::graph::Graph;
use crate::output::{self, Lookup};
use crate::source::Resolved;
use crate::spec::ProviderContract;
use crate::yaml::places::below;
use mcpkg_base::error::{Result, nearest};

pub(super) fn check(
    book: &mut Book<'_>,
    known: &Known<'_>,
    uses: &[Use],
    contracts: &Contracts<'_>,
    graph: &Graph,
) -> Result<()> {
    let order = graph.order();
    for (index, named) in known.definition.inputs.list.iter().enumerate() {
        let Some(provider) = named.input.provider.as_ref().filter(|id| !id.is_empty()) else { continue };
        let pointer = known.definition.inputs.pointer(index);
        let at = format!("{pointer}/provider");
        let id = match known.commands.resolve(provider)? {
            Resolved::One(spec) => spec.id.clone(),
            Resolved::Several(ids) => {
                let message = format!("`{provider}` matches several commands: {}", ids.join(", "));
                book.at(Kind::AmbiguousCommand, &at, message).hint("write the full id");
                continue;
            }
            Resolved::None(near) => {
                let fix = command_meant(known, provider, &near).and_then(|id| book.fix_value(&at, &id.into()));
                let found = book.at(Kind::UnknownProvider, &at, format!("there is no command `{provider}`"));
                found.fix = fix;
                if !near.is_empty() {
                    found.hint(format!("the nearest are {}", near.join(", ")));
                }
                continue;
            }
        };
        let Some(contract) = known.commands.provider(&id)? else {
            let message = format!("{id} cannot provide values: its output is not a list");
            book.at(Kind::ProviderNotList, &at, message).hint("choose a command from the list of providers");
            continue;
        };
        select(book, &named.input, &contract, &pointer);
        let before = before(known, uses, index, &order);
        args(book, known, &named.input, &contract, &pointer, &before, contracts);
    }
    for used in uses.iter().filter(|used| used.is_whole) {
        check_tags(book, known, used, contracts);
    }
    Ok(())
}

/// Returns the steps that run before the first use of an input, latest first.
pub(super) fn before(known: &Known<'_>, uses: &[Use], input: usize, order: &[usize]) -> Vec<usize> {
    let name = &known.definition.inputs.list[input].id;
    let names = |used: &&Use| used.paths().iter().any(|path| matches!(&path.root, Root::Input(input) if input == name));
    let users: HashSet<usize> = uses.iter().filter(names).filter_map(|used| used.slot.step()).collect();
    let first = order.iter().position(|step| users.contains(step)).unwrap_or(order.len());
    order[..first].iter().rev().copied().collect()
}

fn select(book: &mut Book<'_>, input: &Input, contract: &ProviderContract, pointer: &str) {
    let returns = &contract.returns;
    let Some(select) = &input.select else {
        let is_told = returns.iter().any(|field| matches!(&*field.name, "id" | "name") || !field.tags.is_empty());
        if !is_told {
            let message = format!("it is unclear which field of {} to use as the value", contract.id);
            book.at(Kind::SelectAmbiguous, &format!("{pointer}/provider"), message).hint("set `select.value_field`");
        }
        return;
    };
    let at = format!("{pointer}/select");
    let fields = [
        ("value_field", &select.value_field),
        ("display_field", &select.display_field),
        ("id_field", &select.id_field),
    ];
    for (key, name) in fields {
        let Some(name) = name else { continue };
        match returns.iter().find(|field| field.name == *name) {
            Some(field) if key == "value_field" && matches!(field.r#type.as_deref(), Some("array" | "object")) => {
                let message = format!(
                    "`{name}` of {} is {}, not a single value",
                    contract.id,
                    field.r#type.as_deref().unwrap_or("more")
                );
                book.at(Kind::ValueFieldNotScalar, &format!("{at}/{key}"), message);
            }
            Some(_) => {}
            None if returns.is_empty() => {}
            None => {
                let names = || returns.iter().map(|field| &*field.name);
                let (near, at) = (nearest(name, names()), format!("{at}/{key}"));
                let fix = meant(name, names()).and_then(|name| book.fix_value(&at, &name.into()));
                let message = format!("{} returns no field `{name}`", contract.id);
                let found = book.at(Kind::ValueFieldMissing, &at, message);
                found.fix = fix;
                found.hint = near.map(|near| format!("did you mean `{near}`?"));
            }
        }
    }
    if select.value_field.is_none() {
        let message = format!("`select` does not specify which field of {} to use as the value", contract.id);
        book.at(Kind::SelectAmbiguous, &at, message).hint("set `value_field`");
    }
    if select.id_field.is_none() {
        let found = book.at(Kind::IdFieldRecommended, &at, "select.id_field recommended for caching");
        if let Some(field) = returns.iter().find(|field| field.name == "id") {
            found.hint(format!("add `id_field: {}`", field.name));
        }
    }
}

fn args(
    book: &mut Book<'_>,
    known: &Known<'_>,
    input: &Input,
    contract: &ProviderContract,
    pointer: &str,
    before: &[usize],
    contracts: &Contracts<'_>,
) {
    for (arg, value) in &input.provider_args {
        let at = below(&format!("{pointer}/provider_args"), arg);
        if !contract.args.contains_key(arg) && !has_argument(known, &contract.id, arg) {
            let names = || contract.args.keys().map(String::as_str);
            let near = nearest(arg, names());
            let fix = meant(arg, names()).filter(|name| !input.provider_args.contains_key(*name));
            let fix = fix.and_then(|name| book.fix_key(&at, name));
            let found = book.at_key(Kind::UnknownWithKey, &at, format!("{} has no argument `{arg}`", contract.id));
            found.fix = fix;
            found.hint = near.map(|near| format!("did you mean `{near}`?"));
        }
        upstream(book, known, input, value, &at);
        let wanted = Wanted::of(contract, arg).unwrap_or_default();
        if let Some(binding) = binding::stated(known.definition, value)
            && let Some(source) = binding.source
        {
            let written = Written { pointer: format!("{at}/path"), path: book.whole(&format!("{at}/path")) };
            hold(book, &wanted, &format!("{}.{arg}", contract.id), &source, contracts, &at, &written);
        }
    }
    for arg in contract.args.keys().filter(|arg| !input.provider_args.contains_key(*arg)) {
        let is_required = Wanted::of(contract, arg).is_some_and(|wanted| wanted.required);
        let bound = binding::bind(known.definition, input, contract, arg, before, contracts);
        if is_required && bound.source.is_none() {
            let message = format!("{}.{arg} is required, but nothing is bound to it", contract.id);
            let found = book.at(Kind::MissingProviderArg, &format!("{pointer}/provider"), message);
            found.hint(format!("bind the argument with `provider_args: {{{arg}: ...}}`"));
        }
    }
}

/// Returns whether a command has this argument. A provider contract lists only the required ones.
fn has_argument(known: &Known<'_>, id: &str, arg: &str) -> bool {
    match known.commands.resolve(id) {
        Ok(Resolved::One(spec)) => {
            spec.flags.iter().any(|flag| flag.name == arg) || spec.positionals.iter().any(|known| known.name == arg)
        }
        _ => false,
    }
}

/// Checks that the source of a binding exists and is listed in `depends_on`.
fn upstream(book: &mut Book<'_>, known: &Known<'_>, input: &Input, value: &Value, at: &str) {
    let (key, id, is_known, names): (_, _, _, Vec<&str>) = match Bound::of(value) {
        None => {
            let message = "set exactly one of `from_step` and `from_input`";
            book.at(Kind::WrongType, at, message);
            return;
        }
        Some(Bound::Value(_)) => return,
        Some(Bound::Step { id, .. }) => ("from_step", id, known.step(id).is_some(), known.step_names().collect()),
        Some(Bound::Input { id, .. }) => ("from_input", id, known.input(id).is_some(), known.input_names().collect()),
    };
    let pointer = format!("{at}/{key}");
    if !is_known {
        let (kind, what) = match key {
            "from_step" => (Kind::UnknownStepRef, "step"),
            _ => (Kind::UnknownInputRef, "input"),
        };
        let near = nearest(id, names.iter().copied());
        let fix = meant(id, names).and_then(|name| book.fix_value(&pointer, &name.into()));
        let found = book.at(kind, &pointer, format!("there is no {what} `{id}`"));
        found.fix = fix;
        found.hint = near.map(|near| format!("did you mean `{near}`?"));
        return;
    }
    if !input.depends_on.iter().any(|name| name == id) {
        let message = format!("the input's `depends_on` does not list `{id}`");
        book.at(Kind::MissingDependsOnForProviderArg, &pointer, message).hint(format!("add `depends_on: [{id}]`"));
    }
}

/// If a step passes a field of an earlier output as an argument, checks that the field's tags fit the argument.
fn check_tags(book: &mut Book<'_>, known: &Known<'_>, used: &Use, contracts: &Contracts<'_>) {
    let Slot::With(step, arg) = &used.slot else { return };
    let Some(spec) = known.spec(*step) else { return };
    let of_flag = spec.flags.iter().find(|flag| flag.name == *arg).map(|flag| (&flag.accepts, &flag.prefer));
    let of_positional = spec.positionals.iter().find(|known| known.name == *arg).map(|arg| (&arg.accepts, &arg.prefer));
    let Some((accepts, prefer)) = of_flag.or(of_positional).filter(|(accepts, _)| !accepts.is_empty()) else { return };
    let Some(Node::Path(path)) = used.template.alone().map(|expression| &expression.node) else { return };
    let Root::Step(id) = &path.root else { return };
    let Some(from) = known.step(id) else { return };
    let wanted = Wanted { accepts: accepts.clone(), prefer: prefer.clone(), required: false };
    let source = Source::Step(from, path.segments.clone());
    let written = Written { pointer: used.pointer.clone(), path: Some(path.segments_at.clone()) };
    hold(book, &wanted, &format!("{}.{arg}", spec.id), &source, contracts, &used.pointer, &written);
}

/// The place in the text where the path of a source is written.
struct Written {
    /// JSON pointer of the scalar that contains the path.
    pointer: String,
    /// Byte range of the path inside the scalar.
    path: Option<Range<usize>>,
}

/// Checks that a source has a tag that the argument accepts. Warns if another field has the preferred tag.
fn hold(
    book: &mut Book<'_>,
    wanted: &Wanted,
    arg: &str,
    source: &Source,
    contracts: &Contracts<'_>,
    at: &str,
    written: &Written,
) {
    let Some(tags) = binding::tags(source, contracts) else { return };
    let better = || {
        let Source::Step(step, _) = source else { return None };
        let contract = contracts[*step]?;
        let has = |tag: &String| contract.fields.iter().find(|field| field.tags.contains(tag));
        let better = wanted.prefer.as_ref().and_then(has).or_else(|| wanted.accepts.iter().find_map(has));
        better.map(|field| field.name.clone())
    };
    let fix = || {
        let Source::Step(step, segments) = source else { return None };
        let (contract, path) = (contracts[*step]?, written.path.as_ref()?);
        let (Lookup::Field(now), Some(Segment::Key(last))) = (output::find(contract, segments), segments.last()) else {
            return None;
        };
        // The fix is certain only if exactly one field has the wanted tag, in the same object.
        let tag = wanted.prefer.as_ref().or_else(|| wanted.accepts.first().filter(|_| wanted.accepts.len() == 1))?;
        let mut with_tag = contract.fields.iter().filter(|field| field.tags.contains(tag));
        let field = with_tag.next().filter(|field| with_tag.next().is_none() && !field.name.contains('.'))?;
        if now.name != *last {
            return None;
        }
        book.fix_last(&written.pointer, path, last, &field.name)
    };
    let fix = fix();
    let why = |found: &mut Finding| {
        found.fix = fix.clone();
        found.why = Some(Why { accepts: wanted.accepts.clone(), prefer: wanted.prefer.clone(), tags: tags.clone() });
        found.hint = better().map(|field| format!("use the field `{field}` instead"));
    };
    if !wanted.takes(&tags) {
        let message = format!("{arg} must accept one of [{}]", wanted.accepts.join(", "));
        why(book.at(Kind::ContractTagMismatch, at, message));
    } else if wanted.prefers_another(&tags)
        && let Some(prefer) = &wanted.prefer
        && let Source::Step(step, _) = source
        && contracts[*step].is_some_and(|contract| contract.fields.iter().any(|field| field.tags.contains(prefer)))
    {
        why(book.at(Kind::PreferNotUsed, at, format!("{arg} prefers {prefer} per contract")));
    }
}
