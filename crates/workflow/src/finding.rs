//! Findings: errors and warnings in the text of a workflow. One table defines all kinds of findings.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::span::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The workflow cannot run.
    Error,
    /// The workflow can run, but may not do what was meant.
    Warning,
}

macro_rules! kinds {
    ($($variant:ident $name:literal $severity:ident $family:literal $about:literal $example:literal;)*) => {
        /// The kinds of findings, all defined in the table of this file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(#[doc = $about] $variant,)*
        }

        impl Kind {
            /// All kinds, in documentation order.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name,)* }
            }

            pub const fn severity(self) -> Severity {
                match self { $(Kind::$variant => Severity::$severity,)* }
            }

            /// Returns the area of the check: text, shape, references, expressions, commands, providers, outputs or safety.
            pub const fn family(self) -> &'static str {
                match self { $(Kind::$variant => $family,)* }
            }

            pub const fn about(self) -> &'static str {
                match self { $(Kind::$variant => $about,)* }
            }

            /// Returns a line of a workflow that has this problem.
            pub const fn example(self) -> &'static str {
                match self { $(Kind::$variant => $example,)* }
            }
        }
    };
}

kinds! {
    YamlSyntax           "yaml_syntax"            Error   "text" "The text is not valid YAML; the message comes from the YAML parser." "with: {app: ${{ \
        inputs.app }}}";
    DuplicateKey         "duplicate_key"          Error   "text" "A mapping contains the same key twice; only the first value is used." "{run: a, run: b}";
    MultiDocument        "multi_document"         Error   "text" "The text contains a second YAML document; a workflow must be a single \
        document." "---";
    NonScalarKey         "non_scalar_key"         Error   "text" "A key is not text, but a list, a mapping, a number, true, false or \
        null." "? [a] : b";
    MustacheWithoutDollar "mustache_without_dollar" Error "text" "A template starts with two braces, but the dollar sign before them is \
        missing." "app: \
        \"{{ inputs.app }}\"";
    UnsupportedYaml      "unsupported_yaml"       Error   "text" "The text uses a tag, a directive, a merge key, or an alias inside its \
        own anchor; none of these is supported." "a: !!str 1";
    LimitExceeded        "limit_exceeded"         Error   "text" "The text is too long or nested too deeply, has too many elements, or \
        contains a number above its limit." "max_attempts: \
        1000000";
    AmbiguousScalar      "ambiguous_scalar"       Warning "text" "An unquoted word is text here, but other YAML parsers read it as a \
        boolean, a number or a date." "with: {private: yes}";

    UnknownKey           "unknown_key"            Warning "shape" "A field is unknown and is ignored." "step: []";
    WrongType            "wrong_type"             Error   "shape" "A value has the wrong type, or is not one of the allowed words." "example: {a: 1}";
    MissingField         "missing_field"          Error   "shape" "A required field is missing." "steps: []";
    BadIdentifier        "bad_identifier"         Error   "shape" "A name cannot be used in expressions. Use letters, digits, `_` and \
        `-`, starting with a letter or `_`." "id: create app";
    DuplicateStepId      "duplicate_step_id"      Error   "shape" "Two steps, or two inputs, have the same name." "id: a";
    EmptySteps           "empty_steps"            Error   "shape" "The workflow has no steps." "steps: []";
    DefaultShape         "default_shape"          Error   "shape" "A default is not a mapping with `from` and `value`." "default: us";
    ReservedKey          "reserved_key"           Error   "shape" "A key from another workflow language has no meaning here." "condition: true";
    CatalogRequirement   "catalog_requirement"    Error   "shape" "`requires` names a group that has no commands." "requires: [heroku]";

    UnknownInputRef      "unknown_input_ref"      Error   "references" "An expression names an input that does not exist." "${{ \
        inputs.ap }}";
    UnknownStepRef       "unknown_step_ref"       Error   "references" "An expression names a step that does not exist." "${{ \
        steps.ap.output.id }}";
    SelfRef              "self_ref"               Error   "references" "A step uses its own output outside of `repeat.until`." "id: \
        a, if: steps.a.output";
    MissingDependsOn     "missing_depends_on"     Warning "references" "A step uses another step's output, but its `depends_on` does not \
        list that other step. The reference makes it a dependency anyway." "depends_on: [a]";
    DependencyCycle      "dependency_cycle"       Error   "references" "Steps depend on each other; the message names the cycle." "depends_on: [b]";
    InputCycle           "input_cycle"            Error   "references" "Inputs depend on each other; the message names the cycle." "depends_on: [b]";
    UnknownDependency    "unknown_dependency"     Error   "references" "`depends_on` names something that does not exist." "depends_on: \
        [gone]";
    EnvNotAllowed        "env_not_allowed"        Error   "references" "An expression names a variable that the project does not \
        allow." "${{ env.HOME }}";
    DependsOnConditionalStep "depends_on_conditional_step" Warning "references" "A step without a condition depends on a step that has \
        one; if that step is skipped, both are skipped." "depends_on: [maybe]";
    UnusedInput          "unused_input"           Warning "references" "No expression uses the input." "inputs: {region: {}}";

    ExprSyntax           "expr_syntax"            Error   "expressions" "An expression is not valid, or its end is missing." "${{ \
        inputs. }}";
    UnsupportedOperator  "unsupported_operator"   Error   "expressions" "Expressions do not support this operator or call." "${{ \
        inputs.a > 1 }}";
    BadRegex             "bad_regex"              Error   "expressions" "`validate.pattern` is not a valid regular expression, or is \
        too large." "pattern: \"[\"";
    BadDuration          "bad_duration"           Error   "expressions" "A duration is not valid. Use a value such as `250ms`, `10s`, \
        `5m` or `1h`, or a number of seconds." "every: \
        soon";
    RepeatWithoutUntil   "repeat_without_until"   Warning "expressions" "`repeat` has no `until`, so the step runs only once." "repeat: {every: 5s}";
    RepeatUnbounded      "repeat_unbounded"       Warning "expressions" "`repeat` has neither `timeout` nor `max_attempts`, so the \
        defaults apply: 15 minutes and 100 attempts." "repeat: {until: steps.a.output.ready}";

    UnknownCommand       "unknown_command"        Error   "commands" "There is no command with this id; the message lists the most \
        similar ids." "run: apps:creat";
    AmbiguousCommand     "ambiguous_command"      Error   "commands" "Several commands match this name." "run: create";
    NotRunnable          "not_runnable"           Error   "commands" "Steps cannot run the command; the message gives the reason." "run: \
        files:upload";
    DeprecatedCommand    "deprecated_command"     Warning "commands" "The command's source marks it as deprecated." "run: \
        apps:old";
    MissingRequiredArg   "missing_required_arg"   Error   "commands" "A required argument is missing." "with: {}";
    UnknownWithKey       "unknown_with_key"       Error   "commands" "The command has no argument of this name." "with: {regoin: us}";
    EnumViolation        "enum_violation"         Error   "commands" "The value is not one of the allowed values." "with: {region: moon}";
    LiteralTypeMismatch  "literal_type_mismatch"  Error   "commands" "A value has the wrong type for the argument." "with: {count: many}";
    TemplateTypeMismatch "template_type_mismatch" Warning "commands" "An expression has the wrong type for the argument." "count: \
        ${{ inputs.name }}";
    BaseUrlMissing       "base_url_missing"       Error   "commands" "The command's API has no base URL." "run: apps:list";
    SecretMissing        "secret_missing"         Warning "commands" "A secret that the command needs is not set up." "${{ \
        secrets.token }}";

    UnknownProvider      "unknown_provider"       Error   "providers" "There is no command with this id to use as a provider." "provider: \
        addons:lst";
    ProviderNotList      "provider_not_list"      Error   "providers" "The command cannot provide values, because its output is not a \
        list." "provider: apps:create";
    MissingProviderArg   "missing_provider_arg"   Error   "providers" "A required argument of a provider has no value bound to it." "provider: addons:list";
    ContractTagMismatch  "contract_tag_mismatch"  Error   "providers" "The value has none of the tags that the argument accepts." "app: ${{ \
        steps.create_app.output.region }}";
    PreferNotUsed        "prefer_not_used"        Warning "providers" "The argument prefers another field of the same output." "app: ${{ \
        steps.create_app.output.name }}";
    MissingDependsOnForProviderArg "missing_depends_on_for_provider_arg" Error "providers" "An input's provider uses a step or another \
        input, but the input's `depends_on` does not list it." "app: {from_input: app}";
    ValueFieldMissing    "value_field_missing"    Error   "providers" "`select` names a field that the provider does not return." "select: {value_field: uid}";
    ValueFieldNotScalar  "value_field_not_scalar" Error   "providers" "`select.value_field` is a list or a mapping." "select: \
        {value_field: owner}";
    SelectAmbiguous      "select_ambiguous"       Warning "providers" "It is unclear which field of the provider to use as the value, \
        so a person has to choose." "provider: regions:list";
    IdFieldRecommended   "id_field_recommended"   Warning "providers" "`select` has no `id_field`, so cached elements are identified by \
        their value." "select: {value_field: name}";

    OutputPathMissing    "output_path_missing"    Error   "outputs" "The command's output has no such field; the hint lists the most \
        similar fields." "${{ steps.a.output.uid }}";
    OutputUnverifiable   "output_unverifiable"    Warning "outputs" "The fields of the command's output are unknown." "${{ \
        steps.a.output.id }}";
    ArrayIndexMissing    "array_index_missing"    Warning "outputs" "An expression names a field of a list's elements, but not which \
        element." "${{ \
        steps.list.output.id }}";

    SecretLiteral        "secret_literal"         Error   "safety" "The text contains a secret; use a reference to it." "token: \
        ghp_...";
    SecretWrongCatalog   "secret_wrong_catalog"   Error   "safety" "A secret is used in a command from a different catalog." "${{ \
        secrets.other }}";
    MutationBeforeRead   "mutation_before_read"   Warning "safety" "A step runs a command that makes changes before any step has run a read-only command of the \
        same group." "run: apps:update";
    UnguardedMutation    "unguarded_mutation"     Warning "safety" "A destructive step has no condition and depends on no step that \
        reads data." "run: apps:delete";
    CreateWithoutCheck   "create_without_check"   Warning "safety" "A step creates something, but no earlier step checks whether it \
        already exists." "run: \
        apps:create";
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// An error or warning, with its place in the text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub code: Kind,
    pub severity: Severity,
    /// A sentence that names the problem, without a final period.
    pub message: String,
    /// JSON pointer of the value.
    pub path: String,
    /// The position of the finding in the text.
    #[serde(flatten)]
    pub span: Span,
    /// How to fix the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The part of a command's contract that the value was checked against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// The change that fixes the problem, if it is certain to be right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// Additional details. For a value from an alias, `defined_at` is the place of its definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The tags of a contract that a value does not match.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// The tags that the argument accepts.
    pub accepts: Vec<String>,
    /// The tag that the argument prefers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefer: Option<String>,
    /// The tags of the value.
    pub tags: Vec<String>,
}

/// A replacement for a part of the text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fix {
    pub text: String,
    pub span: Span,
}

impl Finding {
    /// Returns a finding without a hint or fix.
    pub fn new(code: Kind, path: impl Into<String>, span: Span, message: impl Into<String>) -> Self {
        let (message, path) = (message.into(), path.into());
        Self { code, severity: code.severity(), message, path, span, hint: None, why: None, fix: None, details: None }
    }

    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the text that fixes the problem.
    pub fn fix(&mut self, span: Span, text: impl Into<String>) -> &mut Self {
        self.fix = Some(Fix { text: text.into(), span });
        self
    }
}

pub fn has_errors(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// Applies the fixes of findings to a text, as [`mended_by`] does.
pub fn mended(text: &str, findings: &[Finding]) -> (String, usize) {
    mended_by(text, findings.iter().filter_map(|finding| finding.fix.as_ref()).collect())
}

/// Applies fixes to a text, and returns the new text with the number of fixes. If two fixes overlap, only the first is applied;
/// the second problem shows up again when the new text is checked.
pub fn mended_by(text: &str, mut fixes: Vec<&Fix>) -> (String, usize) {
    fixes.sort_by_key(|fix| (fix.span.start, fix.span.end));
    let (mut mended, mut done, mut count) = (String::with_capacity(text.len()), 0, 0);
    for fix in fixes {
        let Some(before) = text.get(done..fix.span.start) else { continue };
        mended.push_str(before);
        mended.push_str(&fix.text);
        done = fix.span.end;
        count += 1;
    }
    mended.push_str(&text[done..]);
    (mended, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Kind::ALL.len());
    }

    #[test]
    fn fixes_that_overlap_are_applied_one_after_the_other() {
        let span = |start, end| Span { start, end, ..Span::BEGINNING };
        let found = |start, end, text| {
            let mut found = Finding::new(Kind::ReservedKey, "", span(start, end), "x");
            found.fix(span(start, end), text);
            found
        };
        let (text, count) = mended("one two three", &[found(4, 7, "2"), found(0, 3, "1"), found(5, 8, "no")]);
        assert_eq!((text.as_str(), count), ("1 2 three", 2));
        assert_eq!(mended("as it is", &[]), ("as it is".to_owned(), 0));
    }
}
