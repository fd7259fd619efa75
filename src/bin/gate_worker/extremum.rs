//! Replaces tract's maximum and minimum reductions, which get infinities wrong. tract starts a maximum from the lowest finite
//! number, so the maximum of values that are all minus infinity becomes -3.4e38. Attention masks contain such values.

use tract_onnx::prelude::tract_itertools::Itertools;
use tract_onnx::prelude::*;
use tract_onnx::tract_core::internal::*;
use tract_onnx::tract_core::ops::nn::{Reduce, Reducer};

/// Replaces each maximum and minimum over floating-point numbers in the model.
pub fn replace(model: &mut TypedModel) -> TractResult<()> {
    for id in 0..model.nodes().len() {
        let Some(reduce) = model.node(id).op_as::<Reduce>() else { continue };
        let is_float = model.outlet_fact(model.node(id).inputs[0])?.datum_type.is_float();
        if is_float && matches!(reduce.reducer, Reducer::Max | Reducer::Min) {
            let extremum = Extremum(reduce.clone());
            model.node_mut(id).op = Box::new(extremum);
        }
    }
    Ok(())
}

/// A maximum or minimum over some axes. Each of these axes has length one in the result.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Extremum(Reduce);

impl Op for Extremum {
    fn name(&self) -> StaticName {
        "Extremum".into()
    }

    op_as_typed_op!();
}

impl EvalOp for Extremum {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let input = args_1!(inputs);
        // `f64` represents every 16-bit and 32-bit float exactly.
        let wide = input.cast_to::<f64>()?;
        let (first, takes): (f64, fn(f64, f64) -> bool) = match self.0.reducer {
            Reducer::Max => (f64::NEG_INFINITY, |element, most| element > most),
            _ => (f64::INFINITY, |element, least| element < least),
        };
        let mut reduced = wide.to_plain_array_view::<f64>()?.to_owned();
        for axis in self.0.axes.iter().sorted() {
            let axis = tract_ndarray::Axis(*axis);
            let folded =
                reduced.fold_axis(axis, first, |so_far, element| match element.is_nan() || takes(*element, *so_far) {
                    true if !so_far.is_nan() => *element,
                    _ => *so_far,
                });
            reduced = folded.insert_axis(axis);
        }
        let reduced = Tensor::from(reduced).cast_to_dt(input.datum_type())?.into_owned();
        Ok(tvec![reduced.into_tvalue()])
    }
}

impl TypedOp for Extremum {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        self.0.output_facts(inputs)
    }

    as_op!();
}
