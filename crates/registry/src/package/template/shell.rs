//! Shell scripts with `${param}` for each value. The script never contains a value: each value is a positional
//! parameter, quoted to suit the place where it is used.

use serde_json::Value;

use super::CallArguments;
use super::scan::{Declared, Part, Quote, scan};
use super::value::{check_length, refused, text};
use crate::package::schema::property;
use mcpkg_base::error::Result;

/// The script for `sh -c`, and its parameters by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    text: String,
    parameters: Vec<Parameter>,
    unbraced: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parameter {
    name: String,
    /// Whether the parameter begins a word somewhere, so that a program may read its value as an option.
    begins_word: bool,
    /// Whether the parameter's value is split into words somewhere.
    raw: bool,
}

/// Variables that every run sets. Without a schema, all names are parameters, except these and the variables that the
/// manifest declares.
pub const VARIABLES: [&str; 6] = ["HOME", "PATH", "PWD", "USER", "LANG", "TMPDIR"];

impl Shell {
    /// Parses a shell script. Its parameters are the properties in `schema`. Without a schema, every name is a
    /// parameter, except [`VARIABLES`] and `env`, the variables that the manifest declares. An error says what is
    /// wrong, for example why a parameter is not allowed in its place.
    pub fn parse(source: &str, schema: Option<&Value>, env: &[String]) -> Result<Self, String> {
        if source.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        if source.contains('\0') {
            return Err("it contains NUL".to_owned());
        }
        let is_parameter = |name: &str| match schema {
            Some(schema) => property(schema, name).is_some(),
            None => is_variable(name) && !VARIABLES.contains(&name) && !env.iter().any(|variable| variable == name),
        };
        let scanned = scan(source, &Declared { is_parameter: &is_parameter, by_schema: schema.is_some() });
        if let Some(why) = scanned.refused {
            return Err(why);
        }
        let mut parameters: Vec<Parameter> = Vec::new();
        let mut text = String::new();
        for part in scanned.parts {
            let place = match part {
                Part::Text(literal) => {
                    text.push_str(&literal);
                    continue;
                }
                Part::Place(place) => place,
            };
            let at = parameters.iter().position(|known| known.name == place.name).unwrap_or(parameters.len());
            if at == parameters.len() {
                parameters.push(Parameter { name: place.name, begins_word: false, raw: false });
            }
            parameters[at].begins_word |= place.begins_word;
            let raw = place.raw && place.quote == Quote::Bare;
            parameters[at].raw |= raw;
            let number = at + 1;
            text.push_str(&match place.quote {
                Quote::Bare if !raw => format!("\"${{{number}}}\""),
                Quote::Bare | Quote::Double => format!("${{{number}}}"),
                Quote::Single => format!("'\"${{{number}}}\"'"),
            });
        }
        match scanned.obstacle {
            // A script without parameters may use any shell syntax.
            Some(why) if !parameters.is_empty() => Err(why),
            _ => Ok(Self { text, parameters, unbraced: scanned.unbraced }),
        }
    }

    /// Returns the command: `sh -c`, the script, and the values. A missing optional parameter is an empty string.
    pub fn render(&self, given: &mut CallArguments<'_>) -> Result<Vec<String>> {
        let mut argv = ["sh", "-c", &self.text, "sh"].map(str::to_owned).to_vec();
        for Parameter { name, begins_word, raw } in &self.parameters {
            let Some(value) = text(given, name)? else {
                argv.push(String::new());
                continue;
            };
            let begins_option = value.text.starts_with('-') && *begins_word
                || *raw && value.text.split_ascii_whitespace().any(|word| word.starts_with('-'));
            if begins_option && !value.may_be_option {
                let why = format!("the value of '{name}' starts with '-', so the program would read it as an option");
                return Err(refused(name, why).hint(
                    "to allow such a value, put the parameter after `--` in the command, or set `x-dash: true` in the parameter's schema",
                ));
            }
            check_length(name, &value.text)?;
            argv.push(value.text);
        }
        Ok(argv)
    }

    /// Returns the script, which is the same for all values.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the parameter names by position.
    pub(super) fn parameters(&self) -> Vec<&str> {
        self.parameters.iter().map(|parameter| parameter.name.as_str()).collect()
    }

    /// Returns the parameters that are written as `$param` by mistake: the shell reads them as variables, which are
    /// empty.
    pub fn unbraced(&self) -> &[String] {
        &self.unbraced
    }
}

fn is_variable(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use mcpkg_base::process::{Limits, Program};

    fn shell(text: &str) -> Shell {
        Shell::parse(text, None, &["TOKEN".to_owned()]).unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    fn rendered(shell: &Shell, schema: Option<&Value>, values: Value) -> Result<Vec<String>> {
        let values = values.as_object().unwrap().clone();
        shell.render(&mut CallArguments {
            schema,
            values: &values,
            file: &mut |_, _| unreachable!("no shell takes files"),
        })
    }

    #[test]
    fn x24_a_value_is_quoted_to_suit_its_position() {
        for (source, text) in [
            ("echo ${x}", r#"echo "${1}""#),
            ("echo \"a ${x} b\"", r#"echo "a ${1} b""#),
            ("echo 'a ${x} b'", r#"echo 'a '"${1}"' b'"#),
            ("echo ${x:raw} \"${x:raw}\"", r#"echo ${1} "${1}""#),
            ("a=${x}; b ${y} ${x}", r#"a="${1}"; b "${2}" "${1}""#),
            ("echo \"$(cat ${x} | wc \"${y}\")${z}\"", r#"echo "$(cat "${1}" | wc "${2}")${3}""#),
            ("echo it\\'s ${x} # it's ${x}\ncat ${x}", "echo it\\'s \"${1}\" # it's ${x}\ncat \"${1}\""),
            ("echo ${PATH} ${TOKEN} ${#a} ${b:-c} $x $1 ${1}", "echo ${PATH} ${TOKEN} ${#a} ${b:-c} $x $1 ${1}"),
            ("echo \"${b:-it's}\" ${x}", "echo \"${b:-it's}\" \"${1}\""),
            ("echo ${b:-'}'} ${x}", "echo ${b:-'}'} \"${1}\""),
            ("echo $((1 + (2) << 3)) ${x}", "echo $((1 + (2) << 3)) \"${1}\""),
            ("cat <<'E' | sed ${x}\nit's\nE\necho ${y}", "cat <<'E' | sed \"${1}\"\nit's\nE\necho \"${2}\""),
            ("cat <<-E\n\tit's\n\tE\necho ${y}", "cat <<-E\n\tit's\n\tE\necho \"${1}\""),
            ("cat <<<a ${x}", "cat <<<a \"${1}\""),
            ("case ${x} in a) b;; esac", "case \"${1}\" in a) b;; esac"),
            ("(cd a && b ${x})", "(cd a && b \"${1}\")"),
        ] {
            assert_eq!(shell(source).text(), text, "{source}");
        }
    }

    #[test]
    fn x24_the_real_shell_reads_no_value_as_code() {
        let evil = "$(touch /nonexistent/x) `id`; \"'\\ * ${HOME}\n-";
        for (source, expected) in [
            ("printf '%s|' ${x}", format!("{evil}|")),
            ("printf '%s|' \"a ${x} b\"", format!("a {evil} b|")),
            ("printf '%s|' 'a ${x} b'", format!("a {evil} b|")),
            ("y=$(printf %s ${x}); printf '%s|' \"$y\"", format!("{evil}|")),
            ("printf '%s|' \"$(printf %s \"${x}\")\"", format!("{evil}|")),
        ] {
            let argv = rendered(&shell(source), None, json!({ "x": evil })).unwrap();
            let cancelled = CancellationToken::new();
            let output = Program::new(&argv[0])
                .args(&argv[1..])
                .run(b"", &Limits::new(Duration::from_secs(10), &cancelled))
                .unwrap();
            assert_eq!(output.stdout.whole().unwrap(), expected.as_bytes(), "{source}");
        }
    }

    #[test]
    fn a_parameter_is_refused_where_quoting_cannot_protect_it() {
        for (source, says) in [
            ("echo $((${x} + 1))", "as an expression"),
            ("echo `cat ${x}`", "backticks"),
            ("cat <<E\n${x}\nE", "here-document"),
            ("echo ${y:-${x}}", "inside another"),
            ("[[ ${x} -eq 0 ]]", "`[[`"),
            ("((${x}))", "`((`"),
            ("eval ${x}", "`eval`"),
            ("\\eval ${x}", "`eval`"),
            ("\"eval\" ${x}", "`eval`"),
            ("e''val ${x}", "`eval`"),
            ("command -p eval ${x}", "`eval`"),
            ("A=1 builtin eval ${x}", "`eval`"),
            ("trap \"rm ${x}\" EXIT", "`trap`"),
            ("sh -c \"echo ${x}\"", "as a command"),
            ("/bin/bash -euc ${x}", "as a command"),
            ("sh -c -- ${x}", "as a command"),
            ("env A=1 sh -c 'echo ${x}'", "as a command"),
            ("find . -exec sh -c \"echo ${x}\" \\;", "as a command"),
            ("ls | xargs -n 1 sh -c ${x}", "as a command"),
            ("y=$(bash -c ${x})", "as a command"),
            ("echo ${x} | sh", "standard input"),
            ("echo ${x} | sudo -n true; exec bash -e; true", "standard input"),
            ("(printf %s ${x} | 'dash' -s)", "standard input"),
            ("f() { echo ${x}; }; f", "function"),
            ("function f { echo ${x}; }", "function"),
            ("shift; echo ${x}", "`shift`"),
            ("set -- a; echo ${x}", "`set --`"),
            ("echo $'a' ${x}", "`$'`"),
            ("echo 'a ${x}", "is not closed"),
            ("echo $(case a in a) ${x};; esac)", "`case`"),
            ("", "empty"),
            ("a\0", "NUL"),
        ] {
            let why = Shell::parse(source, None, &[]).expect_err(source);
            assert!(why.contains(says), "{source}: {why}");
        }
        // These scripts are accepted: they have no parameter, or the unusual syntax does not affect the parameter.
        for source in [
            "f() { echo $1; }; f a",
            "set -- a",
            "echo 'a",
            "[[ a ]]",
            "set -eu; echo ${x}",
            "echo eval ${x}",
            "sh -c 'echo \"$1\"' sh ${x}",
            "sh ./run.sh -c ${x}",
            "sh <<'E'\ntrue\nE\necho ${x}",
            "bash --norc run.sh ${x} | sh tail.sh",
            "echo bash ${x}",
        ] {
            assert!(Shell::parse(source, None, &[]).is_ok(), "{source}");
        }
        let schema = json!({ "properties": { "x": {} } });
        assert!(Shell::parse("echo ${x:-1}", Some(&schema), &[]).unwrap_err().contains("${x:raw}"));
        assert_eq!(Shell::parse("echo $x ${y}", Some(&schema), &[]).unwrap().unbraced(), ["x"]);
    }

    #[test]
    fn with_a_schema_only_its_properties_are_parameters() {
        let schema = json!({ "properties": { "a-b": {}, "n": { "type": "integer", "default": 3 }, "o": {} }, "required": ["a-b"] });
        let shell = Shell::parse("t ${a-b} ${n} ${o} ${FREE}", Some(&schema), &[]).unwrap();
        assert_eq!(shell.text(), "t \"${1}\" \"${2}\" \"${3}\" ${FREE}");
        assert_eq!(rendered(&shell, Some(&schema), json!({ "a-b": "x y" })).unwrap()[4..], ["x y", "3", ""]);
        assert!(rendered(&shell, Some(&schema), json!({})).unwrap_err().message().contains("'a-b' is required"));
    }

    #[test]
    fn x23_in_a_script_a_value_never_becomes_an_option() {
        let refused = |source: &str, value: &str| rendered(&shell(source), None, json!({ "x": value })).is_err();
        for source in ["rm ${x}", "rm \"${x}\"", "rm '${x}'", "a; rm ''${x}", "a -- b && rm ${x}", "echo $(rm ${x})"] {
            assert!(refused(source, "-rf"), "{source}");
        }
        assert!(refused("rm -- ${x}; rm ${x:raw}", "a -rf"));
        for source in ["rm -- ${x}", "rm ./${x}", "echo \"it is ${x}\"", "a=${x}", "rm --name=${x}"] {
            assert!(!refused(source, "-rf"), "{source}");
        }
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn the_text_never_changes_whatever_the_values(x in "\\PC*", y in any::<i64>()) {
            let shell = shell("printf '%s' \"${x}\" -- ${y} '${x}'");
            if let Ok(argv) = rendered(&shell, None, json!({ "x": x, "y": y })) {
                prop_assert_eq!(&argv[..4], ["sh", "-c", shell.text(), "sh"]);
                prop_assert_eq!(&argv[4..], [x, y.to_string()]);
            }
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[${}'\"`()<\\\\ax:;#\n=-]{0,60}") {
            if let Ok(shell) = Shell::parse(&text, None, &[]) {
                prop_assert_eq!(shell.parameters().is_empty(), shell.text() == text);
            }
        }
    }
}
