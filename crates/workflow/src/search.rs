//! `search_commands`, `mcpkg command search`: finds commands by words.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, VERSION, cursor, cut, is_short, limit, one, place};
use super::commands::{Reachable, reachable};
use super::completions::GROUPS;
use super::index::{Index, Rank, SearchHit};
use super::operations::of_the_user;
use super::run::gates;
use super::source::Brief;
use super::spec::{CommandEffect, SourceKind};
use super::{GROUP, word};
use mcpkg_base::error::{Code, Result, nearest};
use mcpkg_core::op::{Body, Context, Effect, Faces, Identity, Operation, Rate, Reply, Shape, Table, cell};

/// Default and maximum size of a page.
const USUAL: u32 = 8;
const MOST: u32 = 100;

/// Maximum number of groups to suggest for an unknown one.
const SUGGESTED: usize = 8;

/// The list's name in cursors.
const LIST: &str = "commands";

/// Maximum length of a summary in results, in bytes. With this limit, twenty results fit in 4 KiB.
const SUMMARY: usize = 72;

/// Index of the operations that only the user can run. If an agent searches for one, it can ask the user to run it.
static OF_THE_USER: OnceLock<Arc<Index>> = OnceLock::new();

/// Searches the commands.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Search {
    /// Words to search for, or a command id
    #[arg(required_unless_present_any = ["group", "source", "effect"], value_name = "QUERY")]
    #[serde(deserialize_with = "one")]
    #[schemars(with = "String")]
    query: Vec<String>,
    /// Search only commands in this group
    #[arg(long, value_name = "GROUP", add = GROUPS)]
    group: Option<String>,
    /// Search only commands from this source
    #[arg(long, value_name = "SOURCE")]
    #[schemars(with = "Option<String>", extend("enum" = ["operations", "catalogs", "tools", "plugins"]))]
    source: Option<SourceKind>,
    /// Search only commands with this effect
    #[arg(long, value_name = "EFFECT")]
    #[schemars(with = "Option<String>", extend("enum" = ["read", "write", "destroy"]))]
    effect: Option<CommandEffect>,
    /// Maximum number of results [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    limit: Option<u32>,
    /// Value of next_cursor from the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// A page of search results.
#[derive(Serialize, JsonSchema)]
pub struct Hits {
    /// The matching commands, best match first
    results: Vec<Hit>,
    /// Cursor of the next page
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Matching commands that only the user can run, at a terminal
    #[serde(skip_serializing_if = "Vec::is_empty")]
    for_the_user: Vec<ForTheUser>,
}

/// A command for the user to type.
#[derive(Serialize, JsonSchema)]
struct ForTheUser {
    /// The command to type, without its arguments
    command: String,
    /// What the command does
    summary: String,
}

impl ForTheUser {
    fn of(brief: &Brief) -> Self {
        let command = if brief.executed { format!("mcpkg command run {}", brief.id) } else { brief.id.clone() };
        Self { command, summary: cut(&brief.summary, SUMMARY) }
    }
}

/// A command that was found.
#[derive(Serialize, JsonSchema)]
struct Hit {
    /// The command's id
    id: String,
    /// The id up to its first colon
    group: String,
    /// The rest of the id
    name: String,
    /// What the command does
    summary: String,
    /// The command's effect on existing data
    effect: CommandEffect,
}

impl Hit {
    fn of(brief: &Brief) -> Self {
        let (group, name) = brief.id.split_once(':').unwrap_or((&brief.id, ""));
        Self {
            id: brief.id.clone(),
            group: group.to_owned(),
            name: name.to_owned(),
            summary: cut(&brief.summary, SUMMARY),
            effect: brief.effect,
        }
    }
}

/// A position in the results: deprecated, number of matching words, score, id. The score is stored as bits, because a float may
/// change on its way through text.
#[derive(Serialize, Deserialize)]
struct Place(bool, usize, u64, String);

impl Place {
    fn of(found: &SearchHit<'_>) -> Self {
        Self(found.brief.deprecated, found.matched, found.score.to_bits(), found.brief.id.clone())
    }

    fn is_before(&self, found: &SearchHit<'_>) -> bool {
        let Self(deprecated, matched, score, id) = self;
        let rank = Rank { deprecated: *deprecated, matched: *matched, score: f64::from_bits(*score), id };
        rank.order(&found.rank()) == Ordering::Less
    }
}

/// Returns the command whose id or alias is the whole query. A single word does not count: `status` can be both the name of a
/// command and a word in the summaries of others.
fn exact(commands: &Reachable<'_>, indexes: &[Arc<Index>], query: &str) -> Option<String> {
    let query = query.trim();
    let is_word = query.chars().all(char::is_alphanumeric);
    match commands.named(indexes, query).as_slice() {
        [only] if !is_word => Some((*only).to_owned()),
        _ => None,
    }
}

/// Returns whether the agent is not allowed to run any command that needs `execute`. A server that runs as `assistant`
/// (contract 004) lists such commands anyway, because its agents write workflows without running them.
fn runs_none(context: &Context) -> bool {
    !context.is_shell()
        && context.caller.identity() != Identity::Assistant
        && gates::policy(context).is_err_and(|error| error.code() == Code::ExecuteDenied)
}

/// Returns whether only the user can run a command. Such a command has a shell command line instead of an id.
fn is_of_the_user(brief: &Brief) -> bool {
    !brief.id.contains(':')
}

/// Returns the results that only the user can run. A shell command is included only if it matches more words of the query than
/// any command that the caller may run.
fn left_to_the_user(mut found: Vec<SearchHit<'_>>, best: Option<&SearchHit<'_>>, most: usize) -> Vec<ForTheUser> {
    let matched = best.map_or(0, |best| best.matched);
    found.retain(|found| !is_of_the_user(found.brief) || found.matched > matched);
    found.sort_unstable_by(SearchHit::order);
    found.iter().take(most).map(|found| ForTheUser::of(found.brief)).collect()
}

/// Returns a hint with similar or existing groups if this group does not exist.
fn no_group(commands: &Reachable<'_>, group: &str) -> Result<Option<String>> {
    let indexes = commands.indexes(None)?;
    let all = commands.search(&indexes, "", |_| true);
    let groups: BTreeSet<&str> = all.iter().filter_map(|found| found.brief.id.split(':').next()).collect();
    if groups.contains(group) {
        return Ok(None);
    }
    let near: Vec<&str> =
        groups.iter().copied().filter(|one| nearest(group, [*one]).is_some()).take(SUGGESTED).collect();
    let named = if near.is_empty() { groups.into_iter().take(SUGGESTED).collect() } else { near };
    Ok(Some(format!("there is no group '{}'; known groups include {}", cell(group), named.join(", "))))
}

impl Operation for Search {
    const TOOL: &'static str = "search_commands";
    const CLI: &'static [&'static str] = &["command", "search"];
    const TITLE: &'static str = "Search commands";
    const ABOUT: &'static str = "Search the commands of every source, best match first";
    const SEARCH_HINT: &'static str = "project switch branch feature release api endpoint history revert undelete";
    const USER_WORDS: &'static str = "Finds what no other tool here does: deploy rules, undo or rollback a deploy, check status of \
        deployed files, see history and revisions, restore what was deleted, start a feature branch, release \
        repos, switch project, call an API";
    const HELP: &'static str = "Searches mcpkg's own operations, the operations of imported APIs, the tools of plugins, and installed \
        tools. The search also matches plurals, typos, and synonyms (for words such as add, remove and get). If you search for a full \
        id, the only result is the command with that id.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg command search create prompt",
        "mcpkg command search --group memory",
        "mcpkg command search list --group mcpkg --effect read",
    ];
    const EFFECT: Effect = Effect::Read;
    const ALWAYS_LISTED: bool = true;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const LISTS: Option<&'static str> = Some("results");
    const STRUCTURED: bool = true;
    type Output = Answer<Hits>;

    fn is_hot(&self) -> bool {
        is_short(&self.query)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let query = self.query.join(" ");
        let limit = limit(self.limit, USUAL, MOST)?;
        let after: Option<Place> = self.cursor.as_deref().map(|cursor| place(LIST, cursor)).transpose()?;
        let takes = |brief: &Brief| {
            let group = brief.id.split(':').next();
            self.group.as_deref().is_none_or(|only| group == Some(only))
                && self.effect.is_none_or(|only| brief.effect == only)
        };
        let commands = reachable(context);
        let mut indexes = commands.indexes(self.source)?;
        let mut found = match exact(&commands, &indexes, &query) {
            Some(id) => commands.search(&indexes, "", |brief| brief.id == id && takes(brief)),
            None => {
                let narrowed = self.group.is_some() || self.source.is_some() || self.effect.is_some();
                if !narrowed && !context.is_shell() && !query.trim().is_empty() {
                    indexes.push(Arc::clone(
                        OF_THE_USER.get_or_init(|| Arc::new(Index::new(of_the_user(context.domains)))),
                    ));
                }
                commands.search(&indexes, &query, takes)
            }
        };
        let runs_none = runs_none(context);
        let is_left = |found: &SearchHit<'_>| is_of_the_user(found.brief) || runs_none && found.brief.executed;
        let left: Vec<_> = found.extract_if(.., |found| is_left(found)).collect();
        let is_first_page = after.is_none();
        if let Some(after) = after {
            found.retain(|found| after.is_before(found));
        }
        let more = found.len() > limit;
        if more {
            // Select before sorting: most commands match only one word, and are not worth sorting.
            found.select_nth_unstable_by(limit - 1, SearchHit::order);
            found.truncate(limit);
        }
        found.sort_unstable_by(SearchHit::order);
        let last = found.last().filter(|_| more);
        let next_cursor = last.map(|last| cursor(LIST, &Place::of(last))).transpose()?;
        let for_the_user = if is_first_page { left_to_the_user(left, found.first(), limit) } else { Vec::new() };
        let results = found.iter().map(|found| Hit::of(found.brief)).collect();
        let hits = Hits { results, next_cursor, for_the_user };
        let row = |hit: &Hit| vec![cell(&hit.id).into_owned(), word(hit.effect), cell(&hit.summary).into_owned()];
        let table = Table {
            columns: &["COMMAND", "EFFECT", "SUMMARY"],
            rows: hits.results.iter().map(row).collect(),
            empty: match query.trim() {
                "" => "No commands match".to_owned(),
                query => format!("No command matches '{}'", cell(query)),
            },
        };
        let mut reply = Reply::written(context, Body::Table(table), &hits)?;
        if let Some(group) = self.group.as_deref().filter(|_| hits.results.is_empty())
            && let Some(hint) = no_group(&commands, group)?
        {
            reply = reply.hint(hint);
        }
        Ok(match &hits.next_cursor {
            Some(next) if context.is_shell() => {
                reply.hint(format!("there are more results: use `--cursor {next}`, or a higher --limit"))
            }
            _ => reply,
        })
    }
}
