//! Values that depend on more than their arguments, units of text, frames of windows: what queries
//! of real scripts rely on.

use crate::support::text::Bench;

#[test]
fn the_clock_and_rand_have_one_value_for_a_statement() {
    let b = &mut Bench::new();
    b.check("create table n (i int primary key)", "");
    b.run("declare @i int = 0; while @i < 300 begin insert n values (@i); set @i += 1 end");
    b.check("select count(distinct sysdatetime()), count(distinct rand()) from n a cross join (select top 20 i from n) b", "1|1");
    b.check(
        "select case when rand() = rand() then 'same' else 'two calls, two values' end",
        "two calls, two values",
    );
    b.check("select case when getdate() = getdate() then 'same' else 'two' end", "same");
    b.check(
        "select case when count(distinct newid()) = count(*) then 'each row' end from n",
        "each row",
    );
    b.check(
        "declare @a float = rand(), @b float; set @b = rand(); select case when @a = @b then 'same' else 'two statements' end",
        "two statements",
    );
    b.check(
        "create table r (x float) insert r values (rand()), (rand()) select count(distinct x) from r",
        "(2)\n2",
    );
}

#[test]
fn the_clock_can_be_sought() {
    let b = &mut Bench::new();
    b.check("create table log (at datetime primary key, what varchar(10))", "");
    b.check("insert log values (getdate() - 2, 'old'), (getdate(), 'new')", "(2)");
    b.check("select what from log where at > getdate() - 1", "new");
    b.check("set showplan_text on", "");
    let plan = b.run("select what from log where at > getdate() - 1");
    assert!(plan.contains("Clustered Index Seek"), "{plan}");
}

#[test]
fn all_functions_count_the_same_units_of_text() {
    let b = &mut Bench::new();
    b.check(
        "select datalength(cast('é' as char(8000))), len(cast(N'é' as nchar(300)) + 'y'), cast('ab' as char(65)) + '|'",
        &format!("8000|301|ab{}|", " ".repeat(63)),
    );
    // Two units beyond the basic plane.
    // Of a (max) text they are bigint, also for the operators around them.
    b.check(
        "declare @m nvarchar(max) = N'abcd'; select len(@m) / 3, datalength(@m) / 3, len(@m) + 1",
        "1|2|5",
    );
    b.check("declare @s nvarchar(20) = N'a😀b'; select len(@s), datalength(@s), charindex(N'b', @s), patindex(N'%b%', @s)", "4|8|4|4");
    b.check(
        "select charindex('a', 'banana', -9223372036854775808), charindex('a', 'banana', -1)",
        "2|2",
    );
    b.check("declare @s nvarchar(20) = N'a😀b'; select substring(@s, 2, 2), stuff(@s, 2, 2, N'x'), right(@s, 1), left(@s, 3)", "😀|axb|b|a😀");
    b.check(
        "declare @s nvarchar(20) = N'a😀b'; select left(@s, 2), convert(varbinary(9), left(@s, 2)), convert(varbinary(9), right(@s, 2))",
        "a\u{fffd}|0x61003DD8|0x00DE6200",
    );
    b.check(
        "select stuff(N'a😀b', 4, 1, N'c'), stuff(N'a😀b', 5, 1, N'c'), replicate(N'😀', 2)",
        "a😀c|NULL|😀😀",
    );
    b.check("select len(cast(replicate(N'😀', 3) as nvarchar(4)))", "4");
    // What XML has no character for is a reference in text, and no document.
    b.check("select nchar(0xd83d) a for xml raw", "<row a=\"&#xD83D;\"/>");
    b.check("select formatmessage('%s%s', nchar(0xd83d), nchar(0xde00))", "😀");
}

#[test]
fn replace_is_linear_in_any_text() {
    let b = &mut Bench::new();
    b.check(
        "select replace(N'Ärger, ärger', N'ä', N'ae'), replace('aAa', 'a', 'bb'), replace('abc', '', 'x')",
        "aerger, aerger|bbbbbb|abc",
    );
    // With a pass over the rest for each find this takes minutes.
    b.check(
        "select datalength(replace(replicate(cast(N'äx' as nvarchar(max)), 400000), N'ä', N'oe'))",
        "2400000",
    );
    b.check("select len(replace(replicate('a', 8000), 'a', 'bbbb'))", "8000");
}

#[test]
fn frames_of_windows_give_what_subqueries_give() {
    let b = &mut Bench::new();
    b.check("create table t (id int primary key, g int, v int, f float, d decimal(9, 2), s varchar(10))", "");
    b.run(
        "declare @i int = 0
         while @i < 120 begin
           insert t values (@i, @i % 3, nullif((@i * 7919) % 23, 5), (@i * 31) % 17 / 4.0, (@i * 13) % 29 / 3.0, char(65 + (@i * 5) % 26))
           set @i += 1
         end",
    );
    let frames = [
        ("unbounded preceding", "current row", "x.id <= t.id"),
        ("current row", "unbounded following", "x.id >= t.id"),
        ("3 preceding", "2 following", "x.id between t.id - 3 and t.id + 2"),
        ("5 preceding", "2 preceding", "x.id between t.id - 5 and t.id - 2"),
        ("1 following", "4 following", "x.id between t.id + 1 and t.id + 4"),
        ("unbounded preceding", "unbounded following", "1 = 1"),
        ("1 preceding", "unbounded following", "x.id >= t.id - 1"),
    ];
    let exact =
        ["sum(v)", "count(v)", "count(*)", "min(v)", "max(s)", "avg(v)", "sum(d)", "min(s)"];
    for (start, end, range) in frames {
        for aggregate in exact {
            let wrong = format!(
                "select count(*) from (select {aggregate} over (order by id rows between {start} and {end}) w,
                   (select {aggregate} from t x where {range}) q from t) c
                 where w <> q or (w is null and q is not null) or (w is not null and q is null)"
            );
            assert_eq!(b.run(&wrong).trim(), "0", "{aggregate}, {start} to {end}");
        }
        for aggregate in ["sum(f)", "avg(f)", "stdev(f)", "varp(f)"] {
            let wrong = format!(
                "select count(*) from (select {aggregate} over (order by id rows between {start} and {end}) w,
                   (select {aggregate} from t x where {range}) q from t) c
                 where abs(w - q) > 1e-9 or (w is null and q is not null) or (w is not null and q is null)"
            );
            assert_eq!(b.run(&wrong).trim(), "0", "{aggregate}, {start} to {end}");
        }
    }
    b.check(
        "select count(*) from (select sum(v) over (partition by g order by v) w,
           (select sum(v) from t x where x.g = t.g and (x.v <= t.v or x.v is null)) q from t) c where w <> q",
        "0",
    );
}

#[test]
fn a_running_sum_of_many_rows_is_linear() {
    let b = &mut Bench::new();
    b.run(
        "create table n (i int primary key)
         ;with d as (select v from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) x(v))
         insert n select a.v + 10 * b.v + 100 * c.v + 1000 * e.v + 10000 * f.v from d a, d b, d c, d e, d f",
    );
    b.check(
        "select max(s) from (select sum(cast(i as bigint)) over (order by i) s from n) x",
        "4999950000",
    );
    b.check(
        "select max(m) from (select min(i) over (order by i rows between 50000 preceding and current row) m from n) x",
        "49999",
    );
}

#[test]
fn a_text_that_is_executed_has_identity_values_of_its_own() {
    let b = &mut Bench::new();
    b.check("create table t (id int identity(7, 1), v int)", "");
    b.check(
        "insert t values (1) exec('select scope_identity()') select scope_identity()",
        "(1)\nNULL\n7",
    );
    b.check(
        "exec('insert t values (2) select scope_identity()') select scope_identity(), @@identity",
        "(1)\n8\n7|8",
    );
    b.check("exec sp_executesql N'select scope_identity()'", "NULL");
}

#[test]
fn select_into_takes_the_identity_of_the_table_that_it_reads() {
    let b = &mut Bench::new();
    b.run("create database other");
    // The same object_id in both databases, one of them without an identity column.
    b.check("create table mine (a int, b int)", "");
    b.check(
        "use other create table theirs (a int identity(100, 10), b int) insert theirs values (1)",
        "Changed database context to 'other'.\n(1)",
    );
    b.check("use t", "Changed database context to 't'.");
    b.check("select * into copy from other.dbo.theirs", "(1)");
    b.check("insert copy values (2) select a from copy order by a", "(1)\n100\n110");
}

#[test]
fn greatest_and_least_give_one_of_their_arguments() {
    let b = &mut Bench::new();
    b.check("select greatest(3, 7, 5), least(3, 7, 5), greatest(1), least('b', 'a')", "7|3|1|a");
    // The type of highest precedence, with the scale of all.
    b.check("select greatest('6.62', 3.1415, N'7'), least(2, 1.50)", "7.0000|1.50");
    b.check("select greatest(2147483647, cast(1 as bigint)) + 1", "2147483648");
    b.check("select greatest(cast('2024-02-01' as date), '2024-03-01')", "2024-03-01");
    b.check(
        "select greatest(null, 2, null), least(1, null), greatest(cast(null as int), null)",
        "2|1|NULL",
    );
    b.check("select greatest('a', 'B')", "B");
    b.check("create table g (a int, b int) insert g values (1, 2), (4, 3), (null, 9) select greatest(a, b), least(a, b) from g", "(3)\n2|1\n4|3\n9|9");
    assert!(b.run("select greatest('x', 1)").contains("Msg 245"));
    assert!(
        b.run("select greatest()").contains("Msg 174")
            || b.run("select greatest()").contains("Msg 189")
    );
}
