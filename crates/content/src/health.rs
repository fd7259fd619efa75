//! Finds stored templates that cannot be rendered, for `mcpkg doctor`. For example, a template may exceed today's
//! limits, use undeclared names, or be damaged.

use super::answer;
use mcpkg_agents::template;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::{Db, blobs, prompts};

/// The maximum number of templates that get a finding of their own. One more finding counts the others.
const NAMED: usize = 20;

/// Checks the templates of all projects and reports those that cannot be rendered.
pub fn health(context: &Context) -> Vec<Finding> {
    let mut problems =
        context.store.read(problems).unwrap_or_else(|error| vec![problem(&error, error.message().to_owned())]);
    let others = problems.len().saturating_sub(NAMED);
    problems.truncate(NAMED);
    if others > 0 {
        problems.push(unusable(format!("{others} more templates cannot be rendered")));
    }
    problems
}

fn unusable(what: String) -> Finding {
    Finding::new("templates", Health::Problem, what)
        .action("mcpkg prompt edit NAME; see `mcpkg help templates` for what a template can use")
}

/// Returns the finding for a template that cannot be read or rendered. If the database is damaged, the finding suggests
/// a restore: an edit of the template would not help.
fn problem(error: &Error, what: String) -> Finding {
    match error.code() {
        Code::Damaged | Code::NotDatabase => {
            Finding::new("templates", Health::Problem, what).action("mcpkg check --deep; mcpkg restore FILE")
        }
        _ => unusable(what),
    }
}

fn problems(db: &Db<'_>) -> Result<Vec<Finding>> {
    let mut problems = Vec::new();
    prompts::each_template(db, |project, name, arguments, content| {
        let check = |source: &str| {
            template::check(source)?;
            template::check_declared(source, &answer::arguments(arguments)?)
        };
        let checked = template::check_size(content.size)
            .and_then(|()| blobs::read(db, content))
            .and_then(|source| check(&String::from_utf8_lossy(&source)));
        if let Err(error) = checked {
            problems.push(problem(&error, format!("prompt '{name}' of project '{project}': {}", error.message())));
        }
        Ok(())
    })?;
    Ok(problems)
}
