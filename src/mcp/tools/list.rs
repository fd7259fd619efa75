//! Answers tools/list: the operations in documentation order, then the providers' tools by name.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, MetaObject, Tool};

use super::find::named;
use crate::mcp::Config;
use crate::mcp::era::Era;
use crate::mcp::provider::{Projected, Provider, hints};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::json::push_member;
use mcpkg_content::cursor;
use mcpkg_core::op::{Entry, Group, Identity, Listed, Surface, Validator};
use mcpkg_store::Db;
use mcpkg_store::projects;

/// The maximum number of tools on one page.
const PAGE: usize = 250;

/// The `_meta` key with search words. Claude Code's tool search ranks them above the words of the description.
const SEARCH_HINT: &str = "anthropic/searchHint";

/// The name of this list in cursors.
const LIST: &str = "tools";

/// The operations that are tools. They are built on first use, because building them takes as long as the rest of the
/// start.
static OPERATIONS: LazyLock<Vec<Described>> =
    LazyLock::new(|| crate::DOMAINS.operations().filter(|entry| entry.faces.tool()).map(Described::of).collect());

/// An operation as a tool, in three forms: the reference page has the complete one, and a server lists one of the
/// others.
struct Described {
    entry: &'static Entry,
    /// The complete form.
    whole: Tool,
    /// The complete form, but with only the arguments that its contract has.
    contract: Tool,
    /// The form that most servers list. It is short, because the list takes up context in every conversation.
    short: Tool,
}

pub(in crate::mcp) struct Page {
    pub(in crate::mcp) tools: Vec<Tool>,
    /// The cursor of the next page, if there is one.
    pub(in crate::mcp) next: Option<String>,
    /// Whether the list cannot change while the server runs.
    pub(in crate::mcp) lasting: bool,
}

/// Returns a page of the tools that a client may see.
///
/// # Errors
/// `E_INVALID_ARGUMENT` for an invalid cursor.
pub(in crate::mcp) fn list(db: &Db<'_>, config: &Config, after: Option<&str>) -> Result<Page> {
    list_pages_of(PAGE, db, config, after)
}

fn list_pages_of(size: usize, db: &Db<'_>, config: &Config, after: Option<&str>) -> Result<Page> {
    let groups = listed_groups(db, config)?;
    let listed = OPERATIONS.iter().filter(|Described { entry, .. }| {
        config.serves(entry)
            && !(entry.runs_commands && config.surface.no_execute)
            && (entry.always_listed || groups.contains(&entry.group))
            && (config.identity != Identity::Mcpkg || (entry.works)(&config.selection))
    });
    let operations: Vec<&Tool> = listed.map(|described| described.shown_to(config)).collect();
    let start = after.map(|after| PageStart::of(db, config, after)).transpose()?;
    let (skipped, after) = match &start {
        None => (0, ""),
        Some(PageStart::Operation(name)) => {
            // If the tool is no longer listed, continue after its old position.
            let all = OPERATIONS.iter().map(|described| described.entry.tool);
            let before: Vec<&str> = all.take_while(|known| known != name).chain([name.as_str()]).collect();
            (operations.iter().filter(|tool| before.contains(&tool.name.as_ref())).count(), "")
        }
        Some(PageStart::Projected(name)) => (operations.len(), name.as_str()),
    };
    let mut tools: Vec<Tool> = operations.iter().skip(skipped).take(size).map(|tool| (*tool).clone()).collect();
    let mut next = tools.last().map(|tool| format!("{OPERATION}{}", tool.name));
    let mut more = operations.len() > skipped + tools.len();
    if !more {
        let room = size - tools.len();
        let mut projected = projected(db, config, after, room + 1)?;
        more = projected.len() > room;
        projected.truncate(room);
        next = projected.last().map(|tool| format!("{PROJECTED}{}", tool.listed.name)).or(next);
        tools.extend(projected.into_iter().map(|tool| tool.listed));
    }
    let project = projects::served(db, &config.selection)?.map_or(0, |project| project.id);
    let next = next.filter(|_| more).map(|last| cursor::encode(LIST, project, &last));
    let lasting = config.full_list && config.providers.all().next().is_none();
    Ok(Page { tools, next, lasting })
}

pub(in crate::mcp) fn push_list(
    db: &Db<'_>,
    config: &Config,
    cursor: Option<&str>,
    era: Era,
    out: &mut Vec<u8>,
) -> Result<()> {
    let page = list(db, config, cursor)?;
    era.open(out);
    out.extend_from_slice(b"\"tools\":");
    serde_json::to_writer(&mut *out, &page.tools)
        .map_err(|error| Error::internal("the tools cannot be written as JSON").with_source(error))?;
    push_member(out, ",\"nextCursor\":", page.next.as_deref());
    if page.lasting {
        era.close_lasting(out)
    } else {
        era.close_uncached(out)
    }
    Ok(())
}

/// The last tool of the previous page, as the cursor encodes it.
enum PageStart {
    Operation(String),
    Projected(String),
}

const OPERATION: &str = "operation/";
const PROJECTED: &str = "projected/";

impl PageStart {
    fn of(db: &Db<'_>, config: &Config, after: &str) -> Result<Self> {
        let (project, last) = cursor::decode(LIST, after)?;
        let current = projects::served(db, &config.selection)?.map_or(0, |project| project.id);
        if let Some(name) = last.strip_prefix(OPERATION).filter(|name| named(name).is_some()) {
            return Ok(PageStart::Operation(name.to_owned()));
        }
        let Some(name) = last.strip_prefix(PROJECTED) else {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("'{}' is not a cursor of this list", after.escape_debug()),
            ));
        };
        cursor::check_project(project, current)?;
        Ok(PageStart::Projected(name.to_owned()))
    }
}

/// Returns the first `limit` tools of all providers after the name `after`, sorted by name.
fn projected(db: &Db<'_>, config: &Config, after: &str, limit: usize) -> Result<Vec<Projected>> {
    let mut found = Vec::new();
    for provider in config.providers.all() {
        found.extend(of_provider(provider, db, config, after, limit)?);
    }
    found.sort_by(|a, b| a.listed.name.cmp(&b.listed.name));
    // If two providers have a tool with the same name, the first one wins, as in a call.
    found.dedup_by(|b, a| a.listed.name == b.listed.name);
    found.truncate(limit);
    Ok(found)
}

fn of_provider(
    provider: &dyn Provider,
    db: &Db<'_>,
    config: &Config,
    after: &str,
    limit: usize,
) -> Result<Vec<Projected>> {
    let mut found: Vec<Projected> = Vec::new();
    let mut after = after.to_owned();
    loop {
        let page = provider.tools(db, &config.audience(), &after, limit)?;
        let last = page.last().map(|tool| tool.listed.name.to_string());
        let whole = page.len() < limit;
        found.extend(
            page.into_iter()
                .filter(|tool| config.surface.serves(&tool.listed.name, tool.group, tool.effect))
                .filter(|tool| !(tool.runs_commands() && config.surface.no_execute))
                .filter(|tool| named(&tool.listed.name).is_none()),
        );
        match last {
            Some(last) if !whole && found.len() < limit => after = last,
            _ => return Ok(found),
        }
    }
}

/// The data that decides which tools a client sees. Equal validators mean equal lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mcp) struct ToolsValidator {
    groups: Vec<&'static str>,
    projected: Vec<Validator>,
}

/// Returns the validator of the list of tools.
pub(in crate::mcp) fn validator(db: &Db<'_>, config: &Config) -> Result<ToolsValidator> {
    let projected = config.providers.all().map(|provider| provider.validator(db, &config.audience()));
    Ok(ToolsValidator { groups: listed_groups(db, config)?, projected: projected.collect::<Result<_>>()? })
}

/// Returns the groups that are listed with all their tools.
pub(in crate::mcp) fn listed_groups(db: &Db<'_>, config: &Config) -> Result<Vec<&'static str>> {
    let mut listed = Vec::new();
    for group in groups().filter(|group| config.surface.serves_group(group.name)) {
        let is_listed = match group.listed {
            _ if config.full_list => true,
            Listed::Always => true,
            Listed::Named => false,
            Listed::Where(is_of_use) => is_of_use(db, &config.selection)?,
        };
        if is_listed {
            listed.push(group.name);
        }
    }
    Ok(listed)
}

/// Returns the operations of `groups` in their complete form, for the reference page and the tests.
pub fn listed_tools(groups: Option<&[String]>) -> serde_json::Value {
    let surface = Arc::new(Surface { groups: groups.map(<[String]>::to_vec), ..Surface::default() });
    let config = Config { surface, ..Config::default() };
    let served = OPERATIONS.iter().filter(|Described { entry, .. }| config.serves(entry));
    serde_json::to_value(served.map(|described| &described.whole).collect::<Vec<_>>()).unwrap_or_default()
}

/// Returns the names of the operations that are served as tools.
pub(in crate::mcp) fn names(config: &Config) -> impl Iterator<Item = &'static str> {
    crate::DOMAINS.operations().filter(|entry| config.serves(entry)).map(|entry| entry.tool)
}

fn groups() -> impl Iterator<Item = &'static Group> {
    crate::DOMAINS.iter().flat_map(|domain| domain.groups)
}

impl Described {
    fn of(entry: &'static Entry) -> Self {
        let mut whole = Tool::new(entry.tool, entry.about, Arc::new(entry.input_schema()));
        whole.title = Some(entry.title.to_owned());
        whole.output_schema = entry.output_schema().map(Arc::new);
        let mut hints = hints(entry.effect, entry.open_world);
        hints.idempotent_hint = entry.effect.changes().then_some(entry.idempotent);
        whole.annotations = Some(hints);
        let mut short = whole.clone();
        // No agent needs the output schemas, which are as long as everything else together.
        short.output_schema = None;
        short.description = Some(entry.description().into());
        if !entry.search_hint.is_empty() {
            let hint = (SEARCH_HINT.to_owned(), entry.search_hint.into());
            short.meta = Some(MetaObject(JsonObject::from_iter([hint])));
        }
        let mut contract = whole.clone();
        contract.input_schema = Arc::new(entry.contract_schema());
        Self { entry, whole, contract, short }
    }

    /// Returns the form that this server lists. A server that presents itself as another program lists only the
    /// arguments in that program's contract.
    fn shown_to(&self, config: &Config) -> &Tool {
        match config.identity {
            Identity::Mcpkg => &self.short,
            Identity::Agentpack | Identity::Enact | Identity::Smctl | Identity::Assistant => &self.contract,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::Providers;
    use mcpkg_core::op::{self, Audience, Effect, Reply, Shape};
    use mcpkg_store::Store;
    use serde_json::json;

    /// A provider of this many installed tools. Those with an even number only read.
    struct Installed(usize);

    impl Installed {
        fn one(index: usize) -> Projected {
            let tool = op::Projected {
                name: format!("installed_{index:03}"),
                command: format!("installed:{index:03}"),
                title: None,
                description: "An installed tool".to_owned(),
                input_schema: Arc::default(),
                output_schema: None,
                effect: if index.is_multiple_of(2) { Effect::Read } else { Effect::Write },
                hints: op::Hints::default(),
                open_world: true,
                long: false,
                runs_commands: false,
                consent: None,
                meta: None,
                group: "registry",
                shape: Shape::Json(None),
                run: Arc::new(|_, arguments| Ok(Reply::sentence("ran", json!({ "given": arguments })))),
            };
            tool.into()
        }
    }

    impl Provider for Installed {
        fn tools(&self, _: &Db<'_>, _: &Audience<'_>, after: &str, limit: usize) -> Result<Vec<Projected>> {
            let all = (0..self.0).map(Self::one);
            Ok(all.filter(|tool| tool.listed.name.as_ref() > after).take(limit).collect())
        }

        fn tool(&self, _: &Db<'_>, _: &Audience<'_>, name: &str) -> Result<Option<Projected>> {
            Ok((0..self.0).map(Self::one).find(|tool| tool.listed.name == name))
        }

        fn validator(&self, _: &Db<'_>, _: &Audience<'_>) -> Result<Validator> {
            Validator::of(&self.0)
        }
    }

    fn with_installed(number: usize) -> (tempfile::TempDir, Store, Config) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("a.db")).unwrap();
        let providers = Providers(vec![Arc::new(Installed(number))]);
        (folder, store, Config { providers, full_list: true, ..Config::default() })
    }

    fn pages(store: &Store, config: &Config, size: usize) -> Vec<Vec<String>> {
        let mut pages = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page = store.read(|db| list_pages_of(size, db, config, cursor.as_deref())).unwrap();
            pages.push(page.tools.iter().map(|tool| tool.name.to_string()).collect());
            match page.next {
                Some(next) => cursor = Some(next),
                None => return pages,
            }
        }
    }

    #[test]
    fn pages_of_any_size_contain_each_tool_exactly_once() {
        let (_folder, store, config) = with_installed(600);
        let whole = pages(&store, &config, 10_000).concat();
        let works = |described: &&Described| (described.entry.works)(&config.selection);
        assert_eq!(whole.len(), OPERATIONS.iter().filter(works).count() + 600);
        for size in [1, 7, OPERATIONS.len(), OPERATIONS.len() + 1, 250] {
            let pages = pages(&store, &config, size);
            assert!(pages.iter().all(|page| page.len() <= size && !page.is_empty()), "{size}");
            assert_eq!(pages.concat(), whole, "{size}");
        }
        let first = store.read(|db| list(db, &config, None)).unwrap();
        assert_eq!(first.tools.len(), PAGE);
        assert!(!first.lasting);
        assert!(store.read(|db| list(db, &config, Some("x"))).is_err());
    }

    #[test]
    fn tools_that_a_request_may_not_use_are_neither_listed_nor_found() {
        let (_folder, store, config) = with_installed(10);
        let with = |surface| Config { surface: Arc::new(surface), ..config.clone() };
        let reading = with(Surface { read_only: true, ..Surface::default() });
        let listed = pages(&store, &reading, 250).concat();
        assert!(listed.contains(&"installed_004".to_owned()) && !listed.contains(&"installed_005".to_owned()));
        let found =
            |config: &Config, name: &str| store.read(|db| super::super::find(db, config, name)).unwrap().is_some();
        assert!(found(&reading, "installed_004") && !found(&reading, "installed_005"));
        assert!(found(&config, "installed_005") && !found(&config, "installed_010"));
        let content = with(Surface { groups: Some(vec!["content".to_owned()]), ..Surface::default() });
        assert!(!found(&content, "installed_004") && found(&content, "get_prompt"));
        assert!(!pages(&store, &content, 250).concat().contains(&"installed_004".to_owned()));
    }

    #[test]
    fn the_validator_changes_with_the_data_tools() {
        let (_folder, store, few) = with_installed(1);
        let many = Config { providers: Providers(vec![Arc::new(Installed(2))]), ..few.clone() };
        let of = |config: &Config| store.read(|db| validator(db, config)).unwrap();
        assert_eq!(of(&few), of(&few));
        assert_ne!(of(&few), of(&many));
    }
}
