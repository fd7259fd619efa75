//! Checks that the output fields in expressions exist.

use super::book::Book;
use super::fixes::meant;
use super::known::Known;
use super::templates::Use;
use crate::binding::Contracts;
use crate::definition::Bound;
use crate::expression::{Root, Segment};
use crate::finding::Kind;
use crate::output::{self, Lookup};
use crate::spec::OutputContract;
use crate::yaml::places::below;

pub(super) fn check(book: &mut Book<'_>, known: &Known<'_>, uses: &[Use], contracts: &Contracts<'_>) {
    for used in uses {
        for path in used.paths() {
            let Root::Step(id) = &path.root else { continue };
            let Some(contract) = known.step(id).and_then(|step| contracts[step]) else { continue };
            let Some((kind, message, hint)) = look(contract, id, &path.segments) else { continue };
            // In `steps.create.outptu.id`, `outptu` is read as a field, because it is not `output`.
            let word = path.segments.first().filter(|_| !path.says_output).and_then(|first| match first {
                Segment::Key(word) => meant(word, ["output"]).map(|meant| (word, meant)),
                Segment::Index(_) => None,
            });
            let fix = match word {
                Some((word, meant)) => book.fix_first(&used.pointer, &path.segments_at, word, meant),
                None => field_meant(contract, &path.segments)
                    .and_then(|(last, name)| book.fix_last(&used.pointer, &path.segments_at, last, name)),
            };
            let hint = word.map(|(_, meant)| format!("did you mean `{meant}`?")).or(hint);
            let found = book.inside(kind, &used.pointer, &path.segments_at, message);
            (found.hint, found.fix) = (hint, fix);
        }
    }
    for (index, named) in known.definition.inputs.list.iter().enumerate() {
        let pointer = known.definition.inputs.pointer(index);
        for (arg, value) in &named.input.provider_args {
            let Some(Bound::Step { id, path: Some(path), .. }) = Bound::of(value) else { continue };
            let Some(contract) = known.step(id).and_then(|step| contracts[step]) else { continue };
            let segments = output::segments(path);
            let Some((kind, message, hint)) = look(contract, id, &segments) else { continue };
            let at = below(&below(&format!("{pointer}/provider_args"), arg), "path");
            let fix = field_meant(contract, &segments).zip(book.whole(&at));
            let fix = fix.and_then(|((last, name), path)| book.fix_last(&at, &path, last, name));
            let found = book.at(kind, &at, message);
            (found.hint, found.fix) = (hint, fix);
        }
    }
}

/// Returns the problem with a path into the output of a step, if there is one.
fn look(contract: &OutputContract, id: &str, segments: &[Segment]) -> Option<(Kind, String, Option<String>)> {
    let way: String = segments.iter().map(Segment::to_string).collect();
    match output::find(contract, segments) {
        Lookup::Whole | Lookup::Field(_) | Lookup::Inside => None,
        Lookup::Unknown => {
            let message = format!("it is unknown whether the output of `{id}` has `{way}`");
            let hint = "declare the field in the step's `output_contract`";
            Some((Kind::OutputUnverifiable, message, Some(hint.to_owned())))
        }
        Lookup::NoIndex => {
            let list =
                contract.list.as_deref().filter(|list| *list != ".").map_or(String::new(), |list| format!(".{list}"));
            let message = format!("the output of `{id}` is a list; `{way}` is a field of its elements");
            Some((
                Kind::ArrayIndexMissing,
                message,
                Some(format!("write `steps.{id}.output{list}[0]`, followed by the field")),
            ))
        }
        Lookup::Missing => {
            let message = format!("the output of `{id}` has no `{way}`");
            let near = nearest_three(way.trim_start_matches('.'), contract);
            Some((Kind::OutputPathMissing, message, (!near.is_empty()).then(|| format!("it has {}", near.join(", ")))))
        }
    }
}

/// Returns the last key of a path that leads nowhere, and the name that was certainly meant instead.
fn field_meant<'a>(contract: &'a OutputContract, segments: &'a [Segment]) -> Option<(&'a str, &'a str)> {
    let Some((Segment::Key(last), before)) = segments.split_last() else { return None };
    let leads = |name: &&str| {
        let path: Vec<Segment> = before.iter().cloned().chain([Segment::Key((*name).to_owned())]).collect();
        matches!(output::find(contract, &path), Lookup::Field(_))
    };
    let names = contract.fields.iter().map(|field| field.name.rsplit('.').next().unwrap_or_default());
    Some((last, meant(last, names.filter(leads)).filter(|_| output::find(contract, segments) == Lookup::Missing)?))
}

/// Returns the three fields with the most similar names.
fn nearest_three<'c>(way: &str, contract: &'c OutputContract) -> Vec<&'c str> {
    let mut names: Vec<&str> = contract.fields.iter().map(|field| &*field.name).collect();
    names.sort_by(|a, b| {
        let likeness = |name: &str| strsim::jaro_winkler(way, name);
        likeness(b).total_cmp(&likeness(a))
    });
    names.truncate(3);
    names
}
