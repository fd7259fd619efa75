//! The command source of mcpkg's own operations, such as `mcpkg:prompt:create`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use super::running::{Answered, Failed, Running, gone};
use super::source::{Brief, CommandSource};
use super::spec::{CommandEffect, CommandSpec, Idempotency, SourceKind};
use super::{contracts, from_schema};
use mcpkg_base::cache::Cache;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Call, Context, Domains, Effect, Entry, Identity, Surface};

pub const GROUP: &str = "mcpkg";

/// The pagination argument of lists, and the response field with the next cursor.
const CURSOR: &str = "cursor";
const NEXT_CURSOR: &str = "next_cursor";

/// The operations that agents may use as tools or commands. Each caller gets only those that its permissions allow.
pub struct Operations;

/// Commands by the caller's permissions. The cache is small, because few servers have keys with many different permissions.
static SPECS: Cache<Surface, Arc<Vec<CommandSpec>>> = Cache::new(8);

impl CommandSource for Operations {
    fn kind(&self) -> SourceKind {
        SourceKind::Operations
    }

    fn group(&self) -> Option<&'static str> {
        Some(GROUP)
    }

    fn validator(&self, context: &Context) -> Result<String> {
        Ok(format!("{:?}", context.surface))
    }

    fn briefs(&self, context: &Context) -> Result<Vec<Brief>> {
        let entries: HashMap<String, &Entry> = named(context.domains).map(|(entry, id)| (id, entry)).collect();
        // Like `tools/list`, skip operations that cannot work in this build or in this folder. But a server that runs as
        // `assistant` (contract 004) lists all of its tools.
        let is_offered =
            |entry: &Entry| context.caller.identity() != Identity::Mcpkg || (entry.works)(&context.selection);
        let brief = |spec: &CommandSpec| {
            let mut brief = Brief::of(spec);
            if let Some(entry) = entries.get(&spec.id) {
                if !is_offered(entry) {
                    return None;
                }
                // Add the user words (search words that users would type), except for tools that are always listed: nobody needs to
                // search for these tools, and the user words of `search_commands` describe other commands.
                if !entry.always_listed {
                    brief.words = format!("{} {}", brief.words, entry.user_words);
                }
                brief.executed = !entry.faces.tool() && !entry.effect.reads();
            }
            Some(brief)
        };
        Ok(specs(context)?.iter().filter_map(brief).collect())
    }

    fn spec(&self, context: &Context, id: &str) -> Result<Option<CommandSpec>> {
        Ok(specs(context)?.iter().find(|spec| spec.id == id).cloned())
    }

    fn foresee(&self, context: &Context, spec: &CommandSpec, with: &Map<String, Value>) -> Result<Vec<String>> {
        call(context, spec, with)?.foresee(context)
    }

    fn run(&self, context: &Context, running: &Running<'_>) -> Result<Answered, Failed> {
        let call = call(context, running.spec, running.with)?;
        // The operation's own checks, such as confirm tokens and consent, still apply. An operation that fails has changed
        // nothing.
        Ok(Answered::of(call.run(context)?.into_value()))
    }
}

/// Returns the operation of a command, if the caller may still use it.
fn call(context: &Context, spec: &CommandSpec, with: &Map<String, Value>) -> Result<Call> {
    let served = |entry: &Entry| context.surface.serves(entry.tool, entry.group, entry.effect);
    let found = named(context.domains).find(|(entry, named)| *named == spec.id && served(entry));
    let (entry, _) = found.ok_or_else(|| gone(&spec.id))?;
    entry.from_agent(Value::Object(with.clone()))
}

fn specs(context: &Context) -> Result<Arc<Vec<CommandSpec>>> {
    SPECS.get_or(Surface::clone(&context.surface), || {
        let served =
            named(context.domains).filter(|(entry, _)| context.surface.serves(entry.tool, entry.group, entry.effect));
        let mut specs: Vec<CommandSpec> = served.map(|(entry, id)| spec(entry, id)).collect();
        contracts::complete(&mut specs);
        Ok(Arc::new(specs))
    })
}

/// Returns the operations that agents may use, with their command ids. Operations that run commands are excluded.
fn named(domains: Domains) -> impl Iterator<Item = (&'static Entry, String)> {
    let mut taken = HashSet::new();
    domains.operations().filter(|entry| entry.faces.command() && !entry.runs_commands).map(move |entry| {
        // Two operations may share a shell command. Then the second one is named after its tool.
        let name = if taken.insert(entry.cli) { entry.cli.join(":") } else { entry.tool.to_owned() };
        (entry, format!("{GROUP}:{name}"))
    })
}

/// Returns whether the caller could call the same operation as a tool without anyone's consent.
pub fn is_free(context: &Context, spec: &CommandSpec) -> bool {
    let is_free = |entry: &Entry| {
        entry.faces.tool()
            && !entry.may_need_consent
            && !(context.asks_before_destructive && matches!(entry.effect, Effect::Write | Effect::Destroy))
            && context.surface.serves(entry.tool, entry.group, entry.effect)
    };
    spec.source == SourceKind::Operations && named(context.domains).any(|(entry, id)| id == spec.id && is_free(entry))
}

/// Returns the operations that only the user can run, at a terminal. The id is what the user types.
pub fn of_the_user(domains: Domains) -> Vec<Brief> {
    let agents: HashSet<&[&str]> =
        domains.operations().filter(|entry| entry.faces.command()).map(|entry| entry.cli).collect();
    let users = domains.operations().filter(|entry| !entry.faces.command() && !agents.contains(entry.cli));
    // Mark the command as a read, so that read-only callers also find it.
    let brief = |entry: &Entry| {
        let brief = Brief::of(&spec(entry, format!("{GROUP} {}", entry.cli.join(" "))));
        Brief { effect: CommandEffect::Read, ..brief }
    };
    users.map(brief).collect()
}

/// Returns whether a command, given by its id or tool name, only reads mcpkg's own data.
pub fn is_own_read(domains: Domains, command: &str) -> bool {
    static READS: OnceLock<HashSet<String>> = OnceLock::new();
    let reads = READS.get_or_init(|| {
        let reads = named(domains).filter(|(entry, _)| entry.effect.reads());
        reads.flat_map(|(entry, id)| [id, entry.tool.to_owned()]).collect()
    });
    reads.contains(command)
}

pub fn ids(domains: Domains) -> Vec<String> {
    named(domains).map(|(_, id)| id).collect()
}

fn spec(entry: &Entry, id: String) -> CommandSpec {
    let (effect, idempotency) = match entry.effect {
        Effect::Read => (CommandEffect::Read, Idempotency::Safe),
        Effect::Offer => (CommandEffect::Read, Idempotency::Idempotent),
        Effect::Create => (CommandEffect::Write, Idempotency::None),
        Effect::Write if entry.idempotent => (CommandEffect::Write, Idempotency::Idempotent),
        Effect::Write => (CommandEffect::Write, Idempotency::None),
        Effect::Destroy => (CommandEffect::Destroy, Idempotency::None),
    };
    let (summary, rest) = first_sentence(entry.about);
    let description = [rest.to_owned(), without_shell(entry.help)].into_iter().filter(|text| !text.is_empty());
    let description = description.collect::<Vec<_>>().join(" ");
    let (input, output) = (entry.input_schema(), entry.output_schema());
    let mut output_contract = output.map(|schema| from_schema::output(&schema, entry.lists)).unwrap_or_default();
    if let Some(list) = entry.lists.filter(|_| input["properties"].get(CURSOR).is_some()) {
        let pages = json!({ "style": "cursor", "items_path": list, "next_cursor_path": NEXT_CURSOR, "param": CURSOR });
        output_contract.pagination = pages.as_object().cloned();
    }
    CommandSpec {
        summary: summary.to_owned(),
        description: (!description.is_empty()).then_some(description),
        effect,
        idempotency,
        flags: from_schema::flags(&input),
        output_contract,
        aliases: vec![entry.tool.to_owned()],
        ..CommandSpec::new(id, SourceKind::Operations)
    }
}

/// Removes the sentences of a help text that are about the shell.
fn without_shell(help: &str) -> String {
    const OF_SHELL: [&str; 10] =
        ["--", "@", "`-`", " - ", "-v", "mcpkg ", "standard input", "shell", "terminal", "FILE"];
    let is_told = |sentence: &&str| OF_SHELL.iter().all(|word| !sentence.contains(word));
    let sentences = help.split_inclusive(". ").flat_map(|text| text.split_inclusive('\n'));
    sentences.filter(is_told).collect::<String>().trim().to_owned()
}

/// Splits off the first sentence of a text, without its period.
fn first_sentence(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(". ").unwrap_or((text, ""));
    (first.trim_end_matches('.'), rest)
}
