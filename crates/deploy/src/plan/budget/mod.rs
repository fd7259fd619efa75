//! Measures how much an agent loads in each session, now and after a deploy.

mod amount;
mod files;
mod listed;
mod markdown;

use super::prepare::Prepared;
use files::Files;
use mcpkg_base::error::Result;
use mcpkg_base::plural;

pub use amount::{Budget, When};

/// Describes for a person what each agent loads.
pub fn lines(budgets: &[Budget]) -> String {
    let one = |budget: &Budget| {
        let title = budget.target.facts().title;
        let before = budget.before.filter(|before| *before != budget.bytes());
        let since = |before: Option<u64>| before.map_or_else(String::new, |before| format!("{before} -> "));
        let bytes = format!("{}{}", since(before), plural::count(budget.bytes(), "byte"));
        let tokens = format!("{}{}", since(before.map(|bytes| bytes / 4)), plural::count(budget.bytes() / 4, "token"));
        match budget.listed.shown() {
            none if none.is_empty() => format!("\n  {title} {bytes} (about {tokens})"),
            what => {
                let listed = plural::count(budget.listed.bytes, "byte");
                format!("\n  {title} {bytes} (about {tokens}; {listed} list {what})")
            }
        }
    };
    format!("Loaded in each session:{}", budgets.iter().map(one).collect::<String>())
}

/// Measures what each chosen target loads after the deploy, and before it.
pub fn after(prepared: &Prepared) -> Result<Vec<Budget>> {
    let mut files = Files::at(prepared, When::Now);
    let before = measured(prepared, &mut files)?;
    let with = |(budget, before): (Budget, &Budget)| Budget { before: Some(before.bytes()), ..budget };
    Ok(measured(prepared, &mut files.deployed())?.into_iter().zip(&before).map(with).collect())
}

/// Measures what each chosen target loads.
pub fn of(prepared: &Prepared, when: When) -> Result<Vec<Budget>> {
    measured(prepared, &mut Files::at(prepared, when))
}

fn measured(prepared: &Prepared, files: &mut Files<'_>) -> Result<Vec<Budget>> {
    let site = &prepared.site;
    let chosen = site.configs.iter().filter(|config| site.selected.contains(&config.target));
    chosen.map(|config| files.budget(config)).collect()
}
