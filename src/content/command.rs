//! A prompt as a slash command's file, and back.

use crate::content::names;
use crate::error::{Code, Error, Result};
use crate::store::prompts::Attributes;

/// Returns the path of a prompt's file below a folder of commands.
pub fn path(name: &str, attributes: &Attributes) -> String {
    attributes.file.clone().unwrap_or_else(|| format!("{name}.md"))
}

/// Checks what an export's manifest says of the file a prompt came from.
///
/// # Errors
/// `E_INVALID_ARGUMENT`.
pub fn check_origin(front_matter: Option<&str>, file: Option<&str>) -> Result<()> {
    names::check_text("The front matter", front_matter.unwrap_or_default())?;
    let stays = |path: &str| {
        path.ends_with(".md")
            && !path.contains(['\\', '\0'])
            && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
    };
    match file {
        Some(path) if !stays(path) => {
            Err(Error::new(Code::InvalidArgument, format!("`{}` is no command's file", path.escape_debug())))
        }
        _ => Ok(()),
    }
}

/// Returns the file of a prompt.
///
/// # Errors
/// `E_TEMPLATE_FAILED` where its template does not render.
pub fn to_file(_name: &str, attributes: &Attributes, text: &str) -> Result<String> {
    Ok(format!("{}{text}", attributes.front_matter.as_deref().unwrap_or_default()))
}
