//! Cursors in T-SQL: kinds, FETCH in every direction, scopes, variables, positioned changes, ends
//! of transactions, errors.

use std::time::Duration;

use crate::support::text::{self, Bench, power_loss, run, say, try_open};
use sim::SimDisk;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE a (id int PRIMARY KEY, n int NOT NULL, s varchar(20) NULL);
         INSERT a VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, NULL), (4, 40, 'four'), (5, 50, 'five')",
        "(5)",
    );
    b
}

const KINDS: [&str; 6] = ["", "static", "keyset", "dynamic", "fast_forward", "local scroll_locks"];

#[test]
fn every_kind_gives_the_rows_in_order() {
    for kind in KINDS {
        let mut b = bench();
        b.check(
            &format!(
                "declare c cursor {kind} for select id, n * 2 from a where n > 10 order by id
                 declare @id int, @n bigint, @out varchar(100) = ''
                 open c
                 fetch next from c into @id, @n
                 while @@fetch_status = 0
                 begin
                   set @out = @out + concat(@id, '=', @n, ' ')
                   fetch c into @id, @n
                 end
                 close c deallocate c
                 print @out"
            ),
            "2=40 3=60 4=80 5=100",
        );
    }
}

#[test]
fn a_fetch_without_into_is_a_result() {
    for kind in KINDS {
        let mut b = bench();
        b.check(
            &format!(
                "declare c cursor global {} for select id, s from a where id > 3",
                kind.replace("local", "")
            ),
            "",
        );
        b.check("open c fetch c", "4|four");
        b.check("fetch c", "5|five");
        b.check("fetch c select @@fetch_status, @@rowcount", "-1|0");
        b.check("close c open c fetch next from c close c deallocate c", "4|four");
    }
}

#[test]
fn fetches_in_every_direction() {
    for kind in ["static", "keyset", "scroll", "dynamic"] {
        let mut b = bench();
        b.check(&format!("declare c cursor {kind} for select id from a order by id"), "");
        b.check("open c fetch last from c fetch prior from c fetch relative -2 from c", "5\n4\n2");
        b.check(
            "fetch relative 0 from c fetch first from c fetch prior from c select @@fetch_status",
            "2\n1\n-1",
        );
        b.check("fetch next from c fetch relative 9 from c select @@fetch_status", "1\n-1");
        b.check("fetch prior from c", "5");
        if kind == "dynamic" {
            b.check(
                "fetch absolute 2 from c",
                "Msg 16925: The fetch type absolute cannot be used with dynamic cursors.",
            );
        } else {
            b.check("declare @n int = -2 fetch absolute 2 from c fetch absolute @n from c", "2\n4");
            b.check("fetch absolute 0 from c select @@fetch_status fetch next from c", "-1\n1");
        }
    }
    let mut b = bench();
    b.check("declare c cursor for select id from a open c fetch c", "1");
    for kind in ["prior", "first", "last", "absolute 1", "relative 1"] {
        let word = kind.split(' ').next().unwrap();
        b.check(
            &format!("fetch {kind} from c"),
            &format!(
                "Msg 16911: fetch: The fetch type {word} cannot be used with forward only cursors."
            ),
        );
    }
}

#[test]
fn what_each_kind_sees_of_changes() {
    let changed =
        "delete a where id = 2 update a set n = 99 where id = 3 insert a values (6, 60, 'six')";
    let rest = "fetch c if @@fetch_status = -2 print 'gone'
                fetch c fetch c fetch c fetch c select @@fetch_status";
    for (kind, expected) in [
        ("static", "2|20\n3|30\n4|40\n5|50\n-1"),
        ("fast_forward", "2|20\n3|30\n4|40\n5|50\n-1"),
        ("keyset", "gone\n3|99\n4|40\n5|50\n-1"),
        ("dynamic", "3|99\n4|40\n5|50\n6|60\n-1"),
        ("", "3|99\n4|40\n5|50\n6|60\n-1"),
    ] {
        let mut b = bench();
        b.check(
            &format!("declare c cursor {kind} for select id, n from a order by id open c fetch c"),
            "1|10",
        );
        // By another session.
        run(&b.instance.clone(), &format!("use t {changed}"));
        b.check(rest, expected);
    }
}

#[test]
fn a_dynamic_cursor_goes_along_an_index_too() {
    let mut b = bench();
    b.check("create index n on a (n desc)", "");
    b.check(
        "declare c cursor dynamic for select id, n from a order by n desc open c fetch c fetch c",
        "5|50\n4|40",
    );
    b.check("update a set n = 35 where id = 1 delete a where id = 3 fetch c", "(1)\n(1)\n1|35");
    b.check(
        "fetch c fetch c select @@fetch_status fetch prior from c fetch last from c fetch first from c",
        "2|20\n-1\n2|20\n2|20\n5|50",
    );
}

#[test]
fn a_dynamic_cursor_goes_through_several_ranges() {
    let mut b = bench();
    b.check("insert a select value, 1, null from generate_series(6, 300)", "(295)");
    b.check(
        "declare c cursor dynamic type_warning for select id from a where id in (250, 3, 40, 4) order by id
         open c fetch c fetch c fetch c fetch c fetch c fetch c select @@fetch_status",
        "3\n4\n40\n250\n-1",
    );
    b.check(
        "fetch prior from c fetch prior from c fetch prior from c fetch relative 0 from c",
        "250\n40\n4\n4",
    );
    b.check(
        "delete a where id = 3 fetch prior from c select @@fetch_status fetch last from c fetch first from c",
        "(1)\n-1\n250\n4",
    );
    b.check(
        "delete a where id = 4 fetch relative 0 from c select @@fetch_status fetch c",
        "(1)\n-2\n40",
    );
}

#[test]
fn how_many_rows_and_what_state() {
    let mut b = bench();
    b.check("select @@cursor_rows, cursor_status('global', 'c'), @@fetch_status", "0|-3|0");
    for (kind, rows) in
        [("static", 5), ("keyset", 5), ("dynamic", -1), ("fast_forward", -1), ("", -1)]
    {
        b.check(
            &format!(
                "declare c cursor {kind} for select id from a
                 select cursor_status('global', 'c'), cursor_status('local', 'c')
                 open c select @@cursor_rows, cursor_status('global', 'c')
                 close c select cursor_status('global', 'c') deallocate c"
            ),
            &format!("-1|-3\n{rows}|1\n-1"),
        );
    }
    b.check("declare c cursor static for select id from a where id > 9 open c select cursor_status('global', 'c')", "0");
    b.check(
        "declare @c cursor select cursor_status('variable', '@c') set @c = cursor for select 1 open @c
         select cursor_status('variable', '@c') close @c select cursor_status('variable', '@c')",
        "-2\n1\n-1",
    );
}

#[test]
fn errors_of_names_and_states() {
    let mut b = bench();
    b.check("open c", "Msg 16916: A cursor with the name 'c' does not exist.");
    b.check(
        "declare c cursor for select id from a declare c cursor for select 1",
        "Msg 16915: A cursor with the name 'c' already exists.",
    );
    b.check("fetch c", "Msg 16917: Cursor is not open.");
    b.check("close c", "Msg 16917: Cursor is not open.");
    b.check("open c open c", "Msg 16905: The cursor is already open.");
    b.check(
        "declare @a int, @b int fetch c into @a, @b",
        "Msg 16924: Cursorfetch: The number of variables declared in the INTO list must match that of selected columns.",
    );
    b.check("deallocate c deallocate c", "Msg 16916: A cursor with the name 'c' does not exist.");
    b.check(
        "declare @c cursor open @c",
        "Msg 16950: The variable '@c' does not currently have a cursor allocated to it.",
    );
    b.check(
        "declare @c int open @c",
        "Msg 16948: The variable '@c' is not a cursor variable, but it is used in a place where a cursor variable is expected.",
    );
    b.check(
        "declare @c cursor select @c",
        "Msg 16949: The variable '@c' is a cursor variable, but it is used in a place where a cursor variable is not valid.",
    );
    b.check(
        "declare c cursor for select getdate() open c declare @g uniqueidentifier fetch c into @g",
        "Msg 16922: Cursor Fetch: Implicit conversion from data type datetime to uniqueidentifier is not allowed.",
    );
    b.check(
        "deallocate c declare c cursor local global for select 1",
        "Msg 1048: Conflicting cursor options LOCAL and GLOBAL.",
    );
    b.check(
        "declare c cursor for select id into #x from a",
        "Msg 16907: INTO is not allowed in cursor statements.",
    );
    b.check(
        "declare c cursor for select missing from a",
        "Msg 207: Invalid column name 'missing'.",
    );
    b.check(
        "declare c cursor type_warning keyset for select distinct id from a",
        "The created cursor is not of the requested type.",
    );
    b.check(
        "deallocate c declare c cursor for select count(*) from a for update",
        "Msg 16957: FOR UPDATE cannot be specified on a READ ONLY cursor.",
    );
}

#[test]
fn scopes() {
    let mut b = bench();
    // Global by default: it outlives its batch, and a procedure sees it.
    b.check("declare c cursor for select id from a open c", "");
    b.check("exec('fetch c') exec sp_executesql N'fetch c'", "1\n2");
    // A local one hides it, and ends with its batch.
    b.check("declare c cursor local for select n from a open c fetch c fetch global c", "10\n3");
    b.check("fetch c deallocate c", "4");
    b.check("declare c cursor local for select 1 open c", "");
    b.check("fetch c", "Msg 16916: A cursor with the name 'c' does not exist.");
    b.check(
        "declare c cursor local for select 1 exec ('open c')",
        "Msg 16916: A cursor with the name 'c' does not exist.",
    );
    b.check(
        "exec ('declare d cursor local for select 1') open d",
        "Msg 16916: A cursor with the name 'd' does not exist.",
    );
    b.check("exec ('declare d cursor for select 7') open d fetch d deallocate d", "7");
    // The database may make them local.
    b.check("alter database t set cursor_default local", "");
    b.check("select is_local_cursor_default from sys.databases where name = 't'", "1");
    b.check(
        "exec ('declare d cursor for select 7') open d",
        "Msg 16916: A cursor with the name 'd' does not exist.",
    );
    let mut b = b.restart();
    b.check("select databasepropertyex('t', 'IsLocalCursorsDefault')", "1");
}

#[test]
fn variables_refer_to_cursors() {
    let mut b = bench();
    b.check(
        "declare @a cursor, @b cursor, @id int
         set @a = cursor static for select id from a
         open @a fetch @a into @id set @b = @a deallocate @a fetch @b into @id select @id
         deallocate @b fetch @b",
        "2\nMsg 16950: The variable '@b' does not currently have a cursor allocated to it.",
    );
    b.check(
        "declare c cursor global static for select id from a declare @c cursor set @c = c deallocate c
         open @c fetch last from @c",
        "5",
    );
    b.check("open c", "Msg 16916: A cursor with the name 'c' does not exist.");
}

#[test]
fn procedures_give_cursors_back() {
    let mut b = bench();
    b.check(
        "create procedure p @from int, @c cursor varying output as
         begin
           set @c = cursor local scroll static for select id from a where id >= @from
           open @c fetch @c
         end",
        "",
    );
    b.check(
        "declare @mine cursor, @id int
         exec p 3, @mine output
         fetch @mine into @id print @id
         exec p @c = @mine output, @from = 1",
        "3\n4\nMsg 16951: The variable '@mine' cannot be used as a parameter because a CURSOR OUTPUT parameter must not have a \
         cursor allocated to it before execution of the procedure.",
    );
    b.check("create procedure q @c cursor varying output as set @c = cursor for select 1", "");
    b.check("declare @c cursor exec q @c output select cursor_status('variable', '@c')", "-2");
}

#[test]
fn variables_in_the_query_are_those_of_the_declaration() {
    let mut b = bench();
    for kind in ["static", "keyset", "dynamic", "fast_forward"] {
        b.check(
            &format!("declare @n int = 30 declare c cursor {kind} for select id, @n from a where n = @n set @n = 40 open c fetch c set @n = 50"),
            "3|30",
        );
        b.check("close c open c fetch c deallocate c", "3|30");
    }
}

#[test]
fn cursors_nest() {
    let mut b = bench();
    b.check(
        "declare @i int, @j int, @out varchar(200) = ''
         declare o cursor local fast_forward for select id from a where id < 4
         open o fetch o into @i
         while @@fetch_status = 0
         begin
           declare i cursor local for select id from a where id < @i
           open i fetch i into @j
           while @@fetch_status = 0 begin set @out += concat(@i, @j, ' ') fetch i into @j end
           close i deallocate i
           fetch o into @i
         end
         print @out",
        "21 31 32",
    );
}

#[test]
fn positioned_changes() {
    for kind in ["", "keyset", "dynamic", "scroll_locks", "local optimistic"] {
        let mut b = bench();
        b.check(
            &format!(
                "declare c cursor {kind} for select id from a
                 declare @id int
                 open c fetch c into @id
                 while @@fetch_status = 0
                 begin
                   if @id % 2 = 0 delete a where current of c
                   else update a set n += @id, s = 'x' where current of c
                   fetch c into @id
                 end
                 deallocate c
                 select * from a"
            ),
            "(1)\n(1)\n(1)\n(1)\n(1)\n1|11|x\n3|33|x\n5|55|x",
        );
    }
}

#[test]
fn positioned_changes_that_cannot_be() {
    let mut b = bench();
    b.check("create table b (id int primary key, n int)", "");
    b.check(
        "declare c cursor static for select id from a open c fetch c update a set n = 1 where current of c",
        "1\nMsg 16929: The cursor is READ ONLY.",
    );
    b.check(
        "deallocate c declare c cursor for select id from a update a set n = 1 where current of c",
        "Msg 16917: Cursor is not open.",
    );
    b.check(
        "open c update a set n = 1 where current of c",
        "Msg 16931: There are no rows in the current fetch buffer.",
    );
    b.check(
        "fetch c update b set n = 1 where current of c",
        "1\nMsg 16933: The cursor does not include the table being modified or the table is not updatable through the cursor.",
    );
    b.check("delete a where current of d", "Msg 16916: A cursor with the name 'd' does not exist.");
    // Changed by somebody else since it was fetched; deleted; changed through the cursor itself.
    run(&b.instance.clone(), "use t update a set n = 11 where id = 1 delete a where id = 2");
    b.check(
        "update a set n = 1 where current of c",
        "Msg 16934: Optimistic concurrency check failed. The row was modified outside of this cursor.",
    );
    b.check(
        "fetch c update a set n = 2 where current of c update a set n += 1 where current of c",
        "3\n(1)\n(1)",
    );
    run(&b.instance.clone(), "use t delete a where id = 3");
    b.check("delete a where current of c", "Msg 16947: No rows were updated or deleted.");
    b.check(
        "deallocate c declare c cursor for select id from a for update of s open c fetch c update a set s = 'y' where current of c
         update a set n = 1 where current of c",
        "1\n(1)\nMsg 16932: The cursor has a FOR UPDATE list and the requested column to be updated is not in this list.",
    );
    b.check("deallocate c declare c cursor keyset for select id from a open c fetch c", "1");
    run(&b.instance.clone(), "use t delete a where id = 4");
    b.check(
        "fetch c delete a where current of c",
        "Msg 16930: The requested row is not in the fetch buffer.",
    );
    b.check("select * from a", "1|11|y\n5|50|five");
}

#[test]
fn positioned_changes_go_through_the_chain() {
    let mut b = bench();
    b.check("create table log (id int, was int, new int)", "");
    b.check("alter table a add constraint small check (n < 100)", "");
    b.check("create trigger tr on a after update as insert log select i.id, d.n, i.n from inserted i join deleted d on d.id = i.id", "");
    b.check(
        "declare @c cursor set @c = cursor for select n from a where id = 2 open @c fetch @c
         update a set n = 21 where current of @c
         update a set n = 100 where current of @c
         select * from log select n from a where id = 2",
        "20\n(1)\n(1)\nMsg 547: The UPDATE statement conflicted with the CHECK constraint \"small\". The conflict occurred in database \
         \"t\", table \"dbo.a\".\n2|20|21\n21",
    );
}

#[test]
fn joins_have_keysets() {
    let mut b = bench();
    b.check("create table b (id int primary key, a int, v varchar(10)) insert b values (1, 1, 'p'), (2, 2, 'q'), (3, 9, 'r')", "(3)");
    b.check(
        "declare c cursor keyset for select b.v, a.s, a.n + b.id from b left join a on a.id = b.a order by b.id open c fetch c fetch c fetch c",
        "p|one|11\nq|two|22\nr|NULL|NULL",
    );
    b.check(
        "update b set v = 'Q' where id = 2 update a set s = 'TWO' where id = 2 fetch absolute 2 from c",
        "(1)\n(1)\nQ|TWO|22",
    );
    b.check("update a set n = 0 where current of c update b set v = 'Z' where current of c fetch relative 0 from c", "(1)\n(1)\nZ|TWO|2");
    b.check("delete a where id = 2 fetch relative 0 from c select @@fetch_status", "(1)\n-2");
}

#[test]
fn ends_of_transactions() {
    let open = "declare s cursor static for select id from a open s declare k cursor keyset for select id from a open k";
    let status = "select cursor_status('global', 's'), cursor_status('global', 'k')";
    let mut b = bench();
    b.check(&format!("begin tran {open} commit {status}"), "1|1");
    b.check(
        &format!("begin tran rollback {status} fetch s fetch k"),
        "1|-1\n1\nMsg 16917: Cursor is not open.",
    );
    b.check("close s deallocate s deallocate k set cursor_close_on_commit on", "");
    b.check(&format!("begin tran {open} commit {status}"), "-1|-1");
    b.check(&format!("open s begin tran rollback {status}"), "-1|-1");
    // A savepoint closes nothing.
    b.check(&format!("set cursor_close_on_commit off open s open k begin tran save tran x rollback tran x {status} commit"), "1|1");
    b.check("deallocate s deallocate k", "");
    // An error that rolls back takes the cursors of its batch, not those from before.
    b.check("declare before cursor static for select id from a open before", "");
    b.check(
        &format!("set xact_abort on begin tran {open} select 1 / 0"),
        "Msg 8134: Divide by zero error encountered.",
    );
    b.check(&format!("{status} fetch before"), "-3|-3\n1");
}

#[test]
fn tables_that_change_under_a_cursor() {
    let error = "Msg 16943: Could not complete cursor operation because the table schema changed after the cursor was declared.";
    for kind in ["keyset", "dynamic", "fast_forward"] {
        let mut b = bench();
        b.check("insert a select value + 100, 1, 'more' from generate_series(1, 500)", "(500)");
        b.check(&format!("declare c cursor {kind} for select id from a open c fetch c"), "1");
        run(&b.instance.clone(), "use t alter table a add extra int null");
        let fetched = b.run("declare @id int, @n int = 0 while @n < 600 begin fetch c into @id if @@error <> 0 break set @n += 1 end");
        assert_eq!(fetched.trim(), error, "{kind}");
        // Opened again, it is compiled again.
        b.check("close c open c fetch c", "1");
        run(&b.instance.clone(), "use t drop table a");
        let fetched = b.run("declare @id int, @n int = 0 while @n < 600 begin fetch c into @id if @@error <> 0 break set @n += 1 end");
        assert_eq!(fetched.trim(), error, "{kind}");
        b.check("close c open c", "Msg 208: Invalid object name 'a'.");
    }
}

/// KB of the memory of queries that are in use.
fn memory(b: &Bench) -> i64 {
    let said =
        say(&b.instance, "select granted_memory_kb from sys.dm_exec_query_resource_semaphores");
    said.parse().unwrap()
}

#[test]
fn memory_is_counted_and_given_back() {
    let mut b = bench();
    b.check(
        "insert a select value + 100, 1, replicate('x', 20) from generate_series(1, 20000)",
        "(20000)",
    );
    for kind in ["static", "keyset", "fast_forward"] {
        b.check(
            &format!("declare c cursor {kind} for select * from a order by s, id open c fetch c"),
            "3|30|NULL",
        );
        assert!(memory(&b) > 100, "{kind}");
        b.check("close c", "");
        assert_eq!(memory(&b), 0, "{kind}");
        b.check("open c deallocate c", "");
        assert_eq!(memory(&b), 0, "{kind}");
        b.check(
            &format!("declare c cursor local {kind} for select * from a order by s, id open c"),
            "",
        );
        assert_eq!(memory(&b), 0, "the batch has ended: {kind}");
    }
    b.check("declare c cursor static for select * from a open c", "");
    let mut none = text::Text::default();
    b.session.reset(&mut none).unwrap();
    assert_eq!(memory(&b), 0);
    b.check("fetch c", "Msg 16916: A cursor with the name 'c' does not exist.");
}

#[test]
fn set_rowcount_limits_what_is_kept() {
    let mut b = bench();
    b.check("set rowcount 2 declare c cursor static for select id from a open c set rowcount 0 select @@cursor_rows", "2");
}

#[test]
fn heaps_and_repeatable_reads() {
    let mut b = bench();
    b.check("create table h (n int) insert h values (3), (1), (2)", "(3)");
    b.check("declare c cursor for select n from h open c fetch c update h set n = 30 where current of c fetch c delete h where current of c", "3\n(1)\n1\n(1)");
    b.check("deallocate c select n from h order by n", "2\n30");
    b.check(
        "declare c cursor type_warning keyset for select n from h",
        "The created cursor is not of the requested type.",
    );
    b.check(
        "deallocate c set transaction isolation level repeatable read begin tran
         declare c cursor for select id from a open c fetch c update a set n = 0 where current of c fetch c commit",
        "1\n(1)\n2",
    );
}

#[test]
fn a_power_loss_among_positioned_changes_leaves_all_or_none() {
    let disk = SimDisk::new(11);
    let open = |disk: &SimDisk| try_open(disk, 64 << 20).unwrap();
    let instance = open(&disk);
    run(&instance, "create database t");
    run(&instance, "use t create table a (id int primary key, n int) create index n on a (n)");
    run(&instance, "use t insert a select value, 0 from generate_series(1, 400)");
    instance.close().unwrap();
    drop(instance);
    let changes = "use t begin tran declare c cursor keyset for select id from a declare @id int
                   open c fetch c into @id
                   while @@fetch_status = 0 begin
                     if @id % 4 = 0 delete a where current of c else update a set n = @id where current of c
                     fetch c into @id
                   end
                   commit";
    let mut seen = std::collections::BTreeSet::new();
    power_loss(&disk, open, changes, 25, |instance, _, at| {
        let state = say(instance, "use t select count(*), sum(n) from a");
        let state = state.lines().last().unwrap_or_default().to_string();
        assert!(state == "400|0" || state == "300|60000", "power lost at I/O {at}: {state}");
        assert_eq!(
            say(instance, "dbcc checkdb (t) with no_infomsgs"),
            "",
            "power lost at I/O {at}"
        );
        seen.insert(state);
    });
    assert_eq!(seen.len(), 2, "both ends were met");
}

#[test]
fn an_attention_stops_an_open_and_gives_everything_back() {
    let mut b = bench();
    b.check("insert a select value + 100, 1, 'more' from generate_series(1, 5000)", "(5000)");
    for kind in ["static", "keyset"] {
        b.check(
            &format!("declare c cursor {kind} for select x.id from a x, a y, a z where x.n + y.n + z.n >= 0"),
            "",
        );
        let cancel = b.session.cancel_handle();
        let said = std::thread::scope(|scope| {
            let b = &mut b;
            let running = scope.spawn(move || b.run("open c"));
            std::thread::sleep(Duration::from_millis(300));
            cancel.cancel();
            running.join().unwrap()
        });
        assert!(said.starts_with("Msg 3617"), "{said}");
        assert_eq!(memory(&b), 0, "{kind}");
        b.check(
            "select cursor_status('global', 'c') fetch c",
            "-1\nMsg 16917: Cursor is not open.",
        );
        b.check("deallocate c", "");
    }
}

#[test]
fn cursors_are_seen_from_other_sessions() {
    let mut b = bench();
    b.check("declare c cursor static for select id from a open c fetch c fetch c", "1\n2");
    b.check("declare @v cursor set @v = cursor for select n from a select name, properties, is_open, fetch_status, ansi_position from sys.dm_exec_cursors(@@spid) order by name", "@v|TSQL | Dynamic | Optimistic | Local (0)|0|-9|0\nc|TSQL | Snapshot | Read Only | Global (0)|1|0|2");
    let spid = b.session.spid();
    let seen = format!("select name, reads from sys.dm_exec_cursors({spid})");
    assert_eq!(say(&b.instance, &seen), "c|2");
    b.check("deallocate c", "");
    assert_eq!(say(&b.instance, "select count(*) from sys.dm_exec_cursors(0)"), "0");
}
