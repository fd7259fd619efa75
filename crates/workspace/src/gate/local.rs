//! Implements the embedded gate, which stores models and routes in the database.

use std::io;

use serde_json::{Map, Value, json};

use super::candidate::Candidate;
use super::files::Files;
use super::header::Header;
use super::interface::{Gate, Line, Model, Options, Route, Status, no_model, onnx};
use super::worker::{self, Job, Worker};
use super::{engine, input};
use crate::journal;
use crate::root::Workspace;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::process::Feed;
use mcpkg_core::op::Context;
use mcpkg_store::Store;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::blobs::damaged_value;
use mcpkg_store::events;
use mcpkg_store::gate::{self, New};
use mcpkg_store::pieces::Pieces;

pub struct Local<'c> {
    pub context: &'c Context,
    pub workspace: &'c Workspace,
}

impl Local<'_> {
    /// Returns the workspace's database key, if the workspace is known.
    fn key(&self) -> Result<Option<i64>> {
        self.context.store.read(|db| journal::known(db, &self.workspace.root))
    }

    fn stored(&self) -> Result<Vec<gate::Model>> {
        let Some(key) = self.key()? else { return Ok(Vec::new()) };
        self.context.store.read(|db| gate::list(db, key))
    }

    /// Finds a model by its name or by the endpoint of an active route.
    fn named(&self, name: &str) -> Result<gate::Model> {
        let stored = self.stored()?;
        let route = match name.starts_with('/') {
            true => self.routes()?.into_iter().find(|route| route.endpoint == name),
            false => None,
        };
        let wanted = match &route {
            Some(route) if !route.active => {
                return Err(Error::new(Code::GateFailed, format!("The route '{name}' is not active"))
                    .with_details(json!({ "kind": "inactive_route", "endpoint": name, "model": route.model }))
                    .hint(format!("`mcpkg gate routes set {} {name}` activates the route", route.model)));
            }
            Some(route) => &route.model,
            None => name,
        };
        if let Some(at) = stored.iter().position(|model| model.name == wanted) {
            let mut stored = stored;
            return Ok(stored.swap_remove(at));
        }
        Err(no_model(name, &stored.into_iter().map(shown).collect::<Result<Vec<_>>>()?))
    }
}

impl Gate for Local<'_> {
    fn is_embedded(&self) -> bool {
        true
    }

    fn status(&self) -> Result<Status> {
        let model_count = self.stored()?.len() as u64;
        Ok(Status {
            status: if worker::engine().is_some() { "healthy" } else { "degraded" }.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_secs: None,
            model_count,
            mode: "embedded".to_owned(),
            url: None,
            engine: worker::engine().map(str::to_owned),
        })
    }

    fn models(&self) -> Result<Vec<Model>> {
        self.stored()?.into_iter().map(shown).collect()
    }

    fn look(&self, files: &mut Files, path: &str, name: &str) -> Result<Model> {
        let Candidate { file, path, header, .. } = Candidate::open(files, path)?.fits(worker::MEMORY)?;
        let content = NewContent::open(file, &path)?;
        shown(gate::Model {
            name: name.to_owned(),
            blob: 0,
            sha256: content.sha256(),
            size: i64::try_from(content.size()).unwrap_or(i64::MAX),
            header: text(&header)?,
            registered_at: self.context.clock.now(),
        })
    }

    fn add(&self, files: &mut Files, path: &str, name: &str) -> Result<(Model, bool)> {
        let Candidate { file, path, header, .. } = Candidate::open(files, path)?.fits(worker::MEMORY)?;
        let content = NewContent::open(file, &path)?;
        self.context.unless_cancelled()?;
        let header = text(&header)?;
        let mut ahead = self.context.store.ahead();
        ahead.store(&content)?;
        let (context, now) = (self.context, self.context.clock.now());
        let (found, is_new) = context.store.write(|db| {
            let workspace = journal::key(context, db, &self.workspace.root, &self.workspace.manifest.name)?;
            let is_new = gate::add(db, &New { workspace, name, content: &content, header: &header, now })?;
            let found = gate::find(db, workspace, name)?
                .ok_or_else(|| damaged_value("a model was reported as existing, but is missing"))?;
            if is_new {
                context.event(db, context.author(), None, "gate.models.add", name)?;
            }
            Ok((found, is_new))
        })?;
        if found.sha256 != content.sha256() {
            return Err(Error::new(
                Code::AlreadyExists,
                format!("Model '{name}' is already registered with different content"),
            )
            .with_details(json!({ "model": name, "sha256": hex::encode(&found.sha256) }))
            .hint(format!("choose another name, or remove the model first: `mcpkg gate models remove {name}`")));
        }
        ahead.keep();
        Ok((shown(found)?, is_new))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let context = self.context;
        let removed = context.store.write(|db| {
            let Some(key) = journal::known(db, &self.workspace.root)? else { return Ok(false) };
            let removed = gate::remove(db, key, name)?;
            if removed {
                context.event(db, context.author(), None, "gate.models.remove", name)?;
            }
            Ok(removed)
        })?;
        if removed { Ok(()) } else { Err(no_model(name, &self.models()?)) }
    }

    fn routes(&self) -> Result<Vec<Route>> {
        let Some(key) = self.key()? else { return Ok(Vec::new()) };
        let found = self.context.store.read(|db| gate::routes(db, key))?;
        let route = |route: gate::Route| {
            let gate::Route { model, endpoint, active } = route;
            Route { model, endpoint, active, request_count: None }
        };
        Ok(found.into_iter().map(route).collect())
    }

    fn set_route(&self, route: &Route) -> Result<Route> {
        let context = self.context;
        let Route { model, endpoint, active, .. } = route.clone();
        let wanted = gate::Route { model, endpoint, active };
        let is_set = context.store.write(|db| {
            let Some(key) = journal::known(db, &self.workspace.root)? else { return Ok(false) };
            let is_set = gate::set_route(db, key, &wanted)?;
            if is_set {
                context.event(db, context.author(), None, "gate.routes.set", &wanted.endpoint)?;
            }
            Ok(is_set)
        })?;
        match is_set {
            true => Ok(Route { request_count: None, ..route.clone() }),
            false => Err(no_model(&route.model, &self.models()?)),
        }
    }

    fn test(&self, files: &mut Files, model: &str, input: &str, options: Options) -> Result<Value> {
        let found = self.named(model)?;
        let header = header(&found)?;
        (self.context.step_aside)();
        let input = input::read(files, input, &header)?;
        let worker = Worker::own()?;
        let pieces = self.context.store.read(|db| Pieces::verified(db, found.blob, &found.sha256))?;
        let outputs = header.outputs.into_iter().map(|output| output.name).collect();
        let model = feed(self.context.store.clone(), pieces.clone());
        let job = Job { size: pieces.size(), model, input, outputs, options };
        let ran = worker.run(&found.name, job, &self.context.cancelled)?;
        let mut answer = Map::new();
        answer.insert("model".to_owned(), json!(found.name));
        answer.insert("output".to_owned(), ran.output.into());
        answer.insert("latency_ms".to_owned(), json!(ran.latency_ms));
        answer.insert("load_ms".to_owned(), json!(ran.load_ms));
        answer.insert("engine".to_owned(), json!(engine::NAME));
        if let Some(differs) = ran.differs {
            answer.insert("expected_match".to_owned(), json!(differs.is_empty()));
            answer.insert("differs".to_owned(), json!(differs));
        }
        Ok(answer.into())
    }

    fn logs(&self, lines: usize) -> Result<Vec<Line>> {
        let found = self.context.store.read(|db| events::last_of_kinds(db, "gate", lines))?;
        let line = |event: events::Event| {
            let line = format!("{} {} by {}: {}", event.kind, event.subject, event.actor, event.outcome);
            Line { at: Some(rfc3339(event.at)), line }
        };
        Ok(found.into_iter().map(line).collect())
    }
}

/// Returns a function that writes a stored file to a stream. The function reads each piece in its own transaction.
fn feed(store: Store, pieces: std::sync::Arc<Pieces>) -> Feed {
    Box::new(move |to| {
        let count = pieces.size().div_ceil(Pieces::SIZE);
        for n in 0..usize::try_from(count).map_err(io::Error::other)? {
            let piece = store.read(|db| pieces.read(db, n)).map_err(io::Error::other)?;
            to.write_all(&piece)?;
        }
        Ok(())
    })
}

fn text(header: &Header) -> Result<String> {
    serde_json::to_string(header)
        .map_err(|error| Error::internal("a model's header cannot be written as JSON").with_source(error))
}

fn header(model: &gate::Model) -> Result<Header> {
    serde_json::from_str(&model.header).map_err(|_| damaged_value("a model's stored header is malformed"))
}

fn shown(model: gate::Model) -> Result<Model> {
    let header = header(&model)?;
    Ok(Model {
        name: model.name,
        format: onnx(),
        size_bytes: model.size.try_into().unwrap_or(0),
        registered_at: Some(rfc3339(model.registered_at)),
        status: "unloaded".to_owned(),
        sha256: Some(hex::encode(&model.sha256)),
        opset: header.opset,
        inputs: Some(header.inputs),
        outputs: Some(header.outputs),
    })
}
