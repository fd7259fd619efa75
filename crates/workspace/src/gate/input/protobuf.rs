//! Reads inputs from ONNX's own format for test data: a TensorProto.

use std::io::Cursor;

use crate::gate::tensor::{self, Dtype, Named, Tensor};
use crate::gate::wire::{Fault, Value, Wire};

/// The maximum number of dimensions of a tensor.
const MAX_RANK: usize = 64;

/// The maximum length of a tensor's name, in bytes.
const MAX_NAME: u64 = 4096;

/// Reads a tensor and its name.
///
/// # Errors
/// A sentence that says what is wrong with the file.
pub fn read(bytes: &[u8]) -> Result<Named, String> {
    let proto = Proto::read(bytes).map_err(|fault| format!("it is not an ONNX tensor: {fault}"))?;
    if proto.is_external {
        return Err("its values are in another file, which is not supported".to_owned());
    }
    let Some(dtype) = Dtype::of_code(proto.data_type) else {
        return Err(format!("tensors of {} are not supported", Dtype::name_of_code(proto.data_type)));
    };
    let mut bytes = proto.raw;
    if bytes.is_empty() {
        bytes = unpacked(dtype, &proto.numbers)?;
    }
    let tensor = Tensor::new(dtype, proto.dims, bytes)?;
    Ok((Some(proto.name).filter(|name| !name.is_empty()), tensor))
}

#[derive(Default)]
struct Proto {
    name: String,
    data_type: u64,
    dims: Vec<u64>,
    raw: Vec<u8>,
    /// The numbers from the typed fields: four bytes each in float_data, eight bytes each in the others.
    numbers: Vec<u8>,
    is_external: bool,
}

impl Proto {
    fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let (mut wire, size) = (Wire::new(Cursor::new(bytes)), bytes.len() as u64);
        let mut proto = Self::default();
        while let Some(field) = wire.next(size)? {
            match field.number {
                1 => {
                    each_varint(&mut wire, field.value, |length| proto.dims.push(length))?;
                    if proto.dims.len() > MAX_RANK {
                        return Err(Fault::malformed("it has too many dimensions"));
                    }
                }
                2 => proto.data_type = field.value.varint()?,
                // The fields float_data and double_data.
                4 => match field.value {
                    Value::Fixed32(number) => proto.numbers.extend(number),
                    value => proto.numbers.extend(wire.bytes(value.part()?, size)?),
                },
                10 => match field.value {
                    Value::Fixed64(number) => proto.numbers.extend(number),
                    value => proto.numbers.extend(wire.bytes(value.part()?, size)?),
                },
                // The fields int32_data, int64_data and uint64_data.
                5 | 7 | 11 => {
                    each_varint(&mut wire, field.value, |number| proto.numbers.extend(number.to_le_bytes()))?;
                }
                tensor::NAME => proto.name = wire.text(field.value.part()?, MAX_NAME)?,
                9 => proto.raw = wire.bytes(field.value.part()?, size)?,
                tensor::LOCATION => proto.is_external = field.value.varint()? == tensor::EXTERNAL,
                _ => wire.pass(field.value)?,
            }
        }
        Ok(proto)
    }
}

/// Calls `each` for every integer of a field, packed or single.
fn each_varint(wire: &mut Wire<Cursor<&[u8]>>, value: Value, mut each: impl FnMut(u64)) -> Result<(), Fault> {
    match value {
        Value::Varint(number) => each(number),
        value => {
            let end = value.part()?;
            while wire.has_more(end) {
                each(wire.varint(end)?);
            }
        }
    }
    Ok(())
}

/// Converts the numbers of the typed fields to elements of `dtype`.
fn unpacked(dtype: Dtype, numbers: &[u8]) -> Result<Vec<u8>, String> {
    if matches!(dtype, Dtype::Float32 | Dtype::Float64) {
        return Ok(numbers.to_vec());
    }
    let size = dtype.size();
    let mut bytes = Vec::with_capacity(numbers.len() / 8 * size);
    for number in numbers.chunks_exact(8) {
        let (low, high) = number.split_at(size);
        // The dropped bytes must only repeat the sign. Otherwise, the number does not fit.
        if !high.iter().all(|byte| *byte == 0) && !high.iter().all(|byte| *byte == 0xff) {
            return Err(format!("a number is not of type {}", dtype.name()));
        }
        bytes.extend_from_slice(low);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tensors_of_onnx_are_read() {
        let (name, relu) = read(include_bytes!("../../../../../tests/fixtures/onnx/relu/input_0.pb")).unwrap();
        assert_eq!((name.as_deref(), relu.dtype, relu.shape.as_slice()), (Some("x"), Dtype::Float32, &[1, 2][..]));
        // A tensor of type int8 and shape [2]: int32_data, packed, holds -1 and 2.
        let packed = [&[0x08, 2, 0x10, 3, 0x2a, 11][..], &[0xff; 9], &[1, 2]].concat();
        let (name, tensor) = read(&packed).unwrap();
        assert_eq!((name, tensor.dtype, tensor.bytes), (None, Dtype::Int8, vec![0xff, 2]));
        // A tensor of type float32 and shape [1]: float_data, not packed, holds 1.0.
        let (_, tensor) = read(&[0x08, 1, 0x10, 1, 0x25, 0, 0, 0x80, 0x3f]).unwrap();
        assert_eq!(tensor.bytes, 1.0_f32.to_le_bytes());
    }

    #[test]
    fn invalid_tensors_are_refused_with_a_reason() {
        for (bytes, why) in [
            (&b"\xff"[..], "it is not an ONNX tensor: it is truncated"),
            (&[0x10, 8], "tensors of string are not supported"),
            (&[0x10, 16], "tensors of bfloat16 are not supported"),
            (&[0x10, 22], "tensors of int4 are not supported"),
            (&[], "tensors of unknown are not supported"),
            (&[0x10, 1, 0x70, 1], "its values are in another file, which is not supported"),
            (&[0x08, 9, 0x10, 1], "its shape [9] (float32) does not match its number of elements, 0"),
            (&[0x08, 1, 0x10, 3, 0x28, 0xac, 2], "a number is not of type int8"),
        ] {
            assert_eq!(read(bytes).unwrap_err(), why);
        }
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
