//! `.WRITE` on large values.

use crate::support::text::Bench;

#[test]
fn parts_of_large_values() {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (id int PRIMARY KEY, s varchar(max) NULL, n nvarchar(max) NULL, x varbinary(max) NULL, short varchar(10) NULL)", "");
    b.check(
        "INSERT t VALUES (1, 'abcdef', N'abcdef', 0x010203, 'x'), (2, NULL, NULL, NULL, NULL)",
        "(2)",
    );
    for (change, expected) in [
        ("s.WRITE('XY', 1, 3)", "aXYef"),
        ("s.WRITE('!', NULL, NULL)", "aXYef!"),
        ("s.WRITE(NULL, 3, 99)", "aXY"),
        ("s.WRITE('tail', 1, NULL)", "atail"),
        ("s.WRITE('', 0, 1)", "tail"),
        ("s.WRITE('s', 4, 100)", "tails"),
        ("s.WRITE(CAST(12 AS varchar(5)) + '-', 0, 0)", "12-tails"),
    ] {
        b.check(
            &format!("UPDATE t SET {change} WHERE id = 1; SELECT s FROM t WHERE id = 1"),
            &format!("(1)\n{expected}"),
        );
    }
    b.check("DECLARE @o bigint = 2, @l int; UPDATE t SET n.WRITE(N'\u{e4}\u{20ac}', @o, @l), x.WRITE(0xFF, 1, 1) OUTPUT deleted.n, inserted.n, inserted.x WHERE id = 1", "abcdef|ab\u{e4}\u{20ac}|0x01FF03");
    b.check("UPDATE t SET s.WRITE(REPLICATE(CAST('z' AS varchar(max)), 100000), NULL, 0) WHERE id = 1; SELECT LEN(s), RIGHT(s, 3) FROM t WHERE id = 1", "(1)\n100008|zzz");
    b.check(
        "UPDATE t SET s.WRITE('x', 0, 1) WHERE id = 2",
        "Msg 7133: NULL textptr (text, ntext, or image pointer) passed to WRITE function.",
    );
    b.check(
        "UPDATE t SET n.WRITE('x', 5, 1) WHERE id = 1",
        "Msg 7116: Offset 5 is not in the range of available LOB data.",
    );
    b.check(
        "UPDATE t SET n.WRITE('x', 0, -1) WHERE id = 1",
        "Msg 7135: Deletion length -1 is not in the range of available text, ntext, or image data.",
    );
    b.check("UPDATE t SET short.WRITE('x', 0, 1)", "Msg 258: Cannot call methods on varchar.");
    b.check("UPDATE t SET s.WRITE('x', 0)", "Msg 174: The write function requires 3 argument(s).");
    let said = b.run("UPDATE t SET s = 'x', s.WRITE('x', 0, 1)");
    assert!(said.starts_with("Msg 264"), "{said}");
}
