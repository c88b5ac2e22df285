//! GO and scripting variables.

use ringwood_syntax::{Batch, Scanner, split_batches};

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
fn what_a_text_ends_inside_of() {
    let open = |text| Scanner::default().after(text).is_open();
    let comment = |text| Scanner::default().after(text).in_comment();
    assert!(
        open("select 'a") && !comment("select 'a") && open("[a]]") && !open("'it''s' \"x\" [y]")
    );
    assert!(open("/* a /* b */") && comment("/* a") && !open("/* a */") && !open("'--'"));
    assert!(comment("-- a") && !open("-- 'a") && !comment("-- a\n") && comment("-- a\n--"));
    // Piece by piece it comes to the same.
    assert!(Scanner::default().after("-- it's").after(" a '\n").after("'").is_open());
}
