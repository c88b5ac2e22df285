//! GENERATE_SERIES and STRING_SPLIT: rows, types of their columns, errors.

use crate::support::text::Bench;

fn check(bench: &mut Bench, sql: &str, want: &str) {
    assert_eq!(bench.run(sql).trim(), want, "{sql}");
}

#[test]
fn series() {
    let mut b = Bench::new();
    check(&mut b, "select * from generate_series(1, 5)", "1\n2\n3\n4\n5");
    check(&mut b, "select value from generate_series(5, 1, -2) as s", "5\n3\n1");
    check(&mut b, "select n from generate_series(3, 1) as s (n)", "3\n2\n1");
    check(&mut b, "select value from generate_series(1, 5, -1)", "");
    check(&mut b, "select value from generate_series(1, 0, 1)", "");
    check(&mut b, "select value from generate_series(1.5, 3.0, 0.5)", "1.5\n2.0\n2.5\n3.0");
    check(&mut b, "select value from generate_series(0.0, 0.02, 0.01)", ".00\n.01\n.02");
    check(&mut b, "declare @n int; select value from generate_series(1, @n)", "");
    check(
        &mut b,
        "select count(*), sum(cast(value as bigint)) from generate_series(1, 1000000)",
        "1000000|500000500000",
    );
    // The last value of a type does not wrap.
    check(
        &mut b,
        "select value from generate_series(cast(254 as tinyint), cast(255 as tinyint))",
        "254\n255",
    );
    check(
        &mut b,
        "select value from generate_series(9223372036854775806, 9223372036854775807) where 1 = 1",
        "9223372036854775806\n9223372036854775807",
    );
    check(
        &mut b,
        "select value into #s from generate_series(cast(1 as smallint), cast(1 as smallint)); \
         select type_name(system_type_id) from tempdb.sys.columns where object_id = object_id('tempdb..#s')",
        "(1)\nsmallint",
    );
    // A series for each row.
    check(
        &mut b,
        "select t.n, s.value from (values (1), (2), (3)) t (n) cross apply generate_series(1, t.n) s where s.value > 1 order by 1, 2",
        "2|2\n3|2\n3|3",
    );
    for (sql, number) in [
        ("select value from generate_series(1, 3.5)", 5373),
        ("select value from generate_series(1, '3')", 5373),
        ("select value from generate_series(cast(1 as real), cast(2 as real))", 5373),
        ("select value from generate_series(1, 3, 0)", 4199),
        (
            "select value from generate_series(cast(1e37 as decimal(38, 0)), cast(1 as decimal(38, 10)))",
            8115,
        ),
        ("select value from generate_series(1)", 313),
        ("select value from generate_series(1, 2, 3, 4)", 8144),
        ("select value from generate_series(1, 2) as s (a, b)", 8159),
    ] {
        let said = b.run(sql);
        assert!(said.contains(&format!("Msg {number}:")), "{sql}: {said}");
    }
}

#[test]
fn split() {
    let mut b = Bench::new();
    check(&mut b, "select value from string_split('a,b,,c', ',')", "a\nb\n\nc");
    check(&mut b, "select value, ordinal from string_split(N'x y', ' ', 1)", "x|1\ny|2");
    check(&mut b, "select * from string_split('', ',')", "");
    check(&mut b, "select * from string_split(null, ',')", "");
    check(
        &mut b,
        "select ordinal from string_split('\u{e9};\u{e9};', ';', 1) where value = ''",
        "3",
    );
    check(
        &mut b,
        "create table #l (id int, tags varchar(100)); insert #l values (1, 'red,blue'), (2, 'green'); \
         select l.id, s.value from #l l cross apply string_split(l.tags, ',') s order by 1, s.value",
        "(2)\n1|blue\n1|red\n2|green",
    );
    check(
        &mut b,
        "select top 1 value into #typed from string_split('a,b', ','); select max_length from tempdb.sys.columns where object_id = object_id('tempdb..#typed')",
        "(1)\n3",
    );
    for (sql, number) in [
        ("select value from string_split('a', ', ')", 214),
        ("select value from string_split('a', '')", 214),
        ("select value from string_split(5, ',')", 8116),
        ("select ordinal from string_split('a', ',')", 207),
        ("select value from string_split('a', ',', 2)", 4199),
        ("declare @o bit = 1; select value from string_split('a', ',', @o)", 8748),
    ] {
        let said = b.run(sql);
        assert!(said.contains(&format!("Msg {number}:")), "{sql}: {said}");
    }
}
