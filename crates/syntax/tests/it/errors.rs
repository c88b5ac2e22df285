//! Syntax errors: number, line and near-text as SQL Server gives them.

use ringwood_syntax::parse;

/// The batch must fail with this number on this line, and the message must contain `near`.
fn check(sql: &str, number: u32, line: u32, near: &str) {
    match parse(sql) {
        Ok(parsed) => panic!("{sql:?} must fail with {number}, but gives {parsed:#?}"),
        Err(error) => {
            assert_eq!((error.number, error.line), (number, line), "{sql:?} gives {error}");
            assert!(error.message.contains(near), "{sql:?} gives {error}");
            assert_eq!(error.severity, 15, "{sql:?}");
        }
    }
}

/// The batch must fail with these errors: numbers, lines, and what the messages quote.
fn check_all(sql: &str, wanted: &[(u32, u32, &str)]) {
    let error = parse(sql).expect_err(sql);
    let all: Vec<_> = std::iter::once(&error).chain(&error.after).collect();
    let found: Vec<(u32, u32)> = all.iter().map(|e| (e.number, e.line)).collect();
    let numbers: Vec<(u32, u32)> =
        wanted.iter().map(|(number, line, _)| (*number, *line)).collect();
    assert_eq!(found, numbers, "{sql:?} gives {all:?}");
    for (error, (.., near)) in all.iter().zip(wanted) {
        assert!(error.message.contains(&format!("near {near}.")), "{sql:?} gives {error}");
    }
}

#[test]
fn a_query_inside_of_another_has_no_with() {
    let (keyword, with) = ("the keyword 'WITH'", "the keyword 'with'");
    for sql in [
        "SELECT * FROM (WITH x AS (SELECT 1 a) SELECT * FROM x) q WHERE a = 1",
        "WITH a AS (WITH b AS (SELECT 1 x) SELECT * FROM b) SELECT * FROM a",
        "SELECT (WITH x AS (SELECT 1 a) SELECT a FROM x)",
        "SELECT 1 WHERE 1 IN (WITH x AS (SELECT 1 a) SELECT a FROM x)",
        "SELECT 1 FROM t CROSS APPLY (WITH x (a) AS (SELECT 1) SELECT a FROM x) y",
        "CREATE VIEW v AS SELECT * FROM (WITH x AS (SELECT 1 a) SELECT * FROM x) q",
    ] {
        check_all(sql, &[(156, 1, keyword), (319, 1, with), (102, 1, "')'")]);
    }
    check_all(
        "IF EXISTS (\nwith x AS (SELECT 1 a)\nSELECT a FROM x\n) SELECT 1",
        &[(156, 2, with), (319, 2, with), (102, 4, "')'")],
    );
    // It has an error of its own, or none: nothing stands behind it.
    check_all(
        "SELECT (WITH x AS (SELECT 1 a) SELECT a FROM WHERE)",
        &[(156, 1, keyword), (319, 1, with), (156, 1, "the keyword 'WHERE'")],
    );
    check_all(
        "SELECT 1 a UNION ALL WITH x AS (SELECT 1 a) SELECT a FROM x",
        &[(156, 1, keyword), (319, 1, with)],
    );
    check_all("SELECT * FROM WITH (NOLOCK)", &[(156, 1, keyword), (319, 1, with)]);
    // Where a statement has ended it begins the next one.
    check_all("SELECT 1 a WITH x AS (SELECT 1 a) SELECT a FROM x", &[(319, 1, with)]);
}

#[test]
fn incorrect_syntax_near_a_token() {
    check("SELCT * FROM t", 102, 1, "Incorrect syntax near '*'.");
    check("SELECT 1\nfoo bar baz", 102, 2, "near 'bar'");
    check("SELECT 1;\nfoo bar baz", 102, 2, "near 'foo'");
    check("SELECT * FROM", 102, 1, "near 'FROM'");
    check("SELECT", 102, 1, "near 'SELECT'");
    check("\n\nSELECT a,\nFROM t", 156, 4, "Incorrect syntax near the keyword 'FROM'.");
    check("CREATE TABLE t (a int", 102, 1, "near 'int'");
    check("CREATE TABLE t ()", 102, 1, "near ')'");
    check("SELECT (1", 102, 1, "near '1'");
    check("SELECT 1)", 102, 1, "near ')'");
    check("SELECT 1 = 2", 102, 1, "near '='");
    check("SELECT (a = 2)", 102, 1, "near '='");
    check("UPDATE t SET a == 1", 102, 1, "near '='");
    check("SELECT 'it''s' 'b' 'c'", 102, 1, "near 'c'");
    check("SELECT [a b] [c] [d]]e]", 102, 1, "near 'd]e'");
    check("SELECT TOP @n a FROM t", 102, 1, "near '@n'");
    check("INSERT t VALUES (1,)", 102, 1, "near ')'");
    check("SELECT a b c FROM t", 102, 1, "near 'c'");
    check("SELECT 1 ?", 102, 1, "near '?'");
    check("SELECT a FROM t OFFSET 5 ROWS", 102, 1, "near '5'");
    check("RAISERROR ('x', 16)", 102, 1, "near ')'");
    check("CREATE VIEW v AS SELECT 1 a SELECT 2", 156, 1, "'SELECT'");
    check("SELECT * FROM (SELECT 1 a)", 102, 1, "near ')'");
    check("ALTER DATABASE d SET RECOVERY =", 102, 1, "near '='");
    check("CREATE DATABASE d ON (NAME = x, COLOUR = red)", 102, 1, "near 'COLOUR'");
    check("DECLARE @a", 102, 1, "near '@a'");
    check("SELECT a.b.c.d.e.f FROM t", 117, 1, "The maximum is 3.");
}

#[test]
fn incorrect_syntax_near_a_keyword() {
    check("SELECT FROM t", 156, 1, "Incorrect syntax near the keyword 'FROM'.");
    check("SELECT * FROM table", 156, 1, "'table'");
    check("CREATE TABLE order (a int)", 156, 1, "'order'");
    check("SELECT a FROM t WHERE WHERE", 156, 1, "'WHERE'");
    check("BEGIN END", 156, 1, "'END'");
    check("ELSE SELECT 1", 156, 1, "'ELSE'");
    check("IF 1 = 1\nELSE\nSELECT 1", 156, 2, "'ELSE'");
    check("SELECT * FROM t JOIN u WHERE 1 = 1", 156, 1, "'WHERE'");
    check("SELECT CASE END", 156, 1, "'END'");
    check("BEGIN TRY SELECT 1 END TRY; BEGIN CATCH END CATCH", 102, 1, "near ';'");
    check("SELECT a FROM t GROUP a", 102, 1, "near 'a'");
}

#[test]
fn with_needs_a_semicolon_before() {
    check(
        "SELECT 1 a\nWITH c AS (SELECT 1 x) SELECT * FROM c",
        319,
        2,
        "keyword 'with'. If this statement",
    );
    check("BEGIN PRINT 'x' WITH c AS (SELECT 1 x) SELECT * FROM c END", 319, 1, "semicolon");
    assert!(parse("BEGIN WITH c AS (SELECT 1 x) SELECT * FROM c END").is_ok());
}

#[test]
fn text_that_is_not_closed() {
    check("SELECT 'abc", 105, 1, "Unclosed quotation mark after the character string 'abc'.");
    check("SELECT 1\nSELECT N'x''y\nz", 105, 2, "'x''y\nz'");
    check("SELECT [abc", 105, 1, "'abc'");
    check("SELECT \"abc", 105, 1, "'abc'");
    // What stands after the quote that was not doubled looks like words.
    check(
        "PRINT 'it's'\nSELECT 1",
        105,
        1,
        "Unclosed quotation mark after the character string '\nSELECT 1'.",
    );
    check("INSERT t VALUES ('O'Neill', 5)", 105, 1, "', 5)'");
    check("SELECT 1\n/* x /* y */", 113, 2, "Missing end comment mark '*/'.");
    // The earlier error wins.
    check("SELECT FROM t WHERE a = 'x", 156, 1, "'FROM'");
}

#[test]
fn names() {
    let long = "a".repeat(129);
    check(
        &format!("SELECT 1 AS\n{long}"),
        103,
        2,
        &format!("starts with '{}' is too long", &long[..128]),
    );
    check(&format!("SELECT [{long}]"), 103, 1, "Maximum length is 128.");
    check(&format!("DECLARE @{long} int"), 103, 1, "Maximum length is 128.");
    assert!(parse(&format!("SELECT {}", &long[..128])).is_ok());
    assert!(parse(&format!("SELECT [{}]", "ü".repeat(128))).is_ok());
    check("SELECT 1 AS []", 1038, 1, "missing or empty");
    check("SELECT 1 AS \"\"", 1038, 1, "missing or empty");
}

#[test]
fn conditions_and_values_are_kept_apart() {
    check("IF 1 SELECT 1", 4145, 1, "near 'SELECT'");
    check("SELECT 1 WHERE a", 4145, 1, "near 'a'");
    check("SELECT 1 WHERE a = 1 AND b OR c = 1", 4145, 1, "near 'OR'");
    check("SELECT 1 WHERE (a)", 4145, 1, "near ')'");
    check("SELECT 1 WHERE NOT a", 4145, 1, "condition is expected");
    check("SELECT 1 WHERE (a = 1) + 1 = 2", 102, 1, "near '+'");
    check("SELECT a IS NULL FROM t", 156, 1, "'IS'");
    check("PRINT EXISTS (SELECT 1)", 156, 1, "'EXISTS'");
}

#[test]
fn rules_of_single_statements() {
    check(
        "SELECT 1\nCREATE VIEW v AS SELECT 1 a",
        111,
        2,
        "'CREATE VIEW' must be the first statement",
    );
    check("DECLARE @a int CREATE PROC p AS SELECT 1", 111, 1, "'CREATE/ALTER PROCEDURE' must be");
    check(
        "IF 1 = 1 CREATE FUNCTION f () RETURNS int AS BEGIN RETURN 1 END",
        111,
        1,
        "'CREATE FUNCTION'",
    );
    check("SET NOCOUNTS ON", 195, 1, "'NOCOUNTS' is not a recognized SET option.");
    check("MERGE t USING u ON 1 = 1 WHEN MATCHED THEN DELETE", 10713, 1, "semi-colon");
    check("SELECT 1 UNION (SELECT 2 ORDER BY 1)", 156, 1, "'ORDER'");
    check("CREATE TABLE t (a int) ON DELETE", 156, 1, "'DELETE'");
    check("SELECT * FROM t WITH NOLOCK", 319, 1, "'with'");
}

/// Runs `parse` on a thread with the smallest stack that a session may have.
fn parse_on_small_stack(sql: String) -> Result<usize, u32> {
    let builder = std::thread::Builder::new().stack_size(2 << 20);
    let thread =
        builder.spawn(move || parse(&sql).map(|list| list.len()).map_err(|error| error.number));
    thread.expect("a thread can be made").join().expect("the parser neither panics nor overflows")
}

#[test]
fn chains_are_of_a_thousand_operators() {
    for chain in [" + 1", " COLLATE x"] {
        let parsed = |n: usize| parse_on_small_stack(format!("SELECT 1{}", chain.repeat(n)));
        assert_eq!(parsed(1_000), Ok(1), "{chain}");
        assert_eq!(parsed(1_025), Err(191), "{chain}");
    }
    // Rules take one or two levels each.
    let blocks = |n: usize| {
        parse_on_small_stack(format!("{}SELECT 1{}", "BEGIN ".repeat(n), " END".repeat(n)))
    };
    assert_eq!(blocks(90), Ok(1));
    assert_eq!(blocks(201), Err(191));
}

#[test]
fn nesting_is_bounded() {
    let deep = |open: &str, inner: &str, close: &str, n: usize| {
        parse_on_small_stack(format!("{}{inner}{}", open.repeat(n), close.repeat(n)))
    };
    for n in [1000, 20_000] {
        assert_eq!(deep("SELECT (", "1", ")", n), Err(191));
        assert_eq!(
            parse_on_small_stack(format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n))),
            Err(191)
        );
        assert_eq!(parse_on_small_stack(format!("SELECT {}1", " -".repeat(n))), Err(191));
        assert_eq!(parse_on_small_stack(format!("SELECT {}1", "~".repeat(n))), Err(191));
        assert_eq!(
            parse_on_small_stack(format!("SELECT 1 WHERE {}a = 1", "NOT ".repeat(n))),
            Err(191)
        );
        assert_eq!(deep("BEGIN ", "SELECT 1", " END", n), Err(191));
        assert_eq!(deep("IF 1 = 1 ", "SELECT 1", "", n), Err(191));
        // A chain of ELSE IF takes little stack for each.
        assert_eq!(deep("IF 1 = 1 SELECT 1 ELSE ", "SELECT 1", "", 10 * n), Err(191));
        assert_eq!(deep("SELECT * FROM (", "SELECT 1 a", ") x", n), Err(191));
        assert_eq!(
            parse_on_small_stack(format!("SELECT * FROM {}t{}", "(".repeat(n), ")".repeat(n))),
            Err(191)
        );
        assert_eq!(
            parse_on_small_stack(format!("SELECT {}1{}", "(SELECT ".repeat(n), ")".repeat(n))),
            Err(191)
        );
        assert_eq!(
            parse_on_small_stack(format!("SELECT {}1{}", "f(".repeat(n), ")".repeat(n))),
            Err(191)
        );
        let cases = format!("SELECT {}1{}", "CASE WHEN 1 = 1 THEN ".repeat(n), " END".repeat(n));
        assert_eq!(parse_on_small_stack(cases), Err(191));
        assert_eq!(parse_on_small_stack(format!("SELECT 1{}", " + 1".repeat(n + 30))), Err(191));
        assert_eq!(
            parse_on_small_stack(format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(n + 30))),
            Err(191)
        );
        assert_eq!(
            parse_on_small_stack(format!("SELECT a{}", " COLLATE x".repeat(n + 30))),
            Err(191)
        );
        assert_eq!(
            parse_on_small_stack(format!("SELECT 1 FROM t{}", " CROSS JOIN t".repeat(n + 30))),
            Err(191)
        );
        assert_eq!(
            parse_on_small_stack(format!("DBCC x WITH {}a{}", "a (".repeat(n), ")".repeat(n))),
            Err(191)
        );
    }
}

#[test]
fn what_is_flat_may_be_long() {
    assert_eq!(
        parse_on_small_stack(format!("SELECT 1 WHERE a = 1{}", " OR a = 1".repeat(20_000))),
        Ok(1)
    );
    assert_eq!(
        parse_on_small_stack(format!("SELECT 1 WHERE a IN (1{})", ", 1".repeat(20_000))),
        Ok(1)
    );
    assert_eq!(
        parse_on_small_stack(format!("INSERT t VALUES (1){}", ", (1)".repeat(20_000))),
        Ok(1)
    );
    assert_eq!(parse_on_small_stack("SELECT 1 ".repeat(20_000)), Ok(20_000));
    assert_eq!(parse_on_small_stack(format!("SELECT 'a'{}", " + 'b'".repeat(900))), Ok(1));
    assert_eq!(
        parse_on_small_stack(format!("SELECT {}1{}", "(".repeat(60), ")".repeat(60))),
        Ok(1)
    );
    let chain = format!("{}SELECT 1", "IF 1 = 1 SELECT 1 ELSE ".repeat(150));
    assert_eq!(parse_on_small_stack(chain), Ok(1));
}

/// Left-deep chains inside left-deep chains must not multiply their heights.
#[test]
fn chains_in_parentheses_do_not_add_up() {
    let mut text = String::from("1");
    for _ in 0..40 {
        text = format!("({text}{})", " + 1".repeat(300));
    }
    assert_eq!(parse_on_small_stack(format!("SELECT {text}")), Err(191));
}
