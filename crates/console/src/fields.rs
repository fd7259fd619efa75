//! The form of a workflow: a row for each input, step and argument, from `workflow describe`.

use std::collections::HashMap;

use serde_json::{Value, json};

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action;
use crate::data::{rows, text};
use crate::finding::Finding;

/// The rows of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    pub rows: Vec<Field>,
    /// The index of each row, by its pointer.
    index: HashMap<String, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A heading, which cannot be selected.
    Heading,
    Input,
    Step,
    /// An argument of a step.
    Argument,
    /// Another field of a step, or of the workflow.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub kind: Kind,
    /// The JSON pointer of the value.
    pub pointer: String,
    pub name: String,
    /// What the row accepts, such as `text, needed` or `eu | us, default`; for a step, its request.
    pub takes: String,
    /// The value in words, such as `inputs.name`; for a step, its command; for an input, its default.
    pub value: String,
    /// What the input, argument or step is for.
    pub about: String,
    /// The effect of a step's command: `read`, `write` or `destroy`.
    pub effect: String,
    /// Whether the value can only be changed in the text, not in the form.
    pub is_text: bool,
    /// The line and column of the key in the text, counted from 1; `None` if the text does not contain the key.
    pub at: Option<(usize, usize)>,
}

impl Fields {
    /// Describes a text. A workflow with mistakes has a form too; a text that is not a workflow is an error.
    pub fn read(context: &Context, written: &str) -> Result<Self> {
        Ok(Self::of(&action::read(context, "workflow describe", json!({ "yaml": written }))?))
    }

    /// Makes the rows from the data of `workflow describe`.
    pub fn of(data: &Value) -> Self {
        let mut all = Vec::new();
        let name = text(data, "workflow");
        if !name.is_empty() {
            all.push(Field {
                kind: Kind::Other,
                pointer: "/workflow".to_owned(),
                value: name.to_owned(),
                about: "the name of the workflow".to_owned(),
                ..Field::heading("name")
            });
        }
        let inputs = rows(data, "inputs");
        if !inputs.is_empty() {
            all.push(Field::heading("INPUTS"));
        }
        all.extend(inputs.iter().map(|input| Field::of(Kind::Input, input)));
        for (at, step) in rows(data, "steps").iter().enumerate() {
            all.push(Field::step(at + 1, step));
            all.extend(rows(step, "fields").iter().map(|field| Field::of(Kind::Other, field)));
            let mut arguments: Vec<Field> =
                rows(step, "arguments").iter().map(|argument| Field::of(Kind::Argument, argument)).collect();
            arguments.sort_by_key(|argument| !argument.takes.ends_with("needed"));
            all.extend(arguments);
        }
        let others = rows(data, "fields");
        if !others.is_empty() {
            all.push(Field::heading("OUTPUT"));
        }
        all.extend(others.iter().map(|field| Field::of(Kind::Other, field)));
        let index = all.iter().enumerate().filter(|(_, field)| field.kind != Kind::Heading);
        Self { index: index.map(|(at, field)| (field.pointer.clone(), at)).collect(), rows: all }
    }

    /// Returns the row at a line and column of the text: the last row that begins at or before this position. If the
    /// position is left of all rows that begin on its line, returns the first of these rows.
    pub fn at(&self, line: usize, column: usize) -> Option<&Field> {
        let places = || self.rows.iter().filter(|field| field.at.is_some());
        let first = places().filter(|field| field.at.is_some_and(|at| at.0 == line)).min_by_key(|field| field.at);
        let column = first.and_then(|first| first.at).map_or(column, |at| at.1.max(column));
        places().filter(|field| field.at <= Some((line, column))).max_by_key(|field| field.at)
    }

    pub fn get(&self, pointer: &str) -> Option<&Field> {
        self.rows.get(*self.index.get(pointer)?)
    }

    /// Returns the row that is `by` rows after the row `from`, or the first or last row if `by` leads past it. Headings
    /// do not count.
    pub fn step(&self, from: &str, by: isize) -> Option<&Field> {
        let rows: Vec<&Field> = self.rows.iter().filter(|field| field.kind != Kind::Heading).collect();
        let now = rows.iter().position(|field| field.pointer == from).unwrap_or(0);
        rows.get(now.saturating_add_signed(by).min(rows.len().checked_sub(1)?)).copied()
    }

    /// Returns the first finding about a row; an error goes before a warning.
    pub fn finding<'f>(&self, field: &Field, findings: &'f [Finding]) -> Option<&'f Finding> {
        let own = || {
            findings.iter().filter(|found| self.owner(&found.pointer).is_some_and(|own| own.pointer == field.pointer))
        };
        own().find(|finding| finding.is_error).or_else(|| own().next())
    }

    /// Returns the innermost row that contains the value at a pointer.
    fn owner(&self, pointer: &str) -> Option<&Field> {
        let mut pointer = pointer;
        loop {
            match self.get(pointer) {
                Some(field) => return Some(field),
                None => pointer = pointer.rsplit_once('/')?.0,
            }
        }
    }

    /// Returns the pointer of the step that contains the value at a pointer: `/steps/0/with/name` -> `/steps/0`.
    pub fn step_of(pointer: &str) -> Option<String> {
        let mut parts = pointer.split('/').skip(1);
        match (parts.next(), parts.next()) {
            (Some("steps"), Some(index)) => Some(format!("/steps/{index}")),
            _ => None,
        }
    }
}

impl Field {
    fn heading(name: &str) -> Self {
        Self {
            kind: Kind::Heading,
            pointer: String::new(),
            name: name.to_owned(),
            takes: String::new(),
            value: String::new(),
            about: String::new(),
            effect: String::new(),
            is_text: false,
            at: None,
        }
    }

    fn of(kind: Kind, data: &Value) -> Self {
        let value = match kind {
            // An input has a default instead of a value.
            Kind::Input => text(data, "default"),
            _ => text(data, "value"),
        };
        Self {
            kind,
            pointer: text(data, "pointer").to_owned(),
            takes: takes(kind, data),
            value: value.to_owned(),
            about: text(data, "about").to_owned(),
            is_text: data["is_text"].as_bool().unwrap_or_default(),
            at: place(data),
            ..Self::heading(text(data, "name"))
        }
    }

    fn step(number: usize, data: &Value) -> Self {
        let request = [text(data, "method"), text(data, "path")].join(" ");
        Self {
            kind: Kind::Step,
            pointer: text(data, "pointer").to_owned(),
            takes: request.trim().to_owned(),
            value: match text(data, "command") {
                "" => text(data, "run").to_owned(),
                command => command.to_owned(),
            },
            about: text(data, "summary").to_owned(),
            effect: text(data, "effect").to_owned(),
            at: place(data),
            ..Self::heading(&format!("STEP {number}  {}", text(data, "id")))
        }
    }

    /// Returns whether the text contains the row's key.
    pub fn is_written(&self) -> bool {
        self.at.is_some()
    }

    /// Returns the pointer that `workflow set` takes for the row: for an input its default, for a step its command.
    pub fn target(&self) -> String {
        match self.kind {
            Kind::Input => format!("{}/default", self.pointer),
            Kind::Step => format!("{}/run", self.pointer),
            _ => self.pointer.clone(),
        }
    }
}

fn takes(kind: Kind, data: &Value) -> String {
    let values = rows(data, "values");
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let what = match (text(data, "type"), values) {
        (_, [_, ..]) => values.iter().map(word).collect::<Vec<_>>().join(" | "),
        ("string", _) => "text".to_owned(),
        ("", _) if kind == Kind::Argument => "not an argument".to_owned(),
        (kind, _) => kind.to_owned(),
    };
    let default = text(data, "default");
    match (data["needed"].as_bool().unwrap_or_default(), default) {
        (true, _) => format!("{what}, needed"),
        (false, "") => what,
        (false, _) if kind == Kind::Input => format!("{what}, default"),
        (false, default) => format!("{what}, default {default}"),
    }
}

fn place(data: &Value) -> Option<(usize, usize)> {
    let at = |name: &str| data[name].as_u64().and_then(|at| usize::try_from(at).ok());
    Some((at("line")?, at("column")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields {
        Fields::of(&json!({
            "inputs": [
                { "pointer": "/inputs/name", "name": "name", "type": "string", "needed": true, "line": 3, "column": 3 },
                {
                    "pointer": "/inputs/region", "name": "region", "type": "string", "needed": false,
                    "values": ["eu", "us"], "default": "\"eu\"", "line": 4, "column": 3,
                },
            ],
            "steps": [{
                "pointer": "/steps/0", "id": "create", "run": "apps create", "command": "shop:apps:create", "effect": "write",
                "method": "POST", "path": "/apps", "line": 6, "column": 5,
                "fields": [{ "pointer": "/steps/0/if", "name": "if", "value": "inputs.name", "line": 7, "column": 5 }],
                "arguments": [
                    { "pointer": "/steps/0/with/name", "name": "name", "type": "string", "needed": true, "value": "inputs.name", "line": 8, "column": 11 },
                    { "pointer": "/steps/0/with/size", "name": "size", "type": "integer", "needed": false, "default": "1", "value": "2", "line": 8, "column": 38 },
                    { "pointer": "/steps/0/with/env", "name": "env", "type": "object", "needed": false },
                ],
            }],
            "fields": [],
        }))
    }

    #[test]
    fn a_workflow_is_rows_of_inputs_steps_and_arguments() {
        let rows: Vec<String> =
            fields().rows.iter().map(|row| format!("{} | {} | {}", row.name, row.takes, row.value)).collect();
        assert_eq!(
            rows,
            [
                "INPUTS |  | ",
                "name | text, needed | ",
                "region | eu | us, default | \"eu\"",
                "STEP 1  create | POST /apps | shop:apps:create",
                "if |  | inputs.name",
                "name | text, needed | inputs.name",
                "size | integer, default 1 | 2",
                "env | object | ",
            ]
        );
    }

    #[test]
    fn the_first_row_is_the_name_of_the_workflow() {
        let fields = Fields::of(&json!({ "workflow": "app_with_db", "inputs": [], "steps": [], "fields": [] }));
        let name = fields.get("/workflow").expect("a row");
        assert_eq!((name.name.as_str(), name.value.as_str(), fields.rows.len()), ("name", "app_with_db", 1));
        assert_eq!(fields.step("", 0), Some(name));
    }

    #[test]
    fn a_position_in_the_text_belongs_to_a_row() {
        let fields = fields();
        let at = |line, column| fields.at(line, column).map(|field| field.pointer.as_str());
        assert_eq!(at(1, 1), None);
        assert_eq!(at(4, 20), Some("/inputs/region"));
        assert_eq!(at(5, 1), Some("/inputs/region"), "a line without a row belongs to the one above");
        assert_eq!(
            (at(8, 1), at(8, 37), at(8, 38)),
            (Some("/steps/0/with/name"), Some("/steps/0/with/name"), Some("/steps/0/with/size"))
        );
        assert_eq!(fields.step("/inputs/region", 1).map(|field| field.pointer.as_str()), Some("/steps/0"));
        assert_eq!(fields.step("/steps/0/with/env", 9).map(|field| field.pointer.as_str()), Some("/steps/0/with/env"));
        assert_eq!(Fields::default().step("", 1), None);
    }

    #[test]
    fn a_finding_belongs_to_the_innermost_row() {
        let fields = fields();
        let finding = |pointer: &str, is_error| Finding {
            pointer: pointer.to_owned(),
            is_error,
            ..crate::finding::all(&json!({ "errors": [{ "code": "x" }] })).remove(0)
        };
        let findings = [
            finding("/steps/0/with/size", false),
            finding("/steps/0/with/size/deep", true),
            finding("/steps/0/run", true),
            finding("/steps", true),
        ];
        let of = |pointer: &str| {
            let field = fields.get(pointer).expect("a row");
            fields.finding(field, &findings).map(|found| found.pointer.as_str())
        };
        assert_eq!(of("/steps/0/with/size"), Some("/steps/0/with/size/deep"));
        assert_eq!(of("/steps/0"), Some("/steps/0/run"));
        assert_eq!(of("/steps/0/with/name"), None);
    }
}
