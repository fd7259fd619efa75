//! The field picker: suggestions for a value in a workflow, from `workflow suggest` and `workflow values`.

use serde_json::{Value, json};

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action;
use crate::data::{rows, text, texts};
use crate::finding::Fix;
use crate::screen::{Span, Tone};

/// The position in a workflow to pick something for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The value at a JSON pointer.
    Pointer(String),
    /// The line and column of the cursor while the user types the text, counted from 1.
    Cursor(usize, usize),
}

/// The suggestions for a spot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picker {
    /// What the spot accepts, such as `Pick app: accepts app_id, app_name; prefers app_id`.
    pub title: String,
    /// The JSON pointer of the spot.
    pub pointer: String,
    pub rows: Vec<Pick>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The value as `workflow set` takes it, such as `inputs.name`; for a provider, its id.
    pub value: String,
    /// The name, the type, the tags, and a remark. For a provider: its name, an empty cell, the values that it still
    /// needs, and its request. For a value from a provider: the value, its label, and two empty cells.
    pub cells: [Span; 4],
    pub does: Does,
}

/// What choosing a row does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    Set,
    /// Sets the value, and adds the input that it names.
    SetWithInput,
    /// Adds an input with this name.
    AddInput,
    /// Calls a provider (a command that lists the possible values), and then offers these values.
    Ask,
    /// Replaces what the user was typing in the text.
    Write(Fix),
}

/// Returns the suggestions for a spot. At a [`Spot::Pointer`], `words` narrow a list of commands.
pub fn suggested(context: &Context, written: &str, spot: &Spot, words: &str) -> Result<Picker> {
    let arguments = match spot {
        Spot::Pointer(pointer) => json!({ "yaml": written, "pointer": pointer, "partial": words }),
        Spot::Cursor(line, column) => json!({ "yaml": written, "line": line, "column": column }),
    };
    Ok(of(&action::read(context, "workflow suggest", arguments)?, spot, words))
}

/// Makes a picker from the data of `workflow suggest`.
pub fn of(data: &Value, spot: &Spot, words: &str) -> Picker {
    let pointer = text(data, "pointer").to_owned();
    let name = pointer.rsplit('/').next().unwrap_or_default().to_owned();
    let (accepts, prefer) = (texts(data, "accepts").join(", "), text(data, "prefer"));
    let title = match (accepts.is_empty(), prefer) {
        (true, _) => format!("Pick {name}"),
        (false, "") => format!("Pick {name}: accepts {accepts}"),
        (false, prefer) => format!("Pick {name}: accepts {accepts}; prefers {prefer}"),
    };
    let is_new_step = pointer == "/steps/-";
    let title = match pointer.as_str() {
        "/steps/-" => "Add a step or an input: type to search".to_owned(),
        pointer if takes_command(pointer) => "Pick a command: type to search".to_owned(),
        pointer if pointer.ends_with("/with") && pointer.split('/').count() == 4 => "Pick an argument".to_owned(),
        _ => title,
    };
    let place = |value: &Value| Fix::of(&json!({ "text": value["text"], "span": data["span"] }));
    // Step outputs without an accepted tag come after the providers, because there may be many such outputs.
    let accepted = texts(data, "accepts");
    let is_near = |value: &&Value| {
        let tags = texts(value, "tags");
        !text(value, "value").starts_with("steps.") || tags.iter().any(|tag| accepted.contains(tag))
    };
    let (near, far): (Vec<&Value>, Vec<&Value>) = rows(data, "values").iter().partition(is_near);
    let pick = |value: &Value| {
        let does = match spot {
            Spot::Pointer(_) => Does::Set,
            Spot::Cursor(..) => place(value).map_or(Does::Set, Does::Write),
        };
        Pick::of(value, does)
    };
    let mut picks: Vec<Pick> = near.into_iter().map(pick).collect();
    let is_argument = !text(data, "argument").is_empty() && matches!(spot, Spot::Pointer(_));
    let input = format!("inputs.{name}");
    if is_argument && picks.iter().all(|pick| pick.value != input) {
        picks.push(Pick::plain(&input, "a new input", Does::SetWithInput));
    }
    if is_new_step && is_name(words) {
        picks.push(Pick::plain(words, "a new input", Does::AddInput));
    }
    if matches!(spot, Spot::Pointer(_)) {
        picks.extend(rows(data, "providers").iter().map(Pick::provider));
    }
    picks.extend(far.into_iter().map(pick));
    Picker { title, pointer, rows: picks }
}

/// Calls a provider, and returns its values.
pub fn asked(context: &Context, written: &str, pointer: &str, provider: &str) -> Result<Picker> {
    let arguments = json!({ "yaml": written, "pointer": pointer, "provider": provider });
    let data = action::read(context, "workflow values", arguments)?;
    let pick = |found: &Value| {
        let value = found["value"].to_string();
        let label = text(found, "label");
        let shown = found["value"].as_str().unwrap_or(&value).to_owned();
        Pick {
            cells: [
                Span::plain(&shown),
                Span::plain(if label == shown { "" } else { label }),
                Span::plain(""),
                Span::plain(""),
            ],
            value,
            does: Does::Set,
        }
    };
    Ok(Picker {
        title: format!("Values of {provider}"),
        pointer: pointer.to_owned(),
        rows: rows(&data, "values").iter().map(pick).collect(),
    })
}

impl Pick {
    fn of(data: &Value, does: Does) -> Self {
        let tags: Vec<String> = texts(data, "tags").iter().map(|tag| format!("[{tag}]")).collect();
        let remark = match data["preferred"].as_bool().unwrap_or_default() {
            true if tags.is_empty() => Span::new(Tone::Good, "needed"),
            true => Span::new(Tone::Good, "preferred"),
            false => Span::new(Tone::Dim, text(data, "about")),
        };
        let kind = match text(data, "type") {
            "string" => "text",
            kind => kind,
        };
        Self {
            value: text(data, "value").to_owned(),
            cells: [
                Span::plain(text(data, "value")),
                Span::new(Tone::Dim, kind),
                Span::new(Tone::Name, &tags.join(" ")),
                remark,
            ],
            does,
        }
    }

    fn plain(value: &str, remark: &str, does: Does) -> Self {
        let cells = [Span::plain(value), Span::plain(""), Span::plain(""), Span::new(Tone::Dim, remark)];
        Self { value: value.to_owned(), cells, does }
    }

    /// Makes the row of a provider. The last cell says what choosing the row does, such as `asks GET HOST/apps`.
    fn provider(data: &Value) -> Self {
        let (id, request) = (text(data, "id"), text(data, "request"));
        let (value, name) = (text(&data["select"], "value_field"), text(&data["select"], "display_field"));
        let shown = match (value, name) {
            ("", _) => id.to_owned(),
            (value, "") => format!("{id} > {value}"),
            (value, name) if name == value => format!("{id} > {value}"),
            (value, name) => format!("{id} > {value}, shown by {name}"),
        };
        let asks = if request.is_empty() { format!("runs {id}") } else { format!("asks {request}") };
        let open = texts(data, "open").join(", ");
        let open = if open.is_empty() { String::new() } else { format!("needs {open}") };
        Self {
            value: id.to_owned(),
            cells: [Span::plain(&shown), Span::plain(""), Span::plain(&open), Span::new(Tone::Warning, &asks)],
            does: Does::Ask,
        }
    }

    /// Returns whether each of the words occurs in some cell. Case does not matter.
    pub fn matches(&self, words: &str) -> bool {
        let words = words.to_lowercase();
        words.split_whitespace().all(|word| self.cells.iter().any(|cell| cell.text().to_lowercase().contains(word)))
    }
}

/// Returns the row that sets the typed words themselves, such as `"small"  this text`. `takes` says what the argument
/// accepts, as in [`crate::fields::Field::takes`]. Returns `None` if the argument does not accept the words.
pub fn literal(words: &str, takes: &str) -> Option<Pick> {
    let words = words.trim();
    let kind = takes.split(", ").next().unwrap_or_default();
    let quoted = || match serde_json::from_str::<String>(words) {
        Ok(_) => words.to_owned(),
        Err(_) => Value::from(words).to_string(),
    };
    let (value, remark) = match kind {
        _ if words.is_empty() => return None,
        "integer" => (words.parse::<i64>().ok()?.to_string(), "this number"),
        "number" => (serde_json::from_str::<serde_json::Number>(words).ok()?.to_string(), "this number"),
        "boolean" => (words.parse::<bool>().ok()?.to_string(), "this value"),
        "object" | "array" => return None,
        kind if kind.contains(" | ") => (kind.split(" | ").find(|value| *value == words)?.to_owned(), "this value"),
        _ => (quoted(), "this text"),
    };
    Some(Pick::plain(&value, remark, Does::Set))
}

/// Returns whether a pointer points to a step's command or to a new step.
pub fn takes_command(pointer: &str) -> bool {
    let parts: Vec<&str> = pointer.split('/').collect();
    matches!(parts.as_slice(), ["", "steps", "-"] | ["", "steps", _, "run"])
}

fn is_name(words: &str) -> bool {
    words.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && words.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(picker: &Picker) -> Vec<String> {
        let row = |pick: &Pick| {
            let cells = pick.cells.iter().map(Span::text).filter(|text| !text.is_empty());
            cells.collect::<Vec<_>>().join(" | ")
        };
        picker.rows.iter().map(row).collect()
    }

    #[test]
    fn values_come_before_a_new_input_and_providers_name_their_request() {
        let data = json!({
            "pointer": "/steps/1/with/app", "argument": "shop:addons:create.app", "accepts": ["app_id", "app_name"],
            "prefer": "app_id",
            "values": [
                { "value": "steps.create.output.id", "type": "string", "tags": ["app_id"], "preferred": true },
                { "value": "steps.create.output.owner", "type": "string", "tags": ["owner_id"] },
                { "value": "inputs.name", "type": "string" },
            ],
            "providers": [
                {
                    "id": "shop:apps:list", "select": { "value_field": "id", "display_field": "name" },
                    "request": "GET 127.0.0.1:80/apps", "open": ["region"],
                },
                { "id": "tool:apps", "select": {} },
            ],
        });
        let found = of(&data, &Spot::Pointer("/steps/1/with/app".to_owned()), "");
        assert_eq!(found.title, "Pick app: accepts app_id, app_name; prefers app_id");
        assert_eq!(
            shown(&found),
            [
                "steps.create.output.id | text | [app_id] | preferred",
                "inputs.name | text",
                "inputs.app | a new input",
                "shop:apps:list > id, shown by name | needs region | asks GET 127.0.0.1:80/apps",
                "tool:apps | runs tool:apps",
                "steps.create.output.owner | text | [owner_id]",
            ]
        );
        let does: Vec<&Does> = found.rows.iter().map(|pick| &pick.does).collect();
        assert_eq!(does, [&Does::Set, &Does::Set, &Does::SetWithInput, &Does::Ask, &Does::Ask, &Does::Set]);
        // While typing, a row replaces what was typed, and no provider is offered.
        let mut typed = data;
        typed["span"] = json!({ "line": 3, "column": 8, "end_line": 3, "end_column": 12 });
        typed["values"][0]["text"] = json!("${{ steps.create.output.id }}");
        let found = of(&typed, &Spot::Cursor(3, 12), "");
        assert!(matches!(&found.rows[0].does, Does::Write(fix) if fix.column == 8 && fix.text.starts_with("${{")));
        assert_eq!(found.rows.len(), 3);
    }

    #[test]
    fn typed_words_are_a_value_if_the_argument_takes_them() {
        let of = |words: &str, takes: &str| literal(words, takes).map(|pick| pick.value);
        assert_eq!(of("small", "text, needed").as_deref(), Some("\"small\""));
        assert_eq!(of("\"small\"", "text").as_deref(), Some("\"small\""));
        assert_eq!(of("inputs.name", "text").as_deref(), Some("\"inputs.name\""), "text, and not the input");
        assert_eq!(of("5", "text").as_deref(), Some("\"5\""));
        assert_eq!(of("5", "integer, default 1").as_deref(), Some("5"));
        assert_eq!(of("0.5", "number").as_deref(), Some("0.5"));
        assert_eq!(of("true", "boolean").as_deref(), Some("true"));
        assert_eq!(of("eu", "eu | us, needed").as_deref(), Some("eu"));
        for (words, takes) in [(" ", "text"), ("x", "integer"), ("x", "boolean"), ("asia", "eu | us"), ("x", "object")]
        {
            assert_eq!(of(words, takes), None, "{words} {takes}");
        }
    }

    #[test]
    fn the_words_for_a_new_step_also_name_an_input() {
        let data = json!({ "pointer": "/steps/-", "values": [{ "value": "shop:apps:list", "type": "reads" }] });
        let spot = Spot::Pointer("/steps/-".to_owned());
        assert_eq!(shown(&of(&data, &spot, "apps")), ["shop:apps:list | reads", "apps | a new input"]);
        assert_eq!(shown(&of(&data, &spot, "list apps")), ["shop:apps:list | reads"]);
    }
}
