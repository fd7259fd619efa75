//! Reads generated resources of this domain, such as `mcpkg://prompt/NAME`, for the tool `read_resource`. Other domains
//! have tools of their own for their generated resources.

use crate::{answer, resource, skills};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Contents, Context, ResourceRequest};
use mcpkg_store::Db;
use mcpkg_store::blobs::{self, Blob, Verify};

/// A generated resource that was read.
pub(super) struct DomainResource {
    pub(super) uri: String,
    pub(super) name: String,
    pub(super) mime_type: Option<String>,
    pub(super) size: i64,
    pub(super) is_text: bool,
    pub(super) bytes: Vec<u8>,
}

/// Reads the generated resource with this URI, if there is one.
pub(super) fn read(db: &Db<'_>, context: &Context, uri: &str) -> Result<Option<DomainResource>> {
    for known in [resource::RESOURCES, skills::RESOURCES].into_iter().flatten() {
        let Some(values) = known.values(uri) else { continue };
        let asked = ResourceRequest { db, selection: &context.selection, uri, values, max_answer: context.max_answer };
        let mut taken = Collector { uri, max_answer: context.max_answer, found: None };
        if (known.read)(&asked, &mut taken)? {
            let found = taken.found.map(|found| DomainResource { name: known.name.to_owned(), ..found });
            return Ok(found);
        }
    }
    Ok(None)
}

/// Collects the content that a generated resource's `read` function produces.
struct Collector<'u> {
    uri: &'u str,
    max_answer: u64,
    found: Option<DomainResource>,
}

impl Collector<'_> {
    fn take(&mut self, mime_type: Option<&str>, is_text: bool, bytes: Vec<u8>) {
        self.found = Some(DomainResource {
            uri: self.uri.to_owned(),
            name: String::new(),
            mime_type: mime_type.map(str::to_owned),
            size: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            is_text,
            bytes,
        });
    }

    fn check(&self, size: u64, shell: &dyn Fn() -> String) -> Result<()> {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        answer::check_size(size, self.max_answer, || format!("Resource '{}'", self.uri), shell)
    }
}

impl Contents for Collector<'_> {
    fn text(&mut self, mime_type: Option<&str>, text: &str, shell: &dyn Fn() -> String) -> Result<()> {
        self.check(text.len() as u64, shell)?;
        self.take(mime_type, true, text.as_bytes().to_vec());
        Ok(())
    }

    fn blob(
        &mut self,
        db: &Db<'_>,
        mime_type: Option<&str>,
        is_text: bool,
        blob: Blob<'_>,
        shell: &dyn Fn() -> String,
    ) -> Result<()> {
        self.check(blob.size, shell)?;
        let mut bytes = Vec::new();
        blobs::stream(db, blob, Verify::Checksum, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        self.take(mime_type, is_text, bytes);
        Ok(())
    }
}
