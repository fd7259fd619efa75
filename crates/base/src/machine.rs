//! Identifies this machine.

use crate::platform;

/// Returns the machine's id: `given`, or else the id in the environment, or else the host name, or else `unknown`.
pub fn id(given: Option<&str>) -> String {
    let environment = ["AGENTPACK_MACHINE_ID", "HOSTNAME", "COMPUTERNAME"];
    let mut said = given.map(str::to_owned).into_iter().chain(environment.iter().filter_map(|v| std::env::var(v).ok()));
    let id = said.find_map(|said| Some(normal(&said)).filter(|id| !id.is_empty()));
    id.or_else(|| platform::host().map(|host| normal(&host)).filter(|id| !id.is_empty()))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Normalizes a machine's id: lowercase, with a `-` for each run of characters other than ASCII letters, digits, `_`
/// and `-`, and no `-` at either end.
pub fn normal(id: &str) -> String {
    let mut normal = String::new();
    for c in id.trim().chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-') {
            normal.push(c);
        } else if !normal.ends_with('-') {
            normal.push('-');
        }
    }
    normal.trim_matches('-').to_owned()
}
