//! `mcpkg skill create`: stores a new skill, from text or from a folder.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{GROUP, MAIN, Skill, check, uri_of};
use crate::argument::Content;
use crate::files::{self, File};
use crate::import::skill_folder;
use mcpkg_agents::commands::skill;
use mcpkg_agents::forms::matter;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::projects::Project;

/// Create a skill
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Create {
    /// Skill name (lower-case letters, digits, single hyphens)
    #[arg(required_unless_present = "from")]
    #[schemars(with = "String")]
    #[serde(deserialize_with = "given")]
    name: Option<String>,
    /// Text of SKILL.md; it begins with front matter that has a name and description
    #[arg(value_parser = Content::from_shell, allow_hyphen_values = true)]
    content: Option<Content>,
    /// Purpose of the skill and when to use it; becomes front matter if the content has none
    #[arg(short, long, allow_hyphen_values = true)]
    description: Option<String>,
    /// Create the skill from all files in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["content", "description"])]
    #[serde(skip)]
    from: Option<PathBuf>,
}

fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

impl Operation for Create {
    const TOOL: &'static str = "create_skill";
    const CLI: &'static [&'static str] = &["skill", "create"];
    const TITLE: &'static str = "Create skill";
    const ABOUT: &'static str = "Create a new skill (SKILL.md) in the selected project";
    const HELP: &'static str = "CONTENT is the text itself, `@FILE` to read a file, or `-` for standard input. If the \
        text itself begins with `@`, write `@@` instead.\n\
        A skill consists of the resources below skill://NAME/. With --from, mcpkg reads all files in a folder and \
        keeps their executable bits. The skill gets the folder's name unless you pass NAME. mcpkg skips version \
        control files and files listed in .gitignore. A link that leads out of the folder is an error.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg skill create --from .claude/skills/pdf",
        "mcpkg skill create review 'Look for races first.' -d 'Reviews Go code. Use before a merge'",
        "mcpkg skill create review @SKILL.md",
    ];
    const ALIASES: &'static [&'static str] = &["add"];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = Changes::RESOURCES;
    const ALWAYS_LISTED: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.skill()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let name = self.skill();
        if let Some(why) = check::name(&name) {
            let error = Error::new(Code::InvalidArgument, upper(&why));
            // Suggest a similar name only if the given one contains any ASCII letter or digit.
            let near = name.contains(|c: char| c.is_ascii_alphanumeric()).then(|| skill::name(&name));
            return Err(match near {
                Some(near) => error.hint(format!("'{near}' is a valid name")),
                None => error,
            });
        }
        let SkillFiles { files, hints } = match (self.content, &self.from) {
            (Some(content), None) => SkillFiles::text(
                &name,
                content,
                self.description,
                "pass a description (`-d` in the shell), and mcpkg adds the front matter",
            )?,
            (None, Some(folder)) => SkillFiles::folder(&name, folder, context)?,
            _ => {
                return Err(Error::new(Code::InvalidArgument, "The skill needs content: the text of its SKILL.md")
                    .hint("in the shell, `--from DIR` reads all files in a folder"));
            }
        };
        let (project, shadows) = context.write("skill.create", &name, |db, project, author| {
            if super::stored(db, project.id, &name)?.is_some() {
                return Err(name_taken(project, &name));
            }
            for (path, file) in &files {
                files::add_to_skill(db, author, project, &context.clock, &name, path, file)?;
            }
            let shadows = mcpkg_store::prompts::find(db, project.id, &name)?.is_some();
            Ok((project.name.clone(), shadows))
        })?;
        let sentence = format!("Created skill '{}' in project '{project}'{}", name, with_files(files.len()));
        let mut reply = Reply::sentence(sentence, data(&project, &name, files.len()));
        reply.hints = hints;
        if shadows {
            return Ok(reply.hint(format!("agents now find this skill instead of the prompt '{name}'")));
        }
        Ok(reply)
    }
}

impl Create {
    /// Returns the skill's name: the given one, or the name of the folder.
    fn skill(&self) -> String {
        let of_folder = || {
            let folder = mcpkg_base::platform::real(self.from.as_ref()?).ok()?;
            Some(folder.file_name()?.to_string_lossy().into_owned())
        };
        self.name.clone().or_else(of_folder).unwrap_or_default()
    }
}

/// The files that a caller gave for a skill.
pub struct SkillFiles {
    /// The files and their paths.
    pub files: Vec<(String, File)>,
    /// Hints to print about the files.
    pub hints: Vec<String>,
}

impl SkillFiles {
    /// Takes the text of a `SKILL.md`. With a `description`, the front matter is generated, and the text must have
    /// none. If a text without front matter is not valid, the error has the hint `without`.
    pub fn text(name: &str, content: Content, description: Option<String>, without: &str) -> Result<Self> {
        let text = main_text(content)?;
        let has_front = matches!(matter::split(&text), Ok(Some(_)));
        let text = match names::description(description)? {
            Some(_) if has_front => {
                return Err(Error::new(
                    Code::InvalidArgument,
                    "The content already has front matter, so you cannot pass a description as well",
                )
                .hint("write the description into the front matter"));
            }
            Some(description) => {
                // Check the description first, because the front matter would silently cut off a long one.
                refuse(
                    name,
                    check::description(&description).map(|why| check::Problem::of(MAIN, 3, why)).into_iter().collect(),
                )?;
                format!("{}\n{text}", skill::front_matter(name, &description))
            }
            None => text,
        };
        refuse(name, check::main(name, &text).all_problems()).map_err(|error| match has_front {
            false => error.hint(without),
            true => error,
        })?;
        let content = text.into_bytes().into();
        Ok(Self { files: vec![(MAIN.to_owned(), File { content, executable: false })], hints: Vec::new() })
    }

    pub fn folder(name: &str, folder: &Path, context: &Context) -> Result<Self> {
        let skill_folder::Folder { files, mut hints } = skill_folder::folder(folder, context)?;
        let placed: Vec<(String, i64)> = files
            .iter()
            .map(|file| (uri_of(name, &file.relative), i64::try_from(file.content.size()).unwrap_or(i64::MAX)))
            .collect();
        let mut problems = check::files(name, placed.iter().map(|(uri, size)| (uri.as_str(), *size)));
        if problems.is_empty() {
            for file in files.iter().filter(|file| file.relative == MAIN) {
                let bytes = file.content.bytes()?;
                match std::str::from_utf8(&bytes).ok().filter(|_| file.content.is_text()) {
                    Some(text) => {
                        let main = check::main(name, text);
                        problems.extend(main.problems);
                        hints.extend(main.other_name.map(|other| {
                            format!("{}; some agents use `name` instead of the folder's name", other.problem)
                        }));
                    }
                    None => problems.push(check::Problem::of(MAIN, 1, "it is not UTF-8 text")),
                }
            }
        }
        refuse(name, problems)?;
        let take =
            |file: crate::item::File| (file.relative, File { content: file.content, executable: file.executable });
        Ok(Self { files: files.into_iter().map(take).collect(), hints })
    }
}

/// Reads the text of a `SKILL.md`.
fn main_text(content: Content) -> Result<String> {
    let bytes = content.read()?.content.bytes()?.into_owned();
    let text = String::from_utf8(bytes)
        .map_err(|error| Error::new(Code::InvalidArgument, "SKILL.md is not UTF-8 text").with_source(error))?;
    names::check_text("SKILL.md", &text)?;
    Ok(text)
}

/// Fails with all problems of a skill, if it has any.
pub fn refuse(name: &str, problems: Vec<check::Problem>) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    let told: Vec<String> =
        problems.iter().map(|problem| format!("{}:{}: {}", problem.file, problem.line, problem.problem)).collect();
    Err(Error::new(Code::SkillInvalid, format!("Skill '{name}' was not stored: {}", told.join("; ")))
        .with_details(json!({ "problems": problems })))
}

fn name_taken(project: &Project, name: &str) -> Error {
    Error::new(Code::AlreadyExists, format!("Skill '{name}' already exists in project '{}'", project.name))
        .with_details(json!({ "name": name }))
        .hint(format!("change the skill with `mcpkg skill update {name}`"))
}

/// Returns the error for a missing skill, with suggestions of similar names.
pub fn missing(db: &mcpkg_store::Db<'_>, project: &Project, name: &str) -> Error {
    let error = Error::new(Code::NotFound, format!("Skill '{name}' does not exist in project '{}'", project.name))
        .with_details(json!({ "name": name }));
    if matches!(mcpkg_store::prompts::find(db, project.id, name), Ok(Some(_))) {
        return error.hint(format!(
            "'{name}' is a prompt that agents see as a skill; change it with `mcpkg prompt update {name}`"
        ));
    }
    // Ignore a second failure, because the suggestion is optional.
    let known = super::page(db, project.id, "", 1000).map(|(skills, _)| skills).unwrap_or_default();
    error.suggest(
        name,
        known.iter().map(|skill: &Skill| skill.name.as_str()),
        "`mcpkg skill list` shows the existing skills",
    )
}

/// Returns " with N files" for a sentence; empty if the skill has only its `SKILL.md`.
pub fn with_files(count: usize) -> String {
    if count == 1 { String::new() } else { format!(" with {count} files") }
}

/// Returns the JSON data for a skill that was created or changed.
pub fn data(project: &str, name: &str, files: usize) -> Value {
    json!({ "name": name, "project": project, "uri": uri_of(name, MAIN), "files": files })
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
