//! Reports what the agent does while it runs, and builds the reply at the end.

use serde_json::{Value, json};
use uuid::Uuid;

use mcpkg_agents::agents::headless::Said;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::hex::tail;
use mcpkg_base::marks;
use mcpkg_base::plural::count;
use mcpkg_base::redact::redact;
use mcpkg_core::op::{Body, Context, Reply};
use mcpkg_store::drafts;

use super::calls::Call;
use super::launch::Launch;
use crate::answer::cut;

/// Maximum length of each shown text from the agent, in bytes.
const TEXT: usize = 4 << 10;

/// Maximum number of shown texts from the agent.
const TEXTS: usize = 500;

/// The progress of the agent so far: the number of its calls and texts, its drafts, and its cost.
pub struct Progress<'a> {
    context: &'a Context,
    launch: &'a Launch,
    calls: usize,
    texts: usize,
    /// The drafts that the agent proposed: their ids, and the names of their workflows.
    drafts: Vec<(Uuid, String)>,
    cost: f64,
    /// The last error that the agent reported.
    pub error: Option<String>,
}

impl<'a> Progress<'a> {
    pub fn new(context: &'a Context, launch: &'a Launch) -> Self {
        Self { context, launch, calls: 0, texts: 0, drafts: Vec::new(), cost: 0.0, error: None }
    }

    pub fn called(&mut self, call: &Call) -> Result<()> {
        self.calls += 1;
        let mut item = json!({ "kind": "call", "tool": call.tool, "outcome": call.outcome });
        let mut shown = format!("{}: {}", call.tool, call.shown());
        // The agent could write this line itself, so check in the database whether the draft exists.
        let draft = call.draft().map(|id| self.context.store.read(|db| drafts::by_uuid(db, id))).transpose()?.flatten();
        if let Some(draft) = draft {
            shown = format!("{}: draft {} of {}", call.tool, tail(draft.uuid), draft.name);
            item["draft"] = json!({ "id": draft.uuid.to_string(), "workflow": draft.name });
            self.drafts.push((draft.uuid, draft.name));
        }
        item["shown"] = safe(&shown).into();
        self.emit(item, Body::lines([shown]))
    }

    pub fn said(&mut self, said: Said) -> Result<()> {
        match said {
            Said::Cost(cost) if cost.is_finite() && cost > 0.0 => self.cost += cost,
            Said::Cost(_) => {}
            Said::Error(error) => self.error = Some(cut(&safe(&error), TEXT)),
            Said::Text(text) | Said::Part(text) => {
                self.texts += 1;
                if self.texts <= TEXTS {
                    let text = safe(&text);
                    let text = cut(text.trim_end(), TEXT);
                    let lines: Vec<String> = text.lines().map(|line| format!("| {line}")).collect();
                    return self.emit(json!({ "kind": "text", "shown": text }), Body::lines(lines));
                }
            }
        }
        Ok(())
    }

    fn emit(&self, mut item: Value, body: Body) -> Result<()> {
        item["at"] = rfc3339(self.context.clock.now()).into();
        (self.context.emit)(Reply::new(body, json!({ "progress": [item] })))
    }

    /// Returns the answer of a run that ended by itself.
    pub fn reply(&self) -> Reply {
        let title = self.launch.agent.title;
        let mut parts = vec![match self.drafts.as_slice() {
            [] => format!("{title} proposed no workflow"),
            drafts => format!("{title} proposed {}: {}", count(drafts.len(), "draft"), named(drafts)),
        }];
        parts.push(count(self.calls, "call"));
        if self.cost >= 0.005 {
            parts.push(format!("it says that the run cost ${:.2}", self.cost));
        }
        let reply = Reply::sentence(parts.join("; "), self.data());
        self.hints().into_iter().fold(reply, Reply::hint)
    }

    /// Adds the drafts to the error of a run that failed or was ended. The drafts stay in the database.
    pub fn in_error(&self, error: Error) -> Error {
        self.hints().into_iter().fold(error.with_details(self.data()), Error::hint)
    }

    fn data(&self) -> Value {
        let drafts: Vec<Value> =
            self.drafts.iter().map(|(id, name)| json!({ "id": id.to_string(), "workflow": name })).collect();
        let mut data = json!({ "agent": self.launch.agent.name, "drafts": drafts, "calls": self.calls });
        if self.cost > 0.0 {
            data["cost_usd"] = json!(self.cost);
        }
        data
    }

    fn hints(&self) -> Vec<String> {
        let hint = |(id, name): &(Uuid, String)| {
            let id = tail(*id);
            format!("`mcpkg draft diff {id}` shows the draft of '{name}'; approve it with `mcpkg draft approve {id}`")
        };
        self.drafts.iter().map(hint).collect()
    }
}

fn named(drafts: &[(Uuid, String)]) -> String {
    let one = |(id, name): &(Uuid, String)| format!("{} ({name})", tail(*id));
    drafts.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Returns a text without secrets, and with visible marks for characters that would act on a terminal.
pub fn safe(text: &str) -> String {
    marks::text(&redact(text)).into_owned()
}
