//! Shows the ways to approve a consent request that only reads: only this request, or all reads of the same catalog
//! (an imported API) by the same access key, person or program during the next 4 hours.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::consent;
use crate::data::{rows, text};
use crate::place::Place;
use crate::screen::{List, Row, Screen, Span, Tone};
use crate::time::until;

/// How long an approval of all reads of a catalog lasts, in hours.
const HOURS: i64 = 4;

pub fn screen(context: &Context, id: &str) -> Result<Screen> {
    let data = Invocation::new("consent show").with(id).read(context)?;
    let (what, _) = consent::summary(&data);
    let approve = consent::approval(id);
    let row = |name: &str, about: &str, call: Invocation| Row {
        id: name.to_owned(),
        cells: vec![Span::new(Tone::Name, name), Span::plain(about)],
        look: Some(Place::Consent(id.to_owned())),
        actions: vec![Action::call('\n', "approve", call)],
        is_heading: false,
    };
    let mut list = vec![row("once", "exactly this request", approve.clone())];
    if let Some(catalog) = catalog(context, &data)? {
        let end = until(context.clock.now() + HOURS * 3_600_000, context.clock.now());
        let asker = match text(&data, "asker").split_once(':') {
            Some(("key", key)) => format!("agents with key {key}"),
            Some(("person", name)) => format!("agents of {name}"),
            Some(("program", name)) => format!("the program {name}"),
            _ => "agents without a key".to_owned(),
        };
        let call = approve.option("--reads", &catalog).option("--for", &format!("{HOURS}h"));
        list.push(row(&format!("all {catalog} reads until {end}"), &asker, call));
    }
    let list = List { columns: &[], rows: list, empty: "", is_narrow: false, ..List::default() };
    let screen = Screen::list(format!("Inbox > Approve: {what}"), list);
    Ok(if text(&data, "state") == "pending" {
        screen
    } else {
        Screen::list("Inbox > Decided already", List::default())
    })
}

/// Returns the name of the catalog that has the command of a request: for `shop:apps:list`, the catalog with the prefix
/// `shop`. If several prefixes match, the longest wins.
fn catalog(context: &Context, data: &Value) -> Result<Option<String>> {
    let Some(command) = data["inputs"]["arguments"]["command"].as_str() else { return Ok(None) };
    let catalogs = Invocation::new("catalog list").read(context)?;
    let is_of = |found: &&Value| {
        let prefix = text(found, "prefix");
        command.strip_prefix(prefix).is_some_and(|rest| !prefix.is_empty() && rest.starts_with(':'))
    };
    let found = rows(&catalogs, "catalogs").iter().filter(is_of).max_by_key(|found| text(found, "prefix").len());
    Ok(found.map(|found| text(found, "name").to_owned()))
}
