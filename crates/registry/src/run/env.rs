//! Collects the variables for a tool: a few that all tools get, and those that its manifest declares.

use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;

use super::call::Variable;
use super::usual::{USUAL, is_usual};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::{SHORTEST_HIDDEN, Secrets};
use mcpkg_base::secret::{self, Reference};
use mcpkg_store::tools::env::{self, Setting};

/// Variables and their values.
#[derive(Default)]
pub struct Values {
    /// The values by name.
    pub values: BTreeMap<String, String>,
    /// The secret values, which are hidden in the tool's output.
    pub secrets: Secrets,
}

/// Returns the name and the source of each variable, to show before a run.
pub fn sources(declared: &[Variable], set: &[env::Variable]) -> BTreeMap<String, String> {
    let usual = USUAL.iter().map(|(name, _)| ((*name).to_owned(), "every run".to_owned()));
    let declared = declared.iter().filter(|variable| is_free(&variable.name)).filter_map(|variable| {
        let from = match set.iter().find(|set| set.name == variable.name).map(|set| &set.setting) {
            Some(Setting::Reference(reference)) => reference.clone(),
            Some(Setting::Value(_)) => "mcpkg tool env".to_owned(),
            None => variable.default.as_ref().map(|_| "the manifest".to_owned())?,
        };
        Some((variable.name.clone(), from))
    });
    usual.chain(declared).collect()
}

/// Returns the variables with their values. `set` contains the user's settings for this tool, more specific
/// patterns first.
///
/// # Errors
/// `E_TOOL_ENV` for required variables without a value, with the names of all of them, and for a secret that cannot be
/// read or is too short to hide.
pub fn values(
    tool: &str,
    declared: &[Variable],
    set: &[env::Variable],
    cancelled: &CancellationToken,
) -> Result<Values> {
    let usual = USUAL.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut values = Values { values: usual.collect(), secrets: Secrets::new() };
    let mut missing = Vec::new();
    for variable in declared.iter().filter(|variable| is_free(&variable.name)) {
        let value = match set.iter().find(|set| set.name == variable.name).map(|set| &set.setting) {
            Some(Setting::Reference(reference)) => {
                let secret = reference.parse::<Reference>()?.resolve(cancelled);
                let secret = secret.map_err(|error| unusable(tool, &variable.name, error))?;
                if secret.expose().len() < SHORTEST_HIDDEN {
                    return Err(too_short(tool, &variable.name));
                }
                values.secrets.learn(secret.expose());
                Some(secret.expose().to_owned())
            }
            Some(Setting::Value(value)) => Some(value.clone()),
            None => variable.default.clone(),
        };
        match value {
            Some(value) => drop(values.values.insert(variable.name.clone(), value)),
            None if variable.required => missing.push(variable.name.as_str()),
            None => {}
        }
    }
    if let [first, ..] = missing.as_slice() {
        let names = missing.join(", ");
        return Err(Error::new(Code::ToolEnv, format!("{tool} needs variables that are not set: {names}"))
            .with_details(serde_json::json!({ "names": missing }))
            .hint(format!(
                "tell mcpkg where to read the value: `mcpkg tool env set {first} env:{first} --for {tool}`"
            )));
    }
    Ok(values)
}

/// Returns whether a manifest may declare this variable. The names in [`USUAL`] are taken, since every tool relies
/// on them.
fn is_free(name: &str) -> bool {
    secret::is_variable(name) && !is_usual(name)
}

fn unusable(tool: &str, name: &str, error: Error) -> Error {
    if error.code() != Code::SecretMissing {
        return error;
    }
    let why = format!("{tool} needs the variable {name}, but mcpkg cannot read its value: {}", error.message());
    Error::new(Code::ToolEnv, why).with_details(serde_json::json!({ "names": [name] })).with_source(error)
}

/// Returns the error for a secret that is too short to hide: it would also occur in unrelated text.
fn too_short(tool: &str, name: &str) -> Error {
    let why = format!(
        "{tool} needs the variable {name}, but its secret value has less than {SHORTEST_HIDDEN} bytes, which is too short to hide in the \
            tool's output"
    );
    Error::new(Code::ToolEnv, why)
        .with_details(serde_json::json!({ "names": [name] }))
        .hint(format!("if the value is not secret, set it with `mcpkg tool env set {name} --value TEXT --for {tool}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(name: &str) -> Variable {
        Variable { name: name.to_owned(), ..Variable::default() }
    }

    fn of(declared: &[Variable], set: &[(&str, Setting)]) -> Result<BTreeMap<String, String>> {
        let set = set.iter().map(|(name, setting)| env::Variable {
            name: (*name).to_owned(),
            pattern: "*".to_owned(),
            setting: setting.clone(),
            set_at: 0,
        });
        let values = values("alice/tool", declared, &set.collect::<Vec<_>>(), &CancellationToken::new())?;
        Ok(values.values)
    }

    #[test]
    fn x30_a_required_variable_without_a_value_refuses_the_run_and_all_of_them_are_named() {
        let needed = |name| Variable { required: true, ..declared(name) };
        let error = of(&[needed("A"), declared("B"), needed("C")], &[]).expect_err("missing");
        assert_eq!((error.code(), error.details()), (Code::ToolEnv, Some(&serde_json::json!({ "names": ["A", "C"] }))));
        let gone = Setting::Reference("env:MCPKG_TEST_NOT_SET".to_owned());
        let error = of(&[needed("A")], &[("A", gone)]).expect_err("not set");
        assert_eq!(error.code(), Code::ToolEnv);
        let values = of(&[needed("A")], &[("A", Setting::Value("1".to_owned()))]).expect("set");
        assert_eq!(values["A"], "1");
    }

    #[test]
    fn x25_a_tool_gets_what_it_declares_and_no_manifest_replaces_what_every_run_has() {
        let path = Variable { default: Some("/evil".to_owned()), ..declared("PATH") };
        let home = Variable { default: Some("/evil".to_owned()), ..declared("HOME") };
        let other = Variable { default: Some("d".to_owned()), ..declared("OTHER") };
        let set = [("PATH", Setting::Value("/evil".to_owned())), ("UNASKED", Setting::Value("1".to_owned()))];
        let values = of(&[path, home, other, declared("EMPTY")], &set).expect("values");
        let names: Vec<&str> = values.keys().map(String::as_str).collect();
        assert_eq!(names, ["HOME", "LANG", "OTHER", "PATH", "PWD", "TMPDIR", "USER"]);
        assert!(!values.values().any(|value| value == "/evil"));
    }
}
