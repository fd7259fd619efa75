//! Converts the MCP server files of other programs to mcpkg's form. Notes report what was changed or skipped.

use serde_json::{Map, Value, json};

use mcpkg_agents::agents;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_store::servers::Definition;

/// The converted content of a file.
#[derive(Debug, Default)]
pub struct Mended {
    /// The servers, each with whether it is enabled.
    pub servers: Vec<(String, Definition, bool)>,
    /// Notes about the changed and skipped parts, one line each.
    pub notes: Vec<String>,
}

const SERVERS: &str = "mcpServers";

/// Prefix of the references to secrets in the system's keychain, as the program oatty writes them.
const KEYCHAIN: &str = "${secret:";

/// Converts a file. `keep` names the variables and headers whose values are not secrets, so that they stay in the text. The error
/// is a message for a person.
pub fn mended(text: &str, keep: &[String]) -> Result<Mended, String> {
    let mut file: Value = serde_json::from_str(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    let servers = file.get_mut(SERVERS).and_then(Value::as_object_mut);
    let servers = servers.ok_or_else(|| format!("it has no `{SERVERS}` object"))?;
    let mut mended = Mended::default();
    let mut secrets = Secrets::keeping(keep);
    for (name, entry) in std::mem::take(servers) {
        let Value::Object(mut entry) = entry else {
            mended.notes.push(format!("skipped '{name}': it is not an object"));
            continue;
        };
        let enabled = rearrange(&name, &mut entry, &mut mended.notes);
        let dialect = if json!(entry).to_string().contains("${env:") { "vscode" } else { "claude_code" };
        let dialect = agents::dialect_of(dialect).ok_or("unknown dialect")?;
        let mut definition = match dialect.read(&Value::Object(entry), &[]) {
            Ok(read) => read.definition,
            Err(why) => {
                mended.notes.push(format!("skipped '{name}': it {why}"));
                continue;
            }
        };
        let out = secrets.take_out(&name, &mut definition);
        mended.notes.extend(out.notes);
        for key in std::mem::take(&mut definition.extra).keys() {
            mended.notes.push(format!("server '{name}': skipped its key `{key}`"));
        }
        mended.servers.push((name, definition, enabled));
    }
    Ok(mended)
}

/// Replaces keys that only other programs use. Returns whether the server is enabled.
fn rearrange(name: &str, entry: &mut Map<String, Value>, notes: &mut Vec<String>) -> bool {
    let mut note = |what: &str| notes.push(format!("server '{name}': {what}"));
    let nulls: Vec<String> = entry.iter().filter(|(_, value)| value.is_null()).map(|(key, _)| key.clone()).collect();
    for key in nulls {
        entry.shift_remove(&key);
    }
    if let Some(address) = entry.shift_remove("baseUrl") {
        note("`baseUrl` is read as `url`");
        entry.entry("url").or_insert(address);
    }
    let mut enabled = true;
    for (key, on) in [("disabled", false), ("enabled", true)] {
        if let Some(Value::Bool(value)) = entry.shift_remove(key)
            && value != on
        {
            enabled = false;
            note("it is disabled; enable the server with `mcpkg mcp set NAME --enabled true`");
        }
    }
    for key in ["env", "headers"] {
        let values = entry.get_mut(key).and_then(Value::as_object_mut);
        for (variable, value) in values.into_iter().flatten() {
            let kept = value.as_str().and_then(|text| text.split_once(KEYCHAIN)?.1.split_once('}'));
            if let Some((secret, _)) = kept {
                note(&format!(
                    "the value of {variable} is in the system keychain as '{secret}'; put the value into an environment variable"
                ));
                *value = Value::String(format!("${{env:{}}}", variable_of(variable)));
            }
        }
    }
    enabled
}

/// Returns the name of an environment variable for a header or another variable.
fn variable_of(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_store::servers::{Part, Text};

    #[test]
    fn every_change_and_omission_has_a_note() {
        let file = json!({ "mcpServers": {
            "files": {
                "command": "npx", "args": ["-y", "files"], "disabled": true, "cwd": null, "tags": ["a"],
                "env": { "TOKEN": "${env:FILES_TOKEN}", "KEY": "${secret:files-key}", "LOG": "debug", "PASSWORD": "hunter22" },
            },
            "docs": { "baseUrl": "https://docs.example/mcp", "headers": { "Authorization": "Bearer abc" } },
            "odd": 7,
            "empty": {},
        } });
        let mended = mended(&file.to_string(), &["LOG".to_owned()]).expect("servers");
        let names: Vec<(&str, bool)> = mended.servers.iter().map(|(name, _, on)| (name.as_str(), *on)).collect();
        assert_eq!(names, [("files", false), ("docs", true)]);
        let files = &mended.servers[0].1;
        let value = |name: &str| files.env.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
        assert_eq!(value("TOKEN"), Some(Text::new([Part::env("FILES_TOKEN")])));
        assert_eq!(value("KEY"), Some(Text::new([Part::env("KEY")])));
        assert_eq!(value("LOG"), Some(Text::plain("debug")));
        assert_eq!(value("PASSWORD"), Some(Text::new([Part::env("PASSWORD")])));
        assert_eq!(mended.servers[1].1.url, Some(Text::plain("https://docs.example/mcp")));
        let notes = mended.notes.join("\n");
        for told in [
            "it is disabled",
            "keychain as 'files-key'",
            "skipped its key `tags`",
            "baseUrl",
            "skipped 'odd'",
            "skipped 'empty'",
            "PASSWORD",
        ] {
            assert!(notes.contains(told), "{told}: {notes}");
        }
        assert!(!format!("{mended:?}").contains("hunter22") && !format!("{mended:?}").contains("abc"));
        assert!(super::mended("{}", &[]).is_err() && super::mended("no", &[]).is_err());
    }
}
