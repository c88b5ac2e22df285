//! The statements of the run: what a login without any right can send, by families. Each is a pure
//! function of a random generator, so that a seed gives the same texts again.
//! - grammar: each rule of the grammar repeated, chained or nested n times;
//! - calls: each scalar function with arguments as large as their types allow;
//! - objects: cursors, temporary tables, handles, locks and the like, opened n times;
//! - memory: values, results and recursions that grow without end;
//! - compile: texts that are small and expand;
//! - waits: statements that wait for a time or for each other.

use expr::functions::{ArgRule, Function};
use fastrand::Rng;

use crate::nested_sql;

/// A statement of a family.
pub struct Statement {
    /// The family, for the report.
    pub family: &'static str,
    /// Which of the family, with its size.
    pub name: String,
    /// What is sent.
    pub text: String,
}

/// The next statement.
pub fn next(rng: &mut Rng) -> Statement {
    let (family, (name, text)) = match rng.u8(0..10) {
        0..=2 => ("grammar", grammar(rng)),
        3..=4 => ("calls", call(rng)),
        5..=6 => ("objects", object(rng)),
        7 => ("memory", fixed(rng, MEMORY)),
        8 => ("compile", compile(rng)),
        _ => ("waits", fixed(rng, WAITS)),
    };
    Statement { family, name, text }
}

/// A size from 1 to `most`, each power of two equally likely.
fn size(rng: &mut Rng, most: usize) -> usize {
    let power = rng.u32(0..=most.ilog2());
    rng.usize((1 << power)..=(2usize << power).min(most))
}

fn grammar(rng: &mut Rng) -> (String, String) {
    // What makes objects needs rights that the login has not.
    let rules: Vec<_> = nested_sql::all().filter(|rule| rule.undo.is_empty()).collect();
    let rule = rules[rng.usize(..rules.len())];
    let n = size(rng, 100_000);
    (format!("{} x {n}", rule.name), (rule.text)(n))
}

/// Text as large as it can be, and texts whose nesting is deep.
const TEXTS: &[&str] = &[
    "replicate(convert(varchar(max), 'x'), 2147483647)",
    "replicate(convert(nvarchar(max), N'ж'), 1073741823)",
    "replicate(convert(varchar(max), '['), 10000000)",
    "replicate(convert(varchar(max), '{\"a\":'), 1000000)",
    "replicate(convert(varchar(max), '<a>'), 1000000)",
    "replicate(convert(varchar(max), '%_'), 4000)",
    "replicate(convert(varchar(max), '%a'), 1000000)",
    "''",
    "null",
    "N'x'",
];
const INTS: &[&str] = &["2147483647", "-2147483648", "0", "1", "-1", "1000000", "null"];
const BIGINTS: &[&str] =
    &["9223372036854775807", "-9223372036854775808", "2147483647", "0", "null"];
const NUMBERS: &[&str] = &[
    "99999999999999999999999999999999999999",
    "-0.00000000000000000000000000000000000001",
    "convert(float, 1.7976931348623157e308)",
    "convert(float, -4.9e-324)",
    "9223372036854775807",
    "convert(tinyint, 255)",
    "null",
];
const MOMENTS: &[&str] = &[
    "convert(datetime2, '9999-12-31T23:59:59.9999999')",
    "convert(datetime2, '0001-01-01')",
    "convert(datetime, '1753-01-01')",
    "convert(datetimeoffset, '9999-12-31 23:59:59.9999999 -14:00')",
    "convert(time, '23:59:59.9999999')",
    "null",
];
const BYTES: &[&str] = &[
    "convert(varbinary(max), replicate(convert(varchar(max), 'x'), 2147483647))",
    "convert(varbinary(max), replicate(convert(varchar(max), 'x'), 10000000))",
    "0x",
    "null",
];
/// The first argument of functions of dates.
const DATE_PARTS: &[&str] = &["year", "day", "nanosecond", "week", "iso_week"];

fn call(rng: &mut Rng) -> (String, String) {
    let all: Vec<&Function> = expr::functions::all().collect();
    let function = all[rng.usize(..all.len())];
    let most = function.max.min(function.min.saturating_add(6));
    let count = rng.u8(function.min..=most);
    let arguments: Vec<&str> =
        (0..count).map(|at| argument(function, usize::from(at), rng)).collect();
    let arguments = arguments.join(", ");
    let call = format!("{}({arguments})", function.name);
    let text = match rng.u8(0..4) {
        0 => format!("declare @v sql_variant = convert(varchar(8000), {call})"),
        1 => format!("select {call} from (values (1), (2), (3)) t(a) where datalength({call}) = 1"),
        _ => format!("select datalength({call})"),
    };
    (call, text)
}

fn argument(function: &Function, at: usize, rng: &mut Rng) -> &'static str {
    let rule = function.args.get(at).or(function.args.last()).copied().unwrap_or(ArgRule::Any);
    let list = match rule {
        ArgRule::Str | ArgRule::Name => TEXTS,
        ArgRule::Int => INTS,
        ArgRule::BigInt => BIGINTS,
        ArgRule::Float | ArgRule::Number => NUMBERS,
        ArgRule::Moment | ArgRule::MomentOrDateTime | ArgRule::Date | ArgRule::DateTimeOffset => {
            MOMENTS
        }
        ArgRule::Bytes => BYTES,
        ArgRule::StrOrBytes => [TEXTS, BYTES][rng.usize(..2)],
        ArgRule::Guid => &["newid()"],
        ArgRule::Hierarchy => &["'/1/2/3/'", "replicate(convert(varchar(max), '/1'), 100000)"],
        ArgRule::Any if at == 0 && function.name.starts_with("date") => DATE_PARTS,
        ArgRule::Any => [TEXTS, NUMBERS, MOMENTS, BYTES][rng.usize(..4)],
    };
    list[rng.usize(..list.len())]
}

/// Statements in a loop of T-SQL that counts `@i` to `{n}`.
const LOOPS: &[(&str, &str)] = &[
    (
        "static cursors",
        "declare @s nvarchar(max) = concat(N'declare c', @i, N' cursor global static for select \
         replicate(''x'', 8000) from generate_series(1, 100) open c', @i) exec (@s)",
    ),
    (
        "keyset cursors",
        "declare @s nvarchar(max) = concat(N'declare k', @i, N' cursor global keyset for select object_id \
         from sys.all_objects open k', @i) exec (@s)",
    ),
    ("prepared handles", "declare @h int exec sp_prepare @h output, N'@p int', @text"),
    ("cached plans", "exec sp_executesql @text"),
    ("application locks", "exec sp_getapplock @name, 'Exclusive', 'Session', 0"),
    ("session context", "exec sp_set_session_context @name, @big"),
    ("nested transactions", "begin tran"),
    ("savepoints", "if @@trancount = 0 begin tran save tran s"),
    ("messages", "print @big"),
    ("errors", "raiserror('x', 16, 1) with nowait"),
    ("results", "select @big"),
    (
        "temporary tables",
        "declare @s nvarchar(max) = 'select * into #t' + @name + ' from sys.all_columns' exec (@s)",
    ),
    (
        "global tables",
        "declare @s nvarchar(max) = 'create table ##' + @name + '(a int primary key, b varchar(max))' exec (@s)",
    ),
    (
        "table variables",
        "declare @t table (a varchar(max)) insert @t select replicate(convert(varchar(max), 'x'), 100000)",
    ),
    (
        "nested calls",
        "exec sp_executesql N'exec sp_executesql N''exec sp_executesql N''''select 1'''''''",
    ),
    ("caught errors", "begin try select 1 / 0 end try begin catch end catch"),
    ("documents", "declare @x xml = '<a><b>1</b></a>' select @x.value('(/a/b)[1]', 'int')"),
    ("metadata", "select count(*) from sys.all_columns"),
    ("random texts", "exec sp_executesql @text with recompile"),
];

fn object(rng: &mut Rng) -> (String, String) {
    let n = size(rng, 100_000);
    if rng.bool() {
        // As many statements in one text.
        let (name, each): (&str, fn(usize) -> String) = match rng.u8(0..4) {
            0 => ("temporary tables in one batch", |i| {
                format!("create table #t{i} (a int primary key) ")
            }),
            1 => ("table variables in one batch", |i| format!("declare @t{i} table (a int) ")),
            2 => ("variables in one batch", |i| format!("declare @v{i} varchar(max) = 'x' ")),
            _ => ("queries in one batch", |i| format!("select {i} ")),
        };
        return (format!("{name} x {n}"), (0..n).map(each).collect());
    }
    let (name, step) = LOOPS[rng.usize(..LOOPS.len())];
    let text = format!(
        "set nocount on declare @i int = 0, @name nvarchar(100), @text nvarchar(max), \
         @big nvarchar(4000) = replicate(N'x', 4000) \
         while @i < {n} begin set @name = concat(N'n', @i, N'_', @@spid) \
         set @text = concat(N'select ', @i, N' where 1 = @@spid') {step} set @i += 1 end"
    );
    (format!("{name} x {n}"), text)
}

/// Statements whose memory or time grows without end.
const MEMORY: &[(&str, &str)] = &[
    (
        "doubling varchar",
        "declare @s varchar(max) = 'aaaaaaaaaaaaaaaa' while 1 = 1 set @s = @s + @s",
    ),
    (
        "doubling nvarchar",
        "declare @s nvarchar(max) = N'aaaaaaaaaaaaaaaa' while 1 = 1 set @s += @s",
    ),
    ("doubling varbinary", "declare @s varbinary(max) = 0x1234567890 while 1 = 1 set @s = @s + @s"),
    (
        "growing by 1 MB",
        "declare @s varchar(max) = '' while 1 = 1 set @s += replicate(convert(varchar(max), 'x'), 1000000)",
    ),
    (
        "many variables",
        "declare @a varchar(max) = replicate(convert(varchar(max), 'x'), 100000000) declare @b varchar(max) = @a + 'b', @c varchar(max) = @a + 'c', @d varchar(max) = @a + 'd', @e varchar(max) = @a + 'e'",
    ),
    (
        "doubling recursion",
        "with r as (select 1 a union all select a + 1 from r union all select a + 1 from r) select count(*) from r option (maxrecursion 0)",
    ),
    (
        "endless recursion",
        "with r as (select 1 a union all select a + 1 from r) select max(a) from r option (maxrecursion 0)",
    ),
    (
        "wide recursion",
        "with r as (select convert(varchar(max), 'x') a union all select a + a from r) select max(len(a)) from r option (maxrecursion 0)",
    ),
    (
        "FOR XML",
        "select replicate(convert(varchar(max), 'x'), 1000000) a from generate_series(1, 10000) for xml path",
    ),
    (
        "FOR JSON",
        "select replicate(convert(varchar(max), 'x'), 1000000) a from generate_series(1, 10000) for json path",
    ),
    (
        "FOR JSON in a variable",
        "declare @j nvarchar(max) = (select replicate(convert(varchar(max), 'x'), 1000000) a from generate_series(1, 10000) for json path)",
    ),
    (
        "STRING_AGG",
        "select len(string_agg(replicate(convert(varchar(max), 'x'), 1000000), ',')) from generate_series(1, 10000)",
    ),
    ("sort", "select top 1 a.value from generate_series(1, 100000000) a order by newid()"),
    (
        "hash join",
        "select count(*) from generate_series(1, 100000000) a join generate_series(1, 100000000) b on a.value = b.value",
    ),
    ("distinct", "select count(distinct a.value) from generate_series(1, 100000000) a"),
    ("group", "select top 1 value, count(*) from generate_series(1, 100000000) group by value"),
    (
        "group of texts",
        "select max(a) from (select replicate(convert(varchar(max), 'x'), value % 100000) a from generate_series(1, 1000000)) t group by a",
    ),
    (
        "window",
        "select max(r) from (select row_number() over (order by newid()) r from generate_series(1, 50000000)) t",
    ),
    (
        "window of all",
        "select max(r) from (select sum(value) over (order by value rows between unbounded preceding and unbounded following) r from generate_series(1, 50000000)) t",
    ),
    (
        "cross join",
        "select count_big(*) from generate_series(1, 1000000) a cross join generate_series(1, 1000000) b",
    ),
    (
        "kept inner side",
        "select count_big(*) from generate_series(1, 1000000) a join generate_series(1, 1000000) b on a.value < b.value",
    ),
    (
        "NOT IN",
        "select count(*) from generate_series(1, 1000) where value not in (select value from generate_series(2, 50000000))",
    ),
    (
        "table variable",
        "declare @t table (a char(8000)) insert @t select 'x' from generate_series(1, 10000000)",
    ),
    (
        "temporary table",
        "create table #big (a char(8000)) insert #big select 'x' from generate_series(1, 1000000) drop table #big",
    ),
    (
        "OUTPUT",
        "declare @t table (a int) insert @t output inserted.a select value from generate_series(1, 10000000)",
    ),
    (
        "split",
        "select count(*) from string_split(replicate(convert(varchar(max), 'a,'), 500000000), ',')",
    ),
    (
        "OPENJSON",
        "select count(*) from openjson('[' + replicate(convert(varchar(max), '1,'), 10000000) + '1]')",
    ),
    (
        "nodes",
        "declare @x xml = replicate(convert(varchar(max), '<a/>'), 5000000) select count(*) from @x.nodes('/a') t(c)",
    ),
    (
        "deep document",
        "declare @x xml = replicate(convert(varchar(max), '<a>'), 100000) + replicate(convert(varchar(max), '</a>'), 100000) select @x",
    ),
    ("rows to the client", "select replicate('x', 8000) from generate_series(1, 10000000)"),
    ("one row to the client", "select replicate(convert(varchar(max), 'x'), 100000000)"),
    ("endless loop", "while 1 = 1 begin declare @i int = 1 end"),
    ("endless jump", "again: goto again"),
];

/// Statements that wait.
const WAITS: &[(&str, &str)] = &[
    ("a delay", "waitfor delay '01:00:00'"),
    ("a delay in a transaction", "begin tran create table #w (a int) waitfor delay '00:10:00'"),
    (
        "an application lock",
        "exec sp_getapplock 'one for all', 'Exclusive', 'Session', -1 waitfor delay '00:10:00'",
    ),
    (
        "an application lock of a transaction",
        "begin tran exec sp_getapplock 'one for all', 'Exclusive', 'Transaction', -1",
    ),
    (
        "a global table",
        "begin tran if object_id('tempdb..##shared') is null create table ##shared (a int) insert ##shared values (1) select count(*) from ##shared with (tablockx) waitfor delay '00:10:00'",
    ),
    ("loops of short delays", "while 1 = 1 waitfor delay '00:00:00.001'"),
];

fn fixed(rng: &mut Rng, list: &[(&str, &str)]) -> (String, String) {
    let (name, text) = list[rng.usize(..list.len())];
    (name.into(), text.into())
}

fn compile(rng: &mut Rng) -> (String, String) {
    let n = size(rng, 64);
    let range = |from: usize, make: &dyn Fn(usize) -> String, between: &str| {
        (from..from + n).map(make).collect::<Vec<_>>().join(between)
    };
    match rng.u8(0..7) {
        0 => {
            let steps =
                range(1, &|i| format!(", c{i} as (select a.a from c{0} a, c{0} b)", i - 1), "");
            (
                format!("doubling CTEs x {n}"),
                format!("with c0 as (select 1 a){steps} select count(*) from c{n}"),
            )
        }
        1 => {
            let from = range(0, &|i| format!("sys.all_objects t{i}"), ", ");
            let equal = range(1, &|i| format!("t{i}.object_id = t0.object_id"), " and ");
            (
                format!("join of views x {n}"),
                format!("select count(*) from {from}, sys.objects t{n} where {equal}"),
            )
        }
        2 => {
            let from = range(0, &|i| format!("(values (1), (2)) t{i}(a)"), ", ");
            (format!("join of values x {n}"), format!("select count_big(*) from {from}"))
        }
        3 => {
            let columns = range(0, &|i| format!("c{i}"), ", ");
            let values = range(0, &|_| "1".into(), ", ");
            let text = format!(
                "select count(*) from (values ({values})) t({columns}) group by cube ({columns})"
            );
            (format!("cube x {n}"), text)
        }
        4 => {
            let sets = range(0, &|_| "rollup (a, b, c)".into(), ", ");
            let text =
                format!("select count(*) from (values (1, 2, 3)) t(a, b, c) group by {sets}");
            (format!("rollups x {n}"), text)
        }
        5 => {
            let steps = range(
                1,
                &|i| {
                    format!(
                        " cross apply (select t{0}.a from t t{i} where t{i}.a = t{0}.a) t{i}",
                        i - 1
                    )
                },
                "",
            );
            (
                format!("applies x {n}"),
                format!("with t as (select 1 a) select count(*) from t t0{steps}"),
            )
        }
        _ => {
            let windows =
                range(0, &|i| format!("sum(a) over (partition by b order by a + {i})"), ", ");
            (format!("windows x {n}"), format!("select {windows} from (values (1, 2)) t(a, b)"))
        }
    }
}
