//! Forms of SELECT that few write: GROUP BY ALL, IDENTITY() of SELECT INTO.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use text::Bench;

#[test]
fn group_by_all() {
    let b = &mut Bench::new();
    b.check("create table s (r varchar(9), n int null) insert s values ('a', 1), ('a', 2), ('b', 3), (null, 4), ('c', null)", "(5)");
    b.check(
        "select r, count(*), count(n), sum(n), min(n), string_agg(n, '-'), count(distinct n) from s where n < 3 group by all r order by r",
        "NULL|0|0|NULL|NULL|NULL|0\na|2|2|3|1|1-2|2\nb|0|0|NULL|NULL|NULL|0\nc|0|0|NULL|NULL|NULL|0",
    );
    // HAVING sees what the groups have become; without WHERE it is GROUP BY.
    b.check("select r from s where n > 2 group by all r having count(*) = 0 order by r", "a\nc");
    b.check("select r, count(*) from s group by all r order by r", "NULL|1\na|2\nb|1\nc|1");
    b.check("select r, count(*) from s where 1 = 0 group by all r order by r", "NULL|0\na|0\nb|0\nc|0");
    // The condition may ask for more than the row.
    b.check(
        "select r, sum(n) from s where exists (select 1 from s i where i.r = s.r and i.n > s.n) group by all r order by r",
        "NULL|NULL\na|1\nb|NULL\nc|NULL",
    );
    b.check("select r, avg(n * 1.0) from s join (values ('a', 5), ('b', 6)) v (k, w) on v.k = s.r where w > 5 group by all r order by 1",
        "a|NULL\nb|3.000000");
    b.check(
        "select r, count(*) from s where n = 1 group by all r with rollup",
        "Msg 1028: The CUBE and ROLLUP options are not allowed in a GROUP BY ALL clause.",
    );
    b.check("select count(*) from s where n = 1 group by all r, n % 2 order by 1", "0\n0\n0\n0\n1");
}

#[test]
fn identity_of_select_into() {
    let b = &mut Bench::new();
    b.check("create table s (v varchar(5)) insert s values ('c'), ('a'), ('b')", "(3)");
    b.check("select identity(int, 10, 5) as id, v into t from s order by v", "(3)");
    b.check("select * from t order by id", "10|a\n15|b\n20|c");
    b.check(
        "select @@identity, scope_identity(), ident_seed('t'), ident_incr('t'), ident_current('t')",
        "20|20|10|5|20",
    );
    b.check("insert t values ('d') select id from t where v = 'd'", "(1)\n25");
    b.check("select name, is_identity, is_nullable, type_name(system_type_id) from sys.columns where object_id = object_id('t')",
        "id|1|0|int\nv|0|1|varchar");
    b.check(
        "select v, identity(smallint) n into #u from s where v > 'a' order by v desc; select * from #u",
        "(2)\nc|1\nb|2",
    );
    b.check(
        "select n = identity(decimal(5, 0), -1, -1) into d from s; select n from d order by n",
        "(3)\n-3\n-2\n-1",
    );
    b.check("select identity(bigint, 1, 1) as n into e from s where 1 = 0; insert e default values; select n from e", "(0)\n(1)\n1");
    b.check(
        "select identity(tinyint, 254, 1) as n into o from s",
        "Msg 8115: Arithmetic overflow error converting IDENTITY to data type tinyint.",
    );
    b.check("select object_id('o')", "NULL");
    let outside =
        "Msg 177: The IDENTITY function can only be used when the SELECT statement has an INTO clause.";
    b.check("select identity(int, 1, 1) as n from s", outside);
    b.check("select 1 + identity(int, 1, 1) as n into o from s", outside);
    b.check("select n into o from (select identity(int, 1, 1) as n from s) d", outside);
    b.check(
        "select identity(int, 1, 1) as n, identity(int, 1, 1) as m into o from s",
        "Msg 8109: Attempting to add multiple identity columns to table 'o' using the SELECT INTO statement.",
    );
    b.check("select id, identity(int, 1, 1) as m into o from t",
        "Msg 8108: Cannot add identity column, using the SELECT INTO statement, to table 'o', which already has column 'id' \
         that inherits the identity property.");
    b.check("select identity(varchar(5), 1, 1) as m into o from t",
        "Msg 2749: Identity column 'm' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, \
         unencrypted, and constrained to be nonnullable.");
    b.check(
        "select identity(int, 1, 0) as m into o from t",
        "Msg 2751: Identity column 'm' contains invalid INCREMENT.",
    );
    b.check("select identity(int, 1) as m into o from t", "Msg 102: Incorrect syntax near ')'.");
}
