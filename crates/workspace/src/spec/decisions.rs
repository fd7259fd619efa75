//! Finds the decisions in a design, and determines whether each has a choice and a rationale.
//!
//! There are two ways to write a decision: below its own heading, with the labels **Choice:** and **Rationale:**; or as
//! a paragraph or list item that starts with the choice in bold and continues with the reasons.

use super::markdown::{Block, Kind, Markdown, Section};

/// The heading of the section with decisions.
pub(super) const TITLE: &str = "Decisions";

/// Labels for the choice.
const CHOICE: [&str; 3] = ["choice", "decision", "chosen"];

/// Labels for the reasons.
const RATIONALE: [&str; 5] = ["rationale", "why", "reason", "reasons", "reasoning"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// The line, counted from 1.
    pub(super) line: usize,
    /// Whether the choice is stated.
    pub(super) has_choice: bool,
    /// Whether a reason is stated.
    pub(super) has_rationale: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Choice,
    Rationale,
    Other,
}

impl Decision {
    pub(super) const fn is_complete(self) -> bool {
        self.has_choice && self.has_rationale
    }

    /// Returns what is missing, such as `no rationale`.
    pub(super) const fn lacks(self) -> &'static str {
        match (self.has_choice, self.has_rationale) {
            (false, false) => "neither choice nor rationale",
            (true, false) => "no rationale",
            (false, true) => "no choice",
            (true, true) => "nothing missing",
        }
    }

    fn fill(&mut self, part: Option<Part>) {
        self.has_choice |= part == Some(Part::Choice);
        self.has_rationale |= part == Some(Part::Rationale);
    }
}

pub(super) fn of(design: &Markdown) -> Vec<Decision> {
    design.titled(TITLE).flat_map(below).collect()
}

/// Returns the decisions of a section and its subsections.
fn below(sections: &[Section]) -> Vec<Decision> {
    let Some((own, rest)) = sections.split_first() else { return Vec::new() };
    let mut decisions: Vec<Decision> = own.blocks.iter().filter_map(stated).collect();
    let labelled = one(own, &[]);
    if decisions.is_empty() && (labelled.has_choice || labelled.has_rationale) {
        decisions.push(labelled);
    }
    let Some(level) = rest.iter().map(|section| section.level).min() else { return decisions };
    let mut begins: Vec<usize> = (0..rest.len()).filter(|at| rest[*at].level == level).collect();
    begins.push(rest.len());
    // Sections before the first heading at that level are nested deeper and are ignored.
    for pair in begins.windows(2) {
        let own = &rest[pair[0]];
        let deeper = &rest[pair[0] + 1..pair[1]];
        let stated: Vec<Decision> = own.blocks.iter().filter_map(stated).collect();
        match one(own, deeper) {
            decision if decision.is_complete() || stated.is_empty() => decisions.push(decision),
            _ => decisions.extend(stated),
        }
    }
    decisions
}

/// Returns the decision of a block that starts with the choice in bold and continues with the reasons.
fn stated(block: &Block) -> Option<Decision> {
    let lead = block.leads.first().filter(|lead| block.text[..lead.start].trim().is_empty())?;
    let (label, rest) = (&block.text[lead.clone()], &block.text[lead.end..]);
    let is_label = label.trim_end().ends_with(':') || rest.trim_start().starts_with(':');
    let complete = Decision { line: block.line, has_choice: true, has_rationale: true };
    (!is_label && !label.trim().is_empty() && !rest.trim().is_empty()).then_some(complete)
}

/// Returns the decision written with labels below one heading.
fn one(own: &Section, deeper: &[Section]) -> Decision {
    let mut decision = Decision { line: own.line, has_choice: false, has_rationale: false };
    for (at, section) in std::iter::once(own).chain(deeper).enumerate() {
        let mut part = if at == 0 { None } else { Some(part_of(&section.title)) };
        for block in section.blocks.iter().filter(|block| block.says_something()) {
            part = labelled(block, part, &mut decision);
        }
    }
    decision
}

/// Records whether a block states the choice or the reasons. `part` is the part of the decision (choice or reasons) at
/// the start of the block. Returns the part at the end of the block.
fn labelled(block: &Block, mut part: Option<Part>, decision: &mut Decision) -> Option<Part> {
    let says = |text: &str| !text.trim_matches(|c: char| c.is_whitespace() || c == ':').is_empty();
    if !matches!(block.kind, Kind::Paragraph | Kind::Item { .. }) {
        decision.fill(part);
        return part;
    }
    if block.leads.is_empty() {
        // A label without emphasis, such as `Choice: SQLite`.
        if let Some((label, rest)) = block.text.split_once(':')
            && part_of(label) != Part::Other
        {
            part = Some(part_of(label));
            if says(rest) {
                decision.fill(part);
            }
            return part;
        }
    }
    let mut from = 0;
    for lead in &block.leads {
        if says(&block.text[from..lead.start]) {
            decision.fill(part);
        }
        let (label, rest) = (&block.text[lead.clone()], &block.text[lead.end..]);
        if label.trim_end().ends_with(':') || rest.trim_start().starts_with(':') || part_of(label) != Part::Other {
            part = Some(part_of(label));
            from = lead.end;
        } else {
            from = lead.start;
        }
    }
    if says(&block.text[from..]) {
        decision.fill(part);
    }
    part
}

fn part_of(label: &str) -> Part {
    let label = label.trim().trim_end_matches(':').trim_end().to_lowercase();
    match label.as_str() {
        label if CHOICE.contains(&label) => Part::Choice,
        label if RATIONALE.contains(&label) => Part::Rationale,
        _ => Part::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisions(below: &str) -> Vec<(usize, bool, bool)> {
        let design = Markdown::read(&format!("## Decisions\n{below}"));
        of(&design).into_iter().map(|it| (it.line, it.has_choice, it.has_rationale)).collect()
    }

    #[test]
    fn labels_say_what_was_chosen_and_why() {
        let apart = "### Decision 1: A\n\n**Choice:** a\n\n**Rationale:**\n\n- b\n";
        assert_eq!(decisions(apart), [(2, true, true)]);
        let together = "### A\n**Choice:** a\n**Rationale:** b\n**Alternatives considered:**\n";
        assert_eq!(decisions(together), [(2, true, true)]);
        let plain = "### A\nChoice: a\n\n*Why*: b\n";
        assert_eq!(decisions(plain), [(2, true, true)]);
        let headings =
            "### A\n#### Decision\na\n#### Rationale\n```\nb\n```\n### B\n#### Decision\n#### Rationale\nb\n";
        assert_eq!(decisions(headings), [(2, true, true), (9, false, true)]);
    }

    #[test]
    fn a_scaffold_decides_nothing() {
        for empty in [
            "### Decision 1: \n\n**Choice:** \n\n**Rationale:** \n",
            "### Decision 1\n**Choice:**\n**Rationale:**\n**Alternatives considered:** none\n",
            "### Decision 1\n<!-- a -->\n**Choice:** <!-- b -->\n\n**Rationale:** <!-- c -->\n",
        ] {
            assert_eq!(decisions(empty), [(2, false, false)], "{empty}");
        }
        assert_eq!(decisions("\ntext\n"), []);
        assert_eq!(of(&Markdown::read("## Context\n### A\n**Choice:** a\n**Why:** b\n")), []);
    }

    #[test]
    fn a_bold_sentence_with_reasons_is_a_decision() {
        assert_eq!(decisions("\n**D1 — A.** Since b.\n\n**D2 — C.**\n\n- **E**: f\n"), [(3, true, true)]);
        assert_eq!(decisions("### Storage\n\n- **One file.** Since b.\n"), [(4, true, true)]);
    }
}
