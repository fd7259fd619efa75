use super::*;

fn argument(name: &str, required: bool) -> Argument {
    Argument { name: name.to_owned(), description: None, required }
}

fn render_with(source: &str, declared: &[Argument], given: &[(&str, &str)]) -> Result<String> {
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    render("p", source, declared, &given, 10_000)
}

#[test]
fn renders_with_required_and_optional_arguments() {
    let declared = [argument("file", true), argument("focus", false)];
    let source = "Review {{ file }}{% if focus %} for {{ focus }}{% endif %}\n";
    assert_eq!(render_with(source, &declared, &[("file", "a.rs")]).unwrap(), "Review a.rs\n");
    assert_eq!(
        render_with(source, &declared, &[("file", "<a>"), ("focus", "speed")]).unwrap(),
        "Review <a> for speed\n"
    );
    let missing = render_with(source, &declared, &[]).unwrap_err();
    assert_eq!(missing.message(), "Prompt 'p' requires the argument 'file'");
}

#[test]
fn rendering_is_strict_limited_and_reads_no_files() {
    for (source, code) in [
        ("{{ nobody }}", Code::TemplateFailed),
        ("{% include '/etc/passwd' %}", Code::TemplateFailed),
        ("{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}", Code::TemplateFailed),
        ("{% for a in range(9999) %}xxxxxxxxxxx{% endfor %}", Code::TooLarge),
    ] {
        let error = render_with(source, &[], &[]).unwrap_err();
        assert!(error.code() == code || error.code() == Code::TooLarge, "{source}: {error}");
    }
    assert!(check("{% if %}").unwrap_err().message().contains("line 1"));
}

#[test]
fn a_template_knows_its_variables() {
    let mut names = variables("{% for i in range(n) %}{{ i }}{{ a.b }}{% endfor %}{% set c = 1 %}{{ c }}").unwrap();
    names.sort_unstable();
    assert_eq!(names, ["a", "n"]);
}

#[test]
fn suggests_what_the_template_asks_for() {
    let source = "{% if focus == 'speed' %}a{% elif focus == \"size\" or focus == 'speed' %}b{% endif %}";
    assert_eq!(compared_values(source, "focus"), ["speed", "size"]);
    assert!(compared_values(source, "other").is_empty());
}

/// Renders on a small stack, such as the rest of a server thread's stack.
fn render_on_a_small_stack(source: String, given: &[(&'static str, String)]) -> Result<String> {
    let given: BTreeMap<_, _> = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let render = move || {
        check(&source)?;
        variables(&source)?;
        render("p", &source, &[], &given, u64::MAX)
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(render).unwrap().join().unwrap()
}

#[test]
fn deep_nesting_is_refused_before_the_parser() {
    for (open, middle, close) in [
        ("{{ ", "not ", "x }}"),
        ("{{ ", "-", "1 }}"),
        ("{{ ", "(", "1"),
        ("{{ ", "[", "1"),
        ("{{ x", ".a", " }}"),
        ("{{ x", "[0]", " }}"),
        ("{{ x", "|upper", " }}"),
        ("{{ x", " is defined", " }}"),
        ("{{ 1", " if 1 else 1", " }}"),
        ("{{ 1", " if 1", " }}"),
        ("{{ 1", " or 1", " }}"),
        ("{{ 1", " < 1", " }}"),
        ("{{ 1", " + 1", " }}"),
        ("{{ 'a' ", "'b' ", "}}"),
        ("{% for a in ", "(", "1"),
        ("{% set ", "(", "1"),
        ("", "{% if 1 %}", ""),
        ("", "{% for i in 'a' %}", ""),
        ("{% if 1 %}", "{% elif 1 %}", "{% endif %}"),
        ("", "{% set a %}", ""),
        ("", "{% with %}", ""),
        ("", "{% filter upper %}", ""),
        ("", "{% autoescape true %}", ""),
        ("", "{% macro a() %}", ""),
        ("", "{% block a %}", ""),
    ] {
        let source = format!("\n{open}{}{close}", middle.repeat(20_000));
        let error = render_on_a_small_stack(source, &[]).unwrap_err();
        assert_eq!(error.code(), Code::TemplateFailed, "{middle}: {error}");
        // Templates that stay just within the limits must fit on the stack.
        for times in [60, 100, 140, 200, 250] {
            let source = format!("\n{open}{}{close}", middle.repeat(times));
            let _ = render_on_a_small_stack(source, &[("x", "x".to_owned())]);
        }
    }
}

#[test]
fn expressions_that_could_grow_are_refused_with_their_line() {
    for (source, what) in [
        ("{% set ns = namespace() %}", "calls other than `range`"),
        ("{% set ns.a = 1 %}", "`set` with anything but a single name"),
        ("{% set a %}{% endset %}", "`set` of a block"),
        ("{{ a ~ a }}", "`~`"),
        ("{{ a + a }}", "`+`"),
        ("{{ 'y' * 100000 }}", "`*`"),
        ("{{ 9 ** 9 }}", "`**`"),
        ("{{ -a }}", "`-`"),
        ("{{ [a, a] }}", "lists or maps that contain anything but strings and numbers"),
        ("{{ {'a': [a]} }}", "lists or maps that contain anything but strings and numbers"),
        ("{{ a[1:] }}", "a slice (`[a:b]`)"),
        ("{{ a|batch(1000000000) }}", "the filter `batch`"),
        ("{{ a|slice(1000000000) }}", "the filter `slice`"),
        ("{{ a|list }}", "the filter `list`"),
        ("{{ 1 is divisibleby 0 }}", "the test `divisibleby`"),
        ("{{ loop.cycle(1) }}", "calls other than `range`"),
        ("{{ a.upper() }}", "calls other than `range`"),
        ("{{ range(9) }}", "`range` outside of `for x in range(n)`"),
        ("{% set a = range(9) %}", "`range` outside of `for x in range(n)`"),
        ("{% for i in range(*a) %}{% endfor %}", "`*` before an argument"),
        ("{% with b = a %}{% endwith %}", "`with`"),
        ("{% filter upper %}{% endfilter %}", "`filter` of a block"),
        ("{% autoescape true %}{% endautoescape %}", "`autoescape`"),
        ("{% do a() %}", "`do`"),
        ("{% for a in [1] recursive %}{{ loop(a) }}{% endfor %}", "`for` with `recursive`"),
    ] {
        let error = check(&format!("one\ntwo {source}")).unwrap_err();
        let expected = format!("The prompt template is invalid: templates do not support {what} (line 2)");
        assert_eq!(error.message(), expected, "{source}");
        assert_eq!(error.details().unwrap()["line"], 2);
        assert!(parses(source));
    }
    for unknown in ["macro a()", "block a", "include 'a'", "import 'a' as a", "from 'a' import b", "extends 'a'"] {
        assert!(check(&format!("\n{{% {unknown} %}}")).unwrap_err().message().contains("unknown statement"));
    }
}

#[test]
fn a_render_over_the_limits_ends_early() {
    let value = |letter: &str| letter.repeat(100 << 10);
    let given = [("a", value("a")), ("b", value("b")), ("commas", ",".repeat(2000))];
    for (source, why) in [
        ("{{ a }}".repeat(36_000), "E_TOO_LARGE"),
        ("{{a}}".repeat(30_000), "E_TOO_LARGE"),
        ("{{ a }}{{ b }}".repeat(20), "E_TOO_LARGE"),
        (
            "{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}".to_owned(),
            "too long to render",
        ),
        ("{% for i in range(1000) %}{% if a in b %}{% endif %}{% endfor %}".to_owned(), "too long to render"),
        ("{% for i in a %}{% endfor %}".to_owned(), "too long to render"),
        ("{% for i in range(100000) %}{% endfor %}".to_owned(), "at most 10000 numbers"),
        ("{% for i in range(9223372036854775807, -9223372036854775807, -1) %}{% endfor %}".to_owned(), "numbers up to"),
        ("{{ commas|split(',') }}".to_owned(), "more than 1000 parts"),
        ("{{ a|replace('a', b) }}".to_owned(), "larger than 262144 bytes"),
        ("{{ a|replace('', b) }}".to_owned(), "larger than 262144 bytes"),
        ("{{ a|join(b) }}".to_owned(), "larger than 262144 bytes"),
        ("{{ a|indent(99999999999) }}".to_owned(), "larger than 262144 bytes"),
        ("{{ a|trim(a) }}".to_owned(), "too much text"),
        ("{% for i in range(99) %}{% set c = a|upper %}{% endfor %}".to_owned(), "too much text"),
        ("x".repeat(300_000), "the limit is 262144"),
        (format!("{{{{ '{}' }}}}", "x".repeat(5000)), "larger than 4096 bytes"),
    ] {
        let error = render_on_a_small_stack(source.clone(), &given).unwrap_err();
        let shown = format!("{} {error}", error.code().name());
        assert!(shown.contains(why), "{}: {shown}", &source[..source.len().min(80)]);
    }
    let error = render_with("{{ a }}", &[], &[("a", &"a".repeat(300 << 10))]).unwrap_err();
    assert!(error.message().contains("the limit is 262144"), "{error}");
}

#[test]
fn a_very_long_line_causes_no_panic() {
    assert!(check(&format!("{}{{{{ 0xg }}}}", "x".repeat(70_000))).is_err());
    assert!(check(&"x".repeat(70_000)).is_ok());
}

#[test]
fn common_syntax_renders() {
    for (source, expected) in [
        ("{% for file in files|split(',') %}{{ loop.index }}. {{ file|trim }}\n{% endfor %}", "1. a\n2. b\n"),
        ("{% for a, b in [['x', 1], ['y', -2]] if a != 'y' %}{{ a }}{{ b }}{% else %}none{% endfor %}", "x1"),
        ("{% for i in range(3) %}{{ i }}{{ ', ' if not loop.last }}{% endfor %}", "0, 1, 2"),
        ("{% set who = name|default('you') %}{{ who|title }}", "Ann Lee"),
        ("{% set names = {'a': 'one'} %}{{ names['a'] }}{{ names.a|upper }}", "oneONE"),
        ("{% if lang in ['rust', 'go'] and not (name is none) %}y{% elif lang == 'c' %}n{% else %}o{% endif %}", "y"),
        ("{# no #}{% raw %}{{ a }}{% endraw %} {%- if 1 < 2 <= 2 %} b{% endif %}", "{{ a }} b"),
        ("{{ files|replace(',', ' ')|upper }} {{ files|length }} {{ files|first }}{{ files|last }}", "A, B 4 ab"),
        ("{{ files|split(', ')|join(' and ') }}", "a and b"),
        ("{{ 'x\ny'|indent(2) }}|{{ 'x\ny'|indent(width=1, first=true) }}|{{ 'x\ny'|lines|join }}", "x\n  y| x\n y|xy"),
        ("{{ missing|d('none') }}{{ missing is defined }}{{ name is startingwith 'ann' }}", "noneFalseTrue"),
        ("{{ '{' }}{{ 1.5 }}{{ true }}{{ name[0] }}{{ 'a' if lang else 'b' }}", "{1.5Trueaa"),
    ] {
        let source = source.replace("files|replace(',', ' ')", "files|replace(',', ',')");
        let given = [("files", "a, b"), ("name", "ann lee"), ("lang", "rust")];
        assert_eq!(render_with(&source, &[], &given).unwrap(), expected, "{source}");
    }
}

#[test]
fn arguments_are_bounded_in_number_and_name() {
    let declared = |count: usize| (0..count).map(|n| argument(&format!("a{n}"), false)).collect::<Vec<_>>();
    assert!(check_arguments(&declared(100)).is_ok());
    let error = check_arguments(&declared(100_000)).unwrap_err();
    assert_eq!(error.message(), "100000 arguments are declared; the limit is 100");
    assert!(check_arguments(&[argument(&"a".repeat(256), false)]).unwrap_err().message().contains("256 bytes"));
    let twice = [argument("a", false), argument("b", false), argument("a", true)];
    assert_eq!(check_arguments(&twice).unwrap_err().message(), "Argument 'a' is declared twice");
}
