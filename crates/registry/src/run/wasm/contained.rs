//! A thread of its own for the interpreter.

use std::thread;

use mcpkg_base::error::{Error, Result};

/// Bytes of its stack. The interpreter keeps a module's calls elsewhere; what is deep here is what reads a module.
const STACK: usize = 8 << 20;

/// Does `work` on a thread of its own and waits for it.
///
/// A panic is a bug, of ours or of the interpreter's. It is reported as one, and as any other panic is, but neither ends the
/// server nor leaves a run without an end in its row.
///
/// # Errors
/// `E_INTERNAL` where it panicked, or no thread can be had.
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
