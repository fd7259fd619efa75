//! The screen of the database's health: sizes, rows, changes per day, limits, what each session loads, and findings.

use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Health};
use mcpkg_store::amounts;

use crate::action::Invocation;
use crate::chart::{Bar, Chart};
use crate::data::{count, number, rows, text};
use crate::figure::{Figure, Shows};
use crate::pages::thousands;
use crate::place::Place;
use crate::screen::{Line, Row, Screen, Span, Tone};
use crate::sessions;

/// The number of days whose changes are counted.
const DAYS: i64 = 14;

pub fn screen(context: &Context) -> Result<Screen> {
    let (findings, is_well) = findings(context);
    let mut screen = Screen::text(if is_well { "All > health" } else { "All > health: there is a problem" }, findings);
    let (counted, changes) =
        context.store.read(|db| Ok((amounts::rows(db)?, amounts::events_per_day(db, context.clock.now(), DAYS)?)))?;
    add(&mut screen, sizes(context)?);
    let row = |(name, found): (&str, u64)| bar(name, &thousands(usize::try_from(found).unwrap_or(usize::MAX)), found);
    let counted = counted.into_iter().map(row).collect();
    add(&mut screen, Chart { title: "Rows".to_owned(), columns: &["WHAT", "ROWS"], rows: counted });
    let day = |(at, found): (i64, u64)| bar(rfc3339(at).get(..10).unwrap_or_default(), &found.to_string(), found);
    let title = format!("Changes and refusals per day (UTC), among the last {}", thousands(amounts::COUNTED as usize));
    add(&mut screen, Chart { title, columns: &["DAY", "EVENTS"], rows: changes.into_iter().map(day).collect() });
    add(&mut screen, limits(context)?);
    // Without a project or a folder to deploy to, no session loads anything.
    if let Ok(chart) = sessions::chart(context) {
        add(&mut screen, chart);
    }
    Ok(screen)
}

/// What the screen shows, for lists of screens.
pub const ABOUT: &str = "Sizes, changes per day, limits, and what each session loads";

/// Returns the row that leads to the screen, for lists of screens.
pub fn row() -> Row {
    Row {
        id: "health".to_owned(),
        cells: vec![Span::new(Tone::Name, "health"), Span::plain(ABOUT)],
        look: Some(Place::Health),
        ..Row::default()
    }
}

/// Adds a chart below the lines of a screen.
pub fn add(screen: &mut Screen, chart: Chart) {
    let crate::screen::Body::Text(lines) = &mut screen.body else { return };
    if chart.rows.is_empty() {
        return;
    }
    lines.push(Line::blank());
    let from = lines.len();
    lines.extend(chart.lines());
    screen.figures.push(Figure { instead_of: from..lines.len(), shows: Shows::Chart(chart) });
}

fn bar(name: &str, amount: &str, length: u64) -> Bar {
    let cells = vec![Span::new(Tone::Name, name), Span::plain(amount)];
    Bar { cells, length, tone: Tone::Name, ..Bar::default() }
}

fn sizes(context: &Context) -> Result<Chart> {
    let (size, free) = (context.store.size(), context.store.free()?);
    let rows = [("database", size), ("unused part", free)].map(|(name, bytes)| bar(name, &bytes_of(bytes), bytes));
    Ok(Chart { title: "Size of the database".to_owned(), columns: &["WHAT", "SIZE"], rows: rows.into() })
}

/// Shows the rows beyond the limits, which `mcpkg prune` deletes.
fn limits(context: &Context) -> Result<Chart> {
    let data = Invocation::new("limit list").read(context)?;
    let limit = |found: &serde_json::Value| {
        let age = found["age_seconds"].as_u64().map(age);
        let keeps = found["number"].as_u64().map(|most| count(most, "row"));
        let keeps: Vec<String> = age.into_iter().chain(keeps).collect();
        let beyond = number(found, "beyond");
        let keeps = if keeps.is_empty() { "all".to_owned() } else { keeps.join(", ") };
        let cells =
            vec![Span::new(Tone::Name, text(found, "table")), Span::plain(&keeps), Span::plain(&beyond.to_string())];
        Bar { cells, length: beyond, tone: Tone::Warning, ..Bar::default() }
    };
    let rows = rows(&data, "limits").iter().map(limit).collect();
    Ok(Chart { title: "Limits".to_owned(), columns: &["TABLE", "KEEPS", "BEYOND"], rows })
}

/// Formats the age of a limit: `90 days` or `1 hour`.
fn age(seconds: u64) -> String {
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let (unit, name) = units.into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit)).unwrap_or((1, "second"));
    count(seconds / unit, name)
}

/// Returns the findings that `mcpkg doctor` makes without reading the agents' folders, as lines, and whether there is no
/// problem among them.
fn findings(context: &Context) -> (Vec<Line>, bool) {
    let found: Vec<_> = context.domains.iter().flat_map(|domain| (domain.health)(context)).collect();
    let is_well = found.iter().all(|finding| finding.health != Health::Problem);
    let mut lines = Vec::new();
    for finding in &found {
        let (word, tone) = match finding.health {
            Health::Ok => ("ok", Tone::Good),
            Health::Note => ("note", Tone::Warning),
            Health::Problem => ("problem", Tone::Bad),
        };
        let line = Line::of(tone, word).then(Tone::Plain, &format!("  {}: {}", finding.area, finding.what));
        lines.push(if finding.health == Health::Ok { line } else { line.stop() });
        lines.extend(finding.action.iter().map(|action| Line::of(Tone::Dim, &format!("    {action}"))));
    }
    (lines, is_well)
}

/// Formats a size: `512 bytes`, `12.3 KiB` or `4.0 MiB`.
pub fn bytes_of(bytes: u64) -> String {
    match bytes {
        0..1024 => count(bytes, "byte"),
        1024..1_048_576 => format!("{}.{} KiB", bytes >> 10, bytes % 1024 * 10 / 1024),
        _ => format!("{}.{} MiB", bytes >> 20, (bytes % 1_048_576) * 10 / 1_048_576),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_below_a_day_is_not_a_day() {
        assert_eq!([3_600, 86_400, 7_776_000, 90].map(age), ["1 hour", "1 day", "90 days", "90 seconds"]);
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(
            [1, 1023, 12_600, 4_194_304, 1 << 40].map(bytes_of),
            ["1 byte", "1023 bytes", "12.3 KiB", "4.0 MiB", "1048576.0 MiB"]
        );
    }

    #[test]
    fn a_chart_stands_for_its_own_lines() {
        let mut screen = Screen::text("Health", vec![Line::plain("ok")]);
        add(
            &mut screen,
            Chart { title: "Rows".to_owned(), columns: &["WHAT", "ROWS"], rows: vec![bar("prompts", "3", 3)] },
        );
        add(&mut screen, Chart::default());
        let crate::screen::Body::Text(lines) = &screen.body else { panic!("a text") };
        assert_eq!(lines.len(), 5, "a chart without rows is left out");
        assert_eq!((screen.figures.len(), screen.figures[0].instead_of.clone()), (1, 2..5));
    }
}
