//! The content of the editor's lower pane: findings, the plan, the diff that saving would make, and the two sides of a
//! conflict.

use serde_json::{Value, json};

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action;
use crate::data::{rows, text, texts};
use crate::diff;
use crate::document::{self, Document, Versions};
use crate::finding::{self, Finding};
use crate::place::Text;
use crate::reply;
use crate::screen::{Body, Line, Screen, Tone, quoted};
use crate::words::effect;

/// Returns the line that shows a finding, such as `E 13:26 there is no input regoin (did you mean region?)`.
pub fn line(finding: &Finding) -> Line {
    let (sign, tone) = if finding.is_error { ("E", Tone::Bad) } else { ("w", Tone::Warning) };
    let line = Line::of(tone, sign)
        .then(Tone::Dim, &format!(" {}:{} ", finding.line, finding.column))
        .then(Tone::Plain, &finding.message);
    let line = match (&finding.fix, finding.hint.as_str()) {
        (Some(fix), _) => line.then(Tone::Good, &format!("  fix: {}", fix.text)),
        (None, "") => line,
        (None, hint) => line.then(Tone::Dim, &format!("  ({hint})")),
    };
    line.stop()
}

/// Plans the workflow in `written` with `workflow plan`, and returns the lines to show.
pub fn plan(context: &Context, written: &str) -> Vec<Line> {
    match action::read(context, "workflow plan", json!({ "yaml": written })) {
        Ok(data) => planned(&data),
        Err(error) => match error.details().map(finding::all).unwrap_or_default().first() {
            Some(first) => vec![Line::plain("There is no plan yet: "), line(first)],
            None => reply::error(&error),
        },
    }
}

/// Makes the lines of a plan from the data of `workflow plan`.
fn planned(data: &Value) -> Vec<Line> {
    let (plan, errors) = (&data["plan"], rows(data, "errors"));
    let steps = rows(plan, "steps");
    let counts = ["read", "write", "destroy"].into_iter().filter_map(|word| {
        let count = plan["effects"]["counts"][word].as_u64()?;
        Some(crate::data::count(count, word))
    });
    let mut head = counts.collect::<Vec<_>>().join(", ");
    let hosts = texts(&plan["effects"], "hosts").join(", ");
    if !hosts.is_empty() {
        head = format!("{head} on {hosts}");
    }
    let needs = texts(plan, "inputs_required").join(", ");
    if !needs.is_empty() {
        head = format!("{head}; needs {needs}");
    }
    let mut lines = Vec::new();
    if !errors.is_empty() {
        let first = finding::all(data);
        let place = first.first().map(|first| format!(", the first at {}:{}", first.line, first.column));
        let count = crate::data::count(errors.len() as u64, "error");
        lines.push(
            Line::of(Tone::Bad, &format!("{count}{}", place.unwrap_or_default())).then(Tone::Plain, "; without them:"),
        );
    }
    lines.push(Line::of(Tone::Strong, if head.is_empty() { "No steps" } else { &head }));
    for step in steps {
        let runs = match &step["will_run"] {
            Value::Bool(true) => "runs",
            Value::Bool(false) => "skips",
            _ => "maybe",
        };
        let request = [text(step, "method"), text(step, "path")].join(" ");
        let (word, tone) = effect(text(step, "effect"));
        let line = Line::of(Tone::Dim, &format!("{runs:<5} "))
            .then(Tone::Name, text(step, "id"))
            .then(Tone::Plain, &format!("  {}", if request.trim().is_empty() { text(step, "run") } else { &request }))
            .then(tone, &format!("  {word}"));
        lines.push(line);
        let with = step["with"].as_object().into_iter().flatten();
        let with: Vec<String> = with.map(|(name, value)| format!("{name} = {}", words(value))).collect();
        if !with.is_empty() {
            lines.push(Line::plain(&format!("      {}", with.join(", "))));
        }
        lines.extend(texts(step, "notes").iter().map(|note| Line::of(Tone::Dim, &format!("      {note}"))));
    }
    lines
}

/// Formats a value of a plan: `${{ inputs.name }}` -> `inputs.name`, anything else as JSON.
fn words(value: &Value) -> String {
    let inside = value.as_str().and_then(|text| text.strip_prefix("${{")?.strip_suffix("}}"));
    inside.filter(|inside| !inside.contains("}}")).map_or_else(|| value.to_string(), |inside| inside.trim().to_owned())
}

/// Returns the diff from the saved text to `written`.
pub fn difference(document: &Document, written: &str) -> Vec<Line> {
    let before = match document.saved.is_empty() {
        true => "(new)".to_owned(),
        false => format!("{} (saved)", document.name),
    };
    unified(&document.saved, written, &before, "edited")
}

/// Returns the diff of the changes since the editor opened or stored the text.
pub fn lost(document: &Document, written: &str) -> Vec<Line> {
    let name = document::named(written.lines()).unwrap_or(&document.name);
    unified(&document.text, written, name, "edited")
}

fn unified(before: &str, after: &str, name: &str, side: &str) -> Vec<Line> {
    match mcpkg_base::diff::unified(before, after, name, side).as_str() {
        "" => vec![Line::plain("Nothing changed.")],
        unified => diff::lines(unified),
    }
}

/// Describes how saving would change what the workflow does, such as `step 'add_pg': with.plan changed: "small" ->
/// "large"`. Returns nothing for a new workflow.
pub fn meaning(context: &Context, document: &Document, written: &str) -> Vec<Line> {
    if document.revision == 0 {
        return Vec::new();
    }
    let arguments = json!({ "name": document.name, "from": document.revision, "with": written });
    let data = action::read(context, "workflow diff", arguments).unwrap_or_default();
    let mut lines: Vec<Line> = texts(&data, "summary").into_iter().map(Line::quoted).collect();
    if !lines.is_empty() {
        lines.push(Line::blank());
    }
    lines
}

/// Shows what somebody else saved while you edited the text, what you changed, and the text that both started with.
pub fn meanwhile(name: &str, versions: &Versions, written: &str) -> Vec<Line> {
    let who = document::who(&versions.by);
    let what = match versions.revision {
        _ if versions.of_draft => " edited the draft in the meantime. Your text is still here.".to_owned(),
        0 => " deleted the workflow in the meantime. Your text is still here.".to_owned(),
        revision => format!(" saved revision {revision} in the meantime. Your text is still here."),
    };
    let mut lines = vec![Line::of(Tone::Name, &who).then(Tone::Plain, &what)];
    let how = match versions.merged(written) {
        Some(_) => "a takes in their changes; s saves your text over theirs",
        None => "Both sides changed the same lines. Edit the text; s saves it over theirs",
    };
    lines.push(Line::plain(how));
    let sides = [
        ("THEIRS: what they changed", unified(&versions.base, &versions.theirs, name, "theirs")),
        ("YOURS: what you changed", unified(&versions.base, written, name, "yours")),
    ];
    for (heading, side) in sides {
        lines.extend([Line::blank(), Line::of(Tone::Strong, heading).stop()]);
        lines.extend(side);
    }
    lines.extend([Line::blank(), Line::of(Tone::Strong, "BASE: the text that both began with").stop()]);
    lines.extend(quoted(&versions.base));
    lines
}

/// Returns the title of an editor. `name` is the name that the text gives the workflow now.
pub fn title(document: &Document, name: &str) -> String {
    match document.by.as_str() {
        "" => format!("Workflows > {name}"),
        by => format!("Workflows > {name} (draft of {by})"),
    }
}

pub fn screen(context: &Context, origin: &Text) -> Result<Screen> {
    let document = Document::open(context, origin)?;
    let title = title(&document, &document.name);
    Ok(Screen::of(title, Body::Editor(Box::new(document))))
}
