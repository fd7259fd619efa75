//! Ranks the list commands that can provide values. Each suggestion has the bindings of its arguments and the reasons for its rank.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::node::Pointed;
use crate::binding::{self, Wanted};
use crate::check::Surveyed;
use crate::commands::Reachable;
use crate::definition::Select;
use crate::plan::host;
use crate::source::{Brief, Commands};
use crate::spec::{CommandSpec, OutputField, ProviderContract};
use mcpkg_base::error::Result;

const MOST: usize = 10;

/// How many search results are examined in detail.
const LOOKED_AT: usize = 40;

/// A list that may provide values.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Suggestion {
    /// The command's id
    pub id: String,
    /// What the command does
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The fields of the command's elements to use as the value and as the label
    pub select: Map<String, Value>,
    /// What each argument of the command is bound to, with `source` and `note`
    pub bindings: Map<String, Value>,
    /// Required arguments that have no value yet
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// The request that the command sends, as `METHOD host/path`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Why the command is suggested
    pub why: Vec<String>,
    #[serde(skip)]
    score: i32,
}

/// Returns the list commands that provide values for a target. `partial` is a part of an id, or search words.
pub fn suggestions(
    surveyed: &Surveyed,
    pointed: &Pointed<'_>,
    commands: &Reachable<'_>,
    partial: Option<&str>,
) -> Result<Vec<Suggestion>> {
    let contracts = surveyed.contracts();
    let contracts: Vec<_> = contracts.iter().map(Option::as_deref).collect();
    let mut found = Vec::new();
    for (id, summary) in candidates(pointed, commands, partial)? {
        let Some(contract) = commands.provider(&id)? else { continue };
        let mut suggestion = of(&contract, summary, pointed);
        for arg in contract.args.keys() {
            let bound =
                binding::bind(&surveyed.definition, &pointed.input, &contract, arg, &pointed.before, &contracts);
            let source = bound.source.as_ref().map(|source| source.shown(&surveyed.definition));
            let is_required = Wanted::of(&contract, arg).is_some_and(|wanted| wanted.required);
            if source.is_none() && is_required {
                suggestion.open.push(arg.clone());
                suggestion.score -= 4;
            } else {
                suggestion.score += 1;
            }
            suggestion.bindings.insert(arg.clone(), json!({ "source": source, "note": bound.note }));
        }
        // A command without a reason matched only by words. Suggest it only if the user typed something.
        if partial.is_some() || !suggestion.why.is_empty() {
            found.push(suggestion);
        }
    }
    found.sort_by(|a, b| b.score.cmp(&a.score).then(a.id.len().cmp(&b.id.len())).then_with(|| a.id.cmp(&b.id)));
    found.truncate(MOST);
    for suggestion in &mut found {
        suggestion.request = commands.spec(&suggestion.id)?.as_deref().and_then(request);
    }
    Ok(found)
}

/// Returns the request of an HTTP command, such as `GET 127.0.0.1:8080/apps`.
fn request(spec: &CommandSpec) -> Option<String> {
    Some(format!("{} {}{}", spec.method.as_deref()?, host(spec)?, spec.path.as_deref()?))
}

/// Returns the list commands to examine: the declared provider of the argument, and search results.
fn candidates(pointed: &Pointed<'_>, commands: &Reachable<'_>, partial: Option<&str>) -> Result<Vec<(String, String)>> {
    let indexes = commands.indexes(None)?;
    let partial = partial.map(str::trim).filter(|partial| !partial.is_empty());
    let query = partial.map_or_else(|| words(pointed), str::to_owned);
    let mut hits = commands.search(&indexes, &query, |brief| brief.lists);
    // Drop results that match no word: an empty query matches every command.
    hits.retain(|hit| hit.matched > 0 || partial.is_some_and(|partial| hit.brief.id.contains(partial)));
    hits.sort_by(|a, b| {
        b.matched.cmp(&a.matched).then(b.score.total_cmp(&a.score)).then_with(|| a.brief.id.cmp(&b.brief.id))
    });
    let told = |brief: &Brief| (brief.id.clone(), brief.summary.clone());
    let mut candidates: Vec<_> = hits.iter().take(LOOKED_AT).map(|hit| told(hit.brief)).collect();
    let named = pointed.argument.as_ref().and_then(|(_, argument)| argument.provider);
    if let Some(id) = named.filter(|id| partial.is_none_or(|partial| id.contains(partial)))
        && candidates.iter().all(|(known, _)| known != id)
        && let Some(spec) = commands.spec(id)?
    {
        candidates.push((id.to_owned(), spec.summary.clone()));
    }
    Ok(candidates)
}

/// Returns search words for a target: its name, and the tags that its argument accepts.
fn words(pointed: &Pointed<'_>) -> String {
    let mut words = vec![pointed.name.clone()];
    if let Some((_, argument)) = &pointed.argument {
        words.push(argument.name.to_owned());
        words.extend(argument.accepts.iter().cloned());
    }
    let resource = |word: &String| {
        let of_key = ["_id", "_name", "_slug"].iter().find_map(|key| word.strip_suffix(key));
        of_key.unwrap_or(word).replace(['_', '-'], " ")
    };
    let mut words: Vec<String> = words.iter().map(resource).collect();
    words.sort();
    words.dedup();
    words.join(" ")
}

/// Creates the suggestion for a list command. Its arguments are bound later.
fn of(contract: &ProviderContract, summary: String, pointed: &Pointed<'_>) -> Suggestion {
    let (mut why, mut score) = (Vec::new(), 0);
    if let Some((command, argument)) = &pointed.argument {
        let taker = format!("{command}.{}", argument.name);
        if argument.provider == Some(contract.id.as_str()) {
            why.push(format!("it is the declared provider of {taker}"));
            score += 16;
        }
        let has = |tag: &str| contract.returns.iter().any(|field| field.tags.iter().any(|known| known == tag));
        if let Some(prefer) = argument.prefer.filter(|prefer| has(prefer)) {
            why.push(format!("{taker} prefers {prefer}, which it returns"));
            score += 8;
        } else if let Some(tag) = argument.accepts.iter().find(|tag| has(tag)) {
            why.push(format!("{taker} accepts {tag}, which it returns"));
            score += 6;
        }
    }
    let wanted = crate::words::stem(&pointed.name);
    let resource = wanted.strip_suffix("_id").or_else(|| wanted.strip_suffix("_name")).unwrap_or(&wanted);
    if contract.id.split([':', '_', '-', '/']).any(|word| crate::words::singular(word) == resource) {
        why.push(format!("its name contains the resource that `{}` refers to", pointed.name));
        score += 2;
    }
    let select = serde_json::to_value(select(&contract.returns, pointed));
    let select = select.ok().and_then(|select| select.as_object().cloned()).unwrap_or_default();
    let (bindings, open) = Default::default();
    Suggestion { id: contract.id.clone(), summary, select, bindings, open, request: None, why, score }
}

/// Returns the fields to select: the value by its preferred or accepted tag, or else by name.
pub fn select(returns: &[OutputField], pointed: &Pointed<'_>) -> Select {
    let tagged = |tag: &str| returns.iter().find(|field| field.tags.iter().any(|known| known == tag));
    let named = |name: &str| returns.iter().find(|field| field.name == name);
    let of_argument = pointed.argument.as_ref().and_then(|(_, argument)| {
        argument.prefer.and_then(tagged).or_else(|| argument.accepts.iter().find_map(|tag| tagged(tag)))
    });
    let name = |field: Option<&OutputField>| field.map(|field| field.name.clone());
    Select {
        value_field: name(of_argument.or_else(|| named("id")).or_else(|| named("name"))),
        display_field: name(tagged("display").or_else(|| named("name"))),
        id_field: name(named("id")),
    }
}
