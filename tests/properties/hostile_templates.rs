//! Tests with templates from strangers: the server has to finish each one in limited time and memory, and continue to
//! answer.
//!
//! A grammar makes the templates. It nests, repeats and combines Jinja's syntax, including parts that templates may not
//! use.

use std::fmt::Write;

use mcpkg_base::clock::Clock;
use mcpkg_store::prompts::{self, Argument, Attributes};
use mcpkg_store::revisions::Author;
use mcpkg_store::{Store, projects};
use serde_json::json;

use crate::support::fuzz::Cases;
use crate::support::{Client, Random, Scratch, memory, reset_peak};

/// A template with this many bytes is not extended any further.
const LONGEST: usize = 300 << 10;

/// The MiB that the server may use for a template, in addition to what it uses before: the requests, their copies, and
/// 32 MiB for the rendering.
const MIB: u64 = 48;

/// The MiB that the server may keep, in addition to its memory after the first template, however many follow: SQLite's
/// page cache of 16 MiB, a response cache of 16 MiB, the pooled connections of 2 MiB each, and what the heap does not
/// return.
const KEPT_MIB: u64 = 96;

#[test]
fn hostile_templates_leave_the_server_answering() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let store = Store::open(&scratch.db()).expect("opened");
    let mut cases = Cases::new("hostile templates", 150);
    let mut number = 0;
    let mut usual = 0;
    while cases.more() {
        number += 1;
        reset_peak(client.pid());
        let before = memory(client.pid(), "VmRSS");
        let source = if number == 1 { "{{ a }}{{ b }}".to_owned() } else { Grammar(&mut cases.random).template() };
        let given = json!({ "a": value(&mut cases.random), "b": value(&mut cases.random) });

        // Store it without a check, as an earlier version may have done.
        let stored = format!("stored{number}");
        keep(&store, &stored, &source);
        client.request("prompts/get", json!({ "name": stored, "arguments": given }));
        client.request(
            "tools/call",
            json!({ "name": "get_prompt", "arguments": { "name": stored, "arguments": given } }),
        );
        let reference = json!({ "type": "ref/prompt", "name": stored });
        client.request("completion/complete", json!({ "ref": reference, "argument": { "name": "a", "value": "" } }));

        let declared = json!([{ "name": "a" }, { "name": "b" }]);
        let created = json!({ "name": format!("made{number}"), "content": source, "arguments": declared });
        let (text, refused) = client.call("create_prompt", created);
        if refused {
            assert!(!text.contains("Internal"), "{text}: {source}");
        } else {
            client.request("prompts/get", json!({ "name": format!("made{number}"), "arguments": given }));
        }
        client.result("ping", json!({}));
        let (peak, kept) = (memory(client.pid(), "VmHWM"), memory(client.pid(), "VmRSS"));
        usual = if number == 1 { kept } else { usual };
        let shown = &source[..source.floor_char_boundary(2000)];
        assert!(peak < before + MIB * 1024, "{peak} KiB where {before} KiB were taken before: {shown}");
        assert!(kept < usual + KEPT_MIB * 1024, "{kept} KiB after {number} templates, {usual} KiB after the first");
    }
}

/// Stores a template without checking it.
fn keep(store: &Store, name: &str, source: &str) {
    let argument = |name: &str| Argument { name: name.to_owned(), description: None, required: false };
    let arguments = vec![argument("a"), argument("b")];
    let attributes = Attributes { template: true, arguments, ..Attributes::default() };
    let clock = Clock::system();
    let author = Author { actor: "test", now: clock.now() };
    let kept = store.write(|db| {
        let project = projects::get(db, "p")?;
        prompts::insert(db, author, &project, clock.uuid(), name, attributes, source)
    });
    kept.expect("stored");
}

fn value(random: &mut Random) -> String {
    let letters = ["a", ",", "\n", "é", "\u{1}", "'", "ab", "a,b\n"];
    let count = [0, 1, 3, 999, 1001, 20_000][random.below(6)];
    letters[random.below(letters.len())].repeat(count)
}

/// Constructs that can be nested: the beginning, the part that is repeated, the innermost part, and the end.
const TOWERS: &[(&str, &str, &str, &str)] = &[
    ("{{ ", "not ", "a", " }}"),
    ("{{ ", "-", "1", " }}"),
    ("{{ ", "(", "1", " }}"),
    ("{{ ", "[", "1", " }}"),
    ("{{ ", "{'a':", "1", " }}"),
    ("{{ a", ".a", "", " }}"),
    ("{{ a", "[0]", "", " }}"),
    ("{{ a", "|upper", "", " }}"),
    ("{{ a", "|replace('', a)", "", " }}"),
    ("{{ a", " if a else b", "", " }}"),
    ("{{ a", " is defined", "", " }}"),
    ("{{ a", " or a", "", " }}"),
    ("{{ a", " ~ a", "", " }}"),
    ("{{ 9", " ** 9", "", " }}"),
    ("{{ a", " == a", "", " }}"),
    ("{{ range(", "range(", "1", ") }}"),
    ("{{ 'a' ", "'b' ", "", "}}"),
    ("", "{% if a %}", "x", ""),
    ("{% if a %}", "{% elif b %}", "x", "{% endif %}"),
    ("", "{% for a in a %}", "{{ a }}", ""),
    ("", "{% for a in [a, a] %}", "{{ a }}", ""),
    ("", "{% for i in range(9999) %}", "{{ a }}", ""),
    ("{% set c = a %}", "{% set c = [c, c] %}", "{{ c == c }}", ""),
    ("{% set c = a %}", "{% set c = c ~ c %}", "{{ c }}", ""),
    ("{% set c = a %}", "{% set c = c|upper %}", "{{ c }}", ""),
    ("{% set n = namespace() %}", "{% set n.a = n %}", "{{ n }}", ""),
    ("", "{% set c %}", "x", ""),
    ("", "{% filter upper %}", "x", ""),
    ("", "{% macro m() %}", "{{ m() }}", ""),
    ("", "{% block a %}", "x", ""),
    ("", "{% with %}", "x", ""),
    ("", "{#", "", ""),
    ("", "{% raw %}", "{{ a }}", "{% endraw %}"),
    ("{{ \"", "\\u{61}", "", "\" }}"),
    ("{{ ", "1", "", " }}"),
    ("{{ 0x", "f", "", " }}"),
    ("{{ 1e", "9", "", " }}"),
    ("", "{{a}}", "", ""),
    ("", "\n", "{{ nobody }}", ""),
];

/// Makes templates.
struct Grammar<'r>(&'r mut Random);

impl Grammar<'_> {
    fn template(&mut self) -> String {
        let mut template = match self.0.below(3) {
            0 => self.tower(),
            _ => self.statements(4),
        };
        while template.len() < LONGEST && self.0.below(3) == 0 {
            match self.0.below(4) {
                0 => template = template.repeat(1 + self.0.below(LONGEST / template.len().max(1) + 1)),
                1 => template += &self.tower(),
                2 => template += &self.statements(3),
                // Insert a statement somewhere, and overwrite up to three bytes, so that tags are cut off or overlap.
                _ => {
                    let at = template.floor_char_boundary(self.0.below(template.len() + 1));
                    let piece = self.statement(2);
                    template.replace_range(at..template.floor_char_boundary(at + self.0.below(4)).max(at), &piece);
                }
            }
        }
        template.truncate(template.floor_char_boundary(2 * LONGEST));
        template
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.0.below(words.len())]
    }

    /// Nests a construct many times: around a limit, or far beyond it.
    fn tower(&mut self) -> String {
        let times = [3, 63, 64, 65, 149, 151, 250, 257, 5000, 20_000][self.0.below(10)];
        let (open, middle, rest, close) = TOWERS[self.0.below(TOWERS.len())];
        let mut tower = format!("{open}{}{rest}", middle.repeat(times));
        let closing = match middle {
            "(" | "range(" => ")",
            "[" => "]",
            "{'a':" => "}",
            "{% if a %}" => "{% endif %}",
            "{% set c %}" => "{% endset %}",
            "{% filter upper %}" => "{% endfilter %}",
            "{% macro m() %}" => "{% endmacro %}",
            "{% block a %}" => "{% endblock %}",
            "{% with %}" => "{% endwith %}",
            _ if middle.starts_with("{% for") => "{% endfor %}",
            _ => "",
        };
        if self.0.below(4) > 0 {
            tower += &closing.repeat(times);
        }
        tower + close
    }

    fn statements(&mut self, depth: usize) -> String {
        (0..=self.0.below(4)).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: usize) -> String {
        if depth == 0 {
            let text = ["text ", "\n", "é🦀", "{", "%}", "}}", "\r\n  ", "{{ '{' }}", "{% raw %}{{{% endraw %}"];
            return self.pick(&text).to_owned();
        }
        let (e, f) = (self.expression(depth), self.expression(depth - 1));
        let (body, other) = (self.statements(depth - 1), self.statements(depth - 1));
        let (l, r) = (self.pick(&["{%", "{%-", "{%+"]), self.pick(&["%}", "-%}", "+%}"]));
        match self.0.below(20) {
            0..4 => format!("{{{{ {e} }}}}"),
            4 => format!("{l} if {e} {r}{body}{l} endif {r}"),
            5 => format!("{l} if {e} {r}{body}{l} elif {f} {r}{other}{l} else {r}{body}{l} endif {r}"),
            6 => format!("{l} for x in {e} {r}{body}{l} endfor {r}"),
            7 => format!("{l} for x, y in {e} if {f} {r}{body}{l} else {r}{other}{l} endfor {r}"),
            8 => format!("{l} for i in range({}) {r}{body}{l} endfor {r}", self.number()),
            9 => format!("{l} for x in {e} recursive {r}{body}{{{{ loop(x) }}}}{l} endfor {r}"),
            10 => format!("{l} set x = {e} {r}"),
            11 => format!("{l} set ns.x = {e} {r}"),
            12 => format!("{l} set x {r}{body}{l} endset {r}"),
            13 => format!("{l} macro m(x={f}) {r}{body}{l} endmacro {r}{{{{ m({e}) }}}}"),
            14 => format!("{l} filter {} {r}{body}{l} endfilter {r}", self.filter(1)),
            15 => format!("{l} with x = {e} {r}{body}{l} endwith {r}"),
            16 => format!("{l} call m() {r}{body}{l} endcall {r}"),
            17 => format!(
                "{l} {} {r}",
                self.pick(&["include 'a'", "extends 'a'", "import 'a' as a", "do a()", "block a"])
            ),
            18 => format!("{{# {body} #}}"),
            _ => format!("{l} autoescape {e} {r}{body}{l} endautoescape {r}"),
        }
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.0.below(4) {
                0 => self.number(),
                1 => self.pick(&["'a'", "\"\"", "'\\n'", "'é'", "'\\ud800'", "'{{ a }}'"]).to_owned(),
                _ => {
                    let names = ["a", "b", "x", "y", "i", "ns", "loop", "loop.index", "nobody", "true", "none", "self"];
                    self.pick(&names).to_owned()
                }
            };
        }
        let (e, f, g) = (self.expression(depth - 1), self.expression(depth - 1), self.expression(0));
        match self.0.below(16) {
            0 | 1 => {
                let operators =
                    ["==", "!=", "<", ">=", "in", "not in", "and", "or", "+", "-", "*", "/", "//", "%", "**", "~"];
                format!("{e} {} {f}", self.pick(&operators))
            }
            2..6 => format!("{e}|{}", self.filter(depth)),
            6 => format!("{e} is {}", self.test(depth)),
            7 => format!("{e} is not {}", self.test(depth)),
            8 => format!("({e})"),
            9 => format!("not {e}"),
            10 => format!("{e} if {f} else {g}"),
            11 => format!("[{e}, {f}, {g}]"),
            12 => format!("{{{e}: {f}}}"),
            13 => format!("{e}[{f}]"),
            14 => format!("{e}[{}:{}:{}]", self.number(), self.number(), self.number()),
            _ => {
                let functions = ["range", "dict", "namespace", "debug", "lipsum", "loop.cycle", "a.upper", "cycler"];
                format!("{}({e}, {g})", self.pick(&functions))
            }
        }
    }

    fn number(&mut self) -> String {
        let numbers =
            ["0", "1", "-1", "3", "1000", "9999", "1000000000", "9223372036854775807", "1.5", "1e308", "0xff"];
        let mut number = self.pick(&numbers).to_owned();
        if self.0.below(20) == 0 {
            let _ = write!(number, "{}", "9".repeat(self.0.below(60)));
        }
        number
    }

    fn filter(&mut self, depth: usize) -> String {
        let filters = [
            "upper",
            "lower",
            "title",
            "capitalize",
            "trim",
            "replace",
            "indent",
            "split",
            "lines",
            "join",
            "first",
            "last",
            "length",
            "count",
            "default",
            "d",
            "string",
            "list",
            "batch",
            "slice",
            "sort",
            "unique",
            "map",
            "select",
            "groupby",
            "items",
            "dictsort",
            "reverse",
            "tojson",
            "pprint",
            "format",
            "sum",
            "chain",
            "zip",
            "escape",
            "safe",
        ];
        let filter = self.pick(&filters);
        match self.0.below(4) {
            0 => filter.to_owned(),
            1 => format!("{filter}({})", self.expression(depth.saturating_sub(1))),
            2 => format!("{filter}({}, {})", self.expression(0), self.expression(0)),
            _ => format!("{filter}({}={})", self.pick(&["d", "width", "first", "count", "attribute"]), self.number()),
        }
    }

    fn test(&mut self, depth: usize) -> String {
        let tests =
            ["defined", "none", "string", "odd", "even", "lower", "in", "eq", "divisibleby", "startingwith", "sameas"];
        let test = self.pick(&tests);
        match self.0.below(2) {
            0 => test.to_owned(),
            _ => format!("{test}({})", self.expression(depth.saturating_sub(1))),
        }
    }
}
