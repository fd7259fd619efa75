//! Accesses the memory of a module. Every address from the module is checked first.

use std::ops::Range;

use super::errno::{Answer, Errno};

/// The maximum length of a path in bytes.
const MAX_PATH: u32 = 4096;

/// The maximum number of buffers of one call.
const MAX_BUFFERS: u32 = 1024;

/// The maximum number of bytes that one call moves. A longer read or write is cut there, as with a pipe.
pub const MAX_MOVED: u32 = 1 << 20;

pub struct Guest<'m>(&'m mut [u8]);

/// A range of the module's memory, already checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub at: u32,
    pub length: u32,
}

impl<'m> Guest<'m> {
    pub fn new(memory: &'m mut [u8]) -> Self {
        Self(memory)
    }

    fn range(&self, at: u32, length: u32) -> Answer<Range<usize>> {
        let begin = usize::try_from(at).map_err(|_| Errno::FAULT)?;
        let end = begin.checked_add(usize::try_from(length).map_err(|_| Errno::FAULT)?).ok_or(Errno::FAULT)?;
        if end > self.0.len() { Err(Errno::FAULT) } else { Ok(begin..end) }
    }

    /// Returns the bytes at an address.
    pub fn bytes(&self, at: u32, length: u32) -> Answer<&[u8]> {
        let range = self.range(at, length)?;
        self.0.get(range).ok_or(Errno::FAULT)
    }

    /// Returns the bytes at an address for writing.
    pub fn bytes_mut(&mut self, at: u32, length: u32) -> Answer<&mut [u8]> {
        let range = self.range(at, length)?;
        self.0.get_mut(range).ok_or(Errno::FAULT)
    }

    /// Reads the `N` bytes of a structure's field, at an offset from the structure's address.
    fn field<const N: usize>(&self, at: u32, offset: u32) -> Answer<[u8; N]> {
        let at = at.checked_add(offset).ok_or(Errno::FAULT)?;
        let length = u32::try_from(N).map_err(|_| Errno::FAULT)?;
        self.bytes(at, length)?.try_into().map_err(|_| Errno::FAULT)
    }

    pub fn u8(&self, at: u32, offset: u32) -> Answer<u8> {
        self.field(at, offset).map(u8::from_le_bytes)
    }

    pub fn u16(&self, at: u32, offset: u32) -> Answer<u16> {
        self.field(at, offset).map(u16::from_le_bytes)
    }

    pub fn u32(&self, at: u32, offset: u32) -> Answer<u32> {
        self.field(at, offset).map(u32::from_le_bytes)
    }

    pub fn u64(&self, at: u32, offset: u32) -> Answer<u64> {
        self.field(at, offset).map(u64::from_le_bytes)
    }

    /// Writes bytes at an address.
    pub fn put(&mut self, at: u32, bytes: &[u8]) -> Answer {
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::FAULT)?;
        self.bytes_mut(at, length)?.copy_from_slice(bytes);
        Ok(())
    }

    pub fn put_u32(&mut self, at: u32, value: u32) -> Answer {
        self.put(at, &value.to_le_bytes())
    }

    pub fn put_u64(&mut self, at: u32, value: u64) -> Answer {
        self.put(at, &value.to_le_bytes())
    }

    /// Reads a path, which must be UTF-8 without NUL.
    pub fn path(&self, at: u32, length: u32) -> Answer<&str> {
        if length > MAX_PATH {
            return Err(Errno::NAMETOOLONG);
        }
        let text = std::str::from_utf8(self.bytes(at, length)?).map_err(|_| Errno::ILSEQ)?;
        if text.contains('\0') { Err(Errno::INVAL) } else { Ok(text) }
    }

    /// Reads a list of buffers, shortened to [`MAX_MOVED`] bytes in total. All of them are checked, even those that
    /// are not used.
    pub fn buffers(&self, at: u32, count: u32) -> Answer<Vec<Buffer>> {
        if count > MAX_BUFFERS {
            return Err(Errno::INVAL);
        }
        let mut buffers = Vec::new();
        let mut left = MAX_MOVED;
        for number in 0..count {
            let at = at.checked_add(number * 8).ok_or(Errno::FAULT)?;
            let buffer = Buffer { at: self.u32(at, 0)?, length: self.u32(at, 4)? };
            self.range(buffer.at, buffer.length)?;
            let length = buffer.length.min(left);
            left -= length;
            if length > 0 {
                buffers.push(Buffer { length, ..buffer });
            }
        }
        Ok(buffers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_of_the_memory_is_a_fault() {
        let mut memory = [1, 2, 3, 4, 5, 6, 7, 8];
        let mut guest = Guest::new(&mut memory);
        assert_eq!(guest.u32(4, 0), Ok(u32::from_le_bytes([5, 6, 7, 8])));
        assert_eq!(guest.bytes(8, 0), Ok(&[][..]));
        for (at, length) in [(8, 1), (0, 9), (u32::MAX, 1), (1, u32::MAX), (u32::MAX, u32::MAX), (9, 0)] {
            assert_eq!(guest.bytes(at, length), Err(Errno::FAULT), "{length} bytes at {at}");
        }
        assert_eq!(guest.u64(u32::MAX, 8), Err(Errno::FAULT));
        assert_eq!(guest.put_u64(1, 0), Err(Errno::FAULT));
        assert_eq!(memory, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn buffers_are_checked_and_moved_in_part() {
        let mut memory = vec![0; 3 << 20];
        let list = [(64, 10), (100, MAX_MOVED), (0, 1)];
        for (number, (at, length)) in list.into_iter().enumerate() {
            memory[number * 8..][..4].copy_from_slice(&u32::to_le_bytes(at));
            memory[number * 8 + 4..][..4].copy_from_slice(&u32::to_le_bytes(length));
        }
        let mut guest = Guest::new(&mut memory);
        let expected = [Buffer { at: 64, length: 10 }, Buffer { at: 100, length: MAX_MOVED - 10 }];
        assert_eq!(guest.buffers(0, 3), Ok(expected.to_vec()));
        guest.put_u32(16, 3 << 20).expect("in memory");
        assert_eq!(guest.buffers(0, 3), Err(Errno::FAULT), "the third one is outside");
        assert_eq!(guest.buffers(0, MAX_BUFFERS + 1), Err(Errno::INVAL));
        assert_eq!(guest.buffers(u32::MAX - 3, 2), Err(Errno::FAULT));
    }
}
