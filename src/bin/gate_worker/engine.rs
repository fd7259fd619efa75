//! The engine: tract. Nothing else names it.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read};
use std::time::Instant;

use mcpkg::workspace::gate_engine::{Dtype, Given, Stopped, Tensor};
use tract_onnx::prelude::*;
use tract_onnx::tract_core::ops::Op;
use tract_onnx::tract_core::ops::unimpl::UnimplementedOp;

/// Runs a model, which it reads, on tensors with the names of its inputs, and returns those of its outputs, whose names are these.
///
/// # Errors
/// Why it was not run to its end: an operator that the engine does not have, or what else the engine says.
pub fn run(model: &mut dyn Read, inputs: Vec<(String, Tensor)>, outputs: &[String]) -> Result<Given, Stopped> {
    let begun = Instant::now();
    let mut model = tract_onnx::onnx().model_for_read(model).map_err(|error| failed("load", &error))?;
    // The name is `Unimplemented(OPERATOR)`.
    let unknown = model.nodes().iter().filter_map(|node| Some(node.op_as::<UnimplementedOp>()?.name()));
    let unknown: BTreeSet<String> =
        unknown.map(|name| name.trim_start_matches("Unimplemented(").trim_end_matches(')').to_owned()).collect();
    if !unknown.is_empty() {
        let all = unknown.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Stopped::new("unsupported_operator", format!("the engine does not have the operator {all}")));
    }
    let places = model.input_outlets().map_err(|error| failed("load", &error))?.to_vec();
    let names: Vec<String> = places.iter().map(|place| model.node(place.node).name.clone()).collect();
    let mut given = tvec![];
    for (at, name) in names.iter().enumerate() {
        let found = inputs.iter().find(|(known, _)| known == name);
        let (_, tensor) = found.ok_or_else(|| Stopped::new("engine", format!("nothing is given for `{name}`")))?;
        let value = taken(tensor).map_err(|error| failed("take the input", &error))?;
        let fact = InferenceFact::dt_shape(value.datum_type(), value.shape());
        model.set_input_fact(at, fact).map_err(|error| failed("take the input", &error))?;
        given.push(value.into_tvalue());
    }
    let model =
        model.into_optimized().and_then(|model| model.into_runnable()).map_err(|error| failed("prepare", &error))?;
    let (load, begun) = (begun.elapsed(), Instant::now());
    let results = model.run(given).map_err(|error| failed("run", &error))?;
    let run = begun.elapsed();
    let named = outputs.iter().zip(results.iter()).map(|(name, value)| Ok((name.clone(), shown(value)?)));
    let outputs: Result<Vec<_>, Stopped> = named.collect();
    Ok(Given { outputs: outputs?, load, run })
}

fn failed(verb: &str, error: &TractError) -> Stopped {
    // The alternate form has all causes.
    let why = format!("{error:#}");
    let is_memory = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::OutOfMemory)
    };
    let kind = match why.to_lowercase() {
        _ if error.chain().any(is_memory) => "memory_limit",
        why if why.contains("unimplemented") || why.contains("not implemented") => "unsupported_operator",
        _ => "engine",
    };
    Stopped::new(kind, format!("the engine cannot {verb} it: {why}"))
}

/// Returns a tensor as the engine has it.
fn taken(tensor: &Tensor) -> TractResult<tract_onnx::prelude::Tensor> {
    let shape: Vec<usize> = tensor.shape.iter().map(|length| usize::try_from(*length)).collect::<Result<_, _>>()?;
    macro_rules! of {
        ($number:ty) => {{
            let size = std::mem::size_of::<$number>();
            let numbers = tensor
                .bytes
                .chunks_exact(size)
                .map(|bytes| <$number>::from_le_bytes(bytes.try_into().unwrap_or_default()));
            tract_onnx::prelude::Tensor::from_shape(&shape, &numbers.collect::<Vec<_>>())
        }};
    }
    match tensor.dtype {
        Dtype::Float32 => of!(f32),
        Dtype::Float64 => of!(f64),
        Dtype::Int8 => of!(i8),
        Dtype::Int16 => of!(i16),
        Dtype::Int32 => of!(i32),
        Dtype::Int64 => of!(i64),
        Dtype::Uint8 => of!(u8),
        Dtype::Uint16 => of!(u16),
        Dtype::Uint32 => of!(u32),
        Dtype::Uint64 => of!(u64),
        Dtype::Bool => {
            let all: Vec<bool> = tensor.bytes.iter().map(|byte| *byte != 0).collect();
            tract_onnx::prelude::Tensor::from_shape(&shape, &all)
        }
    }
}

/// Returns a tensor of the engine's.
fn shown(value: &TValue) -> Result<Tensor, Stopped> {
    let shape: Vec<u64> = value.shape().iter().map(|length| *length as u64).collect();
    macro_rules! of {
        ($dtype:ident, $number:ty) => {{
            let view = value.to_plain_array_view::<$number>().map_err(|error| failed("give the output of", &error))?;
            let bytes = view.iter().flat_map(|number| number.to_le_bytes()).collect();
            (Dtype::$dtype, bytes)
        }};
    }
    let (dtype, bytes) = match value.datum_type() {
        DatumType::F32 => of!(Float32, f32),
        DatumType::F64 => of!(Float64, f64),
        DatumType::I8 => of!(Int8, i8),
        DatumType::I16 => of!(Int16, i16),
        DatumType::I32 => of!(Int32, i32),
        DatumType::I64 => of!(Int64, i64),
        DatumType::U8 => of!(Uint8, u8),
        DatumType::U16 => of!(Uint16, u16),
        DatumType::U32 => of!(Uint32, u32),
        DatumType::U64 => of!(Uint64, u64),
        DatumType::Bool => {
            let view = value.to_plain_array_view::<bool>().map_err(|error| failed("give the output of", &error))?;
            (Dtype::Bool, view.iter().map(|is| u8::from(*is)).collect())
        }
        other => return Err(Stopped::new("engine", format!("an output is of the type {other:?}, which is not shown"))),
    };
    Tensor::new(dtype, shape, bytes).map_err(|why| Stopped::new("engine", why))
}
