//! The timeline of a run: when each attempt began, what it waited for, and how long it took.

use serde_json::Value;

use mcpkg_base::clock::Millis;

use crate::chart::{Bar, Chart};
use crate::data::{number, rows, text, time};
use crate::line::{Span, Tone};
use crate::words::sign;

/// The maximum number of rows. A step can be repeated thousands of times. If there are more rows, the last ones are shown.
const MOST: usize = 300;

/// Makes the timeline of the run in the data of `workflow runs RUN`. Returns `None` if the run has no attempts.
pub fn of(data: &Value, now: Millis) -> Option<Chart> {
    let steps = rows(data, "steps");
    let began = |attempt: &Value| time(attempt, "began_at");
    let begin = steps.iter().flat_map(|step| rows(step, "attempts")).filter_map(began).min()?;
    let is_under_way = text(data, "ended_at").is_empty() && sign(text(data, "state")).0 == ">";
    let mut bars = Vec::new();
    // The latest end of the attempts so far. The next attempt has waited since then.
    let mut free = begin;
    for step in steps {
        let attempts = rows(step, "attempts");
        if attempts.is_empty() {
            let cells = [text(step, "id"), "", text(step, "state"), "", "", ""].map(Span::plain);
            bars.push(Bar { cells: cells.into(), ..Bar::default() });
        }
        for attempt in attempts {
            let Some(from) = began(attempt) else { continue };
            let end = time(attempt, "ended_at").or(is_under_way.then_some(now)).map(|end| end.max(from));
            let (result, tone) = result(attempt, is_under_way);
            let waited = millis(from - free);
            let cells = vec![
                Span::new(Tone::Name, text(step, "id")),
                Span::plain(&number(attempt, "number").to_string()),
                Span::new(tone, &result),
                Span::plain(&duration(millis(from - begin))),
                Span::plain(&if waited == 0 { String::new() } else { duration(waited) }),
                Span::plain(&end.map(|end| duration(millis(end - from))).unwrap_or_default()),
            ];
            let length = millis(end.unwrap_or(from) - from);
            bars.push(Bar { cells, begin: millis(from - begin), length, lead: waited, tone });
            free = free.max(end.unwrap_or(from));
        }
    }
    let (all, left_out) = (bars.len(), bars.len().saturating_sub(MOST));
    let bars = bars.split_off(left_out);
    let which = if left_out == 0 { String::new() } else { format!(", the last {MOST} of {all} rows") };
    let title = format!("Timeline: {}{which}", duration(millis(free - begin)));
    Some(Chart { title, columns: &["STEP", "ATTEMPT", "RESULT", "BEGAN AFTER", "WAITED", "TOOK"], rows: bars })
}

/// Returns the outcome of an attempt, with the HTTP status of its response.
fn result(attempt: &Value, is_under_way: bool) -> (String, Tone) {
    let status = attempt["status"].as_u64().map(|status| format!(" {status}")).unwrap_or_default();
    match text(attempt, "outcome") {
        "" if is_under_way => ("under way".to_owned(), Tone::Name),
        "" => ("no answer".to_owned(), Tone::Warning),
        "ok" => (format!("ok{status}"), Tone::Good),
        outcome => (format!("{outcome}{status}"), Tone::Bad),
    }
}

fn millis(time: Millis) -> u64 {
    u64::try_from(time).unwrap_or(0)
}

/// Formats a duration in milliseconds: `12 ms`, `1.2 s`, `3 min 5 s` or `2 h 3 min`.
pub fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{seconds}.{} s", millis % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::line::Line;

    fn lines(chart: &Chart) -> Vec<String> {
        chart.lines().iter().map(Line::text).map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn each_attempt_is_a_row_with_its_wait() {
        let at = |seconds: f64| format!("2026-11-28T13:48:{seconds:06.3}Z");
        let mut run = json!({ "state": "running", "steps": [
            { "id": "look", "state": "succeeded", "attempts": [
                { "number": 1, "began_at": at(1.0), "ended_at": at(1.25), "outcome": "E_TIMEOUT" },
                { "number": 2, "began_at": at(3.25), "ended_at": at(3.5), "outcome": "ok", "status": 200 },
            ] },
            { "id": "skipped", "state": "skipped", "attempts": [] },
            { "id": "make", "state": "running", "attempts": [{ "number": 1, "began_at": at(3.5) }] },
        ] });
        let now = mcpkg_base::clock::from_rfc3339(&at(9.0)).expect("a time");
        let chart = of(&run, now).expect("a chart");
        assert_eq!(
            lines(&chart),
            [
                "Timeline: 8.0 s",
                "STEP     ATTEMPT  RESULT     BEGAN AFTER  WAITED  TOOK",
                "look     1        E_TIMEOUT  0 ms                 250 ms",
                "look     2        ok 200     2.2 s        2.0 s   250 ms",
                "skipped           skipped",
                "make     1        under way  2.5 s                5.5 s",
            ]
        );
        let bars: Vec<_> = chart.rows.iter().map(|bar| (bar.begin, bar.length, bar.lead)).collect();
        assert_eq!(bars, [(0, 250, 0), (2250, 250, 2000), (0, 0, 0), (2500, 5500, 0)]);
        // No process runs it any more, so it is unknown how long the last attempt took.
        run["state"] = json!("interrupted");
        let chart = of(&run, now).expect("a chart");
        assert_eq!(lines(&chart)[0], "Timeline: 2.5 s");
        assert!(lines(&chart)[5].contains("no answer"), "{:?}", lines(&chart));
        assert!(of(&json!({ "steps": [{ "id": "a", "attempts": [] }] }), now).is_none());
    }

    #[test]
    fn the_last_of_many_attempts_are_shown() {
        let attempts: Vec<Value> = (0..1_000)
            .map(|at| json!({ "number": at, "began_at": format!("2026-11-28T13:{:02}:{:02}Z", at / 60, at % 60), "outcome": "ok" }))
            .collect();
        let chart = of(&json!({ "steps": [{ "id": "poll", "attempts": attempts }] }), 0).expect("a chart");
        assert_eq!((chart.rows.len(), chart.rows[299].cells[1].text()), (300, "999"));
        assert_eq!(chart.title, "Timeline: 16 min 39 s, the last 300 of 1000 rows");
    }

    #[test]
    fn durations_are_short() {
        let shown = [0, 999, 1_250, 59_999, 185_000, 7_380_000].map(duration);
        assert_eq!(shown, ["0 ms", "999 ms", "1.2 s", "59.9 s", "3 min 5 s", "2 h 3 min"]);
    }
}
