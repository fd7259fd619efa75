//! Parses the arguments of a command that a person typed, and checks arguments against the command.

use std::str::FromStr;

use serde_json::{Map, Value, json};

use crate::argument::{self, Argument, Refused};
use crate::spec::{CommandSpec, SECRET};
use mcpkg_base::error::{Code, Error, Result, nearest};
use mcpkg_base::json;
use mcpkg_base::secret::Reference;
use mcpkg_core::op::Context;

/// A typed argument, `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    pub name: String,
    pub value: String,
}

impl FromStr for Typed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

/// Parses typed arguments. Strings, secrets and unknown arguments are taken literally, and all others are parsed as JSON. If an
/// argument takes both strings and JSON, JSON is tried first.
pub fn read(spec: &CommandSpec, typed: &[Typed]) -> Result<Map<String, Value>> {
    let mut with = Map::new();
    for Typed { name, value } in typed {
        let value = match argument::named(spec, name) {
            Some(argument) => read_one(&argument, value)?,
            None => Value::String(value.clone()),
        };
        if with.insert(name.clone(), value).is_some() {
            return Err(wrong(name, "it is given twice"));
        }
    }
    Ok(with)
}

fn read_one(argument: &Argument<'_>, typed: &str) -> Result<Value> {
    let text = || Value::String(typed.to_owned());
    match argument.r#type {
        SECRET => Ok(text()),
        // If the argument accepts null, `null` means null, and `"null"` in quotes means the text.
        "string" if argument.nullable && matches!(typed, "null" | "\"null\"") => {
            Ok(if typed == "null" { Value::Null } else { "null".into() })
        }
        "string" => Ok(text()),
        "any" => Ok(match json::exact(typed.as_bytes()) {
            Ok(value) if argument.refuses(&value).is_none() || argument.refuses(&text()).is_some() => value,
            _ => text(),
        }),
        r#type => json::exact(typed.as_bytes()).map_err(|_| {
            wrong(
                argument.name,
                &format!("'{}' is not valid JSON, but the argument takes {type}", typed.escape_debug()),
            )
        }),
    }
}

/// Checks arguments against a command.
///
/// # Errors
/// `E_INVALID_ARGUMENT` for the first unknown, missing or invalid argument; `E_TERMINAL_REQUIRED` if an agent passes a secret.
pub fn check(context: &Context, spec: &CommandSpec, with: &Map<String, Value>) -> Result<()> {
    for (name, value) in with {
        let Some(argument) = argument::named(spec, name) else { return Err(unknown(spec, name)) };
        if argument.is_secret() {
            check_secret(context, name, value)?;
            continue;
        }
        match argument.refuses(value) {
            None => {}
            Some(Refused::Type(why)) => return Err(wrong(name, &format!("it {why}"))),
            Some(Refused::Value) => {
                let known: Vec<String> = argument.values.iter().map(Value::to_string).collect();
                return Err(wrong(name, &format!("{value} is not one of {}", known.join(", "))));
            }
        }
    }
    let placeholders = spec.positionals.iter().map(|positional| positional.name.as_str());
    let is_given = |name: &str| with.contains_key(name);
    let required = spec.needed(is_given).map(|flag| flag.name.as_str());
    match placeholders.chain(required).find(|name| !is_given(name)) {
        Some(name) => Err(wrong(name, "it is required").hint(format!(
            "pass the argument with `--arg {name}=VALUE`; `mcpkg command show {}` lists the arguments",
            spec.id
        ))),
        None => Ok(()),
    }
}

/// Refuses a secret that is not a reference, or that an agent passes.
pub fn check_secret(context: &Context, name: &str, value: &Value) -> Result<()> {
    if !context.is_shell() {
        return Err(Error::new(
            Code::TerminalRequired,
            format!("Only a person at a shell can provide the secret '{name}'"),
        )
        .with_details(json!({ "argument": name }))
        .hint("a person can run the command with `mcpkg command run`"));
    }
    let reference = value.as_str().ok_or_else(|| {
        wrong(name, "pass a reference to the place where the secret is stored, not the secret itself")
    })?;
    reference.parse::<Reference>().map(drop)
}

fn unknown(spec: &CommandSpec, name: &str) -> Error {
    let flags = spec.flags.iter().map(|flag| flag.name.as_str());
    let known: Vec<&str> = spec.positionals.iter().map(|positional| positional.name.as_str()).chain(flags).collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None if known.is_empty() => format!("{} takes none", spec.id),
        None => format!("{} takes {}", spec.id, known.join(", ")),
    };
    wrong(name, &format!("{} has no such argument", spec.id)).hint(hint)
}

fn wrong(name: &str, why: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("Argument '{}': {why}", name.escape_debug()))
        .with_details(json!({ "argument": name }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Body, Flag, Place, SourceKind};
    use mcpkg_store::Store;
    use mcpkg_store::projects::Selection;

    #[test]
    fn a_body_that_may_be_left_out_is_whole_where_it_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let context = Context::shell(
            mcpkg_core::op::Domains::NONE,
            Store::open(&folder.path().join("a.db")).unwrap(),
            Selection::default(),
        );
        let key = |name| Flag { r#in: Some(Place::Body), ..Flag::new(name, "string") };
        let body = Body {
            content_type: "application/json".to_owned(),
            whole: false,
            required: false,
            needs: vec!["name".to_owned()],
        };
        let flags = vec![key("name"), key("note"), Flag::new("page", "integer")];
        let spec = CommandSpec { flags, body: Some(body), ..CommandSpec::new("apps:create", SourceKind::Catalogs) };
        let checked =
            |with: Value| check(&context, &spec, with.as_object().unwrap()).map_err(|error| error.to_string());
        assert_eq!((checked(json!({})), checked(json!({ "page": 2 }))), (Ok(()), Ok(())));
        assert_eq!(checked(json!({ "name": "a", "note": "b" })), Ok(()));
        let missing = Err("Argument 'name': it is required".to_owned());
        assert_eq!(checked(json!({ "note": "b" })), missing);
    }

    fn spec() -> CommandSpec {
        let required = Flag { required: true, ..Flag::new("name", "string") };
        let region = Flag { r#enum: vec![json!("us"), json!("eu")], ..Flag::new("region", "string") };
        let flags = vec![required, region, Flag::new("size", "integer"), Flag::new("key", SECRET)];
        CommandSpec { flags, ..CommandSpec::new("apps:create", SourceKind::Catalogs) }
    }

    #[test]
    fn typed_text_is_parsed_as_the_type_of_the_argument() {
        let typed = |texts: &[&str]| read(&spec(), &texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>());
        assert_eq!(Value::from(typed(&["name=7", "size=7"]).unwrap()), json!({ "name": "7", "size": 7 }));
        assert!(typed(&["size=seven"]).is_err() && typed(&["name=a", "name=b"]).is_err());
        assert!("name".parse::<Typed>().is_err());
    }

    #[test]
    fn arguments_are_what_the_command_takes() {
        let folder = tempfile::tempdir().unwrap();
        let context = Context::shell(
            mcpkg_core::op::Domains::NONE,
            Store::open(&folder.path().join("a.db")).unwrap(),
            Selection::default(),
        );
        let checked =
            |with: Value| check(&context, &spec(), with.as_object().unwrap()).map_err(|error| error.to_string());
        assert_eq!(checked(json!({ "name": "a", "region": "eu", "size": 3, "key": "env:KEY" })), Ok(()));
        for (with, why) in [
            (json!({}), "Argument 'name': it is required"),
            (json!({ "name": "a", "nam": 1 }), "Argument 'nam': apps:create has no such argument"),
            (json!({ "name": 3 }), "Argument 'name': it takes string, not integer"),
            (json!({ "name": "a", "region": "mars" }), "Argument 'region': \"mars\" is not one of \"us\", \"eu\""),
            (json!({ "name": "a", "size": 1.5 }), "Argument 'size': it takes integer, not number"),
            (json!({ "name": "a", "key": "hunter2" }), "Say where the secret is stored; do not give the secret itself"),
        ] {
            assert_eq!(checked(with), Err(why.to_owned()));
        }
    }
}
