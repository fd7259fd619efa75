//! Draws the graph of a workflow's steps as an SVG picture: a row of boxes for each layer, and arrows between them.
//!
//! The picture is for people who see it: the text of the page lists the same steps.

use maud::{Markup, html};

use mcpkg_console::graph::{Graph, Step};
use mcpkg_console::screen::{Span, Tone};
use mcpkg_console::sign;

use super::address;
use super::layout::{Layout, Spot, WIDTH};
use super::text::shown;

/// The height of a line of text, and the space between the text and the edge of its box.
const LINE: usize = 18;
const PAD: usize = 12;

/// The number of characters that fit in a line of a box, and the maximum number of lines of a name.
const CHARS: usize = 26;
const LINES: usize = 3;

/// The text of a box, one line each.
struct Words {
    id: Vec<String>,
    command: Vec<String>,
    has_end: bool,
}

impl Words {
    fn of(step: &Step) -> Self {
        let has_end = step.effect.is_some() || !step.state.is_empty();
        Self { id: wrapped(&step.id), command: wrapped(&step.command), has_end }
    }

    fn height(&self) -> usize {
        (self.id.len() + self.command.len() + usize::from(self.has_end)) * LINE + 2 * PAD
    }
}

pub fn graph(graph: &Graph) -> Markup {
    let words: Vec<Words> = graph.steps.iter().map(Words::of).collect();
    let layout = Layout::of(graph, &words.iter().map(Words::height).collect::<Vec<_>>());
    let size = format!("{} in {}", count(graph.steps.len(), "step"), count(graph.layers.len(), "layer"));
    html! {
        figure.graph {
            @match &layout {
                Some(layout) => div.scroll role="group" aria-label="Graph of the steps" tabindex="0" {
                    (picture(graph, &words, layout, &size))
                },
                None => p.dim { "The graph is too large to be drawn." },
            }
            figcaption {
                (size) "."
                @if let Some(run) = &graph.last_run {
                    " " a href=[address::of(&run.place())] { "Last run: " (shown(&run.state)) ", " (run.began) }
                }
            }
        }
    }
}

fn picture(graph: &Graph, words: &[Words], layout: &Layout, size: &str) -> Markup {
    let (width, height) = (layout.width, layout.height);
    html! {
        svg role="img" aria-label=(format!("{size}, listed in the text")) width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) {
            @for line in &layout.lines { path.wire d=(line) {} }
            @for tip in &layout.tips { path.tip d=(tip) {} }
            @for (at, place) in layout.boxes.iter().enumerate() { (step(&graph.steps[at], &words[at], place)) }
        }
    }
}

/// Draws a box. The box is an SVG element of its own, so that text which does not fit is cut off.
fn step(step: &Step, words: &Words, place: &Spot) -> Markup {
    let at = |line: usize| PAD + line * LINE + LINE - 5;
    let end = at(words.id.len() + words.command.len());
    html! {
        svg x=(place.x) y=(place.y) width=(WIDTH) height=(place.height) {
            rect.box x="1" y="1" width=(WIDTH - 2) height=(place.height - 2) rx="6" {}
            @for (line, text) in words.id.iter().enumerate() { text.id x=(PAD) y=(at(line)) { (text) } }
            @for (line, text) in words.command.iter().enumerate() {
                text x=(PAD) y=(at(words.id.len() + line)) { (text) }
            }
            @if let Some((effect, tone)) = step.effect { text class=(class(tone)) x=(PAD) y=(end) { (effect) } }
            @if !step.state.is_empty() {
                (mark(&step.state, WIDTH - PAD - 6, end - 5))
                text.state.(class(sign(&step.state).1)) x=(WIDTH - PAD - 18) y=(end) { (shown(&step.state)) }
            }
        }
    }
}

/// Draws the shape of a state, so that you can tell states apart without colours: a filled circle is done, a triangle has
/// failed, a diamond is uncertain, a ring is under way, and a line has not begun.
fn mark(state: &str, x: usize, y: usize) -> Markup {
    let (word, tone) = sign(state);
    let (left, right, up, down) = (x - 6, x + 6, y - 6, y + 6);
    let path = match word {
        "ok" => return html! { circle.mark.(class(tone)) cx=(x) cy=(y) r="5" {} },
        ">" => return html! { circle.mark.ring.(class(tone)) cx=(x) cy=(y) r="5" {} },
        "!" => format!("M{x} {up}L{right} {down}H{left}Z"),
        "?" => format!("M{x} {up}L{right} {y}L{x} {down}L{left} {y}Z"),
        _ => format!("M{left} {y}H{right}"),
    };
    html! { path.mark.ring[word == "."].(class(tone)) d=(path) {} }
}

pub fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
        Tone::Name => "name",
        _ => "dim",
    }
}

/// Breaks a text into lines of a box. Cuts off the text that does not fit in [`LINES`] lines.
fn wrapped(text: &str) -> Vec<String> {
    let text = Span::plain(text);
    let (mut lines, mut width) = (vec![String::new()], 0);
    for char in text.text().chars() {
        // Characters beyond ASCII may be twice as wide.
        let own = if char.is_ascii() { 1 } else { 2 };
        if width + own > CHARS {
            if lines.len() == LINES {
                let last = lines.last_mut().expect("there is a line");
                last.pop();
                last.push('…');
                break;
            }
            lines.push(String::new());
            width = 0;
        }
        lines.last_mut().expect("there is a line").push(char);
        width += own;
    }
    lines
}

fn count(number: usize, noun: &str) -> String {
    mcpkg_base::plural::count(number, noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_takes_three_lines_at_most() {
        assert_eq!(wrapped("create_app"), ["create_app"]);
        assert_eq!(wrapped(""), [""]);
        let long = wrapped(&"a".repeat(100));
        assert_eq!(long.iter().map(|line| line.chars().count()).collect::<Vec<_>>(), [26, 26, 26]);
        assert!(long[2].ends_with("a…"));
        assert_eq!(wrapped(&"界".repeat(14)), ["界".repeat(13), "界".to_owned()]);
        assert!(!wrapped("a\u{202e}b\u{1b}").concat().contains(['\u{202e}', '\u{1b}']));
    }
}
