//! What is found in the text of a workflow: one [`Finding`] with a [`Kind`], and the one table that says what each kind means.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::span::Span;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The workflow cannot run as it is.
    Error,
    /// It can, and perhaps does something else than was meant.
    Warning,
}

macro_rules! kinds {
    ($($variant:ident $name:literal $severity:ident $family:literal $about:literal $example:literal;)*) => {
        /// What kind of thing was found. The table in this file is the only place that lists them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(#[doc = $about] $variant,)*
        }

        impl Kind {
            /// Every kind, in the order of the documentation.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant,)*];

            /// The stable name.
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name,)* }
            }

            /// How much it weighs.
            pub const fn severity(self) -> Severity {
                match self { $(Kind::$variant => Severity::$severity,)* }
            }

            /// What it is about: text, shape, references, expressions, commands, providers, outputs or safety.
            pub const fn family(self) -> &'static str {
                match self { $(Kind::$variant => $family,)* }
            }

            /// What it means.
            pub const fn about(self) -> &'static str {
                match self { $(Kind::$variant => $about,)* }
            }

            /// A line that has it.
            pub const fn example(self) -> &'static str {
                match self { $(Kind::$variant => $example,)* }
            }
        }
    };
}

kinds! {
    YamlSyntax           "yaml_syntax"            Error   "text" "The text is not YAML, in the parser's words." "with: {app: ${{ \
        inputs.app }}}";
    DuplicateKey         "duplicate_key"          Error   "text" "A mapping has a key twice; the first one is used." "{run: a, run: b}";
    MultiDocument        "multi_document"         Error   "text" "A second document follows; a workflow is one." "---";
    NonScalarKey         "non_scalar_key"         Error   "text" "A key is not text: a list, a mapping, a number, true, null." "? [a] : b";
    MustacheWithoutDollar "mustache_without_dollar" Error "text" "A template begins with two braces and without the dollar sign." "app: \
        \"{{ inputs.app }}\"";
    UnsupportedYaml      "unsupported_yaml"       Error   "text" "A tag, a directive, a merge key, or an alias inside its own anchor." "a: !!str 1";
    LimitExceeded        "limit_exceeded"         Error   "text" "The text exceeds a limit of size, depth or number." "max_attempts: \
        1000000";
    AmbiguousScalar      "ambiguous_scalar"       Warning "text" "An unquoted word that other YAML parsers read as a boolean, a number \
        or a date; here it is text." "with: {private: yes}";

    UnknownKey           "unknown_key"            Warning "shape" "An unknown field; it is ignored." "step: []";
    WrongType            "wrong_type"             Error   "shape" "A value of the wrong type, or not one of the allowed words." "example: {a: 1}";
    MissingField         "missing_field"          Error   "shape" "A required field is missing." "steps: []";
    BadIdentifier        "bad_identifier"         Error   "shape" "A name that no expression could write: letters, digits, `_` and `-`, \
        a letter or `_` first." "id: create app";
    DuplicateStepId      "duplicate_step_id"      Error   "shape" "Two steps, or two inputs, have one name." "id: a";
    EmptySteps           "empty_steps"            Error   "shape" "The workflow has no steps." "steps: []";
    DefaultShape         "default_shape"          Error   "shape" "A default must be a mapping that says where the value comes from." "default: us";
    ReservedKey          "reserved_key"           Error   "shape" "A key from another workflow language, which has no meaning here." "condition: true";
    CatalogRequirement   "catalog_requirement"    Error   "shape" "`requires` names a group that has no commands." "requires: [heroku]";

    UnknownInputRef      "unknown_input_ref"      Error   "references" "An expression names an input that does not exist." "${{ \
        inputs.ap }}";
    UnknownStepRef       "unknown_step_ref"       Error   "references" "An expression names a step that does not exist." "${{ \
        steps.ap.output.id }}";
    SelfRef              "self_ref"               Error   "references" "A step names its own answer, outside of `repeat.until`." "id: \
        a, if: steps.a.output";
    MissingDependsOn     "missing_depends_on"     Warning "references" "`depends_on` lists some steps, and not one whose answer is \
        used; the reference makes it one." "depends_on: [a]";
    DependencyCycle      "dependency_cycle"       Error   "references" "Steps depend on each other; the message names the cycle." "depends_on: [b]";
    InputCycle           "input_cycle"            Error   "references" "Inputs depend on each other; the message names the cycle." "depends_on: [b]";
    UnknownDependency    "unknown_dependency"     Error   "references" "`depends_on` names something that does not exist." "depends_on: \
        [gone]";
    EnvNotAllowed        "env_not_allowed"        Error   "references" "An expression names a variable that the project does not \
        allow." "${{ env.HOME }}";
    DependsOnConditionalStep "depends_on_conditional_step" Warning "references" "A step without a condition needs one that has a \
        condition, and is skipped with it." "depends_on: [maybe]";
    UnusedInput          "unused_input"           Warning "references" "No expression names the input." "inputs: {region: {}}";

    ExprSyntax           "expr_syntax"            Error   "expressions" "An expression is not written as one, or never ends." "${{ \
        inputs. }}";
    UnsupportedOperator  "unsupported_operator"   Error   "expressions" "An operator or call that expressions do not have." "${{ \
        inputs.a > 1 }}";
    BadRegex             "bad_regex"              Error   "expressions" "`validate.pattern` is not a regular expression, or too large a \
        one." "pattern: \"[\"";
    BadDuration          "bad_duration"           Error   "expressions" "A time is `250ms`, `10s`, `5m`, `1h` or bare seconds." "every: \
        soon";
    RepeatWithoutUntil   "repeat_without_until"   Warning "expressions" "`repeat` without `until` does not repeat." "repeat: {every: 5s}";
    RepeatUnbounded      "repeat_unbounded"       Warning "expressions" "`repeat` says neither `timeout` nor `max_attempts`; 15 minutes \
        and 100 attempts count." "repeat: {until: steps.a.output.ready}";

    UnknownCommand       "unknown_command"        Error   "commands" "There is no command with this id; the message names the nearest \
        ones." "run: apps:creat";
    AmbiguousCommand     "ambiguous_command"      Error   "commands" "Several commands go by this name." "run: create";
    NotRunnable          "not_runnable"           Error   "commands" "No step can run the command; the message says why." "run: \
        files:upload";
    DeprecatedCommand    "deprecated_command"     Warning "commands" "The command is deprecated by its source." "run: \
        apps:old";
    MissingRequiredArg   "missing_required_arg"   Error   "commands" "A required argument is missing." "with: {}";
    UnknownWithKey       "unknown_with_key"       Error   "commands" "The command has no argument of this name." "with: {regoin: us}";
    EnumViolation        "enum_violation"         Error   "commands" "The value is not one of those allowed." "with: {region: moon}";
    LiteralTypeMismatch  "literal_type_mismatch"  Error   "commands" "A value of the wrong type." "with: {count: many}";
    TemplateTypeMismatch "template_type_mismatch" Warning "commands" "An expression of the wrong type for the argument." "count: \
        ${{ inputs.name }}";
    BaseUrlMissing       "base_url_missing"       Error   "commands" "The command's API has no base URL." "run: apps:list";
    SecretMissing        "secret_missing"         Warning "commands" "A secret that the command needs is not set up." "${{ \
        secrets.token }}";

    UnknownProvider      "unknown_provider"       Error   "providers" "There is no command with this id to use as a provider." "provider: \
        addons:lst";
    ProviderNotList      "provider_not_list"      Error   "providers" "The command provides no values: its answer is not a list." "provider: apps:create";
    MissingProviderArg   "missing_provider_arg"   Error   "providers" "A provider's argument is required, but nothing is bound to it." "provider: addons:list";
    ContractTagMismatch  "contract_tag_mismatch"  Error   "providers" "The value has no tag that the argument accepts." "app: ${{ \
        steps.create_app.output.region }}";
    PreferNotUsed        "prefer_not_used"        Warning "providers" "The argument prefers another field that is there." "app: ${{ \
        steps.create_app.output.name }}";
    MissingDependsOnForProviderArg "missing_depends_on_for_provider_arg" Error "providers" "An input's provider uses another input or a \
        step that its `depends_on` does not name." "app: {from_input: app}";
    ValueFieldMissing    "value_field_missing"    Error   "providers" "`select` names a field that the provider does not return." "select: {value_field: uid}";
    ValueFieldNotScalar  "value_field_not_scalar" Error   "providers" "`select.value_field` is a list or a mapping." "select: \
        {value_field: owner}";
    SelectAmbiguous      "select_ambiguous"       Warning "providers" "It is unclear which field of the provider is the value; a person \
        chooses." "provider: regions:list";
    IdFieldRecommended   "id_field_recommended"   Warning "providers" "`select` without `id_field`: cached elements are identified by \
        their value." "select: {value_field: name}";

    OutputPathMissing    "output_path_missing"    Error   "outputs" "The command's answer has no such field; the message names the \
        nearest ones." "${{ steps.a.output.uid }}";
    OutputUnverifiable   "output_unverifiable"    Warning "outputs" "The fields of the command's answer are unknown." "${{ \
        steps.a.output.id }}";
    ArrayIndexMissing    "array_index_missing"    Warning "outputs" "A field of a list is named without saying of which element." "${{ \
        steps.list.output.id }}";

    SecretLiteral        "secret_literal"         Error   "safety" "The text contains a secret; use a reference to it." "token: \
        ghp_...";
    SecretWrongCatalog   "secret_wrong_catalog"   Error   "safety" "A secret is used in a command of another catalog." "${{ \
        secrets.other }}";
    MutationBeforeRead   "mutation_before_read"   Warning "safety" "A step changes something before any step reads from its group." "run: apps:update";
    UnguardedMutation    "unguarded_mutation"     Warning "safety" "A step destroys without a condition, or a read that it depends on." "run: apps:delete";
    CreateWithoutCheck   "create_without_check"   Warning "safety" "A step creates something without an earlier check whether it \
        exists." "run: \
        apps:create";
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Something that was found, and where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What kind of thing.
    pub code: Kind,
    /// How much it weighs.
    pub severity: Severity,
    /// What was found, in a sentence that names it, without a final period.
    pub message: String,
    /// The JSON pointer of the value.
    pub path: String,
    /// Where it stands.
    #[serde(flatten)]
    pub span: Span,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The part of a contract that it is held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// The text that mends it, where that is certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// What else is known: `defined_at`, where an alias stands for the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The part of a contract that a value is held against.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// The tags that the argument accepts.
    pub accepts: Vec<String>,
    /// The one that it prefers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefer: Option<String>,
    /// The tags of what was given.
    pub tags: Vec<String>,
}

/// A text that takes the place of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fix {
    /// The new text.
    pub text: String,
    /// What it replaces.
    pub span: Span,
}

impl Finding {
    /// Returns a finding without advice.
    pub fn new(code: Kind, path: impl Into<String>, span: Span, message: impl Into<String>) -> Self {
        let (message, path) = (message.into(), path.into());
        Self { code, severity: code.severity(), message, path, span, hint: None, why: None, fix: None, details: None }
    }

    /// Says what to do.
    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says which text mends it.
    pub fn fix(&mut self, span: Span, text: impl Into<String>) -> &mut Self {
        self.fix = Some(Fix { text: text.into(), span });
        self
    }
}

/// Returns whether a list has an error in it.
pub fn has_errors(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// Returns a text with the fixes of its findings applied, and how many there were. Where two of them overlap, the first one
/// counts; the other is found again in the new text.
pub fn mended(text: &str, findings: &[Finding]) -> (String, usize) {
    let mut fixes: Vec<&Fix> = findings.iter().filter_map(|finding| finding.fix.as_ref()).collect();
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
