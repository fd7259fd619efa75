//! Maps the console's places to addresses and back: `/prompt?name=review` is the prompt `review`.
//!
//! All values are in the query, because browsers rewrite paths such as `/prompt/..`.

use form_urlencoded::Serializer;
use mcpkg_console::place::{Choice, Following, Place, Text, Undo};

/// The fields of a query or a posted form, in order. A name may occur several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    pub fn parse(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).into_owned().collect())
    }

    pub fn pairs(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter()
    }

    /// Returns the first value with this name; empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn texts(&self, name: &str) -> Vec<String> {
        self.all(name).map(str::to_owned).collect()
    }

    /// Returns the values with this name that are numbers, and skips the others.
    pub fn numbers<T: std::str::FromStr>(&self, name: &str) -> Vec<T> {
        self.all(name).filter_map(|value| value.parse().ok()).collect()
    }

    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name).parse().ok()
    }
}

/// Returns the address of a place; `None` for places that exist only in a terminal.
pub fn of(place: &Place) -> Option<String> {
    let mut query = Serializer::new(String::new());
    let mut add = |name: &str, value: &dyn ToString| {
        query.append_pair(name, &value.to_string());
    };
    let kind = match place {
        Place::Inbox => "inbox",
        Place::Feed => "feed",
        Place::Marked(runs) => {
            runs.iter().for_each(|run| add("run", run));
            "feed"
        }
        Place::Content => "content",
        Place::New => "new",
        Place::Deploy => "deploy",
        Place::Chosen(choice) => {
            choice.out.iter().for_each(|path| add("out", path));
            choice.adopted.iter().for_each(|path| add("adopt", path));
            "deploy"
        }
        Place::Sessions => "sessions",
        Place::Workflows => "workflows",
        Place::All => "all",
        Place::Health => "database",
        Place::Sync => "sync",
        Place::Snapshots => "snapshots",
        Place::Palette => "palette",
        Place::Consent(id) | Place::Answers(id) | Place::Draft(id) | Place::Snapshot(id) | Place::Run(id) => {
            add("id", id);
            match place {
                Place::Consent(_) => "request",
                Place::Answers(_) => "answers",
                Place::Draft(_) => "draft",
                Place::Snapshot(_) => "snapshot",
                _ => "run",
            }
        }
        Place::DraftDiff(id, out) | Place::Proposal(id, out) => {
            add("id", id);
            out.iter().for_each(|hunk| add("out", hunk));
            if matches!(place, Place::Proposal(..)) { "proposal" } else { "draft-diff" }
        }
        Place::Prompt(name) | Place::Skill(name) | Place::Workflow(name) | Place::Plan(name) | Place::Audit(name) => {
            add("name", name);
            match place {
                Place::Prompt(_) => "prompt",
                Place::Skill(_) => "skill",
                Place::Workflow(_) => "workflow",
                Place::Audit(_) => "audit",
                _ => "plan",
            }
        }
        Place::Resource(uri) => {
            add("uri", uri);
            "resource"
        }
        Place::File(path) => {
            add("path", path);
            "file"
        }
        Place::ItemDiff(noun, name, revisions) => {
            add("noun", noun);
            add("name", name);
            if let Some((from, to)) = revisions {
                add("from", from);
                add("to", to);
            }
            "revision"
        }
        Place::History(noun, name) | Place::Shown(noun, name) | Place::Verbs(noun, name) => {
            add("noun", noun);
            add("name", name);
            match place {
                Place::History(..) => "history",
                Place::Shown(..) => "shown",
                _ => "verbs",
            }
        }
        Place::Filled(words, name) => {
            add("words", words);
            add("name", name);
            "form"
        }
        Place::List(words) | Place::Form(words) => {
            add("words", words);
            if matches!(place, Place::List(_)) { "list" } else { "form" }
        }
        Place::Event(seq) => {
            add("seq", seq);
            "event"
        }
        Place::Editor(text) => {
            add_text(text, &mut add);
            "editor"
        }
        Place::Ask(about) => {
            if let Some(text) = about {
                add_text(text, &mut add);
            }
            "ask"
        }
        Place::Undo(Undo::Event(seq)) => {
            add("seq", seq);
            "undo"
        }
        Place::Undo(Undo::By(by)) => {
            add("by", &by.actor);
            add("since", &by.since);
            add("first", &by.first);
            by.except.iter().for_each(|seq| add("except", seq));
            by.denied.iter().for_each(|seq| add("deny", seq));
            "undo"
        }
        Place::Help | Place::Printed => return None,
    };
    let query = query.finish();
    Some(if query.is_empty() { format!("/{kind}") } else { format!("/{kind}?{query}") })
}

fn add_text(text: &Text, add: &mut impl FnMut(&str, &dyn ToString)) {
    match text {
        Text::Draft(id) => add("draft", id),
        Text::Workflow(name) => add("workflow", name),
        Text::Empty => add("new", &1),
    }
}

/// Returns the place at an address. `kind` is the path without its slash, such as `prompt`.
pub fn place(kind: &str, query: &Fields) -> Option<Place> {
    let field = |name: &str| query.has(name).then(|| query.get(name).to_owned());
    Some(match kind {
        "inbox" => Place::Inbox,
        "feed" if query.has("run") => Place::Marked(query.texts("run")),
        "feed" => Place::Feed,
        "content" => Place::Content,
        "new" => Place::New,
        "deploy" if query.has("out") || query.has("adopt") => {
            Place::Chosen(Choice { out: query.texts("out"), adopted: query.texts("adopt") })
        }
        "deploy" => Place::Deploy,
        "sessions" => Place::Sessions,
        "workflows" => Place::Workflows,
        "all" => Place::All,
        "database" => Place::Health,
        "sync" => Place::Sync,
        "snapshots" => Place::Snapshots,
        "palette" => Place::Palette,
        "request" => Place::Consent(field("id")?),
        "answers" => Place::Answers(field("id")?),
        "draft" => Place::Draft(field("id")?),
        "draft-diff" => Place::DraftDiff(field("id")?, query.numbers("out")),
        "proposal" => Place::Proposal(field("id")?, query.numbers("out")),
        "snapshot" => Place::Snapshot(field("id")?),
        "run" => Place::Run(field("id")?),
        "prompt" => Place::Prompt(field("name")?),
        "skill" => Place::Skill(field("name")?),
        "workflow" => Place::Workflow(field("name")?),
        "plan" => Place::Plan(field("name")?),
        "audit" => Place::Audit(field("name")?),
        "resource" => Place::Resource(field("uri")?),
        "file" => Place::File(field("path")?),
        "revision" => {
            let revisions = query.number("from").zip(query.number("to"));
            Place::ItemDiff(field("noun")?, field("name")?, revisions)
        }
        "history" => Place::History(field("noun")?, field("name")?),
        "shown" => Place::Shown(field("noun")?, field("name")?),
        "list" => Place::List(field("words")?),
        "verbs" => Place::Verbs(field("noun")?, field("name")?),
        "form" if query.has("name") => Place::Filled(field("words")?, field("name")?),
        "form" => Place::Form(field("words")?),
        "event" => Place::Event(query.number("seq")?),
        "editor" => Place::Editor(text(query)?),
        "ask" => Place::Ask(text(query)),
        "undo" => Place::Undo(match query.number("seq") {
            Some(seq) => Undo::Event(seq),
            None => Undo::By(Following {
                actor: field("by")?,
                since: field("since")?,
                first: query.number("first")?,
                except: query.numbers("except"),
                denied: query.numbers("deny"),
            }),
        }),
        _ => return None,
    })
}

fn text(query: &Fields) -> Option<Text> {
    let field = |name: &str| query.has(name).then(|| query.get(name).to_owned());
    match (field("draft"), field("workflow")) {
        (Some(id), _) => Some(Text::Draft(id)),
        (None, Some(name)) => Some(Text::Workflow(name)),
        (None, None) => query.has("new").then_some(Text::Empty),
    }
}

/// Adds fields to an address.
pub fn with(address: &str, fields: &[(&str, &str)]) -> String {
    let mut added = Serializer::new(String::new());
    added.extend_pairs(fields);
    let separator = if address.contains('?') { '&' } else { '?' };
    match fields {
        [] => address.to_owned(),
        _ => format!("{address}{separator}{}", added.finish()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(place: &Place) -> Option<Place> {
        let address = of(place).expect("an address");
        let (path, query) = address.split_once('?').unwrap_or((&address, ""));
        self::place(path.strip_prefix('/')?, &Fields::parse(query.as_bytes()))
    }

    #[test]
    fn each_place_is_found_at_its_address() {
        let name = || "a/b?c=d&e#f%20 ü..\u{202e}\n".to_owned();
        let by = Following { actor: name(), since: name(), first: 3, except: vec![4, 5], denied: vec![6] };
        let text = [Text::Draft(name()), Text::Workflow(name()), Text::Empty];
        let mut places = vec![
            Place::Inbox,
            Place::Feed,
            Place::Marked(vec![name(), "b".to_owned()]),
            Place::Content,
            Place::New,
            Place::Deploy,
            Place::Chosen(Choice { out: vec![name()], adopted: vec![name(), name()] }),
            Place::Sessions,
            Place::Workflows,
            Place::All,
            Place::Health,
            Place::Consent(name()),
            Place::Answers(name()),
            Place::Sync,
            Place::Draft(name()),
            Place::DraftDiff(name(), vec![1, 3]),
            Place::Prompt(name()),
            Place::ItemDiff(name(), name(), None),
            Place::ItemDiff(name(), name(), Some((1, 2))),
            Place::History(name(), name()),
            Place::Resource(name()),
            Place::Skill(String::new()),
            Place::File(name()),
            Place::Proposal(name(), Vec::new()),
            Place::Snapshots,
            Place::Snapshot(name()),
            Place::Workflow(name()),
            Place::Plan(name()),
            Place::Run(name()),
            Place::List(name()),
            Place::Shown(name(), name()),
            Place::Event(-1),
            Place::Ask(None),
            Place::Form(name()),
            Place::Filled(name(), name()),
            Place::Verbs(name(), name()),
            Place::Audit(name()),
            Place::Undo(Undo::Event(7)),
            Place::Undo(Undo::By(by)),
            Place::Palette,
        ];
        places.extend(text.iter().cloned().map(Place::Editor));
        places.extend(text.into_iter().map(|text| Place::Ask(Some(text))));
        for place in places {
            assert_eq!(round_trip(&place).as_ref(), Some(&place));
        }
        assert_eq!((of(&Place::Help), of(&Place::Printed)), (None, None));
    }

    #[test]
    fn an_address_without_its_values_leads_nowhere() {
        for kind in ["", "prompt", "event", "undo", "editor", "help", "printed", "login"] {
            assert_eq!(place(kind, &Fields::default()), None, "{kind}");
        }
        assert_eq!(with("/a?b=c", &[("d", "e f")]), "/a?b=c&d=e+f");
        assert_eq!(with("/a", &[]), "/a");
    }
}
