//! Asks a person at a terminal for missing inputs. The person chooses one of the provider's values, or types a value.

use serde_json::{Map, Value};

use super::plan::Plan;
use super::wanted::Wanted;
use crate::answer::cut;
use crate::check::Sound;
use crate::definition::{Input, InputType, Mode};
use crate::input_values;
use crate::provider::{self, Choice, Offer};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Confirmation, Context, Empty};

/// How many times a person may try to enter a valid value.
const TRIES: usize = 5;

/// Maximum number of choices shown.
const SHOWN: usize = 50;

/// Maximum length of a line shown, in bytes.
const LONGEST: usize = 1_000;

/// Plans a run, and asks the person at the terminal for missing inputs. With `--json` or `--yes`, or without a terminal, missing
/// inputs are an error. Missing outputs are always an error.
pub fn plan(context: &Context, wanted: &mut Wanted) -> Result<Plan> {
    let error = match wanted.plan(context) {
        Err(error) if error.code() == Code::InputsRequired => error,
        planned => return planned,
    };
    let names = |key: &str| -> Vec<String> {
        let names = error.details().and_then(|details| details[key].as_array());
        names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (mut missing, outputs) = (names("inputs_required"), names("outputs_required"));
    let can_ask = context.is_shell() && context.confirmation == Confirmation::Ask && !context.shows_data;
    if !can_ask || missing.is_empty() || !outputs.is_empty() {
        return Err(error);
    }
    let Some(sound) = &wanted.text.checked(context)?.sound else { return Err(error) };
    let mut inputs = wanted.inputs.clone();
    while !missing.is_empty() {
        let waits =
            |name: &String| provider::needs(sound, name).iter().any(|need| missing.iter().any(|other| other == need));
        // If all remaining inputs wait for each other, ask for the first one in the text.
        let next = missing.iter().position(|name| !waits(name)).unwrap_or(0);
        let name = missing.remove(next);
        let value = value(context, sound, &name, &inputs)?;
        inputs.insert(name, value);
    }
    wanted.inputs = inputs;
    wanted.plan(context)
}

fn value(context: &Context, sound: &Sound, name: &str, inputs: &Map<String, Value>) -> Result<Value> {
    let definition = &sound.definition;
    let input = definition
        .inputs
        .get(name)
        .ok_or_else(|| Error::internal("the workflow does not declare the missing input"))?;
    let (lines, choices) = offered(input, provider::offer(context, sound, name, inputs)?);
    let mut shown = Body::lines(lines.iter().map(|line| cut(line, LONGEST)));
    let question = question(name, input, choices.len());
    let mut last = None;
    for _ in 0..TRIES {
        let typed = (context.line)(shown, &question, Empty::Ends)?;
        if typed.trim().is_empty() {
            break;
        }
        let value = read(input, &choices, typed.trim());
        let only = Map::from_iter([(name.to_owned(), value.clone())]);
        match input_values::validated(definition, &only) {
            Ok(_) => return Ok(value),
            Err(error) => {
                shown = Body::lines([error.public_message()]);
                last = Some(error);
            }
        }
    }
    Err(last.unwrap_or_else(|| {
        Error::new(Code::InputsRequired, format!("The input '{name}' was not given; nothing was run"))
    }))
}

/// Returns the lines to show above the question, and the choices.
fn offered(input: &Input, offer: Offer) -> (Vec<String>, Vec<Choice>) {
    let mut lines: Vec<String> = input.description.iter().chain(&input.hint).cloned().collect();
    let choices = match offer {
        Offer::Values(provider, choices) => {
            lines.push(format!("{} of {provider}", mcpkg_base::plural::count(choices.len(), "value")));
            choices
        }
        Offer::Unknown(why) => {
            lines.push(format!("its provider failed: {why}"));
            Vec::new()
        }
        Offer::None => {
            let choices = input.choices().iter();
            choices.map(|value| Choice { value: value.clone(), label: text(value) }).collect()
        }
    };
    let line = |(index, choice): (usize, &Choice)| {
        let value = text(&choice.value);
        let value = if value == choice.label { String::new() } else { format!(" ({value})") };
        format!("{:>3}  {}{value}", index + 1, choice.label)
    };
    lines.extend(choices.iter().take(SHOWN).enumerate().map(line));
    if choices.len() > SHOWN {
        lines.push(format!("and {} more; to choose one of those, type its value", choices.len() - SHOWN));
    }
    (lines, choices)
}

fn question(name: &str, input: &Input, choices: usize) -> String {
    let how = match (choices, input.mode, input.r#type) {
        (0, _, InputType::Secret) => "where the secret is stored, as env:NAME or file:PATH",
        (0, Mode::Multiple, _) => "one or more, separated by commas",
        (0, Mode::Single, _) => return format!("Value of '{name}':"),
        (_, Mode::Multiple, _) => "numbers or values, separated by commas",
        (_, Mode::Single, _) => "a number from the list, or a value; `=7` means the value 7",
    };
    format!("Value of '{name}' ({how}):")
}

/// Interprets what a person typed: the number of a choice, or a value. `=5` is the value 5, not the fifth choice.
fn read(input: &Input, choices: &[Choice], typed: &str) -> Value {
    let one = |typed: &str| {
        let chosen = typed.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
        let written = typed.strip_prefix('=').filter(|_| !choices.is_empty()).unwrap_or(typed);
        chosen.map_or_else(|| input_values::element(input, written), |choice| choice.value.clone())
    };
    match input.mode {
        Mode::Single => one(typed),
        Mode::Multiple => typed.split(',').map(|part| one(part.trim())).collect(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_chooses_and_all_else_is_the_value() {
        let choices = [("web", json!("app-1")), ("7", json!("7"))]
            .map(|(label, value)| Choice { value, label: label.to_owned() });
        let input = Input::default();
        let of = |typed| read(&input, &choices, typed);
        assert_eq!((of("1"), of("3"), of("=1"), of("app-9")), (json!("app-1"), json!("3"), json!("1"), json!("app-9")));
        let several = Input { mode: Mode::Multiple, ..Input::default() };
        assert_eq!(read(&several, &choices, "2, x"), json!(["7", "x"]));
        let number = Input { r#type: InputType::Integer, ..Input::default() };
        assert_eq!((read(&number, &[], "3"), read(&number, &[], "x")), (json!(3), json!("x")));
    }

    #[test]
    fn offered_values_are_shown_with_labels() {
        let values = vec![Choice { value: json!("app-1"), label: "web".to_owned() }];
        let (lines, _) = offered(&Input::default(), Offer::Values("apps:list".to_owned(), values));
        assert_eq!(lines, ["1 value of apps:list", "  1  web (app-1)"]);
        let few = Input { r#enum: vec![json!("eu"), json!("us")], ..Input::default() };
        assert_eq!(offered(&few, Offer::None).0, ["  1  eu", "  2  us"]);
        let (lines, choices) = offered(&Input::default(), Offer::Unknown("nobody answers".to_owned()));
        assert_eq!((lines.len(), choices.len()), (1, 0));
        assert!(question("x", &few, 2).contains("a number"));
    }
}
