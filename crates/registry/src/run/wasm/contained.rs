//! Runs the interpreter on a separate thread, so that a panic cannot end the server.

use std::thread;

use mcpkg_base::error::{Error, Result};

/// The bytes of the thread's stack. The interpreter does not use it for a module's calls; parsing a deeply nested
/// module needs it.
const STACK: usize = 8 << 20;

/// Runs `work` on a separate thread and waits for it.
///
/// A panic is a bug in mcpkg or in the interpreter. It is reported like any other panic, but it does not end the
/// server, and the end of the run is still recorded.
///
/// # Errors
/// `E_INTERNAL` if `work` panicked, or if no thread could be started.
pub fn contained<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("wasm".to_owned()).stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| Error::internal("cannot start a thread").with_source(error))?;
        thread.join().map_err(|_| Error::internal("the WebAssembly interpreter panicked"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Code;

    #[test]
    fn a_panic_is_an_error_here() {
        assert_eq!(contained(|| 1).expect("done"), 1);
        let error = contained(|| -> u32 { std::panic::resume_unwind(Box::new("a bug")) }).expect_err("a bug");
        assert_eq!(error.code(), Code::Internal);
    }
}
