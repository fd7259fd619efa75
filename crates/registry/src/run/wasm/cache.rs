//! Caches compiled programs, so that repeated calls of a tool do not compile it again.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::program::Program;
use mcpkg_base::error::Result;

/// The maximum number of programs in the cache.
const MAX_PROGRAMS: usize = 16;

/// The maximum size of all programs in the cache in bytes.
const MAX_WEIGHT: usize = 128 << 20;

/// The key of a program: the SHA-256 of its archive and the path in it. An entry never becomes outdated.
type Key = ([u8; 32], String);

static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);

/// The programs; the most recently used one is last.
#[derive(Default)]
struct Compiled(Vec<(Key, usize, Arc<Program>)>);

impl Compiled {
    fn get(&mut self, key: &Key) -> Option<Arc<Program>> {
        let at = self.0.iter().position(|(kept, ..)| kept == key)?;
        let entry = self.0.remove(at);
        let program = Arc::clone(&entry.2);
        self.0.push(entry);
        Some(program)
    }

    fn put(&mut self, key: Key, program: &Arc<Program>) {
        let weight = program.weight(&key.1);
        if weight > MAX_WEIGHT || self.0.iter().any(|(kept, ..)| *kept == key) {
            return;
        }
        let others = |kept: &Self| kept.0.iter().map(|(_, weight, _)| weight).sum::<usize>();
        while self.0.len() >= MAX_PROGRAMS || others(self) + weight > MAX_WEIGHT {
            self.0.remove(0);
        }
        self.0.push((key, weight, Arc::clone(program)));
    }
}

/// Returns the program at a path in the archive with this SHA-256; `compile` is called if it is not cached.
/// Failures are not cached.
pub fn get_or(
    sha256: &[u8; 32],
    path: &str,
    compile: impl FnOnce() -> Result<Result<Program, String>>,
) -> Result<Result<Arc<Program>, String>> {
    let kept = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (*sha256, path.to_owned());
    if let Some(program) = kept().get(&key) {
        return Ok(Ok(program));
    }
    // Two simultaneous calls may both compile the program, so that neither has to wait for the other.
    let program = compile()?.map(Arc::new);
    if let Ok(program) = &program {
        kept().put(key, program);
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::super::files::FileMap;
    use super::*;

    fn program(size: usize) -> Program {
        let module = wat::parse_str("(module)").expect("a module");
        let large = Arc::from(vec![0; size]);
        let files = FileMap::from([("a.wasm".to_owned(), Arc::from(module)), ("large".to_owned(), large)]);
        Program::compile("a.wasm", Arc::new(files)).expect("compiled")
    }

    #[test]
    fn a_program_is_compiled_once_while_it_is_kept() {
        let sha256 = [231; 32];
        let get = |path, compile: &dyn Fn() -> Result<Program, String>| get_or(&sha256, path, || Ok(compile()));
        assert!(get("a.wasm", &|| Err("no module".to_owned())).expect("asked").is_err());
        let first = get("a.wasm", &|| Ok(program(1))).expect("asked").expect("compiled");
        let again = get("a.wasm", &|| panic!("it is kept")).expect("kept").expect("compiled");
        assert!(Arc::ptr_eq(&first, &again));
        let other = get("./a.wasm", &|| Ok(program(1))).expect("asked").expect("compiled");
        assert!(!Arc::ptr_eq(&first, &other));
    }

    #[test]
    fn as_many_are_kept_as_fit_and_those_that_were_used_last() {
        let mut kept = Compiled::default();
        let key = |number: u8| ([number; 32], "a.wasm".to_owned());
        let small = Arc::new(program(1));
        for number in 0..MAX_PROGRAMS {
            kept.put(key(u8::try_from(number).expect("small")), &small);
        }
        assert!(kept.get(&key(0)).is_some());
        kept.put(key(200), &small);
        assert!(kept.get(&key(0)).is_some() && kept.get(&key(1)).is_none());
        let large = Arc::new(program(MAX_WEIGHT / 2));
        kept.put(key(201), &large);
        kept.put(key(202), &large);
        let weight: usize = kept.0.iter().map(|(_, weight, _)| weight).sum();
        assert!(weight <= MAX_WEIGHT && kept.get(&key(202)).is_some() && kept.get(&key(201)).is_none());
        kept.put(key(203), &Arc::new(program(MAX_WEIGHT)));
        assert!(kept.get(&key(203)).is_none() && kept.get(&key(202)).is_some());
    }
}
