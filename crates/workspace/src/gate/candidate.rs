//! Checks a file before it is registered as a model. The file is opened once, and its header is read through that
//! handle.

use std::fs::File;
use std::io::Seek;
use std::path::PathBuf;

use serde_json::json;

use super::files::Files;
use super::header::{Dim, Header, Port, Refusal};
use super::tensor::Dtype;
use mcpkg_base::error::{Code, Error, Result};

/// The maximum size of a model file, in bytes.
pub const MAX_MODEL: u64 = 1 << 30;

/// A file to register as a model.
pub struct Candidate {
    /// The file, open and positioned at its start.
    pub file: File,
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub size: u64,
    pub header: Header,
}

impl Candidate {
    /// Opens the file that the caller named.
    ///
    /// # Errors
    /// `E_GATE_FAILED` with the kind `too_large` or a [`Refusal::kind`]; otherwise the errors of opening a file.
    pub fn open(files: &mut Files, text: &str) -> Result<Self> {
        let path = files.path(text)?;
        let mut file = files.open(&path)?;
        let failed = |error| Error::file("read", &path, error);
        let size = file.metadata().map_err(failed)?.len();
        if size > MAX_MODEL {
            let what = format!("`{}` is larger than {} MiB, the limit for a model", path.display(), MAX_MODEL >> 20);
            return Err(Error::new(Code::GateFailed, what).with_details(json!({ "kind": "too_large", "path": text })));
        }
        let header = Header::read(&file, size).map_err(|refusal| refused(text, refusal))?;
        file.rewind().map_err(failed)?;
        Ok(Self { file, path, size, header })
    }

    /// Refuses a model that needs more than `memory` bytes: its file plus the tensors with a fixed shape in its header.
    ///
    /// # Errors
    /// `E_GATE_FAILED` with the kind `too_large`.
    pub fn fits(self, memory: u64) -> Result<Self> {
        let tensors = self.header.inputs.iter().chain(&self.header.outputs).filter_map(bytes_of);
        let bytes = tensors.fold(self.size, u64::saturating_add);
        if bytes <= memory {
            return Ok(self);
        }
        let what = format!(
            "`{}` cannot run: its file, inputs and outputs need {} MiB of memory, but a test can use only {} MiB",
            self.path.display(),
            bytes >> 20,
            memory >> 20
        );
        Err(Error::new(Code::GateFailed, what)
            .with_details(json!({ "kind": "too_large", "path": self.path.display().to_string(), "bytes": bytes })))
    }
}

/// Returns the size of a tensor in bytes, if the header fixes its shape.
fn bytes_of(port: &Port) -> Option<u64> {
    let dtype = Dtype::named(&port.dtype)?;
    let fixed = |dim: &Dim| match dim {
        Dim::Fixed(length) => Some(*length),
        Dim::Named(_) | Dim::Any => None,
    };
    let lengths: Vec<u64> = port.shape.as_ref()?.iter().map(fixed).collect::<Option<_>>()?;
    Some(lengths.into_iter().fold(dtype.size() as u64, u64::saturating_mul))
}

fn refused(path: &str, refusal: Refusal) -> Error {
    let details = json!({ "kind": refusal.kind(), "path": path });
    let error = Error::new(Code::GateFailed, format!("`{}` {refusal}", path.escape_debug())).with_details(details);
    match refusal {
        Refusal::ExternalData => error.hint("save the model as a single file that includes its weights"),
        Refusal::Disk(cause) => error.with_source(cause),
        Refusal::NotOnnx(_) | Refusal::Truncated | Refusal::NoGraph => error,
    }
}
