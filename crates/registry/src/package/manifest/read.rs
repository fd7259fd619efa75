//! Builds a [`Manifest`] from the merged fields of its files, and checks each field.

use semver::Version;
use serde_json::{Map, Value};

use super::action::{Common, actions};
use super::fields::Fields;
use super::files::Sources;
use super::problem::{Kind, Problems};
use super::types::{Base, Manifest, Resources, Variable};
use super::unit;
use crate::package::name::{self, Name};
use crate::run::is_usual;

/// All known fields, in documentation order.
const KEYS: [&str; 25] = [
    "name",
    "description",
    "version",
    "scripts",
    "command",
    "inputSchema",
    "outputSchema",
    "annotations",
    "from",
    "timeout",
    "env",
    "hooks",
    "build",
    "resources",
    "license",
    "tags",
    "authors",
    "examples",
    "compatibility",
    "metadata",
    "allowedTools",
    "allowed-tools",
    "enact",
    "doc",
    "title",
];

const MAX_DESCRIPTION: usize = 1024;

const MAX_TAGS: usize = 64;

/// Reads the fields of a manifest; `None` if there are errors.
pub(super) fn manifest(sources: Sources, problems: &mut Problems) -> Option<Manifest> {
    let Sources { fields: pairs, at, doc, .. } = sources;
    let fields = Fields { pairs: &pairs, at, path: String::new() };
    fields.warn_of_unknown(&KEYS, problems);
    let name = name(&fields, problems);
    let description = description(&fields, problems);
    let version = version(&fields, problems);
    let env = env(&fields, problems);
    let mut common = Common::read(&fields, problems);
    common.env = env.iter().map(|variable| variable.name.clone()).collect();
    let actions = actions(&fields, &common, problems);
    let (build, postinstall) = hooks(&fields, problems);
    let from = match fields.text("from", problems).map(str::trim) {
        None | Some("" | "host") => Base::Host,
        Some(image) => Base::Image(image.to_owned()),
    };
    let resources = resources(&fields, problems);
    let license = fields.text("license", problems).map(str::to_owned);
    let tags = tags(&fields, problems);
    let doc = doc.or_else(|| fields.text("doc", problems).map(str::to_owned));
    if !actions.is_empty() {
        for (key, why) in [
            ("outputSchema", actions.iter().all(|action| action.output_schema.is_none())),
            ("timeout", actions.iter().all(|action| action.timeout.is_none())),
        ] {
            if why {
                problems.warn(&fields.path(key), at, Kind::Advice, format!("`{key}` is missing"));
            }
        }
    }
    if license.is_none() && fields.get("license").is_none() {
        problems.warn("/license", at, Kind::Advice, "`license` is missing");
    }
    if !problems.errors.is_empty() {
        return None;
    }
    let mut json: Map<String, Value> = pairs.iter().map(|pair| (pair.key.clone(), pair.node.to_json())).collect();
    if let Some(doc) = &doc {
        json.insert("doc".to_owned(), doc.clone().into());
    }
    Some(Manifest {
        name: name?,
        version,
        description: description?,
        doc,
        actions,
        from,
        env,
        build,
        postinstall,
        resources,
        license,
        tags,
        json,
    })
}

fn name(fields: &Fields<'_>, problems: &mut Problems) -> Option<Name> {
    let Some(pair) = fields.get("name") else {
        problems.error("/name", fields.at, Kind::Missing, "`name` is missing; set one such as alice/utils/weather");
        return None;
    };
    let text = fields.text("name", problems)?;
    if let Some(why) = name::wrong(text) {
        let why = format!("'{}' is not a tool name: {why}", text.escape_debug());
        problems.error("/name", pair.node.at, Kind::Value, why);
    }
    Name::parse(text).ok()
}

fn description(fields: &Fields<'_>, problems: &mut Problems) -> Option<String> {
    let Some(pair) = fields.get("description") else {
        problems.error("/description", fields.at, Kind::Missing, "`description` is missing");
        return None;
    };
    let text = fields.text("description", problems)?.trim();
    let length = text.chars().count();
    let why = match length {
        0 => "it is empty".to_owned(),
        _ if length > MAX_DESCRIPTION => format!("it has {length} characters; the limit is {MAX_DESCRIPTION}"),
        // Line breaks are fine, since lists show a description as a single line.
        _ if text.chars().any(|c| c.is_control() && c != '\n') => "it contains a control character".to_owned(),
        _ => return Some(text.to_owned()),
    };
    problems.error("/description", pair.node.at, Kind::Value, why);
    None
}

fn version(fields: &Fields<'_>, problems: &mut Problems) -> Option<Version> {
    let Some(pair) = fields.get("version") else {
        problems.warn("/version", fields.at, Kind::Advice, "`version` is missing; you need it to pack and publish");
        return None;
    };
    let text = fields.text("version", problems)?;
    let read = Version::parse(text);
    if read.is_err() || text.len() > 100 {
        let why = format!("'{}' is not a valid version; use one such as 1.0.0", text.escape_debug());
        problems.error("/version", pair.node.at, Kind::Value, why);
        return None;
    }
    read.ok()
}

fn env(fields: &Fields<'_>, problems: &mut Problems) -> Vec<Variable> {
    const KEYS: [&str; 4] = ["description", "secret", "required", "default"];
    let Some(pair) = fields.get("env") else { return Vec::new() };
    let Some(variables) = Fields::of(&pair.node, "/env".to_owned(), problems) else { return Vec::new() };
    let mut read = Vec::new();
    for pair in variables.pairs {
        let path = variables.path(&pair.key);
        let is_name = pair.key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
            && !pair.key.starts_with(|c: char| c.is_ascii_digit())
            && !pair.key.is_empty();
        if !is_name {
            problems.error(
                &path,
                pair.at,
                Kind::Value,
                "a variable's name can contain only A-Z, a-z, 0-9 and _, and must not start with a digit",
            );
            continue;
        }
        if is_usual(&pair.key) {
            problems.error(&path, pair.at, Kind::Value, "mcpkg already sets this variable in every run");
            continue;
        }
        let mut variable =
            Variable { name: pair.key.clone(), description: None, secret: false, required: false, default: None };
        if !pair.node.is_null() {
            let Some(inner) = Fields::of(&pair.node, path.clone(), problems) else { continue };
            inner.warn_of_unknown(&KEYS, problems);
            variable.description = inner.text("description", problems).map(str::to_owned);
            variable.secret = inner.truth("secret", problems).unwrap_or_default();
            variable.required = inner.truth("required", problems).unwrap_or_default();
            variable.default = inner.scalar("default", problems);
        }
        if variable.default.is_some() && variable.secret {
            problems.warn(&path, pair.at, Kind::Advice, "everybody can read a secret's default value in the manifest");
        } else if variable.default.is_some() && variable.required {
            problems.warn(
                &path,
                pair.at,
                Kind::Advice,
                "a required variable with a default is never missing, so `required` has no effect",
            );
        }
        read.push(variable);
    }
    read
}

fn hooks(fields: &Fields<'_>, problems: &mut Problems) -> (Vec<String>, Vec<String>) {
    let mut build = fields.texts("build", problems);
    let Some(pair) = fields.get("hooks") else { return (build, Vec::new()) };
    let Some(hooks) = Fields::of(&pair.node, "/hooks".to_owned(), problems) else { return (build, Vec::new()) };
    hooks.warn_of_unknown(&["build", "postinstall"], problems);
    let own = hooks.texts("build", problems);
    if !own.is_empty() && !build.is_empty() {
        problems.error(
            "/build",
            hooks.at,
            Kind::Value,
            "`hooks.build` and `build` mean the same thing; remove one of them",
        );
    }
    build.extend(own);
    (build, hooks.texts("postinstall", problems))
}

fn resources(fields: &Fields<'_>, problems: &mut Problems) -> Resources {
    let Some(pair) = fields.get("resources") else { return Resources::default() };
    let Some(inner) = Fields::of(&pair.node, "/resources".to_owned(), problems) else { return Resources::default() };
    inner.warn_of_unknown(&["memory", "disk", "gpu"], problems);
    let mut size = |key: &str| {
        let text = inner.scalar(key, problems)?;
        let at = inner.get(key)?.node.at;
        unit::size(&text).map_err(|why| problems.error(&inner.path(key), at, Kind::Value, why)).ok()
    };
    let (memory, disk) = (size("memory"), size("disk"));
    let gpu = inner.scalar("gpu", problems);
    if let Some(pair) = inner.get("gpu") {
        problems.warn("/resources/gpu", pair.at, Kind::Advice, "no runner supports GPUs");
    }
    Resources { memory, disk, gpu }
}

fn tags(fields: &Fields<'_>, problems: &mut Problems) -> Vec<String> {
    let tags = fields.texts("tags", problems);
    let is_tag = |tag: &String| (1..=64).contains(&tag.chars().count()) && !tag.chars().any(char::is_control);
    if tags.len() > MAX_TAGS || !tags.iter().all(is_tag) {
        let at = fields.get("tags").map_or(fields.at, |pair| pair.node.at);
        let why = format!("a tool can have at most {MAX_TAGS} tags, each with 1 to 64 characters");
        problems.error("/tags", at, Kind::Value, why);
    }
    tags
}
