//! Reads the inputs and outputs of an ONNX model from its header, without the weights and without an engine.

use std::collections::HashSet;
use std::io::{Read, Seek};

use serde::{Deserialize, Serialize};

use super::tensor::{self, Dtype};
use super::wire::{Fault, Value, Wire};
use mcpkg_base::error::nearest;

/// The maximum number of bytes that names and shapes may take up in a header.
const MAX_PORTS: u64 = 1 << 20;

/// The maximum number of bytes that names of weights may take up.
const MAX_WEIGHTS: u64 = 64 << 20;

/// The parts of a model file that the gate reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the ONNX file format.
    pub ir_version: u64,
    /// The version of ONNX's standard operator set, if the model uses it.
    pub opset: Option<u64>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    pub name: String,
    /// The element type of a tensor. If the value is not a tensor, its kind, such as a sequence.
    pub dtype: String,
    /// The shape; `None` if the model does not fix the number of dimensions.
    pub shape: Option<Vec<Dim>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Dim {
    Fixed(u64),
    /// A variable length with a name, such as `batch`.
    Named(String),
    Any,
}

/// Finds a port by name.
///
/// # Errors
/// A message with the closest name, or with all names.
pub fn named_port<'p>(ports: &'p [Port], name: &str) -> Result<&'p Port, String> {
    ports.iter().find(|port| port.name == name).ok_or_else(|| {
        let names = ports.iter().map(|port| port.name.as_str());
        let near = match nearest(name, names.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it takes {}", names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
        };
        format!("the model has no input `{}`; {near}", name.escape_debug())
    })
}

/// The reasons why a file cannot be registered as a model.
#[derive(Debug)]
pub enum Refusal {
    /// The file is not an ONNX model.
    NotOnnx(String),
    /// The file ends too early.
    Truncated,
    /// The model has no graph.
    NoGraph,
    /// The weights are in other files.
    ExternalData,
    Disk(std::io::Error),
}

impl Refusal {
    /// Returns the word for programs: `truncated`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::NotOnnx(_) => "not_onnx",
            Self::Truncated => "truncated",
            Self::NoGraph => "no_graph",
            Self::ExternalData => "external_data",
            Self::Disk(_) => "disk",
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotOnnx(why) => write!(f, "is not an ONNX model: {why}"),
            Self::Truncated => f.write_str("is a truncated ONNX model"),
            Self::NoGraph => f.write_str("is an ONNX model without a graph"),
            Self::ExternalData => f.write_str("stores its weights in other files, which the gate does not support"),
            Self::Disk(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Truncated => Self::Truncated,
            Fault::Malformed(what) => Self::NotOnnx(what),
            Fault::Disk(error) => Self::Disk(error),
        }
    }
}

impl Header {
    /// Reads the header of a model of `size` bytes, starting at the current position of `from`.
    pub fn read(from: impl Read + Seek, size: u64) -> Result<Self, Refusal> {
        let mut wire = Wire::new(from);
        let (mut ir_version, mut has_operators, mut opset, mut graph) = (None, false, None, None);
        let mut left = MAX_PORTS;
        while let Some(field) = wire.next(size)? {
            match field.number {
                1 => ir_version = Some(field.value.varint()?),
                7 => graph = Some(Graph::read(&mut wire, field.value.part()?, &mut left)?),
                8 => {
                    has_operators = true;
                    let (domain, version) = operators(&mut wire, field.value.part()?, &mut left)?;
                    if domain.is_empty() || domain == "ai.onnx" {
                        opset = Some(version);
                    }
                }
                _ => wire.pass(field.value)?,
            }
        }
        let ir_version = ir_version.filter(|version| (1..1000).contains(version));
        let ir_version = ir_version.ok_or_else(|| Refusal::NotOnnx("its version is missing".to_owned()))?;
        let graph = graph.ok_or(Refusal::NoGraph)?;
        if graph.is_external {
            return Err(Refusal::ExternalData);
        }
        // Since version 3 of the format, a model has to name its operator sets.
        if !has_operators && ir_version >= 3 {
            return Err(Refusal::NotOnnx("it does not name its operator set".to_owned()));
        }
        // Up to version 3 of the format, weights are also listed as inputs.
        let inputs = graph.inputs.into_iter().filter(|input| !graph.weights.contains(&input.name)).collect();
        Ok(Self { ir_version, opset, inputs, outputs: graph.outputs })
    }
}

/// The parts of a graph that the gate needs.
#[derive(Default)]
struct Graph {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    weights: HashSet<String>,
    /// Whether any weights are in other files.
    is_external: bool,
}

impl Graph {
    fn read<R: Read + Seek>(wire: &mut Wire<R>, end: u64, left: &mut u64) -> Result<Self, Fault> {
        let mut graph = Self::default();
        let mut weights_left = MAX_WEIGHTS;
        while let Some(field) = wire.next(end)? {
            match field.number {
                5 => {
                    let (name, is_external) = weight(wire, field.value.part()?, &mut weights_left)?;
                    graph.weights.insert(name);
                    graph.is_external |= is_external;
                }
                11 => graph.inputs.push(port(wire, field.value.part()?, left)?),
                12 => graph.outputs.push(port(wire, field.value.part()?, left)?),
                _ => wire.pass(field.value)?,
            }
        }
        Ok(graph)
    }
}

/// Reads a text and subtracts its size, plus overhead, from the bytes that are left.
fn text<R: Read + Seek>(wire: &mut Wire<R>, value: Value, left: &mut u64) -> Result<String, Fault> {
    let text = wire.text(value.part()?, *left)?;
    take(left, text.len() as u64)?;
    Ok(text)
}

/// Subtracts `bytes`, plus 8 bytes of overhead, from the bytes that are left.
fn take(left: &mut u64, bytes: u64) -> Result<(), Fault> {
    *left = left.checked_sub(bytes + 8).ok_or_else(|| Fault::malformed("its header is too long"))?;
    Ok(())
}

fn operators<R: Read + Seek>(wire: &mut Wire<R>, end: u64, left: &mut u64) -> Result<(String, u64), Fault> {
    let (mut domain, mut version) = (String::new(), 0);
    while let Some(field) = wire.next(end)? {
        match field.number {
            1 => domain = text(wire, field.value, left)?,
            2 => version = field.value.varint()?,
            _ => wire.pass(field.value)?,
        }
    }
    Ok((domain, version))
}

/// Returns the name of a weight, and whether its values are in another file.
fn weight<R: Read + Seek>(wire: &mut Wire<R>, end: u64, left: &mut u64) -> Result<(String, bool), Fault> {
    let (mut name, mut is_external) = (String::new(), false);
    take(left, 0)?;
    while let Some(field) = wire.next(end)? {
        match field.number {
            tensor::NAME => name = text(wire, field.value, left)?,
            tensor::LOCATION => is_external = field.value.varint()? == tensor::EXTERNAL,
            _ => wire.pass(field.value)?,
        }
    }
    Ok((name, is_external))
}

fn port<R: Read + Seek>(wire: &mut Wire<R>, end: u64, left: &mut u64) -> Result<Port, Fault> {
    let mut port = Port { name: String::new(), dtype: "unknown".to_owned(), shape: None };
    take(left, 0)?;
    while let Some(field) = wire.next(end)? {
        match field.number {
            1 => port.name = text(wire, field.value, left)?,
            2 => typed(wire, field.value.part()?, &mut port, left)?,
            _ => wire.pass(field.value)?,
        }
    }
    Ok(port)
}

fn typed<R: Read + Seek>(wire: &mut Wire<R>, end: u64, port: &mut Port, left: &mut u64) -> Result<(), Fault> {
    while let Some(field) = wire.next(end)? {
        let other = match field.number {
            1 => {
                of_tensor(wire, field.value.part()?, port, left)?;
                continue;
            }
            4 => "sequence",
            5 => "map",
            8 => "sparse_tensor",
            9 => "optional",
            _ => {
                wire.pass(field.value)?;
                continue;
            }
        };
        port.dtype = other.to_owned();
        wire.pass(field.value)?;
    }
    Ok(())
}

fn of_tensor<R: Read + Seek>(wire: &mut Wire<R>, end: u64, port: &mut Port, left: &mut u64) -> Result<(), Fault> {
    while let Some(field) = wire.next(end)? {
        match field.number {
            1 => port.dtype = Dtype::name_of_code(field.value.varint()?).to_owned(),
            2 => port.shape = Some(shape(wire, field.value.part()?, left)?),
            _ => wire.pass(field.value)?,
        }
    }
    Ok(())
}

fn shape<R: Read + Seek>(wire: &mut Wire<R>, end: u64, left: &mut u64) -> Result<Vec<Dim>, Fault> {
    let mut shape = Vec::new();
    while let Some(field) = wire.next(end)? {
        if field.number != 1 {
            wire.pass(field.value)?;
            continue;
        }
        take(left, 0)?;
        let (end, mut dim) = (field.value.part()?, Dim::Any);
        while let Some(field) = wire.next(end)? {
            match field.number {
                // A negative length means any length.
                1 => {
                    dim = field
                        .value
                        .varint()
                        .map(|length| i64::try_from(length).map_or(Dim::Any, |_| Dim::Fixed(length)))?
                }
                2 => dim = Dim::Named(text(wire, field.value, left)?),
                _ => wire.pass(field.value)?,
            }
        }
        shape.push(dim);
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    const RELU: &[u8] = include_bytes!("../../../../tests/fixtures/onnx/relu/model.onnx");
    const SQUEEZENET: &[u8] = include_bytes!("../../../../tests/fixtures/onnx/squeezenet/model.onnx");

    fn read(bytes: &[u8]) -> Result<Header, Refusal> {
        Header::read(Cursor::new(bytes), bytes.len() as u64)
    }

    fn float(name: &str, shape: &[u64]) -> Port {
        let shape = Some(shape.iter().copied().map(Dim::Fixed).collect());
        Port { name: name.to_owned(), dtype: "float32".to_owned(), shape }
    }

    #[test]
    fn headers_of_models_are_read() {
        let relu = read(RELU).unwrap();
        let expected = Header {
            ir_version: 4,
            opset: Some(9),
            inputs: vec![float("x", &[1, 2])],
            outputs: vec![float("y", &[1, 2])],
        };
        assert_eq!(relu, expected);
        let squeezenet = read(SQUEEZENET).unwrap();
        assert_eq!(squeezenet.inputs, [float("data_0", &[1, 3, 224, 224])]);
        assert_eq!(squeezenet.outputs, [float("softmaxout_1", &[1, 1000, 1, 1])]);
    }

    #[test]
    fn x43_invalid_models_are_refused() {
        assert!(matches!(read(b""), Err(Refusal::NotOnnx(_))));
        assert!(matches!(read(b"<html>"), Err(Refusal::NotOnnx(_) | Refusal::Truncated)));
        // This model has a version and operators, but no graph.
        assert!(matches!(read(&[0x08, 4, 0x42, 2, 0x10, 9]), Err(Refusal::NoGraph)));
        // This model has a weight in another file.
        let external = [&[0x08, 4, 0x42, 2, 0x10, 9, 0x3a, 4, 0x2a, 2, 0x70, 1][..]].concat();
        assert!(matches!(read(&external), Err(Refusal::ExternalData)));
        for end in 0..RELU.len() {
            assert!(read(&RELU[..end]).is_err(), "the first {end} bytes");
        }
    }

    #[test]
    fn a_header_that_is_too_long_is_refused() {
        // This graph has many inputs without names.
        let inputs = [0x5a, 0].repeat(1 << 18);
        let mut bytes = vec![0x08, 4, 0x42, 2, 0x10, 9, 0x3a];
        let mut size = inputs.len();
        while size >= 0x80 {
            bytes.push((size as u8 & 0x7f) | 0x80);
            size >>= 7;
        }
        bytes.push(size as u8);
        bytes.extend(inputs);
        let refused = read(&bytes).unwrap_err();
        assert!(matches!(&refused, Refusal::NotOnnx(why) if why.contains("too long")), "{refused}");
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn x43_random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read(&bytes);
        }

        #[test]
        fn x43_models_with_changed_bytes_are_read_or_refused(changes in prop::collection::vec((0..RELU.len(), any::<u8>()), 1..6)) {
            let mut bytes = RELU.to_vec();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            let _ = read(&bytes);
        }
    }
}
