//! Creates a new package that passes `validate` and, unless it is documentation only, can be run at once.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::manifest::FILES;
use super::name::Name;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::platform;

/// The kind of a new package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scaffold {
    #[default]
    #[value(help = "A shell script with input and output schemas")]
    Script,
    #[value(help = "A WebAssembly module with its source code, and input and output schemas")]
    Wasm,
    #[value(help = "Documentation only, with nothing to run")]
    Document,
}

struct File {
    path: &'static str,
    bytes: Vec<u8>,
    executable: bool,
}

impl Scaffold {
    fn files(self, name: &Name) -> Vec<File> {
        let short = name.segments().last().unwrap_or_default();
        // Quote the name, since plain YAML text cannot start with `@`.
        let quoted = format!("\"{name}\"");
        let file = |path, text: &str| File {
            path,
            bytes: text.replace("NAME", &quoted).replace("SHORT", short).into_bytes(),
            executable: text.starts_with("#!"),
        };
        let fixed = |path, bytes: &[u8]| File { path, bytes: bytes.to_vec(), executable: false };
        match self {
            Self::Script => vec![
                file("skill.package.yaml", include_str!("skill.package.yaml")),
                file("SKILL.md", include_str!("SCRIPT.md")),
                file("hello.sh", include_str!("hello.sh")),
            ],
            Self::Wasm => vec![
                file("skill.package.yaml", include_str!("wasm.package.yaml")),
                file("SKILL.md", include_str!("SCRIPT.md")),
                fixed("main.wat", include_bytes!("main.wat")),
                fixed("main.wasm", include_bytes!("main.wasm")),
            ],
            Self::Document => vec![file("SKILL.md", include_str!("DOCUMENT.md"))],
        }
    }

    /// Writes the files of a new package into `folder` without overwriting any, and returns their paths.
    ///
    /// # Errors
    /// `E_ALREADY_EXISTS` if the folder contains a package or one of the files, and the errors of writing files.
    pub(super) fn write(self, name: &Name, folder: &Path) -> Result<Vec<&'static str>> {
        let files = self.files(name);
        for path in FILES.into_iter().chain(files.iter().map(|file| file.path)) {
            let path = folder.join(path);
            if fs::symlink_metadata(&path).is_ok() {
                let message = format!("`{}` already exists; nothing was written", path.display());
                return Err(Error::new(Code::AlreadyExists, message).hint("choose another folder"));
            }
        }
        fs::create_dir_all(folder).map_err(|error| Error::file("write", folder, error))?;
        let mut written: Vec<PathBuf> = Vec::new();
        for file in &files {
            let path = folder.join(file.path);
            if let Err(error) = create(&path, file) {
                // Remove the files written so far, so that no partial package remains.
                written.iter().for_each(|path| drop(fs::remove_file(path)));
                return Err(Error::file("write", &path, error));
            }
            written.push(path);
        }
        Ok(files.iter().map(|file| file.path).collect())
    }
}

fn create(path: &Path, file: &File) -> std::io::Result<()> {
    platform::create_new(path, if file.executable { 0o755 } else { 0o644 })?.write_all(&file.bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::package::manifest;
    use crate::package::schema::check_input;
    use crate::package::template::CallArguments;

    #[test]
    fn a_new_package_has_no_problems_and_can_be_packed() {
        let kinds =
            [("alice/hello", Scaffold::Script), ("alice/module", Scaffold::Wasm), ("@a/b/c", Scaffold::Document)];
        for (name, kind) in kinds {
            let folder = tempfile::tempdir().unwrap();
            let name = Name::parse(name).unwrap();
            let files = kind.write(&name, folder.path()).unwrap();
            let checked = manifest::of_folder(folder.path()).unwrap();
            assert_eq!((checked.errors.as_slice(), checked.warnings.as_slice()), (&[][..], &[][..]));
            let opened = crate::package::archive::pack(folder.path()).unwrap().opened;
            assert_eq!((&opened.manifest.name, opened.members.len()), (&name, files.len()));
            assert!(opened.manifest.doc.is_some());
            let error = kind.write(&name, folder.path()).unwrap_err();
            assert_eq!(error.code(), Code::AlreadyExists);
        }
    }

    #[test]
    fn the_module_is_compiled_from_its_text() {
        let module = wat::parse_str(include_str!("main.wat")).unwrap();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/package/scaffold/main.wasm");
            fs::write(made, &module).unwrap();
        }
        assert_eq!(
            module,
            include_bytes!("main.wasm"),
            "`UPDATE_DOCS=1 cargo test -p mcpkg-registry scaffold` makes it again"
        );
    }

    #[test]
    #[cfg(unix)]
    fn the_script_runs_and_prints_what_its_schema_says() {
        use mcpkg_base::process::{Limits, Program};
        let folder = tempfile::tempdir().unwrap();
        Scaffold::Script.write(&Name::parse("a/b").unwrap(), folder.path()).unwrap();
        let manifest = manifest::of_folder(folder.path()).unwrap().manifest().unwrap();
        let action = manifest.action(None).unwrap().unwrap();
        let values = json!({ "name": "World" });
        let schema = action.input_schema.as_ref();
        assert_eq!(check_input(schema.unwrap(), &values), []);
        assert!(!check_input(schema.unwrap(), &json!({ "name": "\"" })).is_empty());
        let values = values.as_object().unwrap();
        let argv =
            action.command.render(&mut CallArguments { schema, values, file: &mut |_, _| unreachable!() }).unwrap();
        let cancelled = tokio_util::sync::CancellationToken::new();
        let ran = Program::new(&argv[0])
            .args(&argv[1..])
            .folder(folder.path())
            .run(b"", &Limits::new(std::time::Duration::from_secs(10), &cancelled))
            .unwrap();
        let output: serde_json::Value = serde_json::from_slice(&ran.stdout.whole().unwrap()).unwrap();
        assert_eq!(output, json!({ "greeting": "Hello, World!" }));
        assert_eq!(check_input(action.output_schema.as_ref().unwrap(), &output), []);
    }
}
