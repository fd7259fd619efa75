//! Defines the messages between mcpkg and a worker.
//!
//! A request is a length, a head of that length as JSON, the bytes of the tensors, and the bytes of the model, which
//! the engine reads itself. The response is one JSON object.

use std::io::{self, Read, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::gate::engine::Stopped;
use crate::gate::input::Input;
use crate::gate::interface::Options;
use crate::gate::summary;
use crate::gate::tensor::{self, Dtype, Tensor, Tolerance};
use mcpkg_base::process::Feed;

/// The memory limit of a worker, in bytes of address space.
pub const MEMORY: u64 = 2 << 30;

/// The time limit of a worker.
pub const TIME: Duration = Duration::from_secs(30);

/// The maximum size of a head, in bytes.
const MAX_HEAD: u32 = 16 << 20;

/// A model to run, with its input.
pub struct Job {
    /// The size of the model in bytes.
    pub size: u64,
    pub model: Feed,
    /// The input tensors and the expected outputs.
    pub input: Input,
    /// The names of the model's outputs.
    pub outputs: Vec<String>,
    pub options: Options,
}

/// The JSON part of a request, before the bytes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Head {
    /// The size of the model in bytes.
    pub size: u64,
    /// The input tensors, in the order of their bytes.
    pub inputs: Vec<Described>,
    /// The expected outputs. Their bytes follow those of the inputs.
    pub expected: Vec<Described>,
    /// The names of the model's outputs.
    pub outputs: Vec<String>,
    /// The number of elements of each output to return.
    pub shown: usize,
    /// The allowed difference between the outputs and the expected ones.
    pub tolerance: Tolerance,
}

/// A tensor without its bytes, which follow later.
#[derive(Debug, Serialize, Deserialize)]
pub struct Described {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<u64>,
}

/// The response of a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The model ran.
    Ran(Ran),
    /// The model did not start, or did not run to completion.
    Stopped(Stopped),
}

/// The result of running a model.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ran {
    /// The outputs as JSON, by name.
    pub output: Map<String, Value>,
    /// The time that loading the model took, in milliseconds.
    pub load_ms: f64,
    /// The time that running the model took, in milliseconds.
    pub latency_ms: f64,
    /// One line per output that differs from the expected one; `None` if no outputs were expected.
    pub differs: Option<Vec<String>>,
}

impl Head {
    pub fn of(job: &Job) -> Self {
        let described = |(name, tensor): &(String, Tensor)| {
            let (name, shape) = (name.clone(), tensor.shape.clone());
            Described { name, dtype: tensor.dtype, shape }
        };
        Self {
            size: job.size,
            inputs: job.input.inputs.iter().map(described).collect(),
            expected: job.input.expected.iter().map(described).collect(),
            outputs: job.outputs.clone(),
            shown: if job.options.whole { usize::MAX } else { summary::SHOWN },
            tolerance: job.options.tolerance,
        }
    }

    /// Writes the head, preceded by its length.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let head = serde_json::to_vec(self)?;
        let length = u32::try_from(head.len()).ok().filter(|length| *length <= MAX_HEAD);
        let length = length.ok_or_else(|| io::Error::other("the header of the worker's message is too long"))?;
        to.write_all(&length.to_le_bytes())?;
        to.write_all(&head)
    }

    pub fn read(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut head = Vec::new();
        from.take(length.into()).read_to_end(&mut head)?;
        Ok(serde_json::from_slice(&head)?)
    }
}

impl Described {
    /// Reads the tensor's bytes. Fails with `OutOfMemory` if there is not enough memory for them.
    pub fn read(self, from: impl Read) -> io::Result<(String, Tensor)> {
        let size = tensor::count(&self.shape).and_then(|count| count.checked_mul(self.dtype.size() as u64));
        let bytes = whole(from, size.ok_or(io::ErrorKind::InvalidData)?)?;
        let tensor = Tensor::new(self.dtype, self.shape, bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok((self.name, tensor))
    }
}

fn whole(from: impl Read, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(size).map_err(|_| io::ErrorKind::OutOfMemory)?)?;
    from.take(size).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == size { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
