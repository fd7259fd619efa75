//! Contains the `mcpkg gate` commands, one file per command.

mod add;
mod list;
mod logs;
mod remove;
mod routes;
mod set;
mod status;
mod test;

use super::header::Port;
use super::input::shown;
use super::interface::{Model, Route};
use mcpkg_base::plural;
use mcpkg_core::op::{Entry, Table, cell};

/// The operations of gates: first those of contract 003 (smctl), in its order, then those that only the shell has.
pub const OPS: &[Entry] = &[
    Entry::of::<status::ShowStatus>(),
    Entry::of::<list::List>(),
    Entry::of::<add::Add>(),
    Entry::of::<test::Test>(),
    Entry::of::<remove::Remove>(),
    Entry::of::<routes::List>(),
    Entry::of::<set::Set>(),
    Entry::of::<logs::Logs>(),
];

/// Returns a table of models.
fn table(models: &[Model]) -> Table {
    let row = |model: &Model| {
        vec![
            cell(&model.name).into_owned(),
            cell(&model.status).into_owned(),
            plural::count(usize::try_from(model.size_bytes).unwrap_or(usize::MAX), "byte"),
            ports(model.inputs.as_deref()),
            ports(model.outputs.as_deref()),
            model.sha256.as_deref().and_then(|sha256| sha256.get(..12)).unwrap_or("-").to_owned(),
            cell(model.registered_at.as_deref().unwrap_or_default()).into_owned(),
        ]
    };
    Table {
        columns: &["NAME", "STATUS", "SIZE", "TAKES", "GIVES", "SHA256", "REGISTERED"],
        rows: models.iter().map(row).collect(),
        empty: "No models are registered; add one with `mcpkg gate models add FILE`".to_owned(),
    }
}

/// Formats inputs or outputs for people: `x float32[1, 2]`.
fn ports(ports: Option<&[Port]>) -> String {
    let one = |port: &Port| {
        let shape = port.shape.as_deref().map_or_else(|| "[...]".to_owned(), shown);
        format!("{} {}{shape}", cell(&port.name), port.dtype)
    };
    ports.unwrap_or_default().iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Returns a table of routes.
fn route_table(routes: &[Route]) -> Table {
    let row = |route: &Route| {
        vec![
            cell(&route.endpoint).into_owned(),
            cell(&route.model).into_owned(),
            if route.active { "yes" } else { "no" }.to_owned(),
            route.request_count.map_or_else(String::new, |count| count.to_string()),
        ]
    };
    Table {
        columns: &["ENDPOINT", "MODEL", "ACTIVE", "REQUESTS"],
        rows: routes.iter().map(row).collect(),
        empty: "No routes; add one with `mcpkg gate routes set MODEL ENDPOINT`".to_owned(),
    }
}
