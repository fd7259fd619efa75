//! Command lines that run without a shell, with `{{param}}` for each value.

use serde_json::Value;

use super::piece::{Piece, pieces};
use super::value::{Text, check_length, refused, text};
use super::{CallArguments, words};
use mcpkg_base::error::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argv {
    elements: Vec<Element>,
}

/// An argument, or a group of arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Element {
    /// A single argument, whatever its values contain.
    One(Vec<Piece>),
    /// Arguments that are left out together if a value is missing.
    Group(Vec<Vec<Piece>>),
}

impl Element {
    /// Returns the text if the element is only an option, such as `--units`.
    fn lone_option(&self) -> Option<&str> {
        match self {
            Self::One(pieces) => match pieces.as_slice() {
                [Piece::Literal(text)] if text.starts_with('-') && text != END_OF_OPTIONS => Some(text),
                _ => None,
            },
            Self::Group(_) => None,
        }
    }
}

const END_OF_OPTIONS: &str = "--";

impl Argv {
    /// Parses a command line that is written as a string.
    pub fn split(text: &str) -> Result<Self, String> {
        let elements = words::split(text)?.into_iter().map(Element::One).collect();
        Self::checked(elements)
    }

    /// Parses a command line that is written as a list; nested lists are groups.
    pub fn list(items: &[Value]) -> Result<Self, String> {
        let one = |item: &Value| match item {
            Value::String(text) => pieces(text),
            other => Err(format!("`{other}` is not text; put the value in quotes")),
        };
        let element = |item: &Value| match item {
            Value::Array(group) => Ok(Element::Group(group.iter().map(one).collect::<Result<_, String>>()?)),
            item => Ok(Element::One(one(item)?)),
        };
        Self::checked(items.iter().map(element).collect::<Result<_, String>>()?)
    }

    fn checked(elements: Vec<Element>) -> Result<Self, String> {
        match elements.first() {
            None => Err("it does not name a program".to_owned()),
            Some(Element::One(program)) if !program.is_empty() => Ok(Self { elements }),
            Some(_) => Err("its first element is the program, which can be neither empty nor a list".to_owned()),
        }
    }

    /// Returns the program, unless it depends on the values of a call.
    pub fn program(&self) -> Option<&str> {
        let Some(Element::One(pieces)) = self.elements.first() else { return None };
        match pieces.as_slice() {
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the program and its arguments for a call. Elements with a missing optional value are left out.
    pub fn render(&self, given: &mut CallArguments<'_>) -> Result<Vec<String>> {
        let mut arguments: Vec<String> = Vec::new();
        let mut options_end = false;
        for (at, element) in self.elements.iter().enumerate() {
            let group = match element {
                Element::One(one) => std::slice::from_ref(one),
                Element::Group(group) => group,
            };
            let Some(texts) = texts(group, given)? else {
                if at == 0 {
                    let name = group.iter().flatten().find_map(Piece::parameter).unwrap_or_default();
                    return Err(refused(name, format!("'{name}' is missing, but its value is the program to run")));
                }
                continue;
            };
            for (pieces, texts) in group.iter().zip(texts) {
                arguments.push(join(pieces, texts, options_end, given)?);
                options_end |= matches!(pieces.as_slice(), [Piece::Literal(text)] if text == END_OF_OPTIONS);
            }
        }
        Ok(arguments)
    }

    /// Returns the names of all parameters, including duplicates.
    pub(super) fn parameters(&self) -> Vec<&str> {
        self.arguments().flatten().filter_map(Piece::parameter).collect()
    }

    /// Returns the names in literal text that look like shell parameters: `${name}`.
    pub(super) fn in_shell_braces(&self) -> Vec<&str> {
        let texts = self.arguments().flatten().filter_map(|piece| match piece {
            Piece::Literal(text) => Some(text.as_str()),
            Piece::Value(_) | Piece::File(_) => None,
        });
        texts
            .flat_map(|text| text.split("${").skip(1))
            .filter_map(|rest| rest.split_once('}'))
            .map(|(name, _)| name)
            .collect()
    }

    fn arguments(&self) -> impl Iterator<Item = &Vec<Piece>> {
        self.elements.iter().flat_map(|element| match element {
            Element::One(one) => std::slice::from_ref(one),
            Element::Group(group) => group,
        })
    }

    /// Returns options that remain when the optional value after them is left out: `--units` in `--units {{units}}`,
    /// outside of a group. `is_optional` says which parameters may be missing.
    pub fn lone_options(&self, is_optional: impl Fn(&str) -> bool) -> Vec<&str> {
        let goes_away = |element: &Element| match element {
            Element::One(pieces) => pieces.iter().filter_map(Piece::parameter).any(&is_optional),
            Element::Group(_) => false,
        };
        let pairs = self.elements.iter().zip(self.elements.iter().skip(1));
        pairs.filter(|(_, next)| goes_away(next)).filter_map(|(element, _)| element.lone_option()).collect()
    }

    /// Returns an argument that only a shell would interpret, such as `|`.
    pub fn shell_word(&self) -> Option<&str> {
        const WORDS: [&str; 9] = ["|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1"];
        self.arguments().skip(1).find_map(|pieces| match pieces.as_slice() {
            [Piece::Literal(text)] => WORDS.contains(&text.as_str()).then_some(text.as_str()),
            _ => None,
        })
    }
}

/// Returns the values for a group of arguments; `None` if a value is missing, so that the group is left out.
fn texts(group: &[Vec<Piece>], given: &CallArguments<'_>) -> Result<Option<Vec<Vec<Option<Text>>>>> {
    let mut all = Vec::new();
    for pieces in group {
        let mut texts = Vec::new();
        for piece in pieces {
            match piece.parameter().map(|name| text(given, name)).transpose()? {
                Some(None) => return Ok(None),
                Some(some) => texts.push(some),
                None => texts.push(None),
            }
        }
        all.push(texts);
    }
    Ok(Some(all))
}

/// Builds one argument.
fn join(
    pieces: &[Piece],
    texts: Vec<Option<Text>>,
    options_end: bool,
    given: &mut CallArguments<'_>,
) -> Result<String> {
    let mut argument = String::new();
    for (piece, text) in pieces.iter().zip(texts) {
        match (piece, text) {
            (Piece::File(name), Some(text)) => argument.push_str(&(given.file)(name, &text.text)?),
            (Piece::Value(name), Some(Text { text, may_be_option })) => {
                if argument.is_empty() && text.starts_with('-') && !options_end && !may_be_option {
                    let why =
                        format!("the value of '{name}' starts with '-', so the program would read it as an option");
                    return Err(refused(name, why).hint(
                        "to allow such a value, put the parameter after `--` in the command, or set `x-dash: true` in the parameter's \
                            schema",
                    ));
                }
                argument.push_str(&text);
                check_length(name, &argument)?;
            }
            (Piece::Literal(text), _) => argument.push_str(text),
            (Piece::File(_) | Piece::Value(_), None) => {}
        }
    }
    Ok(argument)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use mcpkg_base::error::Code;

    fn rendered(argv: &Argv, schema: Option<&Value>, values: Value) -> Result<Vec<String>> {
        let values = values.as_object().unwrap().clone();
        let mut file = |name: &str, text: &str| Ok(format!("/private/{name}.{}", text.len()));
        argv.render(&mut CallArguments { schema, values: &values, file: &mut file })
    }

    fn list(items: Value) -> Argv {
        Argv::list(items.as_array().unwrap()).unwrap()
    }

    #[test]
    fn x21_a_value_stays_one_argument_whatever_it_holds() {
        let argv = Argv::split("tool --name='{{ name }} x' {{name}} {{n}} {{file:name}}").unwrap();
        let value = "a b'\"; $(id) `id` {{n}}\n*";
        assert_eq!(
            rendered(&argv, None, json!({ "name": value, "n": [1, { "a": "b" }] })).unwrap(),
            ["tool", &format!("--name={value} x"), value, r#"[1,{"a":"b"}]"#, "/private/name.25"]
        );
    }

    #[test]
    fn the_program_is_known_before_a_call_unless_a_value_names_it() {
        assert_eq!(list(json!(["bin/main.wasm", "{{word}}"])).program(), Some("bin/main.wasm"));
        assert_eq!(Argv::split("bin/{{name}}.wasm x").unwrap().program(), None);
    }

    #[test]
    fn x22_a_missing_optional_value_leaves_out_its_group() {
        let schema = json!({
            "properties": { "city": {}, "units": { "type": "string" }, "lang": { "default": "en" } },
            "required": ["city"],
        });
        let argv = list(json!(["w", "{{city}}", ["--units", "{{units}}"], "--lang={{lang}}", "u={{units}}"]));
        let call = |values| rendered(&argv, Some(&schema), values);
        assert_eq!(call(json!({ "city": "Bern" })).unwrap(), ["w", "Bern", "--lang=en"]);
        assert_eq!(
            call(json!({ "city": "Bern", "units": "C", "lang": "de" })).unwrap(),
            ["w", "Bern", "--units", "C", "--lang=de", "u=C"]
        );
        let error = call(json!({})).unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::ToolInput, "'city' is required"));
        assert_eq!(error.details().unwrap()["errors"][0]["path"], "/city");
    }

    #[test]
    fn an_option_that_would_lose_its_value_is_detected() {
        let argv = Argv::split("w --units {{units}} -c {{city}} -- {{units}}").unwrap();
        assert_eq!(argv.lone_options(|name| name == "units"), ["--units"]);
        assert_eq!(Argv::split("cat a | wc").unwrap().shell_word(), Some("|"));
        assert_eq!(Argv::split("cat 'a|b'").unwrap().shell_word(), None);
    }

    #[test]
    fn x23_a_value_never_becomes_an_option() {
        let schema = json!({ "properties": {
            "path": { "type": "string" },
            "n": { "type": "number" },
            "mode": { "enum": ["-a", "-b"] },
            "word": { "pattern": "^-?[a-z]+$" },
            "free": { "x-dash": true },
        } });
        let call = |text: &str, values| rendered(&Argv::split(text).unwrap(), Some(&schema), values);
        assert!(call("rm {{path}}", json!({ "path": "-rf" })).unwrap_err().message().contains("option"));
        assert!(call("rm {{n}}{{path}}", json!({ "n": "", "path": "-rf" })).is_err());
        for (text, value) in [
            ("rm -- {{path}}", json!({ "path": "-rf" })),
            ("rm ./{{path}}", json!({ "path": "-rf" })),
            ("rm {{n}}", json!({ "n": -3 })),
            ("rm {{mode}}", json!({ "mode": "-a" })),
            ("rm {{word}}", json!({ "word": "-x" })),
            ("rm {{free}}", json!({ "free": "-x" })),
            ("rm {{file:path}}", json!({ "path": "-rf" })),
            ("rm x{{path}}", json!({ "path": "-rf" })),
        ] {
            assert!(call(text, value).is_ok(), "{text}");
        }
        // A `--` that comes from a value does not end the options.
        assert!(call("rm {{free}} {{path}}", json!({ "free": "--", "path": "-rf" })).is_err());
        assert!(rendered(&Argv::split("rm {{p}}").unwrap(), None, json!({ "p": "-rf" })).is_err());
    }

    #[test]
    fn values_that_cannot_be_arguments_are_refused() {
        let argv = Argv::split("t {{x}}").unwrap();
        assert!(rendered(&argv, None, json!({ "x": "a\0b" })).unwrap_err().message().contains("NUL"));
        let long = rendered(&argv, None, json!({ "x": "a".repeat(128 << 10) })).unwrap_err();
        assert!(long.hints()[0].contains("{{file:x}}"), "{long:?}");
        let file = Argv::split("t {{file:x}}").unwrap();
        assert!(rendered(&file, None, json!({ "x": "a".repeat(1 << 20) })).is_ok());
    }

    #[test]
    fn there_is_always_a_program() {
        for bad in [json!([]), json!([["a"]]), json!([""]), json!([1]), json!(["a", 5]), json!(["a", [["b"]]])] {
            assert!(Argv::list(bad.as_array().unwrap()).is_err(), "{bad}");
        }
        assert!(Argv::split(" ").is_err());
        let argv = list(json!(["{{program}}", "rm"]));
        let schema = json!({ "properties": { "program": {} } });
        assert!(rendered(&argv, Some(&schema), json!({})).unwrap_err().message().contains("program"));
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn there_are_as_many_arguments_as_elements_whatever_the_values(
            elements in prop::collection::vec("[a-z' \"\\\\$-]{0,4}(\\{\\{ ?(a|b|file:a) ?\\}\\})?", 0..8),
            a in "\\PC*",
            b in any::<i64>(),
        ) {
            let elements: Vec<Value> = std::iter::once("tool".to_owned()).chain(elements).map(Value::from).collect();
            let argv = Argv::list(&elements).unwrap();
            match rendered(&argv, None, json!({ "a": a, "b": b })) {
                Ok(rendered) => prop_assert_eq!(rendered.len(), elements.len()),
                Err(error) => prop_assert!(a.starts_with('-'), "{}", error),
            }
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[a{}'\"\\\\ :f-]{0,40}") {
            if let Ok(argv) = Argv::split(&text) {
                let _ = rendered(&argv, None, json!({ "a": "1", "f": "2" }));
            }
        }
    }
}
