//! Builds the screen of a consent request, and the actions that decide on it.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_base::quote;
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::{count, text, texts, time};
use crate::place::Place;
use crate::screen::{Line, Screen, Tone};
use crate::time::until;
use crate::words::effect;

pub fn screen(context: &Context, id: &str) -> Result<Screen> {
    let data = Invocation::new("consent show").with(id).read(context)?;
    let (what, kind) = summary(&data);
    let mut lines = vec![
        Line::of(Tone::Name, text(&data, "asked_by"))
            .then(Tone::Plain, " asks: ")
            .then(Tone::Strong, &what)
            .then(Tone::Plain, "  ")
            .then(kind.1, kind.0),
        Line::blank(),
    ];
    let effects = texts(&data, "effects");
    lines.extend(effects.iter().map(|line| Line::quoted(line)));
    let hidden = lines.iter().filter(|line| line.is_stop).count();
    lines.push(Line::blank());
    if hidden > 0 {
        lines.push(Line::of(Tone::Warning, "WARNING ").then(Tone::Plain, &hidden_text(hidden)));
    }
    let now = context.clock.now();
    let at = |name| time(&data, name).map(|at| until(at, now)).unwrap_or_default();
    let project = match text(&data, "project") {
        "" => String::new(),
        project => format!(" in {project}"),
    };
    lines.push(Line::plain(&format!("Asked at {}{project}. {}", at("asked_at"), state(&data, &at("expires_at")))));
    if text(&data, "state") == "pending" {
        lines.push(Line::plain("A yes counts once, for 10 minutes, for exactly these values."));
    }
    if !text(&data, "note").is_empty() {
        lines.push(Line::plain(&format!("Your note: {}", text(&data, "note"))));
    }
    Ok(Screen::text(format!("Inbox > {what}"), lines).with(actions(&data)))
}

fn hidden_text(lines: usize) -> String {
    format!("hidden characters in {}", count(lines as u64, "line"))
}

/// Returns the message to show after a decision. For an approval, the message first says until when the approval is
/// valid. Returns `None` for other calls, and for a denial without a note.
pub fn decided(call: &Invocation, data: &Value) -> Option<String> {
    let (what, _) = summary(data);
    let at = |data| time(data, "expires_at").map(|at| until(at, at)).unwrap_or_default();
    match call.words.as_str() {
        "consent approve" if data["reads"]["catalog"].is_string() => {
            let reads = &data["reads"];
            Some(format!("Approved until {}: all reads of {}, and once: {what}", at(reads), text(reads, "catalog")))
        }
        "consent approve" => {
            let agent = text(data, "asked_by");
            // The command comes last, because a narrow screen cuts the message.
            Some(format!("Approved once, until {}. {agent} can run it now: {what}", at(data)))
        }
        "consent deny" if call.has("--note") => Some(format!("Denied: {what}. The agent gets your note.")),
        _ => None,
    }
}

/// Returns the call that approves a request.
pub fn approval(id: &str) -> Invocation {
    Invocation::new("consent approve").with(id)
}

/// Returns the actions for a request that is pending, or approved but not used yet. Other requests have none.
pub fn actions(data: &Value) -> Vec<Action> {
    let id = text(data, "id");
    let (what, kind) = summary(data);
    let deny = |question: String| Invocation::new("consent deny").with(id).asking(question);
    match text(data, "state") {
        "pending" => {
            let mut approve = approval(id);
            if kind.1 == Tone::Bad {
                approve = approve.destroying(name_to_type(data));
            }
            let approve = match kind.1 {
                Tone::Good => Action::open('a', "approve", Place::Answers(id.to_owned())),
                _ => Action::call('a', "approve", approve),
            };
            vec![approve, Action::call('d', "deny", deny(format!("Deny: {what}?"))), Action::note()]
        }
        "approved" => vec![Action::call('d', "take back", deny(format!("Take back your approval: {what}?")))],
        _ => Vec::new(),
    }
}

/// Returns what the request would do, such as `Run shop:apps:delete`, and the word and tone of its [`effect`].
pub fn summary(data: &Value) -> (String, (&'static str, Tone)) {
    let summary = text(data, "summary");
    let effects = texts(data, "effects").join("\n");
    let word = match text(data, "effect") {
        "" if summary.contains("destroys") || effects.contains("destroys)") => "destroys",
        "" if summary.contains("(reads") => "reads",
        "" => "writes",
        word => word,
    };
    let what = summary.split(" (").next().unwrap_or(summary);
    (what.to_owned(), effect(word))
}

/// The maximum number of characters of a value that identifies a request.
const VALUE: usize = 24;

/// Returns the first value that the request passes to its command, quoted and cut, to tell it from similar requests.
pub fn first_value(data: &Value) -> Option<String> {
    let arguments = &data["inputs"]["arguments"];
    let given = ["with", "args", "inputs"].into_iter().find_map(|name| arguments[name].as_object());
    let is_short = |value: &&Value| value.is_string() || value.is_number() || value.is_boolean();
    let value = given?.values().find(is_short)?;
    let Some(text) = value.as_str() else { return Some(value.to_string()) };
    let cut: String = text.chars().take(VALUE).collect();
    let more = if cut.len() < text.len() { "..." } else { "" };
    Some(quote::value(&Value::from(cut)) + more)
}

/// Returns the word to type to approve a destructive request. This is the last part of the URL's path if that part is
/// an argument of the command. Otherwise it is the name of the command, or of the operation if the request runs no
/// command.
fn name_to_type(data: &Value) -> String {
    let arguments = &data["inputs"]["arguments"];
    let address = texts(data, "effects").first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let last = address.rsplit('/').next().unwrap_or_default();
    // Use only an argument in the path: the agent chooses the order of the other arguments, and could put a short
    // argument last.
    let is_argument = arguments["with"].as_object().is_some_and(|with| with.values().any(|value| value == last));
    let name = Some(last).filter(|last| is_argument && !last.is_empty()).or_else(|| arguments["command"].as_str());
    let name = name.unwrap_or(text(data, "operation"));
    name.chars().filter(|c| !c.is_control()).take(64).collect()
}

fn state(data: &Value, until: &str) -> String {
    match text(data, "state") {
        "pending" => format!("Waits until {until}."),
        "approved" => format!("APPROVED, until {until}, not used yet."),
        state => format!("{state}."),
    }
}
