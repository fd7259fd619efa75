//! Which machine this is.

/// Returns the id of the machine: what is `given`, else what the environment says, else its host name.
pub fn id(given: Option<&str>) -> String {
    let environment = ["AGENTPACK_MACHINE_ID", "HOSTNAME", "COMPUTERNAME"];
    let mut said = given.map(str::to_owned).into_iter().chain(environment.iter().filter_map(|v| std::env::var(v).ok()));
    let id = said.find_map(|said| Some(normal(&said)).filter(|id| !id.is_empty()));
    id.or_else(|| host().map(|host| normal(&host)).filter(|id| !id.is_empty())).unwrap_or_else(|| "unknown".to_owned())
}

/// Returns a machine's id in lower case, with one `-` for each run of what is not a letter, digit, `_` or `-`.
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

/// Returns the name that `hostname` prints.
#[cfg(unix)]
fn host() -> Option<String> {
    Some(rustix::system::uname().nodename().to_string_lossy().into_owned())
}

/// The environment says it there.
#[cfg(not(unix))]
fn host() -> Option<String> {
    None
}
