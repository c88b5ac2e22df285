//! The memory of an instance: whoever asks for more than there is gets an error, others work on,
//! and all of it comes back.
//!
//! Each statement of `STATEMENTS` would take all the machine's memory, or much more than the
//! instance may hold, if it were not charged.

use crate::support::limited::{MB, open, say};
use crate::support::text;
use engine::Instance;
use memory::Clerk;
use std::sync::Arc;

/// What must hold when nothing runs: nobody holds memory of statements.
fn all_is_back(instance: &Arc<Instance>, after: &str) {
    let account = instance.memory();
    for clerk in [Clerk::QueryReservations, Clerk::QueryExecution, Clerk::Sessions, Clerk::Packets]
    {
        assert_eq!(account.held(clerk), 0, "{clerk:?} after {after}");
    }
}

/// Numbers from 0 to 99,999 as `n (i)`.
const NUMBERS: &str = "with d as (select v from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) x(v)),
     n as (select a.v + 10 * b.v + 100 * c.v + 1000 * d.v + 10000 * e.v i from d a, d b, d c, d d, d e) ";

/// A statement, and the number of the error that it ends with.
const STATEMENTS: &[(&str, i32)] = &[
    ("declare @s varchar(max) = 'aaaaaaaaaaaaaaaa' while 1 = 1 set @s = @s + @s", 701),
    ("declare @s nvarchar(max) = N'ЖЖЖЖЖЖЖЖЖЖЖЖЖЖЖЖ' while 1 = 1 select @s = @s + @s", 701),
    ("declare @s varbinary(max) = 0x0102030405060708 while 1 = 1 set @s += @s", 701),
    ("declare @s varchar(max) = 'a' while 1 = 1 set @s = concat(@s, @s, 'b')", 701),
    ("declare @s varchar(max) = 'a' while 1 = 1 set @s = replace(@s, 'a', 'aaaaaaaaaaaaaaaaa')", 701),
    ("declare @s varchar(max) = 'a' while 1 = 1 set @s = stuff(@s, 1, 0, @s)", 701),
    ("declare @s nvarchar(max) = N'{}' while 1 = 1 set @s = json_modify(@s, '$.a', @s)", 701),
    ("declare @s nvarchar(max) = N'[1]' while 1 = 1 set @s = json_array(@s, @s)", 701),
    ("declare @s varchar(max) = 'a' while 1 = 1 set @s = concat_ws(@s, @s, @s)", 701),
    ("select len(replicate(cast('x' as varchar(max)), 2000000000))", 701),
    ("select len(decompress(compress(replicate(cast('x' as varchar(max)), 30000000))))", 701),
    ("declare @s varchar(max) = replicate(cast('x' as varchar(max)), 9000000)
      declare @a varchar(max) = @s, @b varchar(max) = @s, @c varchar(max) = @s, @d varchar(max) = @s,
        @e varchar(max) = @s, @f varchar(max) = @s, @g varchar(max) = @s, @h varchar(max) = @s", 701),
    ("declare @s varchar(max) = replicate(cast('x' as varchar(max)), 9000000)
      select @s + 'a', @s + 'b', @s + 'c', @s + 'd', @s + 'e', @s + 'f', @s + 'g', @s + 'h'", 701),
    ("select replicate(cast('x' as varchar(max)), 100000 + i % 2) x from n for xml path", 701),
    ("select replicate(cast('x' as varchar(max)), 100000 + i % 2) x from n for json path", 701),
    ("select len(string_agg(replicate(cast('x' as varchar(max)), 1000 + i % 2), ',')) from n", 701),
    ("select count(distinct replicate(cast(i as varchar(10)), 800)) from n", 701),
    ("with c as (select cast(replicate('x', 8000) as varchar(8000)) a union all select c.a from c, (values (1), (2)) v(x))
      select count(*) from c option (maxrecursion 0)", 701),
    ("declare @i int = 0, @h int, @x nvarchar(max) = N'<a>' + replicate(cast(N'x' as nvarchar(max)), 1000000) + N'</a>'
      while @i < 900 begin exec sp_xml_preparedocument @h output, @x set @i += 1 end", 6624),
    ("declare @i int = 0, @h int, @q nvarchar(max)
      while 1 = 1 begin set @q = concat(N'select ', @i, N' /*', replicate(N'x', 3900), N'*/')
        exec sp_prepare @h output, N'', @q set @i += 1 end", 701),
    ("declare @i int = 0, @k nvarchar(100) begin tran
      while 1 = 1 begin set @k = cast(@i as nvarchar(9)) exec sp_getapplock @k, 'Exclusive' set @i += 1 end", 701),
    ("declare @i int = 0, @s nvarchar(400)
      while 1 = 1 begin set @s = concat(N'declare c', @i, N' cursor global keyset for select name from sys.objects')
        exec (@s) set @i += 1 end", 701),
    // From the last row on, which is sent last.
    ("declare @h int, @scroll int = 8, @access int = 1
      exec sp_cursoropen @h output,
        N'select value, replicate(''x'', 2000) x from generate_series(1, 60000)', @scroll output, @access output
      exec sp_cursorfetch @h, 8, 0, 60000", 701),
];

#[test]
fn who_asks_for_too_much_is_refused_and_others_work_on() {
    let instance = open(96);
    assert_eq!(say(&instance, "create database d"), "");
    let mut wrong = Vec::new();
    for (sql, number) in STATEMENTS {
        let sql =
            if sql.contains(" from n") { format!("{NUMBERS}{sql}") } else { (*sql).to_owned() };
        let said = std::thread::scope(|scope| {
            let hog = scope.spawn(|| say(&instance, &sql));
            // Somebody else works meanwhile, with little.
            while !hog.is_finished() {
                let other = say(
                    &instance,
                    "use d create table #t (a varchar(max)) insert #t values ('x'), ('y')
                    select count(*), max(a) from #t order by 1",
                );
                assert!(other.contains("2|y") && !other.contains("Msg"), "{sql}\n{other}");
            }
            hog.join().expect("an answer")
        });
        if !said.contains(&format!("Msg {number}:")) {
            wrong.push(format!("{sql}\n{}", said.chars().take(300).collect::<String>()));
        }
        all_is_back(&instance, &sql);
        let after = say(&instance, "select len(replicate(cast('x' as varchar(max)), 9000000))");
        assert_eq!(after, "9000000", "after {sql}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_catch_block_goes_on_with_what_it_had() {
    let instance = open(96);
    let said = say(
        &instance,
        "declare @s varchar(max) = 'aaaaaaaaaaaaaaaa', @n bigint
         begin try while 1 = 1 begin set @n = datalength(@s) set @s = @s + @s end end try
         begin catch select error_number(), case when datalength(@s) = @n then 'as before' end end catch
         set @s = '' select len(replicate(cast('y' as varchar(max)), 9000000))",
    );
    assert_eq!(said, "701|as before\n9000000", "{said}");
    all_is_back(&instance, "the batch");
}

#[test]
fn static_cursors_share_the_memory_of_all() {
    let instance = open(96);
    let mut session = instance.session().expect("a session");
    let mut out = text::Text::default();
    session.execute(
        "declare @i int = 0, @s nvarchar(400)
         while @i < 100 begin
           set @s = concat(N'declare c', @i, N' cursor global static for select top 100 replicate(''x'', 8000) a
             from sys.all_objects a, sys.all_objects b open c', @i)
           exec (@s) set @i += 1 end
         fetch last from c0 fetch last from c99",
        &mut out,
    );
    // 80 MB of rows: those that have no room in memory are in files.
    assert!(!out.out.contains("Msg"), "{}", out.out);
    assert!(instance.memory().total() <= instance.memory().limit());
    assert!(instance.memory().held(Clerk::QueryReservations) > 10 * MB);
    drop(session);
    all_is_back(&instance, "the session");
}

#[test]
fn large_values_pass_by_in_small_batches() {
    let instance = open(96);
    let said = say(
        &instance,
        "set nocount on create table t (id int primary key, a varchar(max))
         declare @i int = 0
         while @i < 40 begin
           insert t values (@i, replicate(cast('x' as varchar(max)), 4000000)) set @i += 1 end
         select count(*), sum(len(a)), sum(len(a + 'y')) from t
         select count(*) from t cross join (values (1), (2)) v(x) where len(a) > 5",
    );
    assert_eq!(said, "40|160000000|160000040\n80", "160 MB of rows, a few at a time");
    all_is_back(&instance, "the batch");
}

#[test]
fn a_value_ends_at_two_gigabytes() {
    let instance = open(96);
    for sql in [
        "select len(replicate(cast('x' as varchar(max)), 5000000000))",
        "select len(replicate(cast(N'x' as nvarchar(max)), 4000000000))",
        "select len(replicate(cast('xyz' as varchar(max)), 9000000000000000000))",
        "declare @s varchar(max) = replicate(cast('x' as varchar(max)), 5000000)
         select len(replace(@s, 'x', replicate(cast('y' as varchar(max)), 1000)))",
    ] {
        let said = say(&instance, sql);
        assert!(said.contains("Msg 7119:") || said.contains("Msg 701:"), "{sql}\n{said}");
    }
    assert!(
        say(&instance, "select replicate(cast('x' as varchar(max)), 5000000000)")
            .contains("Msg 7119:")
    );
    all_is_back(&instance, "the batches");
}

#[test]
fn clerks_say_who_has_what() {
    let instance = open(128);
    let mut session = instance.session().expect("a session");
    let mut out = text::Text::default();
    session.execute("declare @x nvarchar(max) = N'<a>' + replicate(cast(N'x' as nvarchar(max)), 3000000) + N'</a>', @h int
        exec sp_xml_preparedocument @h output, @x
        select 1 from sys.dm_os_memory_clerks where type = 'MEMORYCLERK_SQLGENERAL' and pages_kb between 2900 and 3000
        select 2 from sys.dm_os_memory_clerks where type = 'MEMORYCLERK_SQLQUERYEXEC' and pages_kb >= 2900
        select 3 from sys.dm_os_memory_clerks where type = 'CACHESTORE_SQLCP' and pages_kb > 0
        select 4 from sys.dm_os_memory_clerks where type = 'MEMORYCLERK_SQLLOGPOOL' and pages_kb > 0
        select 5 from sys.dm_os_memory_clerks where type = 'MEMORYCLERK_SQLBUFFERPOOL' and pages_kb > 1000
        select value_in_use from sys.configurations where name = 'max server memory (MB)'", &mut out);
    assert_eq!(out.out.trim(), "1\n2\n3\n4\n5\n128");
    let all: usize = Clerk::ALL.into_iter().map(|clerk| instance.memory().held(clerk)).sum();
    assert!(all < 128 * MB);
}

#[test]
fn pages_give_way_to_queries_and_come_back() {
    let instance = open(96);
    let filled = say(
        &instance,
        "create database d alter database d set recovery simple
         exec ('set nocount on create table d.dbo.t (id int identity primary key, a char(8000))
         insert d.dbo.t (a) select top 6000 ''x'' from sys.all_columns a, sys.all_columns b')",
    );
    assert_eq!(filled, "");
    let pages = |want: &dyn Fn(usize) -> bool| {
        let begin = std::time::Instant::now();
        loop {
            let held = instance.memory().held(Clerk::BufferPool);
            if want(held) || begin.elapsed().as_secs() > 30 {
                return held;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    assert!(pages(&|held| held >= 45 * MB) >= 45 * MB, "47 MB of pages are there");
    let mut session = instance.session().expect("a session");
    let mut out = text::Text::default();
    instance.memory().charge(Clerk::QueryReservations, 60 * MB).expect("others come first");
    let held = pages(&|held| held <= 25 * MB);
    assert!(held <= 25 * MB, "{held}");
    session.execute("select count(*) from d.dbo.t", &mut out);
    assert_eq!(out.out.trim(), "6000");
    instance.memory().release(Clerk::QueryReservations, 60 * MB);
    let held = pages(&|held| {
        say(&instance, "select count(*) from d.dbo.t");
        held >= 45 * MB
    });
    assert!(held >= 45 * MB, "{held}");
}
