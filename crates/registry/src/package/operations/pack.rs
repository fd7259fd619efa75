//! `mcpkg tool pack`: packs a folder into an archive.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::validate::here;
use crate::GROUP;
use crate::package::archive::{self, Packed};
use crate::package::manifest::Manifest;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Effect, Faces, LISTED_BY_VERBOSE, MissingDatabase, NoOutput, Operation, Reply};

/// Pack a tool
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Pack {
    /// Folder of the package [default: the current folder]
    #[arg(value_name = "DIR", default_value = ".")]
    #[serde(default = "here")]
    folder: PathBuf,
    /// File to write [default: NAME-VERSION.tar.gz next to the folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Operation for Pack {
    const TOOL: &'static str = "pack_tool";
    const CLI: &'static [&'static str] = &["tool", "pack"];
    const TITLE: &'static str = "Pack a tool";
    const ABOUT: &'static str = "Pack a tool into an archive, to sign and publish it";
    const HELP: &'static str = "The same files produce a byte-identical archive on every machine. Packing leaves out hidden files, keys \
        and certificates, logs, generated folders (such as node_modules, dist and target), and everything listed in .gitignore. To \
        include a generated folder, negate it in .gitignore, for example with `!dist/`. mcpkg never replaces an existing archive file \
        with a different archive.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool pack", "mcpkg tool pack ./weather -o weather.tar.gz"];
    const EFFECT: Effect = Effect::Read;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn writes_files(&self) -> bool {
        true
    }

    fn run(self, _context: &Context) -> Result<Reply> {
        let Packed { opened, left_out } = archive::pack(&self.folder)?;
        let real = |path: &Path| mcpkg_base::platform::real(path).map_err(|error| Error::file("read", path, error));
        let folder = real(&self.folder)?;
        let output = match self.output {
            Some(output) => output,
            None => folder.parent().unwrap_or(&folder).join(file_name(&opened.manifest)),
        };
        refuse_inside(&folder, &output, &left_out)?;
        write(&output, &opened.content.bytes()?)?;
        let shown = output.display().to_string();
        let sentence = format!(
            "Packed {} into `{shown}`: {}, {} bytes",
            opened.manifest.reference(),
            plural::count(opened.members.len(), "file"),
            opened.content.size(),
        );
        let data = json!({
            "name": opened.manifest.name,
            "version": opened.manifest.version.as_ref().map(ToString::to_string),
            "file": shown,
            "sha256": hex::encode(&opened.sha256),
            "size": opened.content.size(),
            "files": opened.members.iter().map(|member| &member.path).collect::<Vec<_>>(),
            "left_out": left_out,
        });
        let mut reply = Reply::sentence(sentence, data);
        if !left_out.is_empty() {
            let count = plural::count(left_out.len(), "file or folder").replace("file or folders", "files or folders");
            reply = reply.hint(format!("{count} left out{LISTED_BY_VERBOSE}"));
            reply.details = left_out.iter().map(|path| format!("left out: {}", path.escape_debug())).collect();
        }
        Ok(reply)
    }
}

/// Returns the default file name of an archive: `alice/utils/weather` 1.2.0 -> `alice-utils-weather-1.2.0.tar.gz`.
fn file_name(manifest: &Manifest) -> String {
    let name = manifest.name.as_str().trim_start_matches('@').replace('/', "-");
    manifest.version.as_ref().map_or(name.clone(), |version| format!("{name}-{version}")) + ".tar.gz"
}

/// Refuses an output path that the next archive would include.
fn refuse_inside(folder: &Path, output: &Path, left_out: &[String]) -> Result<()> {
    let above = match output.parent() {
        Some(above) if above != Path::new("") => above,
        _ => Path::new("."),
    };
    let above = mcpkg_base::platform::real(above).map_err(|error| Error::file("write", output, error))?;
    let Ok(below) = above.strip_prefix(folder) else { return Ok(()) };
    if left_out.iter().any(|path| below.starts_with(path)) {
        return Ok(());
    }
    let message = format!("`{}` is inside the package, so the next archive would include it", output.display());
    Err(Error::new(Code::InvalidArgument, message)
        .hint("write the archive elsewhere, or into a folder that packing leaves out"))
}

/// Writes the archive. Leaves a file with the same bytes unchanged, and refuses to replace any other file.
fn write(output: &Path, bytes: &[u8]) -> Result<()> {
    if disk::look(output)?.bytes() == Some(bytes) {
        return Ok(());
    }
    let mut temporary = output.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    if disk::metadata(output)?.is_some() {
        let message = format!("`{}` already exists, with different contents", output.display());
        return Err(Error::new(Code::AlreadyExists, message).hint("remove this file, or choose another one with `-o`"));
    }
    disk::write_beside(output, &temporary, bytes, disk::FILE)?;
    disk::put_in_place(output, &temporary, true)?;
    disk::sync_folder(output.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new(".")));
    Ok(())
}
