//! Converts between paths and `file://` URLs.

use std::path::{Path, PathBuf};

use crate::platform::IS_WINDOWS;

/// Returns the `file://` URL of an absolute path, in the form that git takes.
pub fn of(path: &Path) -> String {
    write(&path.to_string_lossy(), IS_WINDOWS)
}

/// Returns the path in a `file://` URL; `None` for other texts, and for a URL without a path.
pub fn path(url: &str) -> Option<PathBuf> {
    read(url, IS_WINDOWS).map(PathBuf::from)
}

/// `/srv/r` -> `file:///srv/r`. On Windows, `C:\r` -> `file:///C:/r` and `\\host\share` -> `file://host/share`.
fn write(path: &str, on_windows: bool) -> String {
    if !on_windows {
        return format!("file://{path}");
    }
    let path = path.replace('\\', "/");
    match path.strip_prefix("//") {
        Some(share) => format!("file://{share}"),
        None => format!("file:///{path}"),
    }
}

fn read(url: &str, on_windows: bool) -> Option<String> {
    let (_, path) = url.strip_prefix("file://")?.split_once('/')?;
    let begins_with_drive = matches!(path.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic());
    Some(if on_windows && begins_with_drive { path.to_owned() } else { format!("/{path}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_they_are_written() {
        for (on_windows, path, url, back) in [
            (false, "/srv/r.git", "file:///srv/r.git", "/srv/r.git"),
            (false, "/srv/a\\b", "file:///srv/a\\b", "/srv/a\\b"),
            (false, "/C:/r", "file:///C:/r", "/C:/r"),
            (true, "C:\\Users\\Ada\\r.git", "file:///C:/Users/Ada/r.git", "C:/Users/Ada/r.git"),
        ] {
            assert_eq!(write(path, on_windows), url);
            assert_eq!(read(url, on_windows).as_deref(), Some(back), "{url}");
        }
        assert_eq!(write("\\\\host\\share\\r", true), "file://host/share/r");
    }

    #[test]
    fn a_url_may_name_this_machine() {
        assert_eq!(read("file://localhost/C:/r", true).as_deref(), Some("C:/r"));
        assert_eq!(read("file://localhost/srv/r", false).as_deref(), Some("/srv/r"));
        for other in ["", "file://", "file://host", "https://host/r", "/srv/r", "C:\\r"] {
            assert_eq!((read(other, true), read(other, false)), (None, None), "{other}");
        }
    }
}
