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
        let (title, bytes) = (budget.target.facts().title, plural::count(budget.bytes(), "byte"));
        let tokens = plural::count(budget.bytes() / 4, "token");
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

/// Measures what each chosen target loads.
pub fn of(prepared: &Prepared, when: When) -> Result<Vec<Budget>> {
    let site = &prepared.site;
    let mut files = Files::at(prepared, when);
    let chosen = site.configs.iter().filter(|config| site.selected.contains(&config.target));
    chosen.map(|config| files.budget(config)).collect()
}
