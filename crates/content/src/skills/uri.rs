//! The URIs of skills: `skill://NAME/PATH`.

use crate::uri;
use mcpkg_agents::commands::skill::is_name;

pub const SCHEME: &str = "skill://";

/// The file that makes a folder a skill.
pub const MAIN: &str = "SKILL.md";

/// The name of a [`MAIN`] in lower case, which agents find only on file systems that ignore case.
pub const LOWER_MAIN: &str = "skill.md";

/// The maximum size of a `SKILL.md` in bytes. It is limited because every list of skills reads the whole file.
pub const MAX_MAIN: i64 = 1 << 20;

/// Returns the URI of a file of the skill `name`.
pub fn uri_of(name: &str, path: &str) -> String {
    format!("{SCHEME}{}", uri::encode(&format!("{name}/{path}")))
}

/// Returns the skill's name in a URI: `skill://NAME/SKILL.md` -> `NAME`.
pub fn name_of(uri: &str) -> Option<&str> {
    uri.strip_prefix(SCHEME)?.strip_suffix(MAIN)?.strip_suffix('/').filter(|name| is_name(name))
}

/// Returns the path within the skill `name` for a URI; `None` if the URI is not a valid path in this skill.
pub fn path_of(name: &str, uri: &str) -> Option<String> {
    let path = uri::decode(uri.strip_prefix(SCHEME)?)?;
    let path = path.strip_prefix(name)?.strip_prefix('/')?;
    let stays = !path.contains('\\')
        && !path.contains(char::is_control)
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    stays.then(|| path.to_owned())
}
