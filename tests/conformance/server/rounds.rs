//! The tools and the prompt that need several rounds, as defined in MCP 2026-07-28: the client repeats the request with
//! the requested input.
//!
//! Between the rounds, the client keeps a tool's state. The state is signed, so that a change is detected.

use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, ErrorCode, InputRequiredResult};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::asking::read;

/// The result of a round.
pub enum Round {
    /// The final answer.
    Done(String),
    /// A request for more input.
    Asks(Box<InputRequiredResult>),
}

/// The parts of a request that a round needs.
pub struct Given<'a> {
    /// The client's answers.
    pub responses: &'a Value,
    /// The state that the tool gave the client.
    pub state: Option<&'a str>,
    /// The client's capabilities.
    pub capabilities: Option<ClientCapabilities>,
    /// The key that signs the state.
    pub secret: &'a [u8; 32],
}

const PREFIX: &str = "test_input_required_result_";

/// Runs one round of a tool or of the prompt. Returns `None` for other names.
pub fn round(name: &str, given: &Given<'_>) -> Option<Result<Round, ErrorData>> {
    Some(match name.strip_prefix(PREFIX)? {
        "elicitation" => match content(given, "user_name", "name") {
            Some(name) => Ok(Round::Done(format!("Hello, {name}!"))),
            None => ask(&[("user_name", who())], None),
        },
        "sampling" => match given.responses["capital_question"]["content"]["text"].as_str() {
            Some(answer) => Ok(Round::Done(answer.to_owned())),
            None => ask(&[("capital_question", sampling("What is the capital of France?", 100))], None),
        },
        "list_roots" => match given.responses["client_roots"]["roots"].as_array() {
            Some(roots) => Ok(Round::Done(format!("Roots: {}", Value::from(roots.clone())))),
            None => ask(&[("client_roots", roots())], None),
        },
        "request_state" | "tampered_state" => remembers(given),
        "multiple_inputs" => many(given),
        "multi_round" => steps(given),
        "capabilities" => by_capability(given),
        "prompt" => match content(given, "user_context", "context") {
            Some(context) => Ok(Round::Done(format!("Use this context: {context}"))),
            None => {
                let question = form("What context should the prompt use?", "context", "string");
                ask(&[("user_context", question)], None)
            }
        },
        _ => return None,
    })
}

fn remembers(given: &Given<'_>) -> Result<Round, ErrorData> {
    if let Some(state) = given.state {
        check(given, state, "confirm")?;
        if given.responses["confirm"].is_object() {
            return Ok(Round::Done("state-ok".to_owned()));
        }
    }
    ask(&[("confirm", form("Please confirm", "ok", "boolean"))], Some(sign(given, "confirm")))
}

fn many(given: &Given<'_>) -> Result<Round, ErrorData> {
    if let Some(state) = given.state {
        check(given, state, "many")?;
        if ["user_name", "greeting", "client_roots"].iter().all(|key| given.responses[key].is_object()) {
            let name = content(given, "user_name", "name").unwrap_or_default();
            let greeting = given.responses["greeting"]["content"]["text"].as_str().unwrap_or_default();
            return Ok(Round::Done(format!("{greeting} {name}")));
        }
    }
    let asked = [("user_name", who()), ("greeting", sampling("Generate a greeting", 50)), ("client_roots", roots())];
    ask(&asked, Some(sign(given, "many")))
}

fn steps(given: &Given<'_>) -> Result<Round, ErrorData> {
    let first = form("Step 1: What is your name?", "name", "string");
    let Some(state) = given.state else {
        return ask(&[("step1", first)], Some(sign(given, "step1")));
    };
    if check(given, state, "step1").is_ok() {
        return match content(given, "step1", "name") {
            Some(_) => {
                let second = form("Step 2: What is your favorite color?", "color", "string");
                ask(&[("step2", second)], Some(sign(given, "step2")))
            }
            None => ask(&[("step1", first)], Some(sign(given, "step1"))),
        };
    }
    check(given, state, "step2")?;
    let color = content(given, "step2", "color").unwrap_or_default();
    Ok(Round::Done(format!("Your favorite color is {color}")))
}

/// Asks only for kinds of input that the client supports.
fn by_capability(given: &Given<'_>) -> Result<Round, ErrorData> {
    let can = serde_json::to_value(&given.capabilities).unwrap_or_default();
    let known = [
        ("elicitation", "user_name", who()),
        ("sampling", "greeting", sampling("Generate a greeting", 50)),
        ("roots", "client_roots", roots()),
    ];
    let asked: Vec<(&str, Value)> = known
        .into_iter()
        .filter(|(what, _, _)| can[what].is_object())
        .map(|(_, key, request)| (key, request))
        .collect();
    if asked.is_empty() || asked.iter().all(|(key, _)| given.responses[key].is_object()) {
        return Ok(Round::Done("Nothing more is needed".to_owned()));
    }
    ask(&asked, None)
}

fn content(given: &Given<'_>, key: &str, field: &str) -> Option<String> {
    let answer = &given.responses[key];
    let accepted = answer["action"] == "accept";
    answer["content"][field].as_str().filter(|_| accepted).map(str::to_owned)
}

fn who() -> Value {
    form("What is your name?", "name", "string")
}

fn form(message: &str, field: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
    let parameters = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": parameters })
}

fn sampling(prompt: &str, most: u32) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": most } })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

fn ask(asked: &[(&str, Value)], state: Option<String>) -> Result<Round, ErrorData> {
    let requests: Map<String, Value> =
        asked.iter().map(|(key, request)| ((*key).to_owned(), request.clone())).collect();
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    read(result).map(|result| Round::Asks(Box::new(result)))
}

fn sign(given: &Given<'_>, state: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(given.secret);
    hash.update(state);
    hash.update(given.secret);
    let signature: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{state}.{signature}")
}

fn check(given: &Given<'_>, presented: &str, state: &str) -> Result<(), ErrorData> {
    if presented == sign(given, state) {
        return Ok(());
    }
    Err(ErrorData::new(ErrorCode::INVALID_PARAMS, "`requestState` is not what this server gave", None))
}
