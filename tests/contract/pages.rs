//! Tests of the docs: each page is in the summary, links work, and commands are accepted by the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use regex::Regex;

use super::examples::words;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the paths of all files with this ending below a folder, relative to the repository.
pub(super) fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).expect("a folder").flatten() {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

/// Returns the name and text of each page in docs, and of the four pages at the top of the repository.
pub(super) fn pages() -> Vec<(String, String)> {
    let mut names: Vec<String> = ["README.md", "SECURITY.md", "CHANGELOG.md", "AGENTS.md"].map(str::to_owned).to_vec();
    names.extend(files("docs", ".md"));
    names.into_iter().map(|name| (read(&name), name)).map(|(text, name)| (name, text)).collect()
}

pub(super) fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).expect("a page")
}

/// Returns a page without its fenced blocks.
pub(super) fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut prose = String::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        if !fenced && !fence {
            prose.push_str(line);
            prose.push('\n');
        }
        fenced ^= fence;
    }
    prose
}

/// Returns the links of a page, except those inside code.
fn links(text: &str) -> Vec<String> {
    let prose = Regex::new("`[^`]*`").expect("a pattern").replace_all(&prose(text), "code").into_owned();
    let link = Regex::new(r#"(?:\]\(|src="|srcset=")([^)"\s]+)"#).expect("a pattern");
    link.captures_iter(&prose).map(|found| found[1].to_owned()).collect()
}

/// Returns the anchors of a page's headings, as GitHub and mdBook create them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    let anchor = |heading: &String| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    headings.iter().map(anchor).collect()
}

#[test]
fn docs_have_no_broken_links() {
    let mut wrong = String::new();
    for (page, text) in pages() {
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = Path::new(&page).parent().expect("a folder");
            let target = if path.is_empty() { PathBuf::from(&page) } else { folder.join(path) };
            if !root().join(&target).exists() {
                writeln!(wrong, "{page}: {link} is not there").expect("text");
            } else if !anchor.is_empty() && !anchors(&read(&target.to_string_lossy())).contains(anchor) {
                writeln!(wrong, "{page}: {link} names no heading").expect("text");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn docs_for_developers_name_files_that_are_there() {
    let named = Regex::new(r"`((?:crates|src|tests|benches|migrations)/[\w./-]+)`").expect("a pattern");
    let is_for_developers =
        |page: &str| page.contains("adr/") || page.ends_with("architecture.md") || page.ends_with("contributing.md");
    let mut wrong = String::new();
    let mut count = 0;
    for (page, text) in pages().into_iter().filter(|(page, _)| is_for_developers(page)) {
        for found in named.captures_iter(&text) {
            count += 1;
            if !root().join(&found[1]).exists() {
                writeln!(wrong, "{page}: {} is not there", &found[1]).expect("text");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 100, "{count} paths");
}

#[test]
fn docs_are_all_in_the_summary() {
    let summary = links(&read("docs/SUMMARY.md")).into_iter().map(|link| format!("docs/{link}")).collect::<Vec<_>>();
    let listed: BTreeSet<_> = summary.iter().cloned().collect();
    assert_eq!(listed.len(), summary.len(), "a page is listed once");
    let pages: BTreeSet<_> = files("docs", ".md").into_iter().filter(|page| page != "docs/SUMMARY.md").collect();
    assert_eq!(listed, pages);
}

#[test]
fn docs_for_agents_are_current() {
    let mut list = String::from("# mcpkg\n\n> ");
    let mut titled = Vec::new();
    for line in read("docs/SUMMARY.md").lines() {
        let (line, section) = (line.trim(), line.strip_prefix("# ").filter(|section| *section != "Summary"));
        if let Some(section) = section {
            titled.push(format!("\n## {section}\n\n"));
        }
        let Some((title, path)) =
            line.trim_start_matches("- ").strip_prefix('[').and_then(|rest| rest.split_once("]("))
        else {
            continue;
        };
        let path = path.trim_end_matches(')');
        let text = prose(&read(&format!("docs/{path}")));
        let mut paragraphs = text.split("\n\n").map(str::trim);
        let first = paragraphs.find(|part| part.starts_with(|c: char| c.is_alphanumeric() || c == '`'));
        let first = first.unwrap_or_default().replace('\n', " ");
        let sentence = first.split_once(". ").map_or(first.as_str(), |(sentence, _)| sentence).trim_end_matches('.');
        if titled.is_empty() {
            list += &format!("{sentence}.\n\n");
            titled.push(String::new());
        } else if path.starts_with("adr/0") {
            titled.push(format!("- [{title}]({path})\n"));
        } else {
            titled.push(format!("- [{title}]({path}): {sentence}\n"));
        }
    }
    list += titled.concat().trim_start();
    let path = root().join("docs/llms.txt");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &list).expect("a page is written");
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == list, "docs/llms.txt is not current: run `UPDATE_DOCS=1 cargo test docs`");
}

/// The place of a command on a page, which decides whether arguments may be missing.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// On a line of its own, to be pasted.
    Line,
    /// In a sentence, where required arguments may be missing.
    Sentence,
}

/// Returns the commands that a line such as `mcpkg spec list|show NAME` stands for.
fn each_of(command: &str) -> Vec<String> {
    let Some(word) = command.split(' ').find(|word| word.contains('|') && word.len() > 1) else {
        return vec![command.to_owned()];
    };
    let (before, choices) = word.rsplit_once('=').map_or(("", word), |(before, choices)| (before, choices));
    let before = if before.is_empty() { String::new() } else { format!("{before}=") };
    choices.split('|').flat_map(|choice| each_of(&command.replacen(word, &format!("{before}{choice}"), 1))).collect()
}

/// Returns the reason why the command line, which `root` defines, refuses this command, if it does.
fn fault(root: &mut clap::Command, command: &str, place: Place) -> Option<String> {
    if shlex::split(command).is_none() {
        return Some(format!("{command}: its quotes do not match"));
    }
    // `...` means more of the same.
    let words: Vec<OsString> = words(command).into_iter().filter(|word| word != "...").collect();
    let error = root.try_get_matches_from_mut(words).err()?;
    // A word in capitals is a placeholder.
    let placeholder = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.chars().all(|c| !c.is_lowercase()),
        _ => false,
    };
    let fine = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => placeholder,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::TooFewValues => place == Place::Sentence,
        _ => false,
    };
    (!fine).then(|| format!("{command}: {}", error.to_string().lines().next().unwrap_or_default()))
}

/// Returns the mcpkg command in a line of a shell.
fn command_of(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches("$ ");
    let line = line.split(" #").next().unwrap_or_default();
    let line = line.split("; ").next().unwrap_or_default();
    let line = line.trim_end_matches('\\').trim();
    line.starts_with("mcpkg ").then_some(line)
}

#[test]
fn docs_name_commands_that_are_accepted() {
    let quoted = Regex::new(r"`(mcpkg [^`]+)`").expect("a pattern");
    let mut root = mcpkg::cli::command();
    let mut faults: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for (page, text) in pages() {
        if page == "docs/reference/cli.md" || page.starts_with("docs/reference/commands/") {
            continue; // These pages repeat `--help`, whose examples are tested elsewhere.
        }
        let mut fault_of = |command: &str, place| {
            count += 1;
            let found = each_of(command).into_iter().filter_map(|command| fault(&mut root, &command, place));
            faults.entry(page.clone()).or_default().extend(found);
        };
        for block in text.split("\n```").skip(1).step_by(2) {
            let (language, block) = block.split_once('\n').unwrap_or_default();
            if matches!(language, "sh" | "console") {
                // A command may continue in the next line.
                let block = block.replace("\\\n", " ");
                block.lines().filter_map(command_of).for_each(|command| fault_of(command, Place::Line));
            }
        }
        let prose = prose(&text).replace('\n', " ");
        for found in quoted.captures_iter(&prose) {
            if let Some(command) = command_of(&found[1]) {
                fault_of(command, Place::Sentence);
            }
        }
    }
    let faults: Vec<String> = faults
        .into_iter()
        .filter(|(_, faults)| !faults.is_empty())
        .map(|(page, faults)| format!("{page}\n  {}", faults.join("\n  ")))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 300, "only {count} commands were found");
}

/// The packages called `mcpkg` on crates.io and npm belong to strangers (packaging/README.md).
#[test]
fn nothing_names_a_strangers_package() {
    let install = r"\b(cargo (install|binstall)|npm (i|install|exec)|npx|bunx|pnpm dlx)";
    let stranger = Regex::new(&format!(r"{install}( -\S+)* mcpkg([^-\w]|$)")).expect("a pattern");
    assert!(stranger.is_match("npx -y mcpkg serve") && !stranger.is_match("npm install -g mcpkg-cli"));
    let sources = files("src", ".rs").into_iter().chain(files("crates", ".rs"));
    let mut leads = pages();
    leads.extend(sources.map(|file| (file.clone(), read(&file))));
    leads.retain(|(_, text)| stranger.is_match(text));
    assert!(leads.is_empty(), "{:?}", leads.iter().map(|(page, _)| page).collect::<Vec<_>>());
}

#[test]
fn hints_name_commands_that_are_accepted() {
    let quoted = Regex::new(r"`(mcpkg [^`\n]+)`").expect("a pattern");
    let filled = Regex::new(r"\{[^{}]*\}").expect("a pattern");
    let behind = Regex::new(r"(\w)\{[^{}]*\}").expect("a pattern");
    let mut root = mcpkg::cli::command();
    let mut faults = String::new();
    let mut count = 0;
    for file in files("src", ".rs").into_iter().chain(files("crates", ".rs")) {
        let text = read(&file);
        // A string may continue in the next line of the source.
        let lines: String =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).fold(String::new(), |mut lines, line| {
                match lines.strip_suffix('\\').map(str::len) {
                    Some(length) => {
                        lines.truncate(length);
                        lines.push_str(line.trim_start());
                    }
                    None => {
                        lines.push('\n');
                        lines.push_str(line);
                    }
                }
                lines
            });
        for found in quoted.captures_iter(&lines) {
            let command = found[1].replace("\\\"", "\"");
            // `{}` directly after a word stands for an optional option. Alone, it stands for a value or for one of
            // several words.
            let command = behind.replace_all(&command, "$1").into_owned();
            let mut fault_with = |first: &str| {
                let command = filled.replace(&command, first);
                let command = filled.replace_all(&command, "1");
                let command = command_of(&command)?;
                each_of(command).into_iter().find_map(|command| fault(&mut root, &command, Place::Sentence))
            };
            if filled.replace_all(&command, "").trim() == "mcpkg" {
                continue;
            }
            count += 1;
            // The first fault counts, if each of these words gives one.
            let found: Option<Vec<String>> = ["1", "prompt", "feature"].into_iter().map(&mut fault_with).collect();
            if let Some(found) = found {
                writeln!(faults, "{file}: {}", found[0]).expect("text");
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(count > 150, "only {count} hints were found");
}
