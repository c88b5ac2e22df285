//! GO and scripting variables.

use ringwood_syntax::{Batch, split_batches, substitute};

fn check(script: &str, expected: &[(&str, u32, u32)]) {
    let expected: Vec<Batch<'_>> = expected
        .iter()
        .map(|(text, first_line, count)| Batch { text, first_line: *first_line, count: *count })
        .collect();
    assert_eq!(split_batches(script), expected, "{script:?}");
}

#[test]
fn go_alone_on_a_line_ends_a_batch() {
    check("SELECT 1", &[("SELECT 1", 1, 1)]);
    check("SELECT 1\nGO\nSELECT 2\ngo\n", &[("SELECT 1\n", 1, 1), ("SELECT 2\n", 3, 1)]);
    check("SELECT 1\r\n  Go 5 \r\nSELECT 2", &[("SELECT 1\r\n", 1, 5), ("SELECT 2", 3, 1)]);
    check("a\nGO -- done\nb\nGO 0", &[("a\n", 1, 1), ("b\n", 3, 0)]);
    check("GO\n\nGO\n  \n", &[]);
    check("\u{feff}GO\na", &[("a", 2, 1)]);
    check("a\nGOTO x\nGO x\nGO 1 2\nGO -1\nGO;", &[("a\nGOTO x\nGO x\nGO 1 2\nGO -1\nGO;", 1, 1)]);
}

#[test]
fn go_inside_quotes_and_comments_is_text() {
    for text in [
        "SELECT 'a\nGO\nb'",
        "SELECT 'it''s\nGO\n'",
        "SELECT [a]]\nGO\n]",
        "SELECT \"a\"\"\nGO\n\"",
        "/* x /* y */\nGO\n*/ SELECT 1",
        "/*\nGO 3\n*/ SELECT 1",
        "SELECT 'unclosed\nGO\nSELECT 1",
    ] {
        check(text, &[(text, 1, 1)]);
    }
    check("-- it's\nGO\nSELECT 1", &[("-- it's\n", 1, 1), ("SELECT 1", 3, 1)]);
    check("SELECT '--'\nGO\nb", &[("SELECT '--'\n", 1, 1), ("b", 3, 1)]);
    check("SELECT '/*'\nGO\nb", &[("SELECT '/*'\n", 1, 1), ("b", 3, 1)]);
}

#[test]
fn variables_are_replaced() {
    let vars = vec![
        ("Db".to_owned(), "x".to_owned()),
        ("n".to_owned(), "$(Db)".to_owned()),
        ("e".to_owned(), String::new()),
    ];
    assert_eq!(substitute("USE $(DB) '$(n)'", &vars).as_deref(), Ok("USE x '$(Db)'"));
    assert_eq!(substitute("$(e)", &vars).as_deref(), Ok(""));
    assert_eq!(substitute("$(e)$(db)$(", &vars).as_deref(), Ok("x$("));
    assert_eq!(substitute("a $( b) $() $x", &vars).as_deref(), Ok("a $( b) $() $x"));
    let error = substitute("a\n$(db)\n$(missing)", &vars).expect_err("not defined");
    assert_eq!((error.name.as_str(), error.line), ("missing", 3));
    assert_eq!(error.to_string(), "'missing' scripting variable not defined.");
}
