//! Writes the changelog section of a release as Markdown.

use std::path::Path;

use mcpkg_base::error::Result;
use mcpkg_base::git::{Git, trees};

/// Returns the section for a version: the commits after `since`, newest first, without merges.
pub fn section(git: &Git<'_>, heading: &str, since: Option<&str>, until: &str) -> Result<String> {
    let range = since.map_or(until.to_owned(), |since| format!("{since}..{until}"));
    let printed = git.run(&["log", "--no-merges", "--format=%h%x00%s%x00", "-z", "--end-of-options", &range, "--"])?;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let fields: Vec<&str> = printed.split('\0').filter(|field| !field.is_empty()).collect();
    let lines: String =
        fields.chunks(2).filter_map(|commit| Some(format!("- {} ({})\n", commit.get(1)?, commit.first()?))).collect();
    let lines = if lines.is_empty() { "- no changes\n".to_owned() } else { lines };
    Ok(format!("## {heading}\n\n{lines}"))
}

/// Returns a tree with `section` at the top of the file `name`. Creates the file if it does not exist.
pub fn write(git: &Git<'_>, tree: &str, name: &str, section: &str) -> Result<String> {
    let old = trees::read(git, tree, Path::new(name))?;
    let old = old.map(|old| String::from_utf8_lossy(&old).into_owned()).unwrap_or_default();
    trees::with_file(git, tree, Path::new(name), with(&old, section).as_bytes())
}

/// Inserts the section above the existing ones. Replaces a section with the same heading.
fn with(old: &str, section: &str) -> String {
    let heading = section.lines().next().unwrap_or_default();
    let (mut before, mut rest, mut in_same) = (String::new(), String::new(), false);
    for line in old.split_inclusive('\n') {
        let is_heading = line.starts_with("## ");
        if is_heading {
            in_same = line.trim_end() == heading;
        }
        if in_same {
            continue;
        }
        if is_heading || !rest.is_empty() {
            rest.push_str(line);
        } else {
            before.push_str(line);
        }
    }
    if !before.is_empty() && !before.ends_with("\n\n") {
        before.push_str(if before.ends_with('\n') { "\n" } else { "\n\n" });
    }
    let gap = if rest.is_empty() { "" } else { "\n" };
    format!("{before}{section}{gap}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_section_comes_first_and_an_existing_one_is_replaced() {
        let one = with("", "## 1.0.0\n\n- a\n");
        assert_eq!(one, "## 1.0.0\n\n- a\n");
        let two = with(&one, "## 1.1.0\n\n- b\n");
        assert_eq!(two, "## 1.1.0\n\n- b\n\n## 1.0.0\n\n- a\n");
        assert_eq!(with(&two, "## 1.1.0\n\n- c\n"), "## 1.1.0\n\n- c\n\n## 1.0.0\n\n- a\n");
        assert_eq!(with("# Changes\nwords\n", "## 1\n"), "# Changes\nwords\n\n## 1\n");
    }
}
