//! Finds resources by URI, first among the stored ones, then in the domains, and lists resource templates.
//!
//! A stored resource takes precedence over a template. Otherwise, resources that were stored with an `mcpkg://` URI
//! before that scheme was reserved could no longer be read.

use rmcp::model::ResourceTemplate;

use super::era::Era;
use super::lookup::not_found;
use super::resources::{self, stored};
use super::{Config, group_of, live, tools};
use mcpkg_base::error::Result;
use mcpkg_content::answer::too_large;
use mcpkg_core::op::{Contents, ListedIn, ResourceRequest, Validator};
use mcpkg_store::blobs::Blob;
use mcpkg_store::resources::Key;
use mcpkg_store::{Db, validators};

/// Returns the result of resources/templates/list. A template of live resources is listed if the tools of its group are
/// listed.
pub(super) fn templates(db: &Db<'_>, config: &Config) -> Result<Vec<ResourceTemplate>> {
    let groups = tools::listed_groups(db, config)?;
    let shown = config.providers.resources().filter(|resource| match &resource.live {
        // A server with only live resources already lists those without a variable in resources/list.
        Some(live) if live::only(config) => {
            resource.variable().is_some() && group_of(config.identity) == Some(live.group)
        }
        Some(live) => groups.contains(&live.group),
        None => resource.shown == ListedIn::Template && !live::only(config),
    });
    let template = |resource: &mcpkg_core::op::Resource| {
        let template = ResourceTemplate::new(resource.uri, resource.name)
            .with_title(resource.title)
            .with_description(resource.description);
        match resource.mime_type {
            Some(mime_type) => template.with_mime_type(mime_type),
            None => template,
        }
    };
    Ok(shown.map(template).collect())
}

/// Returns whether a URI has the scheme of a domain, such as `skill://`.
pub(super) fn may_be_of_domain(uri: &str) -> bool {
    let scheme = |uri: &str| uri.split_once("://").map(|(scheme, _)| scheme.to_owned());
    let given = scheme(uri);
    given.is_some() && crate::DOMAINS.resources().any(|resource| scheme(resource.uri) == given)
}

/// Appends the result of resources/read: the resource stored under the URI, or else a resource of a domain.
///
/// # Errors
/// `E_NOT_FOUND` if neither exists; `E_TOO_LARGE` if the resource is too large for one answer.
pub(super) fn read(db: &Db<'_>, config: &Config, uri: &str, era: Era, out: &mut Vec<u8>) -> Result<()> {
    if stored(db, config, Key::Uri(uri), uri, era, out)? || of_domain(db, config, uri, era, out)? {
        return Ok(());
    }
    Err(not_found(db, &config.selection, "Resource", "uri", uri))
}

/// Fails if no resource can ever have this URI: its scheme belongs to a domain, it matches none of the domain's
/// resources, and nothing is stored under it. For any other URI, a resource may be created later.
pub(super) fn may_come(db: &Db<'_>, config: &Config, uri: &str) -> Result<()> {
    let fits = |uri: &str| config.providers.resources().any(|resource| resource.values(uri).is_some());
    if !may_be_of_domain(uri) || fits(uri) || validators::resource(db, &config.selection, Key::Uri(uri))?.is_some() {
        return Ok(());
    }
    Err(not_found(db, &config.selection, "Resource", "uri", uri))
}

/// Appends the result of resources/read if a domain has a resource with this URI. Returns whether one has.
fn of_domain(db: &Db<'_>, config: &Config, uri: &str, era: Era, out: &mut Vec<u8>) -> Result<bool> {
    for resource in of_rows(config) {
        let Some(values) = resource.values(uri) else { continue };
        let asked = ResourceRequest { db, selection: &config.selection, uri, values, max_answer: config.max_answer };
        if (resource.read)(&asked, &mut ReadResult { config, uri, era, out })? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the validator of a URI, which changes exactly when the result of resources/read changes. Returns `None` if
/// there is no such resource.
pub(super) fn validator(db: &Db<'_>, config: &Config, uri: &str) -> Result<Option<Validator>> {
    let selection = &config.selection;
    if let Some(stored) = validators::resource(db, selection, Key::Uri(uri))? {
        return Validator::of(&stored).map(Some);
    }
    for resource in of_rows(config) {
        let Some(values) = resource.values(uri) else { continue };
        let asked = ResourceRequest { db, selection, uri, values, max_answer: config.max_answer };
        if let Some(validator) = (resource.validator)(&asked)? {
            return Ok(Some(validator));
        }
    }
    Ok(None)
}

/// Returns the resources that are generated from database rows.
fn of_rows(config: &Config) -> impl Iterator<Item = &'static mcpkg_core::op::Resource> {
    config.providers.resources().filter(|resource| resource.live.is_none())
}

/// Writes the result of resources/read for a resource whose contents come from its domain.
struct ReadResult<'a> {
    config: &'a Config,
    uri: &'a str,
    era: Era,
    out: &'a mut Vec<u8>,
}

impl Contents for ReadResult<'_> {
    fn text(&mut self, mime_type: Option<&str>, text: &str, shell: &dyn Fn() -> String) -> Result<()> {
        let (size, limit) = (text.len() as u64, self.config.max_answer);
        if size > limit {
            return Err(too_large(&format!("Resource '{}'", self.uri), size, limit, &shell()));
        }
        resources::Contents { uri: self.uri, mime_type, text: true }.push_text(text, self.era, self.out);
        Ok(())
    }

    fn blob(
        &mut self,
        db: &Db<'_>,
        mime_type: Option<&str>,
        is_text: bool,
        blob: Blob<'_>,
        shell: &dyn Fn() -> String,
    ) -> Result<()> {
        let contents = resources::Contents { uri: self.uri, mime_type, text: is_text };
        contents.push(db, self.config, blob, shell, self.era, self.out)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use mcpkg_store::projects::Selection;

    #[test]
    fn a_validator_changes_exactly_when_the_answer_does() {
        let folder = tempfile::tempdir().unwrap();
        let store = mcpkg_store::Store::open(&folder.path().join("a.db")).unwrap();
        let config = Config {
            max_answer: mcpkg_core::op::MAX_ANSWER,
            max_line: crate::mcp::MAX_LINE,
            front: true,
            ..Config::default()
        };
        let context = mcpkg_core::op::Context {
            ..mcpkg_core::op::Context::new(
                crate::DOMAINS,
                config.caller(Some("test")),
                store.clone(),
                Selection::default(),
            )
        };
        let uris = [
            "file:///doc",
            "mcpkg://resource/doc",
            "mcpkg://prompt/plain",
            "mcpkg://history/prompt/plain",
            "mcpkg://history/resource/doc",
            "mcpkg://events",
            "mcpkg://nothing",
            "skill://plain/SKILL.md",
        ];
        let look = || -> Vec<_> {
            let answer = |db: &Db<'_>, uri| {
                let mut out = Vec::new();
                let found = read(db, &config, uri, Era::Legacy, &mut out);
                (validator(db, &config, uri).unwrap(), found.is_ok().then_some(out))
            };
            uris.iter().map(|uri| store.read(|db| Ok(answer(db, uri))).unwrap()).collect()
        };
        let run = |tool: &str, arguments: Value| {
            let entry = crate::DOMAINS.operations().find(|entry| entry.tool == tool).unwrap();
            entry.from_agent(arguments).unwrap().run(&context).unwrap_or_else(|error| panic!("{tool}: {error}"));
        };
        let json = |text: &str| serde_json::from_str(text).unwrap();
        let mut before = look();
        assert!(before.iter().all(|(validator, _)| validator.is_none()));
        for (tool, arguments) in [
            ("create_project", r#"{"name":"p"}"#),
            ("create_prompt", r#"{"name":"plain","content":"one"}"#),
            ("create_resource", r#"{"name":"doc","uri":"file:///doc","content":"one"}"#),
            ("update_prompt", r#"{"name":"plain","description":"d"}"#),
            ("update_prompt", r#"{"name":"plain","content":"two"}"#),
            ("create_skill", r#"{"name":"plain","content":"x","description":"d"}"#),
            ("delete_skill", r#"{"name":"plain"}"#),
            ("update_resource", r#"{"name":"doc","description":"d"}"#),
            ("update_resource", r#"{"name":"doc","content":"two"}"#),
            ("update_resource", r#"{"name":"doc","mime_type":"text/markdown"}"#),
            ("delete_prompt", r#"{"name":"plain"}"#),
            ("create_prompt", r#"{"name":"plain","content":"two"}"#),
            ("rename_prompt", r#"{"name":"plain","to":"fancy"}"#),
            ("delete_resource", r#"{"name":"doc"}"#),
            ("create_project", r#"{"name":"q"}"#),
            ("select_project", r#"{"name":"q"}"#),
        ] {
            run(tool, json(arguments));
            let after = look();
            for ((uri, before), after) in uris.iter().zip(&before).zip(&after) {
                assert_eq!(after.0.is_some(), after.1.is_some(), "{tool} {arguments} {uri}");
                assert_eq!(before.0 == after.0, before.1 == after.1, "{tool} {arguments} {uri}");
            }
            before = after;
        }
    }

    /// A provider that adds one resource to resources/list.
    struct Adds;

    impl crate::mcp::Provider for Adds {
        fn tools(
            &self,
            _: &Db<'_>,
            _: &mcpkg_core::op::Audience<'_>,
            _: &str,
            _: usize,
        ) -> Result<Vec<crate::mcp::Projected>> {
            Ok(Vec::new())
        }

        fn tool(&self, _: &Db<'_>, _: &mcpkg_core::op::Audience<'_>, _: &str) -> Result<Option<crate::mcp::Projected>> {
            Ok(None)
        }

        fn validator(&self, _: &Db<'_>, _: &mcpkg_core::op::Audience<'_>) -> Result<Validator> {
            Validator::of(&())
        }

        fn resources(&self) -> &'static [mcpkg_core::op::Resource] {
            const STATUS: mcpkg_core::op::Resource = mcpkg_core::op::Resource {
                uri: "flow://status",
                name: "status",
                title: "Status",
                shown: ListedIn::Listed,
                read: |_, contents| contents.text(None, "clean", &String::new).map(|()| true),
                ..mcpkg_core::op::Resource::EMPTY
            };
            &[STATUS]
        }
    }

    #[test]
    fn resources_of_domains_are_listed_after_stored_resources() {
        let folder = tempfile::tempdir().unwrap();
        let store = mcpkg_store::Store::open(&folder.path().join("a.db")).unwrap();
        let context = mcpkg_core::op::Context::shell(crate::DOMAINS, store.clone(), Selection::default());
        for (tool, arguments) in [
            ("create_project", serde_json::json!({ "name": "p" })),
            ("create_resource", serde_json::json!({ "name": "doc", "uri": "file:///doc", "content": "one" })),
        ] {
            let entry = crate::DOMAINS.operations().find(|entry| entry.tool == tool).unwrap();
            entry.from_agent(arguments).unwrap().run(&context).unwrap();
        }
        let providers = crate::mcp::Providers(vec![std::sync::Arc::new(Adds)]);
        let config = Config { providers, max_answer: mcpkg_core::op::MAX_ANSWER, ..Config::default() };
        let answer = |f: &dyn Fn(&Db<'_>, &mut Vec<u8>) -> Result<()>| {
            let mut out = Vec::new();
            store.read(|db| f(db, &mut out)).unwrap();
            serde_json::from_slice::<Value>(&out).unwrap()
        };
        let listed = answer(&|db, out| resources::list(db, &config, None, Era::Legacy, out));
        let uris: Vec<_> = listed["resources"].as_array().unwrap().iter().map(|row| row["uri"].clone()).collect();
        assert_eq!(uris, ["file:///doc", "flow://status"]);
        let told = answer(&|db, out| read(db, &config, "flow://status", Era::Legacy, out));
        assert_eq!(told["contents"][0]["text"], "clean");
        let shown = store.read(|db| templates(db, &config)).unwrap();
        assert!(!shown.iter().any(|template| template.uri_template == "flow://status"));
    }

    #[test]
    fn every_resource_has_a_name_a_title_and_a_description() {
        for resource in crate::DOMAINS.resources() {
            assert!(may_be_of_domain(resource.uri), "{}", resource.uri);
            for text in [resource.name, resource.title, resource.description] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{}: `{text}`", resource.uri);
            }
            let is_template = resource.uri.contains('{');
            assert!(resource.shown != ListedIn::Listed || !is_template, "{} names more than one", resource.uri);
        }
    }
}
