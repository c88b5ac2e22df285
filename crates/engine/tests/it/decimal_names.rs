//! numeric and decimal are one type by two names: clients see the name that was declared, and
//! everything else treats both alike.

use crate::support::text::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    for batch in [
        "create table t (n numeric(9, 2) not null primary key, d decimal(9, 2), m numeric, e dec(7))",
        "insert t values (1.50, 1.50, 3, 4), (2.25, 9, 1, 1)",
        "create type amount from numeric(12, 3)",
        "create procedure p @n numeric(5, 1), @d decimal(5, 1), @a amount as select @n as n, @d as d, @a as a",
        "create view v as select n, d, n + d as both, d + d as twice, 1.5 as literal, cast(d as numeric(4, 1)) as c from t",
    ] {
        assert_eq!(b.run(batch).replace("(2)\n", ""), "", "{batch}");
    }
    b
}

#[test]
fn the_catalog_shows_the_declared_name() {
    let mut b = bench();
    let names = "select c.name, type_name(c.system_type_id), c.system_type_id, c.user_type_id, c.precision, c.scale \
                 from sys.columns c where c.object_id = object_id('t') order by c.column_id";
    let expected = "n|numeric|108|108|9|2\nd|decimal|106|106|9|2\nm|numeric|108|108|18|0\ne|decimal|106|106|7|0\n";
    assert_eq!(b.run(names), expected);
    assert_eq!(
        b.run("select COLUMN_NAME, DATA_TYPE from INFORMATION_SCHEMA.COLUMNS where TABLE_NAME = 't' order by ORDINAL_POSITION"),
        "n|numeric\nd|decimal\nm|numeric\ne|decimal\n"
    );
    assert_eq!(
        b.run(
            "select PARAMETER_NAME, DATA_TYPE from INFORMATION_SCHEMA.PARAMETERS order by ORDINAL_POSITION"
        ),
        "@n|numeric\n@d|decimal\n@a|numeric\n"
    );
    let said = b.run("exec sp_columns 't'");
    let types: Vec<String> = said
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split('|').collect();
            format!("{} {} {}", cells[3], cells[4], cells[5])
        })
        .collect();
    assert_eq!(types, ["n 2 numeric", "d 3 decimal", "m 2 numeric", "e 3 decimal"]);
    assert_eq!(
        b.run("select name, system_type_id, user_type_id from sys.types where name in ('numeric', 'decimal', 'amount') order by name"),
        "amount|108|256\n".replace("256", &b.run("select type_id('amount')").replace('\n', ""))
            + "decimal|106|106\nnumeric|108|108\n"
    );
    assert_eq!(
        b.run("select type_id('numeric'), type_id('decimal'), type_name(108)"),
        "108|106|numeric\n"
    );
    // A definition is read again as it was written.
    let mut b = b.restart();
    assert_eq!(b.run(names), expected);
}

/// The types of the columns of a result, as sp_describe_first_result_set has them.
fn types(b: &mut Bench, sql: &str) -> Vec<String> {
    let said = b.run(&format!("exec sp_describe_first_result_set N'{sql}'"));
    said.lines().map(|line| line.split('|').nth(5).unwrap_or(line).to_owned()).collect()
}

#[test]
fn results_have_the_name_of_what_they_come_from() {
    let mut b = bench();
    assert_eq!(
        types(&mut b, "select * from v"),
        [
            "numeric(9,2)",
            "decimal(9,2)",
            "numeric(10,2)",
            "decimal(10,2)",
            "numeric(2,1)",
            "numeric(4,1)"
        ]
    );
    assert_eq!(
        types(&mut b, "select sum(n), sum(d), max(n), avg(d) from t"),
        ["numeric(38,2)", "decimal(38,2)", "numeric(9,2)", "decimal(38,6)"]
    );
    assert_eq!(types(&mut b, "select d from t union all select n from t"), ["numeric(9,2)"]);
    assert_eq!(
        types(&mut b, "select case when n > 1 then d else 3 end, isnull(d, n), abs(n) from t"),
        ["decimal(12,2)", "decimal(9,2)", "numeric(38,2)"]
    );
    assert_eq!(
        types(&mut b, "declare @n numeric(5, 1), @d decimal(5, 1) select @n, @d"),
        ["numeric(5,1)", "decimal(5,1)"]
    );
    assert_eq!(types(&mut b, "exec p 1, 2, 3"), ["numeric(5,1)", "decimal(5,1)", "numeric(12,3)"]);
    // A new table keeps them.
    b.run("select * into copy from v");
    assert_eq!(types(&mut b, "select * from copy"), types(&mut b, "select * from v"));
    b.run("alter table t add x numeric(6, 1)");
    b.run("alter table t alter column d numeric(9, 2)");
    assert_eq!(types(&mut b, "select x, d from t"), ["numeric(6,1)", "numeric(9,2)"]);
}

#[test]
fn both_are_one_type() {
    let mut b = bench();
    b.run("create table u (k decimal(9, 2) not null primary key)");
    b.run("insert u select n from t");
    assert_eq!(b.run("select t.n from t join u on t.n = u.k order by 1"), "1.50\n2.25\n");
    // No conversion stands between a key and a value of the other name.
    let plan = b.run("set showplan_text on");
    assert_eq!(plan, "");
    let plan = b.run("declare @d decimal(9, 2) = 1.5 select n from t where n = @d");
    assert!(plan.contains("Seek") && !plan.contains("CONVERT"), "{plan}");
    b.run("set showplan_text off");
    assert_eq!(b.run("declare @d decimal(9, 2) = 1.5 select n from t where n = @d"), "1.50\n");
}
