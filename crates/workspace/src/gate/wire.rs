//! Reads the wire format of Protocol Buffers field by field. Unneeded fields are skipped without being loaded into
//! memory.

use std::fmt;
use std::io::{self, BufReader, ErrorKind, Read, Seek};

#[derive(Debug)]
pub enum Fault {
    /// The message ends too early.
    Truncated,
    /// The bytes are not a valid message, or break a limit.
    Malformed(String),
    Disk(io::Error),
}

impl Fault {
    pub fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed(what.into())
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEof => Self::Truncated,
            _ => Self::Disk(error),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("it is truncated"),
            Self::Malformed(what) => f.write_str(what),
            Self::Disk(error) => write!(f, "{error}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub number: u32,
    pub value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    /// Bytes, a string, a message or packed numbers, from the current position to the given one. The caller reads or skips this
    /// data before it asks for the next field.
    Part(u64),
}

impl Value {
    /// Returns the end position of a length-delimited field.
    ///
    /// # Errors
    /// [`Fault::Malformed`] for any other type of field.
    pub fn part(self) -> Result<u64, Fault> {
        match self {
            Self::Part(end) => Ok(end),
            _ => Err(Fault::malformed("a field has the wrong type")),
        }
    }

    /// Returns the integer of a varint field.
    ///
    /// # Errors
    /// [`Fault::Malformed`] for any other type of field.
    pub fn varint(self) -> Result<u64, Fault> {
        match self {
            Self::Varint(number) => Ok(number),
            _ => Err(Fault::malformed("a field has the wrong type")),
        }
    }
}

pub struct Wire<R> {
    from: BufReader<R>,
    at: u64,
}

impl<R: Read + Seek> Wire<R> {
    /// Returns a reader of messages that starts at the current position of `from`.
    pub fn new(from: R) -> Self {
        Self { from: BufReader::with_capacity(64 << 10, from), at: 0 }
    }

    /// Returns the next field of a message that ends at position `end`, or `None` at its end.
    pub fn next(&mut self, end: u64) -> Result<Option<Field>, Fault> {
        if self.at >= end {
            return Ok(None);
        }
        let key = self.varint(end)?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0);
        let number = number.ok_or_else(|| Fault::malformed("a field has no valid number"))?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint(end)?),
            1 => Value::Fixed64(self.array(end)?),
            2 => {
                let size = self.varint(end)?;
                Value::Part(self.at.checked_add(size).filter(|part| *part <= end).ok_or(Fault::Truncated)?)
            }
            5 => Value::Fixed32(self.array(end)?),
            _ => return Err(Fault::malformed("a field has an unknown type")),
        };
        Ok(Some(Field { number, value }))
    }

    /// Skips a value.
    pub fn pass(&mut self, value: Value) -> Result<(), Fault> {
        let Value::Part(end) = value else { return Ok(()) };
        let size = end.saturating_sub(self.at);
        self.from.seek_relative(i64::try_from(size).map_err(|_| Fault::Truncated)?)?;
        self.at = end;
        Ok(())
    }

    /// Returns the bytes up to position `end`; fails if these are more than `limit` bytes.
    pub fn bytes(&mut self, end: u64, limit: u64) -> Result<Vec<u8>, Fault> {
        let size = end.saturating_sub(self.at);
        if size > limit {
            return Err(Fault::malformed(format!("a field is larger than {limit} bytes")));
        }
        let mut bytes = Vec::new();
        self.from.by_ref().take(size).read_to_end(&mut bytes)?;
        self.at = end;
        if bytes.len() as u64 == size { Ok(bytes) } else { Err(Fault::Truncated) }
    }

    /// Returns the text up to position `end`; fails if it is longer than `limit` bytes.
    pub fn text(&mut self, end: u64, limit: u64) -> Result<String, Fault> {
        String::from_utf8(self.bytes(end, limit)?).map_err(|_| Fault::malformed("a string is not valid UTF-8"))
    }

    /// Reads a varint, which must end at position `end` or before it. Call it repeatedly to read the items of a packed
    /// field.
    pub fn varint(&mut self, end: u64) -> Result<u64, Fault> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array(end)?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Fault::malformed("a number is too long"))
    }

    /// Returns whether there is more to read before position `end`.
    pub fn has_more(&self, end: u64) -> bool {
        self.at < end
    }

    /// Returns the next `N` bytes, which must end at position `end` or before it.
    pub fn array<const N: usize>(&mut self, end: u64) -> Result<[u8; N], Fault> {
        let after = self.at + N as u64;
        if after > end {
            return Err(Fault::Truncated);
        }
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        self.at = after;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn fields_are_read_one_after_the_other() {
        // Field 1: 300, 2: "ab", 3: eight bytes, 4: four bytes, 5: a message with field 1: 7.
        let bytes =
            [&[0x08, 0xac, 0x02, 0x12, 2, b'a', b'b', 0x19][..], &[1; 8], &[0x25], &[2; 4], &[0x2a, 2, 0x08, 7]];
        let bytes = bytes.concat();
        let end = bytes.len() as u64;
        let mut wire = Wire::new(Cursor::new(bytes));
        let next = |wire: &mut Wire<_>| wire.next(end).unwrap().unwrap();
        assert_eq!(next(&mut wire), Field { number: 1, value: Value::Varint(300) });
        let text = next(&mut wire).value.part().unwrap();
        assert_eq!(wire.text(text, 2).unwrap(), "ab");
        assert_eq!(next(&mut wire).value, Value::Fixed64([1; 8]));
        assert_eq!(next(&mut wire).value, Value::Fixed32([2; 4]));
        let message = next(&mut wire).value.part().unwrap();
        assert_eq!(wire.next(message).unwrap().unwrap().value, Value::Varint(7));
        assert!(wire.next(message).unwrap().is_none() && wire.next(end).unwrap().is_none());
    }

    #[test]
    fn truncated_and_malformed_fields_are_faults() {
        let fault = |bytes: &[u8]| {
            let mut wire = Wire::new(Cursor::new(bytes));
            let field = wire.next(bytes.len() as u64)?;
            field.map_or(Ok(()), |field| wire.pass(field.value)).map(|()| "whole")
        };
        assert!(matches!(fault(&[]), Ok("whole")));
        for truncated in [&[0x08][..], &[0x08, 0x80], &[0x12, 3, b'a'], &[0x19, 1], &[0x25, 1], &[0x80]] {
            assert!(matches!(fault(truncated), Err(Fault::Truncated)), "{truncated:?}");
        }
        let endless = [&[0x08][..], &[0xff; 11]].concat();
        for malformed in [&[0x00, 1][..], &[0x0b], &[0x0f], &endless] {
            assert!(matches!(fault(malformed), Err(Fault::Malformed(_))), "{malformed:?}");
        }
    }
}
