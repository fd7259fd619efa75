//! `mcpkg limit list` and `mcpkg limit set`: show and set how many rows growing tables keep, and for how long.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::GROUP;
use crate::op::{
    Body, Changes, Context, Domains, Effect, Faces, MissingDatabase, Names, NoOutput, Operation, Reply, Table,
};
use mcpkg_base::clock::span;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::limits::{Growing, Limits};

const NONE: &str = "none";

const TABLES: Names = Names::Known(|domains| tables(domains).map(|table| table.name.to_owned()).collect());

/// List the limits
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_limits";
    const CLI: &'static [&'static str] = &["limit", "list"];
    const TITLE: &'static str = "List the limits";
    const ABOUT: &'static str = "List the tables that grow, with how many rows each keeps and for how long";
    const HELP: &'static str = "The list does not include revisions and stored deploys. Use `mcpkg compact \
        --keep-revisions N` to delete old revisions, and `mcpkg snapshot prune` to delete old stored deploys.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg limit list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("limits");
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::Refuse
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (mut rows, mut data) = (Vec::new(), Vec::new());
        context.store.read(|db| {
            for growing in tables(context.domains) {
                let limits = growing.limits(db)?;
                let beyond = growing.count(db, context.clock.now())?;
                let Value::Object(mut object) = json!({ "table": growing.name, "beyond": beyond }) else { continue };
                object.extend(data_of(limits));
                data.push(Value::Object(object));
                let [age, number] = words(limits);
                rows.push(vec![growing.name.to_owned(), age, number, beyond.to_string(), growing.about.to_owned()]);
            }
            Ok(())
        })?;
        let table = Table {
            columns: &["TABLE", "AGE", "NUMBER", "BEYOND", "WHAT"],
            rows,
            empty: "There are no tables that grow".to_owned(),
        };
        Ok(Reply::new(Body::Table(table), json!({ "limits": data })))
    }
}

/// Set a limit
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Set {
    /// Table to limit; `mcpkg limit list` shows the names of the tables
    #[arg(add = TABLES)]
    table: String,
    /// How long to keep finished rows, such as 90m, 12h, 30d or 2w; `none` means forever
    #[arg(long, value_name = "SPAN", required_unless_present = "number")]
    age: Option<String>,
    /// How many of the newest rows to keep; `none` means all
    #[arg(long, value_name = "N")]
    number: Option<String>,
}

impl Operation for Set {
    const TOOL: &'static str = "set_limit";
    const CLI: &'static [&'static str] = &["limit", "set"];
    const TITLE: &'static str = "Set a limit";
    const ABOUT: &'static str = "Set how many rows a table keeps, and for how long";
    const HELP: &'static str = "`mcpkg limit set` deletes no rows. Use `mcpkg prune` to delete the rows beyond the \
        limits. A server also deletes such rows automatically, but only from tables that the server fills on its own, \
        without a command from you.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg limit set events --age 365d", "mcpkg limit set events --number 100000 --age none"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.table.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let growing = named(context.domains, &self.table)?;
        let age = self.age.as_deref().map(age).transpose()?;
        let number = self.number.as_deref().map(number).transpose()?;
        if age.is_none() && number.is_none() {
            return Err(Error::new(Code::InvalidArgument, "Give --age, --number or both"));
        }
        let limits = context.store.write(|db| {
            let now = growing.limits(db)?;
            let limits = Limits { age: age.unwrap_or(now.age), number: number.unwrap_or(now.number) };
            if limits != now {
                growing.set(db, limits)?;
                context.event(db, context.author(), None, "limit.set", growing.name)?;
            }
            Ok(limits)
        })?;
        let [age, number] = words(limits);
        let Value::Object(mut data) = json!({ "table": growing.name }) else {
            return Err(Error::internal("a JSON object was not created as an object"));
        };
        data.extend(data_of(limits));
        let sentence = format!("Set the limits of '{}': age {age}, number {number}", growing.name);
        Ok(Reply::sentence(sentence, Value::Object(data)).hint("`mcpkg prune` deletes the rows beyond these limits"))
    }
}

/// Returns the growing tables of every domain.
pub(super) fn tables(domains: Domains) -> impl Iterator<Item = &'static Growing> {
    domains.iter().flat_map(|domain| domain.growing)
}

fn named(domains: Domains, name: &str) -> Result<&'static Growing> {
    tables(domains).find(|growing| growing.name == name).ok_or_else(|| {
        let names: Vec<&str> = tables(domains).map(|growing| growing.name).collect();
        let otherwise = format!("the tables with limits are {}", names.join(", "));
        Error::new(Code::NotFound, format!("No table '{}' has limits", name.escape_debug()))
            .suggest(name, names, otherwise)
    })
}

fn age(text: &str) -> Result<Option<i64>> {
    if text == NONE {
        return Ok(None);
    }
    span::parse(text).map(Some).map_err(|why| {
        Error::new(Code::InvalidArgument, format!("--age '{}' {why}", text.escape_debug()))
            .hint(format!("{}; or `none` for no limit", span::HINT))
    })
}

fn number(text: &str) -> Result<Option<u32>> {
    match text.parse() {
        _ if text == NONE => Ok(None),
        Ok(0) | Err(_) => Err(Error::new(
            Code::InvalidArgument,
            format!("--number '{}' is neither a positive number nor `none`", text.escape_debug()),
        )),
        Ok(number) => Ok(Some(number)),
    }
}

/// Formats limits as users write them, such as `30d`.
fn words(limits: Limits) -> [String; 2] {
    let none = || NONE.to_owned();
    [limits.age.map_or_else(none, span::shown), limits.number.map_or_else(none, |number| number.to_string())]
}

fn data_of(limits: Limits) -> serde_json::Map<String, Value> {
    let age = limits.age.map(|age| age / 1000);
    [("age_seconds".to_owned(), json!(age)), ("number".to_owned(), json!(limits.number))].into_iter().collect()
}
