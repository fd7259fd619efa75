//! Finds templates: those of the project, and three built-in ones. A project's template replaces a built-in one of the same name.

use serde_json::json;

use super::form::Template;
use crate::saved::model::stored;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Name, Names};
use mcpkg_store::Db;
use mcpkg_store::projects::Selection;
use mcpkg_store::workflows::templates;

const EMBEDDED: [&str; 3] = [
    include_str!("embedded/create_and_wait.yaml"),
    include_str!("embedded/look_before_create.yaml"),
    include_str!("embedded/delete_with_guard.yaml"),
];

/// Shell completion for template names.
pub const TEMPLATES: Names = Names::Stored(|typed| {
    let all = all(typed.db, typed.selection)?;
    let names = all.into_iter().map(|kept| kept.template.name).filter(|name| name.starts_with(typed.prefix));
    Ok(names.take(typed.limit).map(Name::from).collect())
});

#[derive(Clone, Debug)]
pub struct LibraryTemplate {
    pub template: Template,
    pub text: String,
    /// Whether the template belongs to the project. If not, it is built in.
    pub is_own: bool,
}

/// Returns the templates of the selected project and the built-in ones, ordered by name. A project's template replaces
/// a built-in one with the same name.
pub fn all(db: &Db<'_>, selection: &Selection) -> Result<Vec<LibraryTemplate>> {
    let mut all = templates::list(db, selection)?.iter().map(|row| own(db, row)).collect::<Result<Vec<_>>>()?;
    for text in EMBEDDED {
        let template = Template::of(text)?;
        if all.iter().all(|own| own.template.name != template.name) {
            all.push(LibraryTemplate { template, text: text.to_owned(), is_own: false });
        }
    }
    all.sort_by(|a, b| a.template.name.cmp(&b.template.name));
    Ok(all)
}

/// Returns the template with this name. If there is none, the error suggests a similar name.
pub fn require(context: &Context, name: &str) -> Result<LibraryTemplate> {
    let all = context.store.read(|db| all(db, &context.selection))?;
    if let Some(found) = all.iter().find(|kept| kept.template.name == name) {
        return Ok(found.clone());
    }
    let error = Error::new(Code::NotFound, format!("There is no template '{}'", name.escape_debug()));
    let names = all.iter().map(|kept| kept.template.name.as_str());
    Err(error.with_details(json!({ "name": name })).suggest(name, names, "list templates with `mcpkg template list`"))
}

fn own(db: &Db<'_>, row: &templates::Template) -> Result<LibraryTemplate> {
    let text = stored(db, row.blob)?;
    Ok(LibraryTemplate { template: Template::of(&text)?, text, is_own: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_templates_are_valid() {
        for text in EMBEDDED {
            let template = Template::of(text).unwrap_or_else(|error| panic!("{error}"));
            assert!(template.title.is_some() && template.description.is_some());
            let commands =
                template.parameters().unwrap().into_iter().filter(|(_, p)| p.of.is_none() && p.default.is_none());
            assert_eq!(commands.count(), 2, "{}", template.name);
        }
    }
}
