//! Parses and builds the address of a page: its place, and the part of the place that it shows.

use maud::{Markup, html};

use mcpkg_console::diff::View;
use mcpkg_console::place::Place;
use mcpkg_console::{Part, RENDERED};

use super::address::{self, Fields};

/// The number of rows that a list shows at first.
const ROWS: usize = 200;

/// The maximum number of rows on a page.
const MOST: usize = 100_000;

/// The fields of an address that choose a part of a place. No place uses one of these names for its own values.
const PARTS: [&str; 5] = ["view", "rows", "q", "split", "open"];

pub struct At {
    pub place: Place,
    pub part: Part,
    /// The words that the user filters the rows of a list by.
    pub words: String,
    pub diff: View,
    /// The fields of the address, both the place's own and those in [`PARTS`].
    fields: Vec<(String, String)>,
    kind: String,
}

impl At {
    /// Returns what an address shows; `None` if it is not the address of a place.
    pub fn read(path: &str, query: &str) -> Option<Self> {
        let kind = match path.strip_prefix('/')? {
            "" => "inbox",
            kind => kind,
        };
        let query = Fields::parse(query.as_bytes());
        let place = address::place(kind, &query)?;
        // A page renders Markdown unless the address names another view.
        let is_item = matches!(place, Place::Prompt(_) | Place::Skill(_) | Place::Resource(_));
        let view = query.number("view").unwrap_or(if is_item { RENDERED } else { 0 });
        let rows = query.number("rows").unwrap_or(ROWS).clamp(2, MOST);
        let words = query.get("q").to_owned();
        let diff = View { open: query.numbers("open").into_iter().collect(), is_split: query.has("split") };
        let part = Part { rows, ..Part::of_view(view) };
        let own = address::of(&place)?;
        let own = Fields::parse(own.split_once('?').map_or("", |(_, query)| query).as_bytes());
        let parts = query.pairs().filter(|(name, _)| PARTS.contains(&name.as_str()));
        let fields = own.pairs().chain(parts).cloned().collect();
        Some(Self { place, part, words, diff, fields, kind: kind.to_owned() })
    }

    pub fn path(&self) -> String {
        format!("/{}", self.kind)
    }

    pub fn address(&self) -> String {
        self.without("")
    }

    fn without(&self, name: &str) -> String {
        let kept = self.fields.iter().filter(|(known, _)| known != name);
        let kept: Vec<(&str, &str)> = kept.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        address::with(&self.path(), &kept)
    }

    /// Returns the address with one field set to `value`. An empty value removes the field.
    pub fn other(&self, name: &str, value: &str) -> String {
        match value {
            "" => self.without(name),
            value => address::with(&self.without(name), &[(name, value)]),
        }
    }

    /// Returns the address with one more field; a field of the same name is kept.
    pub fn and(&self, name: &str, value: &str) -> String {
        address::with(&self.address(), &[(name, value)])
    }

    /// Returns the address that shows twice as many rows.
    pub fn more(&self) -> String {
        let mut part = self.part.clone();
        part.grow();
        self.other("rows", &part.rows.to_string())
    }

    /// Returns the hidden fields of the filter form, which keep the rest of the address when the form is sent.
    pub fn hidden(&self) -> Markup {
        let kept = self.fields.iter().filter(|(name, _)| name != "q");
        html! { @for (name, value) in kept { input type="hidden" name=(name) value=(value); } }
    }
}

/// Returns the address to go to after signing in. It is always a place of the console, never another site.
pub fn place(to: &str) -> String {
    let (path, query) = to.split_once('?').unwrap_or((to, ""));
    At::read(path, query).map_or_else(|| "/inbox".to_owned(), |at| at.address())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_in_the_address_of_its_place() {
        let at = At::read("/prompt", "name=a%26b&view=1&x=y").expect("a place");
        assert_eq!((&at.place, at.part.view), (&Place::Prompt("a&b".to_owned()), 1));
        assert_eq!(at.address(), "/prompt?name=a%26b&view=1");
        assert_eq!(at.other("view", "2"), "/prompt?name=a%26b&view=2");
        assert_eq!(at.other("view", ""), "/prompt?name=a%26b");
        assert_eq!(at.and("open", "3"), "/prompt?name=a%26b&view=1&open=3");
        assert_eq!(At::read("/prompt", "name=a").expect("a place").part.view, RENDERED);
        let at = At::read("/", "").expect("a place");
        assert_eq!((at.address().as_str(), at.more().as_str()), ("/inbox", "/inbox?rows=400"));
        assert!(At::read("/nothing", "").is_none() && At::read("", "").is_none());
    }
}
