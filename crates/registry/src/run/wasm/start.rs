//! Exports the start function of a module under another name. A start function normally runs while an instance is
//! created, when it cannot be interrupted. As an export, it is called separately, before `_start`.

/// The name of the export.
pub const EXPORT: &str = "mcpkg:start";

/// Bytes before the first section.
const HEADER: usize = 8;

const EXPORTS: u8 = 7;
const START: u8 = 8;

const FUNCTION: u8 = 0;

/// The number and the content of a section.
type Section<'m> = (u8, &'m [u8]);

/// Returns the module with its start function exported; `None` if it has no start function, or cannot be parsed.
pub fn exported(module: &[u8]) -> Option<Vec<u8>> {
    let (header, rest) = module.split_at_checked(HEADER)?;
    let sections = sections(rest)?;
    let at = sections.iter().position(|(number, _)| *number == START)?;
    let (function, []) = number(sections[at].1)? else { return None };
    let mut export = Vec::new();
    text(&mut export, EXPORT);
    export.push(FUNCTION);
    put(&mut export, function);
    let mut made = header.to_vec();
    let has_exports = sections.iter().any(|(number, _)| *number == EXPORTS);
    for (place, (number, content)) in sections.iter().enumerate() {
        match *number {
            // The module has no export section. Write one here, because it must come directly before the start section.
            START if place == at && !has_exports => section(&mut made, EXPORTS, &[&[1], &export[..]].concat()),
            START if place == at => {}
            EXPORTS => section(&mut made, EXPORTS, &with(content, &export)?),
            number => section(&mut made, number, content),
        }
    }
    Some(made)
}

/// Splits a module into sections, without its header.
fn sections(mut rest: &[u8]) -> Option<Vec<Section<'_>>> {
    let mut sections = Vec::new();
    while let [id, after @ ..] = rest {
        let (length, after) = number(after)?;
        let (content, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
        sections.push((*id, content));
        rest = after;
    }
    Some(sections)
}

/// Adds an export to a section of exports.
fn with(content: &[u8], export: &[u8]) -> Option<Vec<u8>> {
    let (count, entries) = number(content)?;
    let mut made = Vec::new();
    put(&mut made, count.checked_add(1)?);
    made.extend_from_slice(entries);
    made.extend_from_slice(export);
    Some(made)
}

fn section(to: &mut Vec<u8>, id: u8, content: &[u8]) {
    to.push(id);
    put(to, u32::try_from(content.len()).unwrap_or(u32::MAX));
    to.extend_from_slice(content);
}

fn text(to: &mut Vec<u8>, text: &str) {
    put(to, u32::try_from(text.len()).unwrap_or(u32::MAX));
    to.extend_from_slice(text.as_bytes());
}

/// Reads a 32-bit number in LEB128, and returns it with the rest.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut value: u64 = 0;
    for (place, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((u32::try_from(value).ok()?, &bytes[place + 1..]));
        }
    }
    None
}

/// Writes a number in LEB128.
fn put(to: &mut Vec<u8>, mut number: u32) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        match number {
            0 => return to.push(low & 0x7f),
            _ => to.push(low | 0x80),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Option<Vec<u8>> {
        exported(&wat::parse_str(text).expect("a module"))
    }

    #[test]
    fn a_start_function_becomes_an_export_and_nothing_else_changes() {
        let with = "(module (memory (export \"memory\") 1) (func $s) (start $s) (data (i32.const 0) \"x\"))";
        let same = "(module (memory (export \"memory\") 1) (func $s) (export \"mcpkg:start\" (func $s)) (data (i32.const 0) \"x\"))";
        let stripped = |text: &str| {
            // Function names are in a separate section, which would differ between the modules.
            let module = wat::parse_str(text.replace("$s", "0").replacen("(func 0)", "(func)", 1)).expect("a module");
            exported(&module).unwrap_or(module)
        };
        assert_eq!(stripped(with), stripped(same));
        let without = "(module (func $s) (start $s))";
        let same = "(module (func $s) (export \"mcpkg:start\" (func $s)))";
        assert_eq!(stripped(without), stripped(same));
        assert_eq!(of("(module (func (export \"_start\")))"), None);
    }

    #[test]
    fn numbers_come_out_as_they_went_in() {
        for value in [0, 1, 127, 128, 300, 65_535, u32::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!(number(&bytes), Some((value, &[][..])));
        }
        assert_eq!(number(&[0xff; 6]), None);
        assert_eq!(number(&[0x80]), None);
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), at in 0_usize..64) {
            let _ = exported(&bytes);
            let mut module = wat::parse_str("(module (func $s) (start $s))").expect("a module");
            let at = at % module.len();
            module[at] = bytes.first().copied().unwrap_or_default();
            let _ = exported(&module);
        }
    }
}
