//! Compiles a module, and keeps it together with the files of its package.

use std::sync::Arc;

use wasmi::{CompilationMode, Config, Engine, Module};

use super::super::mount::WORKSPACE;
use super::files::FileMap;
use super::start;

/// The maximum size of a module in bytes. It is limited because compiling cannot be interrupted.
const MAX_MODULE: usize = 32 << 20;

/// The maximum number of nested calls.
const MAX_CALLS: usize = 100_000;

/// The maximum size of the stack for local variables in bytes.
const MAX_STACK: usize = 16 << 20;

/// A compiled module and the files of its package.
pub struct Program {
    /// The module. It has its own engine, so that dropping the module frees everything.
    pub module: Module,
    /// The files of the package.
    pub files: Arc<FileMap>,
}

impl Program {
    /// Compiles the module at a path in a package; an error says why it cannot run.
    pub fn compile(path: &str, files: Arc<FileMap>) -> Result<Self, String> {
        let name = in_package(path).filter(|name| files.contains_key(name));
        let Some(bytes) = name.and_then(|name| files.get(&name).map(Arc::clone)) else {
            return Err(format!("the tool's package has no file `{path}`"));
        };
        let wrong = |why: &str| Err(format!("`{path}` {why}"));
        match *bytes {
            [b'\0', b'a', b's', b'm', 1, 0, 0, 0, ..] => {}
            [b'\0', b'a', b's', b'm', _, _, 1, 0, ..] => {
                return wrong("is a component; compile it to a WASI preview 1 module (`wasm32-wasip1`)");
            }
            _ => return wrong("is not a WebAssembly module"),
        }
        if bytes.len() > MAX_MODULE {
            return wrong(&format!("is larger than {} MiB", MAX_MODULE >> 20));
        }
        let moved = start::exported(&bytes);
        let module = Module::new(&Engine::new(&config()), moved.as_deref().unwrap_or(&bytes));
        match module {
            Ok(module) => Ok(Self { module, files }),
            Err(error) => wrong(&format!("is not a module that mcpkg can run: {}", error.to_string().trim())),
        }
    }

    /// Returns the approximate size of the program in memory in bytes.
    pub fn weight(&self, path: &str) -> usize {
        let module = in_package(path).and_then(|name| self.files.get(&name).map(|bytes| bytes.len()));
        let files: usize = self.files.values().map(|bytes| bytes.len()).sum();
        // The compiled code is several times as large as the module.
        files + 8 * module.unwrap_or_default()
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config
        .consume_fuel(true)
        .ignore_custom_sections(true)
        // Compile all functions now, so that later runs spend no time on it.
        .compilation_mode(CompilationMode::Eager)
        // Refuse start functions. Before a module is compiled, its start function is exported under another name
        // instead.
        .allow_start_fn(false)
        .set_max_recursion_depth(MAX_CALLS)
        .set_max_stack_height(MAX_STACK);
    // A run must never see data that another run left on its stack.
    config.set_max_cached_stacks(0);
    config
}

/// Returns the path of a file in the package, from a word that is relative to the package or below `/workspace`.
fn in_package(word: &str) -> Option<String> {
    let below = word.strip_prefix(WORKSPACE).and_then(|rest| rest.strip_prefix('/'));
    let relative = below.or((!word.starts_with('/')).then_some(word))?;
    let parts: Vec<&str> = relative.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!parts.contains(&"..")).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_one_of_the_package() {
        for (word, path) in [
            ("main.wasm", Some("main.wasm")),
            ("./bin//main.wasm", Some("bin/main.wasm")),
            ("/workspace/main.wasm", Some("main.wasm")),
            ("/main.wasm", None),
            ("/workspaces/main.wasm", None),
            ("../main.wasm", None),
            ("a/../main.wasm", None),
        ] {
            assert_eq!(in_package(word).as_deref(), path, "{word}");
        }
    }

    #[test]
    fn files_that_are_not_modules_are_refused() {
        let of = |bytes: &[u8]| {
            let files = FileMap::from([("a.wasm".to_owned(), Arc::from(bytes))]);
            Program::compile("a.wasm", Arc::new(files)).err().unwrap_or_default()
        };
        assert_eq!(of(&wat::parse_str("(module)").expect("a module")), "");
        assert_eq!(of(b"#!/bin/sh\n"), "`a.wasm` is not a WebAssembly module");
        assert_eq!(of(b""), "`a.wasm` is not a WebAssembly module");
        assert!(of(b"\0asm\x0d\0\x01\0").contains("is a component"));
        assert!(of(b"\0asm\x01\0\0\0\xff").contains("is not a module that mcpkg can run"));
        let wrong = wat::parse_str("(module (func (result i32) (i64.const 1)))").expect("text");
        assert!(of(&wrong).contains("type mismatch"), "{}", of(&wrong));
        assert_eq!(
            Program::compile("b.wasm", Arc::default()).err().as_deref(),
            Some("the tool's package has no file `b.wasm`")
        );
    }
}
