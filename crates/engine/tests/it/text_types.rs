//! text, ntext and image: what takes them, what refuses them, and what the catalog says of them.

use crate::support::text::{Bench, fails};

fn bench() -> Bench {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (id int PRIMARY KEY, t text, n ntext NULL, i image)", "");
    b.check(
        "INSERT a VALUES (1, 'caf\u{e9}', N'\u{416}x', 0x010203), (2, NULL, NULL, NULL)",
        "(2)",
    );
    b
}

#[test]
fn what_takes_them() {
    let mut b = bench();
    b.check("SELECT * FROM a", "1|caf\u{e9}|\u{416}x|0x010203\n2|NULL|NULL|NULL");
    b.check(
        "SELECT DATALENGTH(t), DATALENGTH(n), DATALENGTH(i) FROM a WHERE t LIKE 'c%' AND n LIKE N'%x'",
        "4|4|3",
    );
    b.check("SELECT id FROM a WHERE t IS NULL AND i IS NULL", "2");
    b.check("SELECT SUBSTRING(t, 2, 2), SUBSTRING(i, 2, 9), PATINDEX('%f%', t), CHARINDEX('f', t) FROM a WHERE id = 1", "af|0x0203|3|3");
    b.check("SELECT CAST(t AS varchar(3)), CAST(n AS nvarchar(max)) + '!', CONVERT(varbinary(2), i) FROM a WHERE id = 1", "caf|\u{416}x!|0x0102");
    b.check(
        "SELECT ISNULL(t, 'none'), CASE WHEN id = 1 THEN n ELSE 'other' END FROM a",
        "caf\u{e9}|\u{416}x\nnone|other",
    );
    b.check("SELECT t FROM a UNION ALL SELECT 'x'", "caf\u{e9}\nNULL\nx");
    b.check("UPDATE a SET t = REPLICATE(CAST('z' AS varchar(max)), 9000), i = 'AB' WHERE id = 2; SELECT DATALENGTH(t), i FROM a WHERE id = 2", "(1)\n9000|0x4142");
    b.check("UPDATE a SET t = n WHERE id = 1; SELECT t FROM a WHERE id = 1", "(1)\n?x");
    b.check(
        "EXEC ('CREATE PROCEDURE p @t text, @i image = NULL AS SELECT DATALENGTH(@t), @i')",
        "",
    );
    b.check("EXEC p 'abc'; EXEC sp_executesql N'SELECT @x', N'@x ntext', @x = N'q'", "3|NULL\nq");
    b.check("SELECT id, t INTO k FROM a; ALTER TABLE k ALTER COLUMN t varchar(max); SELECT id FROM k WHERE t = '?x'", "(2)\n1");
    b.check("SELECT t FROM a WHERE id = 1 FOR XML PATH('')", "<t>?x</t>");
}

#[test]
fn what_refuses_them() {
    let b = bench();
    let i = b.instance.clone();
    let refused = |sql: &str, number: i32, part: &str| {
        let said = fails(&i, &format!("USE t; {sql}"), &[number]);
        assert!(said.contains(part), "{sql}\n{said}");
    };
    refused(
        "SELECT id FROM a WHERE t = 'x'",
        402,
        "The data types text and varchar are incompatible in the equal to operator.",
    );
    refused(
        "SELECT id FROM a WHERE n < N'x'",
        402,
        "ntext and nvarchar are incompatible in the less than operator",
    );
    refused("SELECT id FROM a WHERE t IN ('x', 'y')", 402, "text and varchar");
    refused("SELECT id FROM a WHERE t = t", 402, "text and text");
    refused("SELECT NULLIF(t, 'x') FROM a", 402, "");
    let cannot = "The text, ntext, and image data types cannot be compared or sorted, except when using IS NULL or LIKE operator.";
    refused("SELECT id FROM a ORDER BY t", 306, cannot);
    refused("SELECT t FROM a ORDER BY 1", 306, cannot);
    refused("SELECT t FROM a UNION ALL SELECT t FROM a ORDER BY t", 306, cannot);
    refused("SELECT COUNT(*) FROM a GROUP BY i", 306, cannot);
    refused("SELECT ROW_NUMBER() OVER (ORDER BY n) FROM a", 306, cannot);
    refused("SELECT ROW_NUMBER() OVER (PARTITION BY n ORDER BY id) FROM a", 306, cannot);
    refused(
        "SELECT DISTINCT n FROM a",
        421,
        "The ntext data type cannot be selected as DISTINCT because it is not comparable.",
    );
    refused(
        "SELECT t FROM a UNION SELECT t FROM a",
        5335,
        "The data type text cannot be used as an operand to the UNION",
    );
    refused(
        "SELECT t + 'x' FROM a",
        402,
        "The data types text and varchar are incompatible in the add operator.",
    );
    refused("SELECT t + t FROM a", 8117, "Operand data type text is invalid for add operator.");
    refused(
        "SELECT LEN(t) FROM a",
        8116,
        "Argument data type text is invalid for argument 1 of len function.",
    );
    refused(
        "SELECT UPPER(n) FROM a",
        8116,
        "Argument data type ntext is invalid for argument 1 of upper function.",
    );
    refused("SELECT REPLACE(t, 'a', 'b') FROM a", 8116, "");
    refused(
        "SELECT HASHBYTES('MD5', i) FROM a",
        8116,
        "image is invalid for argument 2 of hashbytes",
    );
    refused("SELECT MAX(t) FROM a", 8117, "Operand data type text is invalid for max operator.");
    refused(
        "SELECT COUNT(t) FROM a",
        8117,
        "Operand data type text is invalid for count operator.",
    );
    refused("SELECT id FROM a WHERE i LIKE 'x'", 8116, "image is invalid for argument 1 of like");
    refused(
        "SELECT CAST(t AS int) FROM a",
        529,
        "Explicit conversion from data type text to int is not allowed.",
    );
    refused("SELECT CAST(i AS varchar(9)) FROM a", 529, "image to varchar");
    refused("INSERT a (id, t) VALUES (3, 5)", 206, "int is incompatible with text");
    refused(
        "DECLARE @t text",
        2739,
        "The text, ntext, and image data types are invalid for local variables.",
    );
    refused("DECLARE @i image = 0x01", 2739, "");
    fails(&i, "USE t; CREATE TABLE x (t text PRIMARY KEY)", &[1919, 1750]);
    refused("CREATE INDEX x ON a (n)", 1919, "");
    refused(
        "CREATE INDEX x ON a (id) INCLUDE (t)",
        1999,
        "Column 't' in table 'a' is of a type that is invalid for use as included column in an index.",
    );
    refused("CREATE TABLE x (t text(5))", 2716, "");
}

#[test]
fn the_catalog() {
    let mut b = bench();
    let columns = "SELECT name, system_type_id, max_length, collation_name FROM sys.columns WHERE object_id = OBJECT_ID('a') AND column_id > 1";
    let shown =
        "t|35|16|SQL_Latin1_General_CP1_CI_AS\nn|99|16|SQL_Latin1_General_CP1_CI_AS\ni|34|16|NULL";
    b.check(columns, shown);
    let mut b = b.restart();
    b.check(columns, shown);
    b.check(
        "SELECT name, max_length FROM sys.types WHERE name IN ('text', 'ntext', 'image') ORDER BY name",
        "image|16\nntext|16\ntext|16",
    );
    b.check("SELECT DATA_TYPE, CHARACTER_MAXIMUM_LENGTH FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'a' AND COLUMN_NAME <> 'id'",
        "text|2147483647\nntext|1073741823\nimage|2147483647");
    b.check("SELECT COL_LENGTH('a', 't'), OBJECTPROPERTY(OBJECT_ID('a'), 'TableHasTextImage'), COLUMNPROPERTY(OBJECT_ID('a'), 'n', 'Precision')", "16|1|1073741823");
    b.check("SELECT COUNT(*) FROM a WHERE t LIKE 'caf%'; DBCC CHECKDB WITH NO_INFOMSGS", "1");
}
