//! Names of columns that mean nothing: which of them a batch is told of.

use crate::support::text::Bench;

/// A name that means nothing does not hide the others: all of a statement, and of the statements
/// behind it, are told. What may not be there yet is no error of theirs.
#[test]
fn all_names_that_mean_nothing_are_told() {
    let mut b = Bench::new();
    b.run("CREATE TABLE t (a int, b int)");
    let unknown = |names: &[&str]| {
        let lines: Vec<String> =
            names.iter().map(|name| format!("Msg 207: Invalid column name '{name}'.")).collect();
        lines.join("\n")
    };
    let grouped = |column: &str| {
        format!(
            "Msg 8120: Column 't.{column}' is invalid in the select list because it is not contained in either an \
             aggregate function or the GROUP BY clause."
        )
    };
    b.check("SELECT nope, a, other FROM t WHERE third = 1", &unknown(&["third", "nope", "other"]));
    b.check("SELECT nope, nope FROM t", &unknown(&["nope", "nope"]));
    // A list that is bound again, because an aggregate in a subquery makes it group, tells once.
    b.check("SELECT nope, (SELECT MAX(s.a) FROM t x) FROM t s", &unknown(&["nope"]));
    // A schema whose function is called like a method of a column.
    b.run("CREATE FUNCTION dbo.value (@x int) RETURNS int AS BEGIN RETURN @x END");
    b.check("SELECT nope, dbo.value(1), other FROM t", &unknown(&["nope", "other"]));
    b.check("SELECT nope FROM t; SELECT other FROM t", &unknown(&["nope", "other"]));
    b.check("INSERT t SELECT nope, other FROM t", &unknown(&["nope", "other"]));
    b.check("INSERT t (nope, a, other) VALUES (1, 2, 3)", &unknown(&["nope", "other"]));
    b.check("UPDATE t SET nope = 1, a = third, other = 2", &unknown(&["nope", "third", "other"]));
    b.check(
        "UPDATE t SET a = nope, b = other WHERE third > 1",
        &unknown(&["third", "nope", "other"]),
    );
    b.check("SELECT a, b, COUNT(*) FROM t", &format!("{}\n{}", grouped("a"), grouped("b")));
    b.check(
        "SELECT nope FROM t SELECT later FROM t, nowhere UPDATE t SET a = third SELECT x.a FROM t SELECT a FROM t",
        &format!(
            "{}\nMsg 4104: The multi-part identifier \"x.a\" could not be bound.",
            unknown(&["nope", "third"])
        ),
    );
    b.check(
        "IF EXISTS (SELECT 1 FROM t WHERE nope = 1) PRINT 'a' ELSE SELECT other FROM t",
        &unknown(&["nope", "other"]),
    );
    b.check(
        "BEGIN TRY SELECT nope FROM t END TRY BEGIN CATCH PRINT 'caught' SELECT other FROM t END CATCH",
        &unknown(&["nope", "other"]),
    );
    // A CATCH around sees the first one.
    b.check(
        "BEGIN TRY EXEC ('SELECT nope FROM t SELECT other FROM t') END TRY BEGIN CATCH PRINT ERROR_MESSAGE() END CATCH",
        "Invalid column name 'nope'.",
    );
    b.check(
        "EXEC ('SELECT nope, other FROM t') PRINT 'on'",
        &format!("{}\non", unknown(&["nope", "other"])),
    );
    // In another database names mean other things, and nothing has run behind the first error.
    b.check("SELECT nope FROM t USE tempdb SELECT other FROM t", &unknown(&["nope"]));
    b.check("SELECT nope FROM t INSERT t VALUES (1, 2)", &unknown(&["nope"]));
    b.check("SELECT COUNT(*) FROM t", "0");
    // Not more than a hundred.
    let many = b.run(&"SELECT nope FROM t ".repeat(150));
    assert!((100..=101).contains(&many.matches("Msg 207").count()), "{many}");
}
