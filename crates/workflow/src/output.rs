//! Looks up a path in the output contract of a step, before the step runs: which field the path names, with its type and tags.

use std::borrow::Cow;

use super::definition::Step;
use super::expression::Segment;
use super::spec::{CommandSpec, OutputContract, OutputField};

/// The result of looking up a path in an output.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup<'c> {
    /// The output itself, or an object or a list inside it.
    Whole,
    Field(&'c OutputField),
    /// A place inside a field whose structure is unknown.
    Inside,
    /// Nothing: the contract is complete and has no such field.
    Missing,
    /// A field of list elements, but the path lacks the index, as in `items.id`.
    NoIndex,
    /// Possibly a field: the contract is incomplete.
    Unknown,
}

/// Returns the output contract of a step: the command's contract, with the changes that the step declares.
pub fn contract<'c>(spec: &'c CommandSpec, step: &Step) -> Cow<'c, OutputContract> {
    let Some(own) = &step.output_contract else { return Cow::Borrowed(&spec.output_contract) };
    let mut contract = spec.output_contract.clone();
    for field in &own.fields {
        match contract.fields.iter_mut().find(|known| known.name == field.name) {
            Some(known) => *known = field.clone(),
            None => contract.fields.push(field.clone()),
        }
    }
    Cow::Owned(contract)
}

/// Looks up a path in an output.
pub fn find<'c>(contract: &'c OutputContract, segments: &[Segment]) -> Lookup<'c> {
    let mut rest = segments;
    if let Some(list) = &contract.list {
        for key in list.split('.').filter(|key| !key.is_empty()) {
            rest = match rest.split_first() {
                None => return Lookup::Whole,
                Some((Segment::Key(given), rest)) if given == key => rest,
                // The contract says nothing about fields next to the list.
                Some(_) => return Lookup::Unknown,
            };
        }
        rest = match rest.split_first() {
            None => return Lookup::Whole,
            Some((Segment::Index(_), rest)) => rest,
            Some((Segment::Key(_), _)) => return Lookup::NoIndex,
        };
    }
    if rest.is_empty() {
        return Lookup::Whole;
    }
    let nothing = match contract.fields.is_empty() || contract.more_fields.is_some() {
        true => Lookup::Unknown,
        false => Lookup::Missing,
    };
    let mut name = String::new();
    for (at, segment) in rest.iter().enumerate() {
        match segment {
            Segment::Key(key) if name.is_empty() => name.push_str(key),
            Segment::Key(key) => {
                name.push('.');
                name.push_str(key);
            }
            Segment::Index(_) if name.is_empty() => return nothing,
            Segment::Index(_) => continue,
        }
        if let Some(field) = contract.fields.iter().find(|field| field.name == name) {
            let is_last = at + 1 == rest.len();
            return match (is_last, field.r#type.as_deref()) {
                (true, _) => Lookup::Field(field),
                (false, None | Some("object" | "array")) => {
                    // The contract may also list fields inside this one.
                    let inside = format!("{name}.");
                    match contract.fields.iter().any(|field| field.name.starts_with(&inside)) {
                        true => continue,
                        false => Lookup::Inside,
                    }
                }
                (false, _) => nothing,
            };
        }
    }
    let inside = format!("{name}.");
    match contract.fields.iter().any(|field| field.name.starts_with(&inside)) {
        true => Lookup::Whole,
        false => nothing,
    }
}

/// Parses a path such as `data.items[0].id`. A leading `output.` is ignored.
pub fn segments(path: &str) -> Vec<Segment> {
    let path =
        path.strip_prefix("output").filter(|rest| rest.is_empty() || rest.starts_with(['.', '['])).unwrap_or(path);
    let parts = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().map_or_else(|_| Segment::Key(part.to_owned()), Segment::Index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(list: Option<&str>, fields: &[(&str, &str)]) -> OutputContract {
        let field = |(name, kind): &(&str, &str)| OutputField {
            name: (*name).to_owned(),
            r#type: Some((*kind).to_owned()),
            tags: Vec::new(),
        };
        OutputContract {
            fields: fields.iter().map(field).collect(),
            list: list.map(str::to_owned),
            ..OutputContract::default()
        }
    }

    #[test]
    fn a_path_is_looked_up_in_an_output_contract() {
        let fields = [("id", "string"), ("owner.id", "string"), ("tags", "array"), ("meta", "object")];
        let plain = contract(None, &fields);
        let at = |path: &str| find(&plain, &segments(path));
        assert!(matches!(at("output.id"), Lookup::Field(field) if field.name == "id"));
        assert!(matches!(at("owner.id"), Lookup::Field(_)));
        assert_eq!(at("owner"), Lookup::Whole);
        assert_eq!(at(""), Lookup::Whole);
        assert_eq!(at("tags[0]"), Lookup::Inside);
        assert_eq!(at("meta.anything"), Lookup::Inside);
        assert_eq!(at("id.more"), Lookup::Missing);
        assert_eq!(at("gone"), Lookup::Missing);
        assert_eq!(at("owner.gone"), Lookup::Missing);
        assert_eq!(find(&OutputContract { more_fields: Some(2), ..plain.clone() }, &segments("gone")), Lookup::Unknown);
        assert_eq!(find(&OutputContract::default(), &segments("id")), Lookup::Unknown);
    }

    #[test]
    fn elements_of_a_list_are_named_by_their_index() {
        let bare = contract(Some("."), &[("id", "string")]);
        assert!(matches!(find(&bare, &segments("[0].id")), Lookup::Field(_)));
        assert!(matches!(find(&bare, &segments("output.0.id")), Lookup::Field(_)));
        assert_eq!(find(&bare, &segments("id")), Lookup::NoIndex);
        assert_eq!(find(&bare, &segments("[0].gone")), Lookup::Missing);
        let inside = contract(Some("data.items"), &[("id", "string")]);
        assert!(matches!(find(&inside, &segments("data.items[3].id")), Lookup::Field(_)));
        assert_eq!(find(&inside, &segments("data.items.id")), Lookup::NoIndex);
        assert_eq!(find(&inside, &segments("data")), Lookup::Whole);
        assert_eq!(find(&inside, &segments("total")), Lookup::Unknown);
    }
}
