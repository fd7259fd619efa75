//! Runs a model with tract.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read};
use std::time::Instant;

use super::{extremum, supported};
use mcpkg_workspace::gate_engine::{Dtype, ModelOutput, Stopped, Tensor};
use tract_onnx::prelude::{Tensor as EngineTensor, *};
use tract_onnx::tract_core::ops::Op;
use tract_onnx::tract_core::ops::konst::Const;
use tract_onnx::tract_core::ops::unimpl::UnimplementedOp;

/// Reads and runs a model. Takes each input tensor with its name, and returns the tensors of the named outputs.
///
/// # Errors
/// Returns why the run stopped: an operator that tract lacks or computes wrongly, or any other error from tract.
pub fn run(model: &mut dyn Read, inputs: Vec<(String, Tensor)>, outputs: &[String]) -> Result<ModelOutput, Stopped> {
    let begun = Instant::now();
    // Ignore the shapes that a file declares for values inside its graph. They are right for the inputs used at export,
    // but our inputs may have other shapes.
    let engine = tract_onnx::onnx().with_ignore_value_info(true);
    let proto = engine.proto_model_for_read(model).map_err(|error| failed("load the model", &error))?;
    supported::check(&proto, &inputs)?;
    let model = engine.model_for_proto_model(&proto).map_err(|error| failed("load the model", &error))?;
    drop(proto);
    // tract names an unknown operator `Unimplemented(OPERATOR)`.
    let unknown = model.nodes().iter().filter_map(|node| Some(node.op_as::<UnimplementedOp>()?.name()));
    let unknown: BTreeSet<String> =
        unknown.map(|name| name.trim_start_matches("Unimplemented(").trim_end_matches(')').to_owned()).collect();
    if !unknown.is_empty() {
        let all = unknown.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Stopped::new("unsupported_operator", format!("the engine does not support the operator {all}")));
    }
    let places = model.input_outlets().map_err(|error| failed("load the model", &error))?.to_vec();
    let mut given = Vec::new();
    for place in places {
        let name = &model.node(place.node).name;
        let found = inputs.iter().find(|(known, _)| known == name);
        let (_, tensor) = found.ok_or_else(|| Stopped::new("engine", format!("no input is given for `{name}`")))?;
        given.push((place, to_engine(tensor).map_err(|error| failed("read the input", &error))?));
    }
    drop(inputs);
    // In some models, shapes depend on the values of integer inputs, and tract accepts some operator parameters only
    // as constants. So if the model cannot run otherwise, these inputs become constants. That is tried last, because
    // tract evaluates everything that depends only on constants while it prepares the model: the measured run time
    // would mean nothing.
    let is_whole = |tensor: &EngineTensor| tensor.datum_type().is_integer();
    let is_parameter = |tensor: &EngineTensor| is_whole(tensor) || tensor.rank() < 2;
    let attempt = |is_constant: &dyn Fn(&EngineTensor) -> bool| {
        let (model, given) =
            prepare(model.clone(), &given, is_constant).map_err(|error| failed("prepare the model", &error))?;
        let (load, begun) = (begun.elapsed(), Instant::now());
        let results = model.run(given).map_err(|error| failed("run the model", &error))?;
        let run = begun.elapsed();
        let named = outputs.iter().zip(results.iter()).map(|(name, value)| Ok((name.clone(), shown(value)?)));
        Ok(ModelOutput { outputs: named.collect::<Result<_, Stopped>>()?, load, run })
    };
    attempt(&|_| false)
        .or_else(|first: Stopped| attempt(&is_whole).or_else(|_| attempt(&is_parameter)).map_err(|_| first))
}

/// Prepares a model for these tensors. Returns the model and its remaining inputs: the tensors that did not become
/// constants.
fn prepare(
    mut model: InferenceModel,
    given: &[(OutletId, EngineTensor)],
    is_constant: impl Fn(&EngineTensor) -> bool,
) -> TractResult<(Arc<TypedRunnableModel>, TVec<TValue>)> {
    let (mut places, mut inputs) = (Vec::new(), tvec![]);
    for (place, tensor) in given {
        if is_constant(tensor) {
            model.set_outlet_fact(*place, InferenceFact::from(tensor.clone()))?;
            model.node_mut(place.node).op = Box::new(Const::new(tensor.clone().into_arc_tensor())?);
        } else {
            model.set_outlet_fact(*place, InferenceFact::dt_shape(tensor.datum_type(), tensor.shape()))?;
            places.push(*place);
            inputs.push(tensor.clone().into_tvalue());
        }
    }
    model.set_input_outlets(&places)?;
    let mut model = model.into_typed()?;
    extremum::replace(&mut model)?;
    Ok((model.into_optimized()?.into_runnable()?, inputs))
}

fn failed(verb: &str, error: &TractError) -> Stopped {
    // The alternate form `{:#}` includes the whole chain of causes.
    let why = format!("{error:#}");
    let is_memory = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::OutOfMemory)
    };
    let kind = match why.to_lowercase() {
        _ if error.chain().any(is_memory) => "memory_limit",
        why if why.contains("unimplemented") || why.contains("not implemented") => "unsupported_operator",
        _ => "engine",
    };
    Stopped::new(kind, format!("the engine cannot {verb}: {why}"))
}

/// Converts a tensor of the gate to one of tract.
fn to_engine(tensor: &Tensor) -> TractResult<EngineTensor> {
    let shape: Vec<usize> = tensor.shape.iter().map(|length| usize::try_from(*length)).collect::<Result<_, _>>()?;
    macro_rules! of {
        ($number:ty) => {{
            let size = std::mem::size_of::<$number>();
            let numbers = tensor
                .bytes
                .chunks_exact(size)
                .map(|bytes| <$number>::from_le_bytes(bytes.try_into().unwrap_or_default()));
            EngineTensor::from_shape(&shape, &numbers.collect::<Vec<_>>())
        }};
    }
    match tensor.dtype {
        Dtype::Float16 => of!(f16),
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
            EngineTensor::from_shape(&shape, &all)
        }
    }
}

/// Converts a tensor of tract to one of the gate.
fn shown(value: &TValue) -> Result<Tensor, Stopped> {
    let shape: Vec<u64> = value.shape().iter().map(|length| *length as u64).collect();
    macro_rules! of {
        ($dtype:ident, $number:ty) => {{
            let view = value.to_plain_array_view::<$number>().map_err(|error| failed("return the output", &error))?;
            let bytes = view.iter().flat_map(|number| number.to_le_bytes()).collect();
            (Dtype::$dtype, bytes)
        }};
    }
    let (dtype, bytes) = match value.datum_type() {
        DatumType::F16 => of!(Float16, f16),
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
            let view = value.to_plain_array_view::<bool>().map_err(|error| failed("return the output", &error))?;
            (Dtype::Bool, view.iter().map(|is| u8::from(*is)).collect())
        }
        // tract's own type for dimensions does not exist in ONNX. The author of the model sees an integer.
        DatumType::TDim => {
            let whole = value.cast_to::<i64>().map_err(|error| failed("return the output", &error))?;
            return shown(&whole.into_owned().into_tvalue());
        }
        other => {
            let name = match other {
                DatumType::String => "string",
                _ => "another type",
            };
            let why = format!("an output has the type {name}, which the gate cannot return");
            return Err(Stopped::new("unsupported_type", why));
        }
    };
    Tensor::new(dtype, shape, bytes).map_err(|why| Stopped::new("engine", why))
}
