//! `mcpkg client list`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::GROUP;
use super::add::default_name;
use super::agent::Agent;
use super::document::Document;
use super::entry::Runs;
use super::file::{self, Read};
use super::place::{Homes, Place, on_path};
use super::record::Records;
use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Table};

/// List the agents
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_clients";
    const CLI: &'static [&'static str] = &["client", "list"];
    const TITLE: &'static str = "List the agents";
    const ABOUT: &'static str =
        "List the agents: which are installed, which start mcpkg, from where, and what they run";
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let homes = Homes::find()?;
        let mut rows = Vec::new();
        let mut data = Vec::new();
        let mut warnings = Vec::new();
        for agent in Agent::ALL {
            let installed = homes.is_installed(agent);
            let mut entries = Vec::new();
            for place in Place::all(context, agent)? {
                match found(context, &place) {
                    Ok(found) => entries.extend(found),
                    Err(error) => warnings.push(error.message().to_owned()),
                }
            }
            let word = if installed { "installed" } else { "not found" }.to_owned();
            if entries.is_empty() {
                let nothing = ["-"; 5].map(str::to_owned);
                rows.push([agent.name().to_owned(), word.clone()].into_iter().chain(nothing).collect());
            }
            for found in &entries {
                rows.push(vec![
                    agent.name().to_owned(),
                    word.clone(),
                    found.name.clone(),
                    found.place.scope.name().to_owned(),
                    found.place.file.display().to_string(),
                    found.runs.shown(),
                    found.binary.shown().to_owned(),
                ]);
            }
            data.push(json!({
                "agent": agent.name(),
                "title": agent.title(),
                "installed": installed,
                "entries": entries.iter().map(Found::data).collect::<Vec<_>>(),
            }));
        }
        let table = Table {
            columns: &["AGENT", "STATE", "NAME", "SCOPE", "FILE", "RUNS", "BINARY"],
            rows,
            empty: "There are no agents".to_owned(),
        };
        let none = data.iter().all(|agent| agent["entries"] == json!([]));
        let reply = Reply::new(Body::Table(table), json!({ "clients": data })).warn(warnings);
        Ok(if none { reply.hint("connect one with `mcpkg client add NAME`") } else { reply })
    }
}

/// An entry of mcpkg's in an agent's file.
pub struct Found {
    /// Where.
    pub place: Place,
    /// Its name.
    pub name: String,
    /// The entry as it stands.
    pub entry: Value,
    /// What it runs.
    pub runs: Runs,
    /// What is to be said of the program.
    pub binary: Binary,
}

impl Found {
    /// The command that writes it anew.
    pub fn add(&self) -> String {
        format!("mcpkg client add {}{}", self.place.agent.name(), self.flags())
    }

    /// The command that takes it out.
    pub fn remove(&self) -> String {
        format!("mcpkg client remove {}{}", self.place.agent.name(), self.flags())
    }

    fn flags(&self) -> String {
        let scope = if self.place.root.is_some() { " --scope project" } else { "" };
        let name = if self.name == default_name() { String::new() } else { format!(" --name {}", self.name) };
        format!("{scope}{name}")
    }

    fn data(&self) -> Value {
        json!({
            "scope": self.place.scope,
            "name": self.name,
            "path": self.place.file,
            "runs": self.runs.shown(),
            "entry": self.entry,
            "binary": self.binary.name(),
        })
    }
}

/// What is to be said of the program that an entry starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// It is the one that runs now.
    This,
    /// It is another one.
    Another,
    /// It is not there.
    Missing,
    /// The entry starts none.
    None,
}

impl Binary {
    /// Looks at what an entry runs.
    pub fn of(runs: &Runs) -> Self {
        let Runs::Command(words) = runs else { return Binary::None };
        let Some(program) = words.first().and_then(|word| resolved(word)) else { return Binary::Missing };
        let this = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
        match program.canonicalize() {
            Ok(real) if Some(&real) == this.as_ref() => Binary::This,
            Ok(_) => Binary::Another,
            Err(_) => Binary::Missing,
        }
    }

    /// Its name in data.
    pub const fn name(self) -> &'static str {
        match self {
            Binary::This => "this",
            Binary::Another => "another",
            Binary::Missing => "missing",
            Binary::None => "none",
        }
    }

    const fn shown(self) -> &'static str {
        match self {
            Binary::This => "this one",
            Binary::Another => "another one",
            Binary::Missing => "missing",
            Binary::None => "-",
        }
    }
}

/// The file of a program, looked for on PATH where only its name is given.
pub fn resolved(program: &str) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return path.is_file().then(|| path.to_owned());
    }
    on_path(program)
}

/// The entries of mcpkg's in a file.
///
/// # Errors
/// `E_CLIENT_CONFIG_INVALID`, and how the disk failed.
pub fn found(context: &Context, place: &Place) -> Result<Vec<Found>> {
    let read = Read::of(place)?;
    let document = Document::of(place.agent);
    let entries = document.entries(read.text()).map_err(|fault| file::invalid(&place.file, &fault))?;
    let records = Records::look(context);
    let ours = |(name, entry): (String, Value)| {
        let runs = Runs::of(&entry)?;
        let written = records.get(&read, &name).is_some_and(|record| record.entry == entry);
        let binary = Binary::of(&runs);
        (runs.is_mcpkg() || written).then(|| Found { place: place.clone(), name, entry, runs, binary })
    };
    Ok(entries.into_iter().filter_map(ours).collect())
}
