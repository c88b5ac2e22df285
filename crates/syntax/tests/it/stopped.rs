//! A text that nobody wants any more is not read to its end: who reads it asks again and again,
//! while it makes tokens and while it makes statements of them.

use ringwood_syntax::{ParseError, ParseSettings, parse_while};
use std::cell::Cell;

/// Reads a text until the question with this number is answered by no; how many were asked, and
/// what came of it.
fn asked(text: &str, stop_at: usize) -> (usize, Option<ParseError>) {
    let asked = Cell::new(0);
    let wanted = || {
        asked.set(asked.get() + 1);
        asked.get() < stop_at
    };
    let parsed = parse_while(text, ParseSettings::default(), &wanted);
    (asked.get(), parsed.err())
}

#[test]
fn a_text_is_left_where_it_is_not_wanted_any_more() {
    let texts = [
        "SELECT a FROM t WHERE b = 1 ".repeat(2_000),
        format!("SELECT 1 WHERE 1 IN ({}1)", "1, ".repeat(20_000)),
        format!("SELECT {}1", "1 + 1, ".repeat(10_000)),
        format!("BEGIN {} END", "SET @v = 1 ".repeat(5_000)),
        format!(
            "CREATE TABLE t ({}z int)",
            (0..5_000).map(|i| format!("c{i} int, ")).collect::<String>()
        ),
    ];
    for text in texts {
        let (all, error) = asked(&text, usize::MAX);
        assert_eq!(error, None, "{}", &text[..40]);
        assert!(all >= text.len() / 8_000, "{}: {all} questions", &text[..40]);
        for stop_at in 1..=all {
            assert_eq!(
                asked(&text, stop_at),
                (stop_at, Some(ParseError::Stopped)),
                "{}",
                &text[..40]
            );
        }
    }
}
