//! `mcpkg passkey ...`: makes links that register passkeys, lists passkeys, and removes them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::record::{Invitation, Passkey, check_free};
use super::site::Site;
use crate::consent::GROUP;
use crate::names;
use crate::op::{Body, Caller, Confirmation, Context, Effect, Faces, Names, NoOutput, Operation, Reply, Table};
use mcpkg_base::approved::Approved;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};

/// Shell completion for the names of passkeys.
const PASSKEYS: Names = Names::Stored(|typed| {
    let all = Passkey::all(&Approved::of_user())?;
    Ok(typed.matching(all.into_iter().map(|passkey| passkey.name)))
});

/// Add a passkey
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// Name of the passkey, such as alice-phone
    name: String,
    /// Address of the server, as browsers see it
    #[arg(long, value_name = "URL", default_value = "http://localhost:3000")]
    #[serde(default = "local")]
    url: String,
    /// Person for whom it answers after signing in with the server's issuer, such as person:ada@example.com#1f2e3d4c
    #[arg(long, value_name = "PERSON")]
    person: Option<String>,
}

fn local() -> String {
    "http://localhost:3000".to_owned()
}

impl Operation for Add {
    const TOOL: &'static str = "add_passkey";
    const CLI: &'static [&'static str] = &["passkey", "add"];
    const TITLE: &'static str = "Add passkey";
    const ABOUT: &'static str =
        "Print a link that registers a passkey, for the console of `mcpkg serve --http --console`";
    const HELP: &'static str = "The link works once, within five minutes. Its page asks the device to make a passkey. \
        With the passkey, a person signs in to the server's console, and approves there: each change takes a new touch of \
        the device. A passkey is for one address, and works only over HTTPS or at localhost. With --person, it also answers \
        for a person who signed in with the issuer of the server; the console shows the person's name. The command needs a \
        terminal.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg passkey add alice-phone --url https://mcp.example.com",
        "mcpkg passkey add alice",
        "mcpkg passkey add ada --url https://mcp.example.com --person 'person:ada@example.com#1f2e3d4c'",
    ];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::check("Passkey", &self.name)?;
        // Refuse to run in a console. Otherwise, a session could make itself a passkey that outlives the session.
        if context.caller != Caller::Shell || context.confirmation != Confirmation::Ask {
            return Err(Error::new(Code::TerminalRequired, "A passkey can be added only at a terminal")
                .hint("run the same command at a terminal of the server, without --yes"));
        }
        let site = Site::parse(&self.url)?;
        let person = self.person.as_deref();
        if let Some(person) = person.filter(|person| !is_person(person)) {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("'{}' does not name a person", person.escape_debug()),
            )
            .hint(
                "give the name that the console shows after you signed in, such as person:ada@example.com#1f2e3d4c",
            ));
        }
        check_free(&context.approved, &self.name)?;
        let link = Invitation::link(context, &self.name, person, &site)?;
        let text = format!(
            "Open this link on the device that will hold the passkey. It works once, within five minutes:\n\n  {link}\n"
        );
        Ok(Reply::new(
            Body::Text(text),
            json!({ "name": self.name, "person": person, "address": site.origin, "link": link }),
        ))
    }
}

/// Returns whether a text has the form in which the server names people.
fn is_person(text: &str) -> bool {
    let name = text.strip_prefix("person:").unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "@._+-#".contains(c))
}

/// List passkeys
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_passkeys";
    const CLI: &'static [&'static str] = &["passkey", "list"];
    const TITLE: &'static str = "List passkeys";
    const ABOUT: &'static str = "List the passkeys that sign people in to the consoles of this user's servers";
    const EXAMPLES: &'static [&'static str] = &["mcpkg passkey list", "mcpkg passkey list --json"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("passkeys");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let passkeys = Passkey::all(&context.approved)?;
        let row = |passkey: &Passkey| {
            let used = passkey.used_at.map_or_else(|| "never".to_owned(), rfc3339);
            let person = passkey.person.clone().unwrap_or_default();
            vec![passkey.name.clone(), passkey.address().to_owned(), person, rfc3339(passkey.added_at), used]
        };
        let table = Table {
            columns: &["NAME", "ADDRESS", "PERSON", "ADDED", "LAST USED"],
            rows: passkeys.iter().map(row).collect(),
            empty: "No passkeys yet. Add one with `mcpkg passkey add NAME`".to_owned(),
        };
        let data: Vec<Value> = passkeys.iter().map(data).collect();
        Ok(Reply::new(Body::Table(table), json!({ "passkeys": data })))
    }
}

/// Remove a passkey
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Name of the passkey
    #[arg(add = PASSKEYS)]
    name: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_passkey";
    const CLI: &'static [&'static str] = &["passkey", "remove"];
    const TITLE: &'static str = "Remove passkey";
    const ABOUT: &'static str = "Remove a passkey: running servers refuse it, and end its sessions";
    const EXAMPLES: &'static [&'static str] = &["mcpkg passkey remove alice-phone"];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let Some(passkey) = Passkey::named(&context.approved, &self.name)? else {
            return Err(Error::new(Code::NotFound, format!("Passkey '{}' does not exist", self.name.escape_debug()))
                .hint("`mcpkg passkey list` lists the passkeys"));
        };
        passkey.remove(&context.approved)?;
        let author = context.author();
        context.store.write(|db| context.event(db, author, None, "passkey.remove", &self.name))?;
        Ok(Reply::sentence(format!("Removed passkey '{}'", self.name), data(&passkey)))
    }
}

fn data(passkey: &Passkey) -> Value {
    json!({
        "name": passkey.name,
        "address": passkey.address(),
        "person": passkey.person,
        "added_at": rfc3339(passkey.added_at),
        "used_at": passkey.used_at.map(rfc3339),
    })
}
