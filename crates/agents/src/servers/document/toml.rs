//! Edits one entry in Codex's config.toml. Everything else stays, including comments.

use serde_json::{Map, Number, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::change::Change;
use super::fault::Fault;

fn parse(text: &str) -> Result<DocumentMut, Fault> {
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        Fault::at(text, at, error.message().replace('\n', ", "))
    })?;
    // If writing the parsed document does not give the same text, an edit would change more than it should.
    if document.to_string() == text { Ok(document) } else { Err(Fault::new("it cannot be written back unchanged")) }
}

/// Returns the whole document.
pub(super) fn value(text: &str) -> Result<Value, Fault> {
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        Fault::at(text, at, error.message().replace('\n', ", "))
    })?;
    Ok(table_value(document.as_table()))
}

/// Creates or changes the table `[key.name]`.
pub(super) fn set(text: &str, key: &str, name: &str, change: &Change) -> Result<String, Fault> {
    let mut document = parse(text)?;
    let is_blank = text.trim().is_empty();
    let root = document.as_table_mut();
    if !root.contains_key(key) {
        let mut servers = Table::new();
        servers.set_implicit(true);
        root.insert(key, Item::Table(servers));
    }
    let servers = root
        .get_mut(key)
        .and_then(Item::as_table_like_mut)
        .ok_or_else(|| Fault::new(format!("`{key}` is not a table")))?;
    let inline = matches!(servers.get(name), Some(Item::Value(_))) || is_inline(servers);
    match servers.get_mut(name).and_then(Item::as_table_like_mut).filter(|_| !change.replaces) {
        Some(entry) => update(entry, change),
        None if inline => {
            let mut entry = InlineTable::new();
            fill(&mut entry, &change.fields);
            match servers.get_mut(name) {
                Some(item) => *item = Item::Value(entry.into()),
                None => drop(servers.insert(name, Item::Value(entry.into()))),
            }
        }
        None => {
            let mut entry = Table::new();
            fill(&mut entry, &change.fields);
            match servers.get_mut(name) {
                Some(Item::Table(old)) => {
                    // The table's heading and the comments above it belong to the user.
                    *entry.decor_mut() = old.decor().clone();
                    entry.set_position(old.position());
                    *old = entry;
                }
                _ => {
                    entry.decor_mut().set_prefix(if is_blank { "" } else { "\n" });
                    servers.insert(name, Item::Table(entry));
                }
            }
        }
    }
    Ok(document.to_string())
}

fn is_inline(table: &dyn TableLike) -> bool {
    table.iter().next().is_some_and(|(_, item)| item.is_value()) && !table.iter().any(|(_, item)| item.is_table())
}

fn update(entry: &mut dyn TableLike, change: &Change) {
    for unwanted in change.unwanted() {
        entry.remove(unwanted);
    }
    for (field, wanted) in &change.fields {
        match entry.get_mut(field) {
            Some(item) if item_value(item) == *wanted => {}
            Some(Item::Value(old)) => {
                let decor = old.decor().clone();
                *old = to_toml(wanted);
                *old.decor_mut() = decor;
            }
            _ => drop(entry.insert(field, Item::Value(to_toml(wanted)))),
        }
    }
}

fn fill(entry: &mut dyn TableLike, fields: &[(String, Value)]) {
    for (field, value) in fields {
        entry.insert(field, Item::Value(to_toml(value)));
    }
}

/// Removes the table `[key.name]`. With `emptied`, also removes `key` if it is empty afterwards.
pub(super) fn remove(text: &str, key: &str, name: &str, emptied: bool) -> Result<String, Fault> {
    let mut document = parse(text)?;
    let root = document.as_table_mut();
    let Some(servers) = root.get_mut(key).and_then(Item::as_table_like_mut) else { return Ok(text.to_owned()) };
    servers.remove(name);
    if emptied && servers.is_empty() {
        root.remove(key);
    }
    Ok(document.to_string())
}

/// Removes all top-level keys except these.
pub(super) fn retain(text: &str, keys: &[&str]) -> Result<String, Fault> {
    let mut document = parse(text)?;
    let root = document.as_table_mut();
    let extra: Vec<String> =
        root.iter().map(|(key, _)| key.to_owned()).filter(|key| !keys.contains(&key.as_str())).collect();
    for key in extra {
        root.remove(&key);
    }
    Ok(document.to_string())
}

fn to_toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Null => toml_edit::Value::from(""),
        Value::Bool(value) => (*value).into(),
        Value::Number(value) => match value.as_i64() {
            Some(value) => value.into(),
            None => value.as_f64().unwrap_or_default().into(),
        },
        Value::String(value) => value.as_str().into(),
        Value::Array(values) => values.iter().map(to_toml).collect::<Array>().into(),
        Value::Object(values) => {
            let mut table = InlineTable::new();
            for (name, value) in values {
                table.insert(name, to_toml(value));
            }
            table.into()
        }
    }
}

fn table_value(table: &dyn TableLike) -> Value {
    let mut object = Map::new();
    for (name, item) in table.iter() {
        object.insert(name.to_owned(), item_value(item));
    }
    Value::Object(object)
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => from_toml(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_value(table)).collect(),
    }
}

fn from_toml(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(value) => value.value().as_str().into(),
        toml_edit::Value::Integer(value) => (*value.value()).into(),
        // JSON has no infinite numbers.
        toml_edit::Value::Float(value) => match Number::from_f64(*value.value()) {
            Some(number) => number.into(),
            None => value.value().to_string().into(),
        },
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(value) => value.value().to_string().into(),
        toml_edit::Value::Array(values) => values.iter().map(from_toml).collect(),
        toml_edit::Value::InlineTable(table) => table_value(table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_a_round_trip() {
        let document = parse("[server]\ntimeout = 1.5\nretries = 3\nlimit = inf\n").unwrap();
        let value = table_value(document.as_table());
        assert_eq!(value, serde_json::json!({ "server": { "timeout": 1.5, "retries": 3, "limit": "inf" } }));
        assert_eq!(to_toml(&value["server"]["timeout"]).to_string().trim(), "1.5");
    }
}
