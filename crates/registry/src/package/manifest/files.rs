//! Finds the manifest files of a package, and merges `SKILL.md` into a manifest in YAML.

use super::node::{Node, Pair, Place, Tree};
use super::problem::{Kind, Problems};
use mcpkg_base::error::Result;

/// The file names of manifests. The first file that exists is the main manifest. If that is `SKILL.md` and a YAML
/// manifest exists too, the YAML manifest is the main one instead.
pub const FILES: [&str; 7] =
    ["SKILL.md", "skill.package.yaml", "skill.package.yml", "skill.yml", "enact.md", "enact.yaml", "enact.yml"];

/// The Markdown file that agents read. Next to a manifest in YAML, it contains the documentation.
const SKILL: &str = "SKILL.md";

/// Fields that `SKILL.md` supplies if they are missing from the manifest in YAML.
const FILLED: [&str; 4] = ["description", "license", "compatibility", "metadata"];

/// The maximum size of a manifest file in bytes.
pub const MAX_FILE: u64 = 1 << 20;

/// Returns the contents of a file in the top folder of the package, if it exists.
pub type Find<'a> = &'a mut dyn FnMut(&str) -> Result<Option<Vec<u8>>>;

/// The contents of the manifest files.
#[derive(Debug)]
pub(super) struct Sources {
    /// The main manifest file.
    pub(super) file: &'static str,
    pub(super) raw: String,
    /// The fields of the main file, plus the [`FILLED`] fields that only `SKILL.md` has.
    pub(super) fields: Vec<Pair>,
    /// The position where the fields start.
    pub(super) at: Place,
    /// The documentation: the body of the Markdown file.
    pub(super) doc: Option<String>,
}

/// Reads the manifest files; `None` if there is no manifest. Fails only if `find` does: malformed files become
/// `problems`.
pub(super) fn sources(find: Find<'_>, problems: &mut Problems) -> Result<Option<Sources>> {
    let mut first = None;
    for file in FILES {
        if let Some(bytes) = find(file)? {
            first = Some((file, bytes));
            break;
        }
    }
    let Some((file, bytes)) = first else { return Ok(None) };
    let mut skill = None;
    let (mut file, mut bytes) = (file, bytes);
    if file == SKILL {
        for yaml in FILES.into_iter().filter(|file| !file.ends_with(".md")) {
            if let Some(found) = find(yaml)? {
                skill = Some(std::mem::replace(&mut bytes, found));
                file = yaml;
                break;
            }
        }
    }
    let is_markdown = file.ends_with(".md");
    let mut sources = one(file, &bytes, !is_markdown, problems);
    if let Some(bytes) = skill {
        let beside = one(SKILL, &bytes, false, problems);
        sources.doc = beside.doc;
        let missing = |pair: &Pair| {
            FILLED.contains(&pair.key.as_str()) && !sources.fields.iter().any(|field| field.key == pair.key)
        };
        let filled: Vec<Pair> = beside.fields.into_iter().filter(missing).collect();
        sources.fields.extend(filled);
    } else if is_markdown && sources.fields.is_empty() && problems.errors.is_empty() {
        problems.error("", sources.at, Kind::Malformed, "it has no front matter (YAML between two `---` lines)");
    }
    Ok(Some(sources))
}

/// Reads a file, which is YAML or Markdown with front matter.
fn one(file: &'static str, bytes: &[u8], is_yaml: bool, problems: &mut Problems) -> Sources {
    let at = Place { file, line: 1, column: 1 };
    let mut sources = Sources { file, raw: String::new(), fields: Vec::new(), at, doc: None };
    if bytes.len() as u64 > MAX_FILE {
        problems.error("", at, Kind::Malformed, format!("it is larger than {} KiB", MAX_FILE >> 10));
        return sources;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        problems.error("", at, Kind::Malformed, "it is not UTF-8 text");
        return sources;
    };
    text.clone_into(&mut sources.raw);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (yaml, lines_before) = if is_yaml {
        (text, 0)
    } else {
        match front(text) {
            Ok(Some((yaml, body))) => {
                sources.doc = Some(body.trim_matches(['\r', '\n']).to_owned()).filter(|doc| !doc.is_empty());
                (yaml, 1)
            }
            Ok(None) => {
                sources.doc = Some(text.to_owned());
                return sources;
            }
            Err(why) => {
                problems.error("", at, Kind::Malformed, why);
                return sources;
            }
        }
    };
    match Node::yaml(file, yaml, lines_before) {
        Ok(Node { value: Tree::Mapping(fields), .. }) => sources.fields = fields,
        Ok(node) if node.is_null() && !is_yaml => {}
        Ok(node) if node.is_null() => problems.error("", at, Kind::Malformed, "it is empty"),
        Ok(node) => problems.error("", node.at, Kind::Malformed, "it is not a mapping"),
        Err((why, at)) => problems.error("", at, Kind::Malformed, why),
    }
    sources
}

/// Splits front matter from the text after it; `None` if the text does not start with front matter.
fn front(text: &str) -> Result<Option<(&str, &str)>, &'static str> {
    let is_mark = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_mark(line)) else { return Ok(None) };
    let mut at = first.len();
    for line in lines {
        if is_mark(line) {
            return Ok(Some((&text[first.len()..at], &text[at + line.len()..])));
        }
        at += line.len();
    }
    Err("its front matter is not closed by a `---` line")
}
