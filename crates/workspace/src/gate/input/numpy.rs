//! Reads inputs from NumPy's .npy files.

use std::sync::LazyLock;

use regex::Regex;

use crate::gate::tensor::{Dtype, Tensor};

/// The first bytes of a .npy file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The maximum size of the header text, which describes the array, in bytes.
const MAX_HEADER: usize = 16 << 10;

static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    let order = "'fortran_order':\\s*(True|False)";
    let header =
        format!(r"^\{{\s*'descr':\s*'([<>=|])([a-z][0-9]+)',\s*{order},\s*'shape':\s*\(([0-9, ]*)\),?\s*\}}\s*$");
    Regex::new(&header).expect("a constant pattern")
});

/// Reads a tensor.
///
/// # Errors
/// A sentence that says what is wrong with the file.
pub fn read(bytes: &[u8]) -> Result<Tensor, String> {
    let none = || "it is not a .npy file".to_owned();
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(none)?;
    let (size, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return Err(none()),
    };
    let (header, data) = rest.split_at_checked(size).filter(|_| size <= MAX_HEADER).ok_or_else(none)?;
    let header = std::str::from_utf8(header).ok().and_then(|header| HEADER.captures(header)).ok_or_else(none)?;
    let dtype = Dtype::of_numpy(&header[2]).ok_or_else(|| format!("tensors of {} are not supported", &header[2]))?;
    if &header[1] == ">" && dtype.size() > 1 {
        return Err("its numbers are big-endian, which is not supported".to_owned());
    }
    if &header[3] == "True" {
        return Err("it is in Fortran order; convert it with `numpy.ascontiguousarray`".to_owned());
    }
    let lengths = header[4].split(',').map(str::trim).filter(|length| !length.is_empty());
    let shape: Option<Vec<u64>> = lengths.map(|length| length.parse().ok()).collect();
    Tensor::new(dtype, shape.ok_or_else(none)?, data.to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes()].concat();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    #[test]
    fn arrays_are_read() {
        let whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }          \n", &[0; 8]);
        let tensor = read(&whole).unwrap();
        assert_eq!((tensor.dtype, tensor.shape), (Dtype::Float32, vec![1, 2]));
        let scalar = npy("{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", &[1]);
        assert_eq!(read(&scalar).unwrap().shape, [0_u64; 0]);
        let one = npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }\n", &[1; 8]);
        assert_eq!(read(&one).unwrap().shape, [1]);
    }

    #[test]
    fn invalid_files_are_refused_with_a_reason() {
        let of = |descr: &str, order: &str, shape: &str| {
            npy(&format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}\n"), &[0; 8])
        };
        for (bytes, why) in [
            (b"PK".to_vec(), "it is not a .npy file"),
            (MAGIC.to_vec(), "it is not a .npy file"),
            (npy("{'descr': [('a', '<f4')]}", &[]), "it is not a .npy file"),
            (of("<c8", "False", "4"), "tensors of c8 are not supported"),
            (of(">f4", "False", "2"), "its numbers are big-endian, which is not supported"),
            (of("<f4", "False", "3"), "its shape [3] (float32) does not match its number of elements, 2"),
            (of("<f4", "False", "99999999999999999999"), "it is not a .npy file"),
        ] {
            assert_eq!(read(&bytes).unwrap_err(), why);
        }
        assert!(read(&of("<f4", "True", "2")).unwrap_err().contains("Fortran"));
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&[MAGIC, &bytes].concat());
        }
    }
}
