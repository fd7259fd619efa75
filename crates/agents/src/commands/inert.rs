//! Keeps text inert. Text that its own agent sends to the model unchanged must not make another agent run a command or
//! attach a file.

use std::borrow::Cow;

use crate::agents;
use crate::agents::places::Commands;
use crate::forms::matter;

/// What an agent does with a text that was written for it, apart from filling in arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acts {
    /// The agent runs shell code in the text.
    pub runs: bool,
    /// The agent attaches the files that the text names with `@`.
    pub attaches: bool,
    /// The front matter is Claude Code's, so all of its keys count.
    pub keys: bool,
}

impl Acts {
    /// A text in Claude Code's syntax.
    pub const LIKE_CLAUDE_CODE: Self = Self { runs: true, attaches: true, keys: true };
    /// A text that an agent only sends to the model.
    pub const NOTHING: Self = Self { runs: false, attaches: false, keys: false };

    /// Returns what an agent does with one of its commands. `own` is the command's file in the agent's own format, if
    /// that differs from Claude Code's. A command that comes from no agent is written in Claude Code's syntax.
    pub fn of_command(agent: Option<&str>, own: Option<&[u8]>) -> Self {
        let Some(id) = agent else { return Self::LIKE_CLAUDE_CODE };
        match agents::with_id(id).map(|agent| agent.project.commands) {
            Some(Commands::Files(_)) => Self::LIKE_CLAUDE_CODE,
            Some(Commands::Numbered(_)) => Self { keys: false, ..Self::LIKE_CLAUDE_CODE },
            // An import converts `!{date}` to Claude Code's form, and refuses a text that has both forms.
            Some(Commands::Toml(_)) => {
                let runs = own.is_some_and(|own| memchr::memmem::find(own, b"!{").is_some());
                Self { runs, ..Self::NOTHING }
            }
            Some(Commands::FilesInWords { .. } | Commands::Skills) | None => Self::NOTHING,
        }
    }

    /// Returns what an agent does with one of its skills. `path` is where the skill was imported from. Claude Code runs
    /// shell code in skills, and does not read the skills in `.agents`.
    pub fn of_skill(agent: Option<&str>, path: Option<&str>) -> Self {
        let is_shared = path.is_some_and(|path| path.split('/').any(|folder| folder == ".agents"));
        let runs = Self::of_command(agent, None).runs && !(agent.is_none() && is_shared);
        Self { runs, ..Self::LIKE_CLAUDE_CODE }
    }
}

/// Returns whether an agent fills in arguments such as `$1` in its commands. For other agents, `$1` is ordinary text.
pub fn fills_in_arguments(agent: &str) -> bool {
    agents::with_id(agent).is_some_and(|agent| {
        let fills = matches!(agent.project.commands, Commands::Files(_) | Commands::Numbered(_) | Commands::Toml(_));
        fills || agent.imports.counts_from_one
    })
}

/// The keys in front matter that let Claude Code do more, or that name one of Claude Code's models or subagents. They
/// count only in a command that was written for Claude Code.
const KEYS: [&str; 5] = ["allowed-tools", "hooks", "model", "agent", "context"];

/// Rewrites a command's or skill's file so that no agent does more with it than the agent for which it was written.
/// Returns `None` if the file can stay unchanged.
pub fn file(file: &str, acts: Acts) -> Option<String> {
    let (front, body) = split(file);
    let front = if acts.keys { front.into() } else { without_keys(front) };
    let written = [front, text(body, acts)].concat();
    (written != file).then_some(written)
}

/// Rewrites a text so that no agent runs code or attaches files in it. `acts` says what stays allowed, because the
/// text's own agent does it.
pub fn text(text: &str, acts: Acts) -> Cow<'_, str> {
    let text: Cow<'_, str> = match acts {
        Acts { runs: false, .. } => without_shell(text),
        // Only Claude Code runs the code in fences.
        Acts { keys: false, .. } if text.contains("```!") => text.replace("```!", "``` !").into(),
        _ => text.into(),
    };
    match (acts.attaches, text) {
        (true, text) => text,
        (false, Cow::Borrowed(text)) => without_files(text),
        (false, Cow::Owned(text)) => without_files(&text).into_owned().into(),
    }
}

/// Reverses [`file`] for a rewritten file that was then edited. `original` shows which parts were rewritten.
pub fn back(original: &str, edited: &str, acts: Acts) -> String {
    let written = file(original, acts);
    let ((front, body), (new_front, new_body)) = (split(original), split(edited));
    let front = if written.is_some_and(|written| split(&written).0 == new_front) { front } else { new_front };
    let mut text = new_body.to_owned();
    let mut put_back = |from: &str, to: &str| {
        if body.contains(to) && !body.contains(from) {
            text = text.replace(from, to);
        }
    };
    if !acts.runs || !acts.keys {
        put_back("``` !", "```!");
    }
    if !acts.runs {
        put_back("! `", "!`");
    }
    if !acts.attaches {
        let mut names = named_files(body);
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        for name in names {
            put_back(&format!("`@{name}`"), &format!("@{name}"));
            put_back(&format!("@ {name}"), &format!("@{name}"));
        }
    }
    let back = format!("{front}{text}");
    if file(&back, acts).as_deref().unwrap_or(&back) == edited { back } else { edited.to_owned() }
}

fn split(file: &str) -> (&str, &str) {
    let body = matter::split(file).ok().flatten().map_or(file, |(_, body)| body);
    file.split_at(file.len() - body.len())
}

/// Removes [`KEYS`] from front matter that is given with its `---` lines.
fn without_keys(front: &str) -> Cow<'_, str> {
    let keys = |front: &str| matter::keys(matter::split(front).ok().flatten()?.0).ok();
    let has = |front: &str| KEYS.into_iter().find(|key| keys(front).is_some_and(|keys| keys.map.contains_key(*key)));
    if has(front).is_none() {
        return front.into();
    }
    let mut left = front.to_owned();
    while let Some(key) = has(&left) {
        let less = matter::replace(&left, key, "");
        if less == left {
            // The keys are not on separate lines, as in `{description: a, model: b}`. Keep only the description.
            let description = keys(&left).and_then(|keys| keys.map.get("description")?.as_str().map(str::to_owned));
            let line = description.map(|text| matter::line("description", &text)).unwrap_or_default();
            return matter::between_marks(&line).into();
        }
        left = less;
    }
    let is_empty = matter::split(&left).ok().flatten().is_some_and(|(yaml, _)| yaml.trim().is_empty());
    if is_empty { "".into() } else { left.into() }
}

/// Adds a space wherever an agent would run shell code: `` !`date` `` -> `` ! `date` ``, and in a fence that begins with
/// ```` ```! ````.
pub fn without_shell(text: &str) -> Cow<'_, str> {
    if !text.contains("!`") && !text.contains("```!") {
        return text.into();
    }
    text.replace("```!", "``` !").replace("!`", "! `").into()
}

/// Puts each file name after an `@` between backticks: `@a.md` -> `` `@a.md` ``. Agents do not follow names in code,
/// so names that are in code already stay unchanged. If the text's own backticks do not come in pairs, adds a space
/// instead: `@ a.md`.
pub fn without_files(text: &str) -> Cow<'_, str> {
    let found = files(text);
    if found.is_empty() {
        return text.into();
    }
    let (mut out, mut from) = (String::with_capacity(text.len() + 2 * found.len()), 0);
    for File { at, end, fits_in_code } in found {
        out.push_str(&text[from..at]);
        if fits_in_code {
            out.push_str(&format!("`{}`", &text[at..end]));
        } else {
            out.push_str(&format!("@ {}", &text[at + 1..end]));
        }
        from = end;
    }
    out.push_str(&text[from..]);
    out.into()
}

/// Returns the files that a text names with `@` outside of code, without the `@`.
fn named_files(text: &str) -> Vec<&str> {
    files(text).into_iter().map(|file| &text[file.at + 1..file.end]).collect()
}

/// A file that a text names, by its place in the text.
struct File {
    /// The position of the `@`.
    at: usize,
    end: usize,
    /// Whether the name may be put between backticks.
    fits_in_code: bool,
}

fn files(text: &str) -> Vec<File> {
    if !text.contains('@') {
        return Vec::new();
    }
    let lines = lines_of_text(text);
    // If a backtick has no partner in its line, it may have one in another line, and a new backtick could end that code.
    let is_paired = lines.iter().all(|(_, line)| code_in(line).is_some());
    let mut found = Vec::new();
    for (start, line) in lines {
        let code = code_in(line).filter(|_| is_paired).unwrap_or_default();
        for (at, _) in line.match_indices('@') {
            let before = line[..at].chars().next_back();
            let rest = &line[at + 1..];
            let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '`' | '@')).unwrap_or(rest.len());
            let name = rest[..end].trim_end_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '}');
            let is_address = before.is_some_and(|c| c.is_ascii_alphanumeric());
            if is_address || name.is_empty() || code.iter().any(|code| code.contains(&at)) {
                continue;
            }
            let fits_in_code = is_paired && before != Some('`') && !rest[name.len()..].starts_with(['`', '@']);
            let at = start + at;
            if found.last().is_none_or(|last: &File| last.end <= at) {
                found.push(File { at, end: at + 1 + name.len(), fits_in_code });
            }
        }
    }
    found
}

/// Returns the lines that are not in a fence, with their positions. In doubt, a line is text.
fn lines_of_text(text: &str) -> Vec<(usize, &str)> {
    let (mut lines, mut at) = (Vec::new(), 0);
    let mut fence: Option<(char, usize)> = None;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let bare = line.trim();
        let mark =
            bare.chars().next().filter(|c| matches!(c, '`' | '~') && indent < 4 && line[indent..].starts_with(*c));
        let run = mark.map_or(0, |mark| bare.chars().take_while(|c| *c == mark).count());
        match (fence, mark) {
            (Some((open, length)), Some(mark)) if mark == open && run >= length && run == bare.chars().count() => {
                fence = None;
            }
            (None, Some(mark)) if run >= 3 && !bare[run..].contains('`') => fence = Some((mark, run)),
            (None, _) => lines.push((at, line)),
            (Some(_), _) => {}
        }
        at += line.len();
    }
    lines
}

/// Returns the code between backticks in a line; `None` if a backtick has no partner.
fn code_in(line: &str) -> Option<Vec<std::ops::Range<usize>>> {
    let mut code = Vec::new();
    let mut at = 0;
    while let Some(open) = line[at..].find('`').map(|open| at + open) {
        let run = |from: usize| line[from..].bytes().take_while(|byte| *byte == b'`').count();
        let ticks = run(open);
        let mut from = open + ticks;
        let close = loop {
            let close = from + line[from..].find('`')?;
            if run(close) == ticks {
                break close;
            }
            from = close + run(close);
        };
        code.push(open..close + ticks);
        at = close + ticks;
    }
    Some(code)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOTHING: Acts = Acts::NOTHING;

    #[test]
    fn shell_code_gets_a_space_and_a_file_becomes_code() {
        for (given, expected) in [
            ("On !`date`.\n!`x`", "On ! `date`.\n! `x`"),
            ("```!\nrm -rf x\n```\n", "``` !\nrm -rf x\n```\n"),
            ("See @docs/a.md, and (@~/.ssh/id_rsa).", "See `@docs/a.md`, and (`@~/.ssh/id_rsa`)."),
            ("Mail a@b.org or `@x` at @ noon", "Mail a@b.org or `@x` at @ noon"),
            ("```ts\n@Injectable()\n```\n@.env\n", "```ts\n@Injectable()\n```\n`@.env`\n"),
            ("odd ` tick\n@.env\n`", "odd ` tick\n@ .env\n`"),
            ("    ```\n@.env\n    ```\n", "    ```\n@ .env\n    ```\n"),
            ("@@.env @a@b", "@`@.env` @ a@b"),
            ("`a`@.env", "`a`@ .env"),
            ("**@a.md** _@b_", "**`@a.md`** _`@b`_"),
            ("@{a.md}: x", "`@{a.md}`: x"),
            ("Plain $1 text!", "Plain $1 text!"),
        ] {
            assert_eq!(text(given, NOTHING), expected, "{given}");
            assert_eq!(text(given, Acts::LIKE_CLAUDE_CODE), given);
            let original = format!("---\ndescription: x\nmodel: y\n---\n{given}");
            let written = file(&original, NOTHING).expect("a key less");
            assert_eq!(back(&original, &written, NOTHING), original, "{given}");
            let edited = written + "\nMore.\n";
            assert_eq!(back(&original, &edited, NOTHING), original + "\nMore.\n", "{given}");
        }
    }

    #[test]
    fn keys_that_allow_more_stay_with_their_agent() {
        let given = "---\ndescription: x\nallowed-tools:\n  - Bash(rm:*)\nmodel: gpt-5\n---\nGo\n";
        let of = |agent: Option<&str>, given: &str| file(given, Acts::of_command(agent, None));
        assert_eq!(of(Some("cursor"), given).as_deref(), Some("---\ndescription: x\n---\nGo\n"));
        assert_eq!(of(Some("opencode"), "---\nmodel: a/b\n---\nGo\n").as_deref(), Some("Go\n"));
        let flow = "---\n{description: x, allowed-tools: Bash}\n---\nGo\n";
        assert_eq!(of(Some("vscode"), flow).as_deref(), Some("---\ndescription: \"x\"\n---\nGo\n"));
        assert_eq!((of(None, given), of(Some("claude_code"), given)), (None, None));
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn nothing_is_left_to_run_or_to_attach(text in "(!|`|```|@|@\\.env|\\(|_|\\*|a|\\.|/| |    |~~~|\n|\\$1){0,14}") {
            let inert = super::text(&text, NOTHING);
            prop_assert!(!inert.contains("!`") && !inert.contains("```!"), "{}", inert);
            let left = named_files(&inert);
            prop_assert!(left.is_empty(), "{:?} in {}", left, inert);
            prop_assert_eq!(super::text(&inert, NOTHING), inert.as_ref());
        }
    }
}
