//! What patterns match, and the complaints about those that are none.

use super::*;

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern, Flags::default()).unwrap().is_match(text).unwrap()
}

fn complaint(pattern: &str) -> String {
    match Regex::new(pattern, Flags::default()) {
        Err(PatternError::Invalid(text)) => text,
        other => panic!("{pattern}: {other:?}"),
    }
}

#[test]
fn ends_are_where_python_has_them() {
    assert!(matches("end$", "the end\n"));
    assert!(!matches(r"end\Z", "the end\n"));
    assert!(!matches("end$", "the end\n\n"));
    assert!(matches("(?m)^b$", "a\nb\nc"));
    assert!(!matches(r"\B", ""));
}

#[test]
fn categories_are_those_of_python() {
    assert!(matches(r"^\d$", "٣"));
    assert!(!matches(r"^\w+$", "cafe\u{301}"));
    assert!(matches(r"^\w\b", "e\u{301}"));
    assert!(matches(r"^\s$", "\x1f"));
    assert!(matches(r"^[\S\d]$", "x"));
    assert!(!matches(r"(?a)^\w$", "é"));
}

#[test]
fn brackets_and_braces_in_odd_places_are_characters() {
    assert!(matches("^[]a]+$", "]a"));
    assert!(matches("^[[a&&b]+$", "[&"));
    assert!(matches("^a{,2}$", "aa"));
    assert!(matches("^{}a{x}{$", "{}a{x}{"));
    assert!(matches(r"^\x41\u00e9\101\0$", "AéA\0"));
}

#[test]
fn case_is_ignored_as_python_does() {
    for (pattern, text) in [
        ("(?i)straße", "STRAßE"),
        ("(?i)[a-z]", "\u{212a}"),
        ("(?i)i", "İ"),
        ("(?i)[h-j]", "ı"),
        ("(?i:a)b", "Ab"),
    ] {
        assert!(matches(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [("(?ai)[a-z]", "\u{212a}"), ("(?i:a)b", "AB"), ("(?i)(?-i:a)", "A")] {
        assert!(!matches(pattern, text), "{pattern} {text}");
    }
}

#[test]
fn what_other_engines_leave_out_is_there() {
    for (pattern, text) in [
        ("(?P<w>foo)(?=(?P=w))", "foofoo"),
        (r"(a)?(?(1)b|c)", "ab"),
        (r"(?<!\d)\d{2}(?!\d)", "x42."),
        (r"(a)?(?:(?(1)b|\d))++b*c", "abbc"),
        (r"(a)?(?:(?(1)b|\d))++b*c", "42c"),
        ("(?>a+)b", "aab"),
        ("a*+b", "aab"),
        ("(?x) a b # comment\n c", "abc"),
        ("a(?#comment)*b", "aab"),
        ("(?:(?=a))*a", "a"),
    ] {
        assert!(matches(pattern, text), "{pattern}");
    }
    assert!(!matches("a++a", "aaa"));
}

#[test]
fn complaints_are_those_of_python() {
    for (pattern, expected) in [
        ("(a", "missing ), unterminated subpattern at position 0"),
        ("a)", "unbalanced parenthesis at position 1"),
        ("*a", "nothing to repeat at position 0"),
        ("a**", "multiple repeat at position 2"),
        ("^*", "nothing to repeat at position 1"),
        ("[a", "unterminated character set at position 0"),
        ("[b-a]", "bad character range b-a at position 1"),
        (r"\q", r"bad escape \q at position 0"),
        ("a\\", "bad escape (end of pattern) at position 1"),
        (r"\1", "invalid group reference 1 at position 1"),
        (
            "(?P<a>x)(?P<a>y)",
            "redefinition of group name 'a' as group 2; was group 1 at position 12",
        ),
        ("(?P<1>x)", "bad character in group name '1' at position 4"),
        ("(?<a>x)", "unknown extension ?<a at position 1"),
        ("(?<=a+)b", "look-behind requires fixed-width pattern"),
        ("a{3,2}", "min repeat greater than max repeat at position 2"),
        ("a(?i)", "global flags not at the start of the expression at position 1"),
        ("a\nb)", "unbalanced parenthesis at position 3 (line 2, column 2)"),
    ] {
        assert_eq!(complaint(pattern), expected, "{pattern}");
    }
}

#[test]
fn what_is_not_here_is_said() {
    for pattern in [r"\N{BULLET}", "a{99999999999}", "(a(?(1)b|c))", &"(".repeat(1000)] {
        let error = Regex::new(pattern, Flags::default()).unwrap_err();
        assert!(matches!(error, PatternError::Unsupported(_)), "{pattern}: {error}");
    }
}
