//! The URIs of skills: `skill://NAME/PATH`.

use crate::command::skill::is_name;
use crate::uri;

pub const SCHEME: &str = "skill://";

/// The file that makes a folder a skill.
pub const MAIN: &str = "SKILL.md";

/// The most bytes of a `SKILL.md`: it is read whole for every list.
pub const MAX_MAIN: i64 = 1 << 20;

/// Returns the URI of a file of the skill `name`.
pub fn uri_of(name: &str, path: &str) -> String {
    format!("{SCHEME}{}", uri::encode(&format!("{name}/{path}")))
}

/// Returns the name of the skill whose `SKILL.md` has this URI.
pub fn name_of(uri: &str) -> Option<&str> {
    uri.strip_prefix(SCHEME)?.strip_suffix(MAIN)?.strip_suffix('/').filter(|name| is_name(name))
}

/// Returns the path of a URI in the skill `name`, if it stays inside the skill.
pub fn path_of(name: &str, uri: &str) -> Option<String> {
    let path = uri::decode(uri.strip_prefix(SCHEME)?)?;
    let path = path.strip_prefix(name)?.strip_prefix('/')?;
    let stays = !path.contains('\\')
        && !path.contains(char::is_control)
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    stays.then(|| path.to_owned())
}
