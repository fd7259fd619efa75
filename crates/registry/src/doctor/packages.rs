//! Checks stored archives against their digests and their database rows.

use super::Depth;
use crate::package::archive;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::tools::packages::{self, PackageRow};

pub(super) const AREA: &str = "tool packages";

/// A brief check skips the archives if they are larger than this in total, in bytes.
const QUICK: u64 = 16 << 20;

pub(super) fn check(context: &Context, depth: Depth) -> Result<Vec<Finding>> {
    let rows = context.store.read(packages::all_kept)?;
    let size: u64 = rows.iter().map(|row| row.release.size).sum();
    if depth == Depth::Brief && size > QUICK {
        return Ok(Vec::new());
    }
    let (mut findings, mut sound) = (Vec::new(), 0_u64);
    for (number, row) in (1..).zip(&rows) {
        if context.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "Cancelled; nothing changed"));
        }
        (context.progress)("Verifying archives", number, rows.len() as u64);
        match check_archive(context, row) {
            Ok(()) => sound += 1,
            Err(error) => findings.push(broken(row, &error)),
        }
    }
    if sound > 0 || findings.is_empty() {
        let what = match sound {
            0 => "no archives are stored".to_owned(),
            1 => "1 stored archive is intact".to_owned(),
            many => format!("{many} stored archives are intact"),
        };
        findings.insert(0, Finding::new(AREA, Health::Ok, what));
    }
    Ok(findings)
}

fn broken(row: &PackageRow, error: &Error) -> Finding {
    let reference = format!("{}@{}", row.release.name, row.release.version);
    let what =
        format!("the archive of {reference} from registry '{}' is damaged: {}", row.release.registry, error.message());
    let again = format!("mcpkg tool uninstall {reference}, then mcpkg tool prune, and install the tool again");
    Finding::new(AREA, Health::Problem, what).action(format!("mcpkg restore FILE; or {again}"))
}

/// Fails unless an archive matches its digest, is valid, and has the name and version that its row states.
fn check_archive(context: &Context, row: &PackageRow) -> Result<()> {
    let archive = context.store.read(|db| packages::archive(db, row))?;
    let archive = archive.unwrap_or_else(|| Vec::new().into());
    if archive.sha256() != row.release.sha256 {
        return Err(Error::new(Code::DigestMismatch, "the stored archive does not match the SHA-256 in the database"));
    }
    let manifest = archive::open(archive)?.manifest;
    let reference = format!("{}@{}", row.release.name, row.release.version);
    match manifest.reference() == reference {
        true => Ok(()),
        false => Err(Error::new(Code::ArchiveInvalid, format!("the archive contains {}", manifest.reference()))),
    }
}
