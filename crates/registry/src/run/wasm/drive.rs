//! Runs a module in slices, and checks after each slice whether the run must end.

use wasmi::errors::{ErrorKind, LinkerError};
use wasmi::{Error, Func, Instance, Linker, Store, TypedFunc, TypedResumableCall, TypedResumableCallOutOfFuel};

use super::host::{Ended, Host, Setup};
use super::program::Program;
use super::ran::{End, Ran};
use super::{start, wasi};
use mcpkg_base::process::Tell;

/// The fuel of a slice. Fuel limits how many instructions the interpreter runs. A slice takes about a millisecond with
/// an optimised interpreter, and a few milliseconds without optimisation.
const SLICE: u64 = 200_000;

pub fn run(program: &Program, setup: &Setup<'_>, told: Option<Tell>) -> Ran {
    let mut store = Store::new(program.module.engine(), Host { told, ..Host::new(setup) });
    store.limiter(|host| &mut host.budget);
    let end = match instantiate(program, &mut store) {
        Ok(functions) => call_all(&mut store, functions),
        Err(end) => end,
    };
    let host = store.into_data();
    let end = match end {
        End::Exited(0) | End::TimedOut | End::Cancelled => end,
        // Report the lack of memory as the cause: the failure came after it.
        _ if host.budget.was_refused() => End::OutOfMemory,
        end => end,
    };
    Ran { end, left: host.files.collect(), stdout: host.stdout, stderr: host.stderr }
}

/// Creates an instance, and returns the functions to call. No code of the module runs here.
fn instantiate(program: &Program, store: &mut Store<Host>) -> Result<Vec<Function>, End> {
    let cannot = |error: Error| End::NotStarted(why(&error));
    let mut linker = Linker::new(program.module.engine());
    wasi::define(&mut linker).map_err(cannot)?;
    let instance = linker.instantiate_and_start(&mut *store, &program.module).map_err(cannot)?;
    store.data_mut().memory = instance.get_memory(&*store, "memory");
    let first = function(store, &instance, start::EXPORT)?;
    let main = function(store, &instance, "_start")?;
    let none = || End::NotStarted("the module does not export `_start`, which every WASI command needs".to_owned());
    Ok(first.into_iter().chain([main.ok_or_else(none)?]).collect())
}

/// A function without parameters or results.
type Function = TypedFunc<(), ()>;

fn function(store: &Store<Host>, instance: &Instance, name: &str) -> Result<Option<Function>, End> {
    let typed = |function: Func| function.typed(store);
    let function = instance.get_func(store, name).map(typed).transpose();
    function.map_err(|_| End::NotStarted(format!("`{name}` must be a function without parameters or results")))
}

fn call_all(store: &mut Store<Host>, functions: Vec<Function>) -> End {
    for function in functions {
        match call(store, &function) {
            None => {}
            Some(end) => return end,
        }
    }
    End::Exited(0)
}

/// Calls a function; returns `None` if it returned normally, or else how the run ended.
fn call(store: &mut Store<Host>, function: &Function) -> Option<End> {
    // The usual fuel is enough for the first slice.
    let mut wanted = 0;
    let mut paused = None;
    loop {
        if let Some(ended) = store.data().ending.now() {
            return Some(match ended {
                Ended::TimedOut => End::TimedOut,
                Ended::Cancelled => End::Cancelled,
            });
        }
        let state = store.set_fuel(SLICE.max(wanted)).and_then(|()| match paused.take() {
            None => function.call_resumable(&mut *store, ()),
            Some(paused) => TypedResumableCallOutOfFuel::resume(paused, &mut *store),
        });
        match state {
            Ok(TypedResumableCall::Finished(())) => return None,
            Ok(TypedResumableCall::OutOfFuel(rest)) => {
                wanted = rest.required_fuel();
                paused = Some(rest);
            }
            Ok(TypedResumableCall::HostTrap(trap)) => return Some(ended(trap.host_error())),
            Err(error) => return Some(ended(&error)),
        }
    }
}

/// Returns how a run ended, based on its error.
fn ended(error: &Error) -> End {
    match error.i32_exit_status() {
        Some(status) => End::Exited(status),
        None => End::Trapped(why(error)),
    }
}

fn why(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Linker(LinkerError::MissingDefinition { name, .. }) => {
            let name = format!("{}::{}", name.module(), name.name());
            format!("the module imports `{name}`, but only WASI preview 1 is available")
        }
        _ => error.to_string().trim().to_owned(),
    }
}
