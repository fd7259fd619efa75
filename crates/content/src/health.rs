//! Finds stored templates that cannot be rendered, for `mcpkg doctor`. For example, a template may exceed today's
//! limits or use undeclared names.

use super::answer;
use mcpkg_agents::template;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::{Db, blobs, prompts};

/// The maximum number of templates that one finding lists by name.
const NAMED: usize = 20;

/// Checks the templates of all projects and reports those that cannot be rendered.
pub fn health(context: &Context) -> Vec<Finding> {
    let mut problems = match context.store.read(problems) {
        Ok(problems) => problems,
        Err(error) => vec![error.message().to_owned()],
    };
    let others = problems.len().saturating_sub(NAMED);
    problems.truncate(NAMED);
    if others > 0 {
        problems.push(format!("{others} more templates cannot be rendered"));
    }
    let finding = |problem| {
        Finding::new("templates", Health::Problem, problem)
            .action("mcpkg prompt edit NAME; see `mcpkg help templates` for what a template can use")
    };
    problems.into_iter().map(finding).collect()
}

fn problems(db: &Db<'_>) -> Result<Vec<String>> {
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
            problems.push(format!("prompt '{name}' of project '{project}': {}", error.message()));
        }
        Ok(())
    })?;
    Ok(problems)
}
