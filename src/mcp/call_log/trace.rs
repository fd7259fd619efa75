//! Reads the trace context of the W3C, by which a client names the span that a call belongs to.

/// The longest `tracestate` that is passed on, in bytes.
const LONGEST_STATE: usize = 512;

/// The client's span, which is the parent of the call's span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parent {
    /// The id of the trace, as 32 hex digits.
    pub(super) trace: String,
    /// The id of the client's span, as 16 hex digits.
    pub(super) span: String,
    /// Whether the client records this trace. If not, mcpkg does not record the call's span either.
    pub(super) is_sampled: bool,
    /// The `tracestate`: data that tracing systems add for their own use. It is passed on unchanged.
    pub(super) state: Option<String>,
}

impl Parent {
    /// Parses a `traceparent`, such as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`. Returns `None` if it is
    /// invalid. An invalid `tracestate` is left out.
    pub(super) fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let mut hex = |digits: usize| {
            let is_hex = |part: &&str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            parts.next().filter(|part| part.len() == digits).filter(is_hex)
        };
        let (version, trace, span, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        // Later versions may add parts at the end.
        let is_complete = version != "ff" && (version != "00" || parts.next().is_none());
        let is_zero = |id: &str| id.bytes().all(|byte| byte == b'0');
        if !is_complete || is_zero(trace) || is_zero(span) {
            return None;
        }
        let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        let state = tracestate.filter(|state| is_state(state)).map(str::to_owned);
        Some(Self { trace: trace.to_owned(), span: span.to_owned(), is_sampled, state })
    }
}

/// Returns whether a `tracestate` is a list of the form `key=value,key=value` that is not too long.
fn is_state(state: &str) -> bool {
    let is_member = |member: &str| {
        let (key, value) = member.split_once('=').unwrap_or_default();
        !key.is_empty() && !value.is_empty() && !value.contains('=')
    };
    let mut members =
        state.split(',').map(|member| member.trim_matches([' ', '\t'])).filter(|member| !member.is_empty());
    state.len() <= LONGEST_STATE
        && state.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
        && members.clone().count() <= 32
        && members.all(is_member)
        && !state.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_valid_traceparent_names_the_trace_and_the_span() {
        for (text, is_sampled) in [
            (format!("00-{TRACE}-{SPAN}-01"), true),
            (format!("00-{TRACE}-{SPAN}-00"), false),
            (format!("00-{TRACE}-{SPAN}-03"), true),
            (format!("01-{TRACE}-{SPAN}-01-later"), true),
        ] {
            let parent = Parent::parse(&text, None).expect("it is valid");
            assert_eq!((parent.trace.as_str(), parent.span.as_str(), parent.is_sampled), (TRACE, SPAN, is_sampled));
        }
    }

    #[test]
    fn an_invalid_traceparent_counts_for_nothing() {
        let upper = TRACE.to_uppercase();
        for wrong in [
            "",
            "00",
            "00-x-y-z",
            &format!("00-{TRACE}-{SPAN}"),
            &format!("00-{TRACE}-{SPAN}-1"),
            &format!("00-{TRACE}-{SPAN}-01-"),
            &format!("00-{TRACE}-{SPAN}-01-later"),
            &format!(" 00-{TRACE}-{SPAN}-01"),
            &format!("ff-{TRACE}-{SPAN}-01"),
            &format!("00-{upper}-{SPAN}-01"),
            &format!("00-{}-{SPAN}-01", "0".repeat(32)),
            &format!("00-{TRACE}-{}-01", "0".repeat(16)),
        ] {
            assert_eq!(Parent::parse(wrong, None), None, "{wrong}");
        }
    }

    #[test]
    fn only_a_valid_tracestate_is_passed_on() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let state = |state: &str| Parent::parse(&parent, Some(state)).expect("it is valid").state;
        for good in ["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a=1, b=2", "a@b=1"] {
            assert_eq!(state(good).as_deref(), Some(good));
        }
        let many = vec!["a=1"; 33].join(",");
        for bad in
            ["", " ", "a", "=1", "a=", "a=1=2", "a=ä", "a=\n", &many, &format!("a={}", "x".repeat(LONGEST_STATE))]
        {
            assert_eq!(state(bad), None, "{bad}");
        }
    }
}
