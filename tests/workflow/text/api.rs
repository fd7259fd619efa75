//! Provides the commands that the workflows of these tests call.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcpkg_base::error::Result;
use mcpkg_workflow::source::{Commands, Resolved};
use mcpkg_workflow::spec::{CommandSpec, ProviderContract};
use serde_json::{Value, json};

/// Some commands and providers of a hosting API.
pub struct Api {
    commands: BTreeMap<String, Arc<CommandSpec>>,
    providers: BTreeMap<String, Arc<ProviderContract>>,
}

impl Api {
    pub fn new() -> Self {
        let specs: Vec<CommandSpec> =
            specs().into_iter().map(|spec| serde_json::from_value(spec).expect("a spec")).collect();
        let commands = specs.into_iter().map(|spec| (spec.id.clone(), Arc::new(spec))).collect();
        let providers = providers().into_iter().map(|provider| {
            let provider: ProviderContract = serde_json::from_value(provider).expect("a provider");
            (provider.id.clone(), Arc::new(provider))
        });
        Self { commands, providers: providers.collect() }
    }

    /// Changes one of the commands.
    pub fn with(mut self, id: &str, change: impl FnOnce(&mut CommandSpec)) -> Self {
        let mut spec = CommandSpec::clone(&self.commands[id]);
        change(&mut spec);
        self.commands.insert(id.to_owned(), Arc::new(spec));
        self
    }
}

impl Commands for Api {
    fn resolve(&self, typed: &str) -> Result<Resolved> {
        let id = typed.replace(' ', ":");
        if let Some(spec) = self.commands.get(&id) {
            return Ok(Resolved::One(Arc::clone(spec)));
        }
        let named: Vec<String> =
            self.commands.keys().filter(|known| known.rsplit(':').next() == Some(&id)).cloned().collect();
        if named.len() > 1 {
            return Ok(Resolved::Several(named));
        }
        let mut near: Vec<String> = self.commands.keys().cloned().collect();
        near.sort_by(|a, b| strsim::jaro_winkler(&id, b).total_cmp(&strsim::jaro_winkler(&id, a)));
        near.truncate(3);
        Ok(Resolved::None(near))
    }

    fn provider(&self, id: &str) -> Result<Option<Arc<ProviderContract>>> {
        Ok(self.providers.get(id).cloned())
    }

    fn has_group(&self, group: &str) -> Result<bool> {
        Ok(self.commands.values().any(|spec| spec.group == group))
    }

    fn has_secrets(&self, command: &CommandSpec) -> Result<bool> {
        Ok(!command.auth.iter().any(|name| name == "unkept"))
    }

    fn variable(&self, name: &str) -> Result<Option<String>> {
        Ok((name == "REGION").then(|| "eu".to_owned()))
    }
}

/// Returns a command of the API as JSON. `more` overrides the default fields.
fn spec(id: &str, method: &str, path: &str, more: Value) -> Value {
    let (group, name) = id.split_once(':').expect("an id");
    let (effect, idempotency) = match method {
        "GET" => ("read", "safe"),
        "DELETE" => ("destroy", "idempotent"),
        "PATCH" => ("write", "idempotent"),
        _ => ("write", "none"),
    };
    let positionals: Vec<Value> = path
        .split('{')
        .skip(1)
        .map(|rest| json!({ "name": rest.split('}').next().expect("a name"), "type": "string" }))
        .collect();
    let mut spec = json!({
        "id": id, "group": group, "name": name, "path": path, "method": method, "summary": name, "source": "catalogs",
        "effect": effect, "idempotency": idempotency, "flags": [], "positionals": positionals, "output_contract": { "fields": [] },
        "base_url": "https://api.example.org/v1", "runnable": true,
    });
    for (key, value) in more.as_object().expect("fields") {
        spec[key] = value.clone();
    }
    spec
}

fn field(name: &str, kind: &str, tags: &[&str]) -> Value {
    json!({ "name": name, "type": kind, "tags": tags })
}

fn specs() -> Vec<Value> {
    let app = [
        field("id", "string", &["app_id"]),
        field("name", "string", &["app_name", "display"]),
        field("region", "string", &["region_name"]),
        field("ready", "boolean", &[]),
        field("count", "integer", &[]),
        field("owner.id", "string", &["owner_id"]),
    ];
    let addon = [field("id", "string", &["addon_id"]), field("name", "string", &["addon_name", "display"])];
    let pipeline = [field("id", "string", &["pipeline_id"]), field("name", "string", &["pipeline_name", "display"])];
    let accepts = json!(["app_id", "app_name"]);
    let app_arg = json!([{ "name": "app", "type": "string", "accepts": accepts, "prefer": "app_id" }]);
    let body = json!({ "content_type": "application/json", "required": true });
    vec![
        spec(
            "apps:create",
            "POST",
            "/apps",
            json!({
                "flags": [
                    { "name": "region", "type": "string", "in": "body", "enum": ["eu", "us"] },
                    { "name": "name", "type": "string", "in": "body", "required": true },
                    { "name": "size", "type": "integer", "in": "body" },
                    { "name": "labels", "type": "array", "items": "string", "in": "body" },
                    { "name": "token", "type": "secret", "in": "body" },
                ],
                "body": body, "auth": ["hosting"], "output_contract": { "fields": app },
            }),
        ),
        spec(
            "apps:list",
            "GET",
            "/apps",
            json!({
                "flags": [{ "name": "page_size", "type": "integer", "in": "query" }],
                "output_contract": { "fields": app, "list": "." },
            }),
        ),
        spec(
            "apps:info",
            "GET",
            "/apps/{app}",
            json!({ "positionals": app_arg, "output_contract": { "fields": app } }),
        ),
        spec(
            "apps:update",
            "PATCH",
            "/apps/{app}",
            json!({
                "positionals": app_arg, "flags": [{ "name": "name", "type": "string", "in": "body" }], "body": body,
                "output_contract": { "fields": app },
            }),
        ),
        spec("apps:delete", "DELETE", "/apps/{app}", json!({ "positionals": app_arg })),
        spec("apps:old", "GET", "/apps/old", json!({ "deprecated": true, "output_contract": { "fields": app } })),
        spec(
            "addons:create",
            "POST",
            "/apps/{app}/addons",
            json!({
                "positionals": app_arg,
                "flags": [{ "name": "plan", "type": "string", "in": "body", "required": true, "provider": "addons:list" }],
                "output_contract": { "fields": addon },
            }),
        ),
        spec(
            "addons:list",
            "GET",
            "/apps/{app}/addons",
            json!({
                "positionals": app_arg, "flags": [{ "name": "page_size", "type": "integer", "in": "query" }],
                "output_contract": { "fields": addon, "list": "." },
            }),
        ),
        spec(
            "pipelines:list",
            "GET",
            "/pipelines",
            json!({ "output_contract": { "fields": pipeline, "list": "data.items" } }),
        ),
        spec(
            "regions:list",
            "GET",
            "/regions",
            json!({ "output_contract": { "fields": [field("code", "string", &[]), field("geo", "object", &[])], "list": "." } }),
        ),
        spec("files:upload", "POST", "/files", json!({ "runnable": false, "why_not": "its body has several parts" })),
        spec("jobs:start", "POST", "/jobs", json!({ "auth": ["unkept"] })),
        spec("lost:list", "GET", "/lost", json!({ "base_url": null })),
    ]
}

fn providers() -> Vec<Value> {
    let app = json!({ "app": { "accepts": ["app_id", "app_name"], "prefer": "app_id", "required": true } });
    let returns =
        |id: &str, name: &str| json!([{ "name": "id", "tags": [id] }, { "name": "name", "tags": [name, "display"] }]);
    vec![
        json!({ "id": "apps:list", "args": {}, "returns": returns("app_id", "app_name") }),
        json!({ "id": "addons:list", "args": app, "returns": returns("addon_id", "addon_name") }),
        json!({ "id": "pipelines:list", "args": {}, "returns": returns("pipeline_id", "pipeline_name") }),
        json!({ "id": "regions:list", "args": {}, "returns": [{ "name": "code", "type": "string" }, { "name": "geo", "type": "object" }] }),
    ]
}
