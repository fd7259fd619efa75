//! Reports a panic as a bug in mcpkg.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};

use mcpkg_base::error::{Error, Result};
use mcpkg_base::redact::redact;

thread_local! {
    /// The place and message of the last panic in a thread that converts panics to errors.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work` and converts a panic to an internal error with its place and message. Panics of other threads are
/// printed as usual.
pub(super) fn unless_panicked<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let here = std::thread::current().id();
    let others = take_hook();
    set_hook(Box::new(move |panic| match std::thread::current().id() == here {
        true => CAUGHT.set(Some(crash_text(panic))),
        false => others(panic),
    }));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let cause = CAUGHT.take().unwrap_or_default();
        Err(Error::internal("The command crashed").with_source(cause))
    })
}

fn crash_text(panic: &PanicHookInfo<'_>) -> String {
    let what = panic.payload_as_str().unwrap_or("a panic");
    let place = panic.location().map_or_else(String::new, |location| format!(" at {location}"));
    redact(&format!("{what}{place}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Code;

    #[test]
    fn a_panic_is_a_bug_and_its_cause_is_not_in_the_message() {
        let error = unless_panicked(|| -> Result<()> { std::panic::panic_any("index of https://me:pass@host") });
        let error = error.expect_err("a bug");
        assert_eq!((error.code(), error.code().exit()), (Code::Internal, 70));
        assert_eq!(error.message(), "The command crashed");
        let cause = std::error::Error::source(&error).expect("a cause").to_string();
        assert!(cause.starts_with("index of https://***@host at src/cli/panicked.rs:"), "{cause}");
        assert_eq!(unless_panicked(|| Ok(1)).expect("no panic"), 1);
    }
}
