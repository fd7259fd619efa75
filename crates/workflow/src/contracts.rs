//! Connects commands: derives tags for the fields of answers and for arguments, and picks the list that provides an argument's
//! values.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::api::naming::resources;
use super::from_schema::LISTS;
use super::spec::{CommandSpec, OutputField, ProviderContract, SourceKind};
use super::words::{snake, stem};

/// The tag of the field by which people recognize a list element, such as its name.
pub const DISPLAY: &str = "display";

/// Suffixes of arguments that identify a resource, such as `app_id`, in order of preference.
const KEYS: [&str; 3] = ["id", "name", "slug"];

/// Fills in what can be derived only from all commands of a source together: the tags of answers, the accepted and preferred tags
/// of arguments, and providers. Tags and providers that are already set stay.
pub fn complete(specs: &mut [CommandSpec]) {
    for spec in &mut *specs {
        tag(spec);
    }
    let fields = specs.iter().flat_map(|spec| &spec.output_contract.fields);
    let known: BTreeSet<String> = fields.flat_map(|field| field.tags.iter().cloned()).collect();
    for spec in &mut *specs {
        for argument in arguments_mut(spec) {
            accept(argument, &known);
        }
    }
    assign(specs);
}

/// Returns the provider contract of a command that returns a list.
pub fn provider(spec: &CommandSpec) -> Option<ProviderContract> {
    if !spec.is_provider() {
        return None;
    }
    let needed = arguments(spec).filter(|argument| argument.required);
    let args = needed.map(|argument| {
        let mut contract = Map::new();
        if !argument.accepts.is_empty() {
            contract.insert("accepts".to_owned(), json!(argument.accepts));
        }
        if let Some(prefer) = argument.prefer {
            contract.insert("prefer".to_owned(), json!(prefer));
        }
        contract.insert("required".to_owned(), json!(true));
        (argument.name.to_owned(), Value::Object(contract))
    });
    Some(ProviderContract {
        id: spec.id.clone(),
        args: args.collect(),
        returns: spec.output_contract.fields.clone(),
        pagination: spec.output_contract.pagination.clone(),
    })
}

struct Argument<'a> {
    name: &'a str,
    required: bool,
    accepts: &'a [String],
    prefer: Option<&'a str>,
}

/// Returns the arguments of a command: first the placeholders of its path, then the flags.
fn arguments(spec: &CommandSpec) -> impl Iterator<Item = Argument<'_>> {
    let placeholders = spec.positionals.iter().map(|argument| Argument {
        name: &argument.name,
        required: true,
        accepts: &argument.accepts,
        prefer: argument.prefer.as_deref(),
    });
    let flags = spec.flags.iter().map(|flag| Argument {
        name: &flag.name,
        required: flag.required,
        accepts: &flag.accepts,
        prefer: flag.prefer.as_deref(),
    });
    placeholders.chain(flags)
}

/// The parts of an argument that [`complete`] may set.
struct ArgumentMut<'a> {
    name: &'a str,
    /// Whether the argument's values can come from a list. Booleans, objects and enumerations cannot.
    is_open: bool,
    provider: &'a mut Option<String>,
    accepts: &'a mut Vec<String>,
    prefer: &'a mut Option<String>,
}

fn arguments_mut(spec: &mut CommandSpec) -> impl Iterator<Item = ArgumentMut<'_>> {
    let placeholders = spec.positionals.iter_mut().map(|argument| ArgumentMut {
        name: &argument.name,
        is_open: true,
        provider: &mut argument.provider,
        accepts: &mut argument.accepts,
        prefer: &mut argument.prefer,
    });
    let flags = spec.flags.iter_mut().map(|flag| ArgumentMut {
        name: &flag.name,
        is_open: flag.r#enum.is_empty() && !matches!(flag.r#type.as_str(), "boolean" | "object"),
        provider: &mut flag.provider,
        accepts: &mut flag.accepts,
        prefer: &mut flag.prefer,
    });
    placeholders.chain(flags)
}

/// Returns the resource that a command is about, in the singular. It is the last segment of the path that is not a placeholder.
/// Without a path, it is the key of the list, or else a part of the command's id.
pub fn resource(spec: &CommandSpec) -> String {
    if let Some(path) = &spec.path {
        return stem(segments(path).rfind(|segment| !is_placeholder(segment)).unwrap_or(&spec.group));
    }
    let list = spec.output_contract.list.as_deref().and_then(|path| path.rsplit('.').next());
    if let Some(list) = list.filter(|list| !list.is_empty() && !LISTS.contains(list)) {
        return stem(list);
    }
    let before = spec.name.rsplit_once(':').map_or(spec.name.as_str(), |(before, _)| before);
    let part = match spec.source {
        SourceKind::Tools => spec.name.split(':').next().and_then(|name| name.rsplit('/').next()),
        // Plugins name the action first: `list_issues`, `searchNodes`.
        SourceKind::Plugins => {
            let words = snake(&spec.name);
            return stem(words.rsplit('_').next().unwrap_or_default());
        }
        _ if before == spec.name => Some(spec.group.as_str()),
        _ => before.rsplit(':').next(),
    };
    stem(part.unwrap_or_default())
}

fn segments(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    resources(path).split('/').filter(|segment| !segment.is_empty())
}

fn is_placeholder(segment: &str) -> bool {
    segment.starts_with('{')
}

/// Tags the fields of an answer, such as `app_id`. Fields that already have tags keep them.
fn tag(spec: &mut CommandSpec) {
    let resource = resource(spec);
    for OutputField { name, tags, .. } in &mut spec.output_contract.fields {
        if !tags.is_empty() {
            continue;
        }
        match name.as_str() {
            "name" => tags.extend([format!("{resource}_name"), DISPLAY.to_owned()]),
            "id" | "slug" | "email" => tags.push(format!("{resource}_{name}")),
            // `foo_id`, `fooId` and `foo.id` all become `foo_id`. In a longer path, only the last part before the leaf counts.
            _ => {
                let (before, leaf) = name.rsplit_once('.').unwrap_or(("", name));
                let named = match leaf {
                    "id" => snake(&format!("{}_id", before.rsplit('.').next().unwrap_or_default())),
                    leaf => snake(leaf),
                };
                tags.extend(named.strip_suffix("_id").is_some_and(|of| !of.is_empty()).then_some(named));
            }
        }
    }
}

/// Sets the tags that an argument accepts and prefers, unless it already accepts some. A tag that no command returns is left out.
fn accept(argument: ArgumentMut<'_>, known: &BTreeSet<String>) {
    if !argument.accepts.is_empty() || !argument.is_open {
        return;
    }
    let name = stem(argument.name);
    let is_key = name == "id" || KEYS.iter().any(|key| name.ends_with(&format!("_{key}")));
    let named: Vec<String> = match is_key {
        true => vec![name],
        false => KEYS.iter().map(|key| format!("{name}_{key}")).collect(),
    };
    let accepts: Vec<String> = named.into_iter().filter(|tag| known.contains(tag)).collect();
    if accepts.len() > 1 && argument.prefer.is_none() {
        *argument.prefer = accepts.first().cloned();
    }
    *argument.accepts = accepts;
}

/// A command that lists possible values for arguments.
struct List {
    id: String,
    group: String,
    /// The command's required arguments, with the tags that each accepts.
    needs: Vec<(String, Vec<String>)>,
}

/// Sets the provider of each argument, and records in each list which arguments it provides for.
fn assign(specs: &mut [CommandSpec]) {
    let mut lists: HashMap<String, Vec<List>> = HashMap::new();
    for spec in specs.iter().filter(|spec| spec.is_provider()) {
        let needed = arguments(spec).filter(|argument| argument.required);
        let needs = needed.map(|argument| (snake(argument.name), argument.accepts.to_vec())).collect();
        let list = List { id: spec.id.clone(), group: spec.group.clone(), needs };
        lists.entry(resource(spec)).or_default().push(list);
    }
    let mut provided: HashMap<String, BTreeSet<String>> = HashMap::new();
    for spec in &mut *specs {
        let wanted = wanted(spec);
        let (id, group) = (spec.id.clone(), spec.group.clone());
        // The arguments so far. Their values can be passed to the provider of the next argument.
        let mut earlier: Vec<(String, Vec<String>)> = Vec::new();
        for (argument, resource) in arguments_mut(spec).zip(wanted) {
            if argument.provider.is_none() && argument.is_open {
                let known = lists.get(&resource).into_iter().flatten().filter(|list| list.id != id);
                let (own, others): (Vec<_>, Vec<_>) = known.partition(|list| list.group == group);
                *argument.provider = best(&own, &earlier).or_else(|| best(&others, &earlier));
            }
            if let Some(provider) = &*argument.provider {
                provided.entry(provider.clone()).or_default().insert(format!("{id}.{}", argument.name));
            }
            earlier.push((snake(argument.name), argument.accepts.clone()));
        }
    }
    for spec in specs {
        spec.provider_for = provided.remove(&spec.id).into_iter().flatten().collect();
    }
}

/// Returns the resource that each argument identifies. A placeholder identifies the path segment before it: `app` in
/// `/apps/{id}`.
fn wanted(spec: &CommandSpec) -> Vec<String> {
    let path: Vec<&str> = spec.path.iter().flat_map(|path| segments(path)).collect();
    let before =
        |place: usize| path[..place].last().filter(|segment| !is_placeholder(segment)).map(|segment| stem(segment));
    let mut of_path =
        path.iter().enumerate().filter(|(_, segment)| is_placeholder(segment)).map(|(place, _)| before(place));
    let of_name = |name: &str| {
        let name = stem(name);
        let of_key = KEYS.iter().find_map(|key| name.strip_suffix(&format!("_{key}")).map(str::to_owned));
        of_key.unwrap_or(name)
    };
    let placeholders =
        spec.positionals.iter().map(|argument| of_path.next().flatten().unwrap_or_else(|| of_name(&argument.name)));
    let mut wanted: Vec<String> = placeholders.collect();
    wanted.extend(spec.flags.iter().map(|flag| of_name(&flag.name)));
    wanted
}

/// Returns the best list whose required arguments can all be taken from earlier arguments. The list with the most required
/// arguments wins, because its results are narrower.
fn best(lists: &[&List], earlier: &[(String, Vec<String>)]) -> Option<String> {
    let can_be_given = |(name, accepts): &(String, Vec<String>)| {
        earlier.iter().any(|(known, tags)| known == name || tags.iter().any(|tag| accepts.contains(tag)))
    };
    let usable = lists.iter().filter(|list| list.needs.iter().all(can_be_given));
    let order = |list: &&&List| (std::cmp::Reverse(list.needs.len()), list.id.len(), list.id.clone());
    usable.min_by_key(order).map(|list| list.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{CommandEffect, Flag, OutputContract, Positional};

    fn field(name: &str) -> OutputField {
        OutputField { name: name.to_owned(), r#type: None, tags: Vec::new() }
    }

    fn of_path(id: &str, path: &str, flags: &[&str], fields: &[&str]) -> CommandSpec {
        let positional = |name: &str| Positional {
            name: name.trim_matches(['{', '}']).to_owned(),
            r#type: "string".to_owned(),
            passwords: Vec::new(),
            help: None,
            provider: None,
            accepts: Vec::new(),
            prefer: None,
        };
        let fields = fields.iter().map(|name| field(name)).collect();
        let list = id.ends_with(":list").then(|| ".".to_owned());
        CommandSpec {
            path: Some(path.to_owned()),
            positionals: segments(path).filter(|segment| is_placeholder(segment)).map(positional).collect(),
            flags: flags.iter().map(|name| Flag { required: true, ..Flag::new(*name, "string") }).collect(),
            output_contract: OutputContract { fields, list, ..OutputContract::default() },
            effect: if id.ends_with("create") { CommandEffect::Write } else { CommandEffect::Read },
            ..CommandSpec::new(id, SourceKind::Catalogs)
        }
    }

    fn hosting() -> Vec<CommandSpec> {
        let mut specs = vec![
            of_path("apps:create", "/apps", &["region"], &["id", "name"]),
            of_path("apps:list", "/apps", &[], &["id", "name", "owner.id", "teamId", "created_at"]),
            of_path("addons:list", "/addons", &["app"], &["id", "name"]),
            of_path("all:addons:list", "/all/addons", &[], &["id", "name"]),
            of_path("addons:info", "/apps/{app_id}/addons/{addon}", &[], &["id"]),
            of_path("logs:list", "/logs", &["session"], &["id"]),
            of_path("apps:log", "/apps/{app_id}/log/{log_id}", &[], &[]),
        ];
        complete(&mut specs);
        specs
    }

    fn spec<'a>(specs: &'a [CommandSpec], id: &str) -> &'a CommandSpec {
        specs.iter().find(|spec| spec.id == id).unwrap()
    }

    #[test]
    fn a_list_becomes_a_provider_with_arguments_and_tagged_fields() {
        let specs = hosting();
        let addons = serde_json::to_value(provider(spec(&specs, "addons:list")).unwrap()).unwrap();
        assert_eq!(
            addons,
            json!({
                "id": "addons:list",
                "args": { "app": { "accepts": ["app_id", "app_name"], "prefer": "app_id", "required": true } },
                "returns": [
                    { "name": "id", "tags": ["addon_id"] },
                    { "name": "name", "tags": ["addon_name", "display"] },
                ],
            })
        );
        assert!(provider(spec(&specs, "apps:create")).is_none());
    }

    #[test]
    fn foreign_key_fields_are_tagged_with_what_they_refer_to() {
        let specs = hosting();
        let tags: Vec<_> =
            spec(&specs, "apps:list").output_contract.fields.iter().map(|field| &field.tags[..]).collect();
        let none: &[String] = &[];
        assert_eq!(tags[2..], [&["owner_id".to_owned()][..], &["team_id".to_owned()], none]);
    }

    #[test]
    fn an_argument_is_given_by_the_list_that_fits_what_is_known_before_it() {
        let specs = hosting();
        let info = spec(&specs, "addons:info");
        assert_eq!(info.positionals[0].provider.as_deref(), Some("apps:list"));
        // `all:addons:list` needs no argument, but `addons:list` returns only the addons of the chosen app.
        assert_eq!(info.positionals[1].provider.as_deref(), Some("addons:list"));
        assert_eq!(spec(&specs, "addons:list").flags[0].provider.as_deref(), Some("apps:list"));
        assert_eq!(spec(&specs, "addons:list").provider_for, ["addons:info.addon"]);
        // `logs:list` needs a session, and no earlier argument of `apps:log` is one. So no command can list the logs.
        assert_eq!(spec(&specs, "apps:log").positionals[1].provider, None);
    }

    #[test]
    fn declared_tags_are_kept() {
        let mut specs = hosting();
        specs[1].output_contract.fields[0].tags = vec!["app_key".to_owned()];
        specs[2].flags[0].accepts = vec!["app_key".to_owned()];
        complete(&mut specs);
        assert_eq!(specs[1].output_contract.fields[0].tags, ["app_key"]);
        assert_eq!(specs[2].flags[0].accepts, ["app_key"]);
    }

    #[test]
    fn every_named_provider_exists() {
        let specs = hosting();
        for spec in &specs {
            let flags = spec.flags.iter().filter_map(|flag| flag.provider.as_ref());
            for id in flags.chain(spec.positionals.iter().filter_map(|argument| argument.provider.as_ref())) {
                let list = specs.iter().find(|known| known.id == *id).unwrap();
                assert!(provider(list).is_some());
            }
        }
    }
}
