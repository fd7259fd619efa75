//! Decides whether a path stays inside its root folder.
//!
//! The user's files, rows of a database, archives and files from sandboxes all follow this one rule: no `..`, no
//! absolute path, and nothing in git's own folder. [`Folders`](crate::disk::folders::Folders) resolves links, and
//! checks the real path with the same functions.

use std::path::{Component, Path};

use crate::platform::IS_WINDOWS;

/// Whether a relative path, with `/` as the separator, stays inside its base folder and outside git's own folder. On
/// Windows, each part must also be a name that is possible there.
pub fn stays_inside(relative: &str) -> bool {
    !relative.contains(['\0', '\\'])
        && (!IS_WINDOWS || relative.split('/').all(is_windows_name))
        && !relative.split('/').any(|part| matches!(part, "" | "." | ".."))
        && is_below(Path::new(""), Path::new(relative))
}

/// Whether a path is below `root`, and outside git's own folder there. `root` itself is not below `root`.
pub fn is_below(root: &Path, path: &Path) -> bool {
    path != root && is_at_or_below(root, path)
}

/// Whether a path is `root`, or is below it in the sense of [`is_below`].
pub fn is_at_or_below(root: &Path, path: &Path) -> bool {
    path.strip_prefix(root).is_ok_and(|below| below.components().all(is_plain))
}

/// Whether a part of a path leads down, and not into git's own folder.
fn is_plain(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(name) if !is_gits(&name.to_string_lossy()))
}

/// Whether any file system treats a name as `.git`. This covers upper and lower case, trailing dots or blanks, NTFS
/// streams and short names, and characters that HFS+ ignores.
pub fn is_gits(name: &str) -> bool {
    let is_ignored =
        |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let is = |name: &str| {
        let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
        name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
    };
    if name.is_ascii() { is(name) } else { is(&name.replace(is_ignored, "")) }
}

/// The names of devices, which Windows opens in any folder and with any ending: `nul.txt` is the device NUL.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Whether Windows can have a file with exactly this name. Windows drops dots and blanks at the end of a name, and in
/// `a:b` it reads `b` as the name of a stream of the file `a`.
pub fn is_windows_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(' ').to_ascii_uppercase();
    let is_port = |stem: &str| {
        let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
        number.is_some_and(|number| matches!(number, "¹" | "²" | "³") || matches!(number.as_bytes(), [b'0'..=b'9']))
    };
    !name.ends_with(['.', ' '])
        && !name.contains(|c: char| c.is_control() || r#"\:*?"<>|"#.contains(c))
        && !DEVICES.contains(&stem.as_str())
        && !is_port(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spellings that some file system treats as `.git`.
    const GITS: [&str; 9] =
        [".git", ".GIT", ".Git", ".git.", ".git ", ".git. .", ".git::$INDEX_ALLOCATION", "GIT~1", ".g\u{200c}it"];

    #[test]
    fn paths_stay_inside() {
        for good in ["a", "a/b.md", "a b/ü", ".github/x", ".gitignore", "a.git", "git", "...", ".claude/commands/a.md"]
        {
            assert!(stays_inside(good), "{good}");
        }
        for bad in ["", "/", "/a", "../a", "a/../b", "a/..", "..", "a//b", "./a", "a/", "a\\b", "..\\a", "a\0"] {
            assert!(!stays_inside(bad), "{bad:?}");
        }
        for git in GITS {
            for bad in [git.to_owned(), format!("{git}/hooks/post-checkout"), format!("a/{git}"), format!("a/{git}/x")]
            {
                assert!(!stays_inside(&bad), "{bad:?}");
            }
        }
    }

    #[test]
    fn names_that_windows_cannot_have_are_recognized() {
        for good in ["a.md", "a b", ".github", "...x", "console", "com", "com10", "lpt", "nul-1.md", "ü", "a,b;c"] {
            assert!(is_windows_name(good), "{good}");
        }
        for bad in [
            "a.",
            "a ",
            "..",
            "a:b",
            "c:",
            "a.md::$DATA",
            "a*",
            "a?",
            "\"a",
            "<",
            ">",
            "a|b",
            "a\\b",
            "a\n",
            "nul",
            "NUL.txt",
            "con .md",
            "Aux",
            "com1",
            "COM0.x",
            "lpt9.tar.gz",
            "com¹",
            "conin$",
        ] {
            assert!(!is_windows_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn paths_lie_below_their_root() {
        let below = |root: &str, path: &str| is_below(Path::new(root), Path::new(path));
        assert!(below("/r", "/r/a/b") && below("/r/.git/w", "/r/.git/w/a"));
        for bad in ["/r", "/", "/a", "/ra", "/r/../a", "/r/a/../../b", "/r/.git", "/r/.git/hooks/x", "/r/a/.GIT/config"]
        {
            assert!(!below("/r", bad), "{bad}");
        }
        assert!(is_at_or_below(Path::new("/r"), Path::new("/r")) && !is_at_or_below(Path::new("/r"), Path::new("/")));
    }
}
