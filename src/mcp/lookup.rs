//! Helps to read stored rows: decodes cursors to pages, and builds the errors for missing rows.

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_content::cursor;
use mcpkg_core::op::PAGE;
use mcpkg_store::Db;
use mcpkg_store::page::Page;
use mcpkg_store::projects::{self, Selection};

/// Returns the page that a cursor asks for, in the selected project.
pub(super) fn page(db: &Db<'_>, selection: &Selection, list: &str, after: Option<&str>) -> Result<Page> {
    let mut page = Page::first(PAGE);
    if let Some(after) = after {
        let (project, name) = cursor::decode(list, after)?;
        let current = projects::require(db, selection)?;
        cursor::check_project(project, current.id)?;
        page.after = name;
    }
    Ok(page)
}

/// Returns the error for a missing row. If the project does not exist, the error says so. Otherwise, it has the message
/// that contract 001 (projects, prompts, resources and skills) prescribes.
pub(super) fn not_found(db: &Db<'_>, selection: &Selection, what: &str, key: &str, value: &str) -> Error {
    match projects::require(db, selection) {
        Err(error) => error,
        Ok(project) => Error::new(Code::NotFound, format!("{what} '{value}' not found in project '{}'", project.name))
            .with_details(serde_json::json!({ key: value })),
    }
}

/// Returns the error for completing a variable that a template does not have.
pub(super) fn no_variable(template: &str, variable: &str) -> Error {
    let why = format!("The resource template '{template}' has no variable '{variable}'");
    Error::new(Code::InvalidArgument, why).with_details(serde_json::json!({ "uri": template, "argument": variable }))
}
