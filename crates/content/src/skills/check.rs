//! The rules for skills: a `SKILL.md` with a name and a description, and files that can be written to a folder.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{MAIN, MAX_MAIN, path_of};
use mcpkg_agents::commands::skill::{MAX_DESCRIPTION, MAX_NAME, is_name};
use mcpkg_agents::forms::matter;

/// A problem in a file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The problem in words, without a final period.
    pub problem: String,
}

impl Problem {
    pub(super) fn of(file: &str, line: usize, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, problem: problem.into() }
    }
}

/// The metadata of a `SKILL.md`, and its problems.
#[derive(Debug, Default)]
pub struct Main {
    /// The front matter, if there is no problem, `other_name` included.
    pub matter: Option<Map<String, Value>>,
    pub problems: Vec<Problem>,
    /// The problem that `name` differs from the folder's name. It is separate from `problems`, because some agents use
    /// `name` and some the folder's name.
    pub other_name: Option<Problem>,
}

impl Main {
    /// Returns all problems, `other_name` included.
    pub fn all_problems(self) -> Vec<Problem> {
        let mut problems = self.problems;
        problems.extend(self.other_name);
        problems.sort_by(|a, b| (a.line, &a.problem).cmp(&(b.line, &b.problem)));
        problems
    }
}

pub fn name(name: &str) -> Option<String> {
    (!is_name(name)).then(|| {
        format!(
            "'{}' is not a valid skill name: use 1 to {MAX_NAME} characters (a-z, 0-9, and single hyphens between \
                them)",
            name.escape_debug()
        )
    })
}

pub fn description(text: &str) -> Option<String> {
    let length = text.chars().count();
    (length > MAX_DESCRIPTION)
        .then(|| format!("`description` has {length} characters, but agents accept at most {MAX_DESCRIPTION}"))
}

/// Parses the front matter of a file that must have it. Returns the keys and the YAML text. An error is a line number
/// and the problem in that line.
pub fn front_matter(text: &str) -> Result<(matter::Keys, &str), (usize, String)> {
    let yaml = match matter::split(text) {
        Ok(Some((yaml, _))) => yaml,
        Ok(None) => return Err((1, "it does not begin with front matter".to_owned())),
        Err(error) => return Err((1, error.message().to_owned())),
    };
    let keys = matter::keys(yaml).map_err(|error| {
        let line = error.details().and_then(|details| details["line"].as_u64()).unwrap_or(1);
        // The first line is `---`, and the YAML begins below it.
        (usize::try_from(line).unwrap_or(1) + 1, error.message().to_owned())
    })?;
    Ok((keys, yaml))
}

/// Checks the `SKILL.md` of the skill in `folder`.
pub fn main(folder: &str, text: &str) -> Main {
    let (matter::Keys { map, odd }, yaml) = match front_matter(text) {
        Ok(read) => read,
        Err((line, why)) => return Main { problems: vec![Problem::of(MAIN, line, why)], ..Main::default() },
    };
    let line = |key: &str| {
        let is_key =
            |line: &str| line.split_once(':').is_some_and(|(name, _)| name.trim_matches(['"', '\'', ' ']) == key);
        yaml.lines().position(is_key).map_or(1, |at| at + 2)
    };
    let mut problems = Vec::new();
    let mut other_name = None;
    match map.get("name") {
        Some(Value::String(name)) if name == folder => problems.extend(self::name(name).map(|why| (line("name"), why))),
        Some(Value::String(name)) => {
            let why = format!("`name` is '{}', but the skill is called '{folder}'", name.escape_debug());
            other_name = Some(Problem::of(MAIN, line("name"), why));
        }
        Some(_) => problems.push((line("name"), "`name` is not a string".to_owned())),
        None => problems.push((1, "the front matter has no `name`".to_owned())),
    }
    match map.get("description") {
        Some(Value::String(text)) if text.trim().is_empty() => {
            problems.push((line("description"), "`description` is empty".to_owned()));
        }
        Some(Value::String(text)) => problems.extend(description(text).map(|why| (line("description"), why))),
        Some(_) => problems.push((line("description"), "`description` is not a string".to_owned())),
        None => problems.push((1, "the front matter has no `description`".to_owned())),
    }
    // Agents accept this malformed YAML today. But an MCP host that compares the file with the answer of skills/list
    // may refuse it.
    if let Some((why, line)) = odd {
        problems.push((line + 1, format!("the front matter is not valid YAML ({why}); put the value in quotes")));
    }
    let matter = (problems.is_empty() && other_name.is_none()).then_some(map);
    problems.sort();
    let problems = problems.into_iter().map(|(line, problem)| Problem::of(MAIN, line, problem)).collect();
    Main { matter, problems, other_name }
}

/// Returns a problem if a `SKILL.md` begins with a byte order mark. Agents that get skills over MCP accept the mark,
/// but some agents that read the file do not.
pub fn mark(text: &str) -> Option<Problem> {
    let why = "it begins with a byte order mark; Codex and Gemini do not load the skill";
    text.starts_with('\u{feff}').then(|| Problem::of(MAIN, 1, why))
}

/// Checks the paths of a skill's files. Also checks that `SKILL.md` is among the files and is not too large.
pub fn files<'a>(folder: &str, files: impl IntoIterator<Item = (&'a str, i64)>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut paths: HashMap<String, String> = HashMap::new();
    let mut has_main = false;
    for (uri, size) in files {
        let Some(path) = path_of(folder, uri) else {
            problems.push(Problem::of(&uri.escape_debug().to_string(), 1, "its URI is not a valid file path"));
            continue;
        };
        if path == MAIN {
            has_main = true;
            if size > MAX_MAIN {
                problems.push(Problem::of(
                    MAIN,
                    1,
                    format!("it is {size} bytes long, but the limit is {MAX_MAIN} bytes"),
                ));
            }
        }
        if let Some(other) = paths.insert(path.to_lowercase(), path.clone()) {
            problems.push(Problem::of(
                &path,
                1,
                format!("it is the same file as {other} on case-insensitive file systems"),
            ));
        }
    }
    if !has_main {
        problems.push(Problem::of(MAIN, 1, "the skill has no such file"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        main("pdf", text).all_problems().iter().map(|p| format!("{}: {}", p.line, p.problem)).collect()
    }

    #[test]
    fn a_valid_skill_is_accepted_and_unknown_keys_stay() {
        let Main { matter, problems, .. } =
            main("pdf", "---\nname: pdf\ndescription: Reads PDFs\nlicense: MIT\n---\nText");
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(matter.unwrap()["license"], "MIT");
    }

    #[test]
    fn every_problem_has_its_line() {
        for (text, says) in [
            ("# no", vec!["1: it does not begin with front matter"]),
            ("---\nname: pdf\n", vec!["1: the front matter is malformed: it has no closing `---`"]),
            ("---\n{{{\n---\n", vec!["the front matter is malformed"]),
            ("---\n- a\n---\n", vec!["not a mapping of keys"]),
            (
                "---\nlicense: x\nname: pfd\ndescription: ' '\n---\n",
                vec!["3: `name` is 'pfd'", "4: `description` is empty"],
            ),
            ("---\nname: 3\n---\n", vec!["1: the front matter has no `description`", "2: `name` is not a string"]),
            ("---\nname: pdf\ndescription: Review: it\n---\n", vec!["put the value in quotes"]),
        ] {
            let found = problems(text);
            assert_eq!(found.len(), says.len(), "{text}: {found:?}");
            for (found, says) in found.iter().zip(says) {
                assert!(found.contains(says), "{text}: {found}");
            }
        }
        let long = format!("---\nname: pdf\ndescription: {}\n---\n", "x".repeat(1025));
        assert!(problems(&long)[0].contains("3: `description` has 1025 characters"), "{:?}", problems(&long));
        assert!(main("Pdf", "---\nname: Pdf\ndescription: x\n---\n").matter.is_none());
    }

    #[test]
    fn files_are_those_of_a_folder() {
        let found = |uris: &[&str]| files("a", uris.iter().map(|uri| (*uri, 1)));
        assert!(found(&["skill://a/SKILL.md", "skill://a/b/c.md"]).is_empty());
        assert_eq!(found(&["skill://a/b"])[0].problem, "the skill has no such file");
        assert!(found(&["skill://a/SKILL.md", "skill://a/../x"])[0].problem.contains("valid file path"));
        assert!(found(&["skill://a/SKILL.md", "skill://a/b", "skill://a/%42"])[0].problem.contains("case-insensitive"));
    }
}
