//! Changes through other statements: INSERT from a change that gives rows, MERGE into views and
//! common table expressions.

use crate::support::text::{Bench, fails};

fn bench() -> Bench {
    let mut b = Bench::new();
    b.check(
        "create table s (id int primary key, v varchar(9) null, n int null)
         create table log (no int identity(100, 1), id int, was varchar(9) null, now varchar(9) null, what varchar(9) null)
         insert s values (1, 'one', 10), (2, 'two', 20), (3, 'three', 30), (4, 'four', 40)",
        "(4)",
    );
    b
}

#[test]
fn rows_of_a_change_are_inserted() {
    let b = &mut bench();
    b.check(
        "insert log (id, was, now, what)
         select d.id, d.was, upper(d.now), 'upd' from
           (update s set v = v + '!' output deleted.id, deleted.v as was, inserted.v as now, inserted.n where id < 4) as d
         where d.n > 10",
        "(2)",
    );
    b.check("set showplan_text on", "");
    let plan = b.run("insert log (id) select id from (delete s output deleted.id) d");
    assert!(plan.contains("Table Insert") && plan.contains("Clustered Index Delete"), "{plan}");
    b.check("set showplan_text off", "");
    b.check("select id, was, now, what from log order by id", "2|two|TWO!|upd\n3|three|THREE!|upd");
    b.check("select string_agg(v, ',') within group (order by id) from s", "one!,two!,three!,four");
    // DELETE, with names of its own for the columns.
    b.check("insert into log (id, was) select gone, old from (delete from s output deleted.id, deleted.v where id = 4) x (gone, old)", "(1)");
    b.check("select id, was from log where id = 4; select count(*) from s", "4|four\n3");
    // INSERT: the identity that is known is that of the nested one.
    b.check("create table parts (id int identity(7, 1), v varchar(9))", "");
    b.check(
        "insert log (id, now) select id, v from (insert parts (v) output inserted.* values ('a'), ('b')) p where v = 'b'
         select scope_identity(), @@identity",
        "(1)\n8|8",
    );
    // MERGE and its $action.
    b.check(
        "insert log (id, was, now, what)
         select id, was, now, what from (
            merge s using (values (1, 'uno'), (9, 'nueve')) v (id, v) on v.id = s.id
            when matched then update set v = v.v when not matched then insert (id, v) values (v.id, v.v)
            when not matched by source then delete
            output $action as what, coalesce(inserted.id, deleted.id) as id, deleted.v as was, inserted.v as now) m
         where what in ('DELETE', 'INSERT');
         select id, was, now, what from log where what like '[DI]%' order by id",
        "(3)\n2|two!|NULL|DELETE\n3|three!|NULL|DELETE\n9|NULL|nueve|INSERT",
    );
    // With OUTPUT of its own, TOP of its own, and into a table variable.
    b.check(
        "declare @t table (id int) insert top (1) @t output inserted.id select id from (update s set n = 1 output inserted.id) u
         select count(*) from @t",
        "1\n1",
    );
    b.check("select id, n from s order by id", "1|1\n9|1");
    // Into the changed table itself.
    b.check("insert s (id, v) select id + 100, v from (delete s output deleted.id, deleted.v) d; select id, v from s order by id", "(2)\n101|uno\n109|nueve");
    // In a procedure, again and again, and after a change of the definition.
    b.check("create procedure p @n int as insert log (id, what) select id, 'p' from (update s set n = @n output inserted.id, deleted.n) d where isnull(n, 0) <> @n", "");
    b.check(
        "exec p 5; exec p 5; exec p 6; select count(*) from log where what = 'p'",
        "(2)\n(0)\n(2)\n4",
    );
    b.check("alter table s add extra int null; exec p 7", "(2)");
}

#[test]
fn both_are_one_statement() {
    let b = &mut bench();
    b.check("create table one (id int primary key)", "");
    fails(
        &b.instance.clone(),
        "use t; insert one select 1 from (delete s output deleted.id) d",
        &[2627],
    );
    b.check("select count(*) from s", "4");
    b.check(
        "begin tran insert log (id) select id from (delete s output deleted.id) d rollback select count(*) from s select count(*) from log",
        "(4)\n4\n0",
    );
    // The rights of both are asked.
    b.check("create user u without login grant insert on log to u grant select on s to u", "");
    fails(
        &b.instance.clone(),
        "use t; execute as user = 'u'; insert log (id) select id from (delete s output deleted.id) d",
        &[229],
    );
    b.check("select count(*) from s", "4");
}

#[test]
fn what_may_not_be() {
    let b = &mut bench();
    b.check("create table parent (id int primary key) create table child (id int references parent) create table fired (id int)", "");
    b.check("create view seen as select id from s", "");
    b.check("create trigger tr on fired after delete as return", "");
    let i = &b.instance.clone();
    let refused = |sql: &str, number: i32| {
        fails(i, &format!("use t; {sql}"), &[number]);
    };
    let change = "(update s set n = 1 output inserted.id)";
    refused(&format!("insert seen select id from {change} d"), 354);
    refused(&format!("with c as (select id from s) insert c select id from {change} d"), 354);
    refused(&format!("insert fired select id from {change} d"), 355);
    refused(&format!("insert parent select id from {change} d"), 356);
    refused(&format!("insert child select id from {change} d"), 356);
    refused(&format!("set identity_insert log on insert log (no) select id from {change} d"), 5328);
    refused("insert log (id) select id from (update s set n = 1) d", 10716);
    refused(
        "insert log (id) select id from (update s set n = 1 output inserted.id option (recompile)) d",
        10718,
    );
    refused(
        "declare @t table (id int) insert log (id) select id from (update s set n = 1 output inserted.id into @t) d",
        10720,
    );
    refused(
        "declare c cursor for select id from s for update insert log (id) select id from (delete s output deleted.id where current of c) d",
        10721,
    );
    refused(&format!("insert log (id) select distinct id from {change} d"), 10722);
    refused(&format!("insert log (id) select top (1) id from {change} d"), 10717);
    refused(&format!("insert log (id) select id from {change} d group by id"), 10717);
    refused(&format!("insert log (id) select id from {change} d order by id"), 10717);
    refused(&format!("insert log (id) select max(id) from {change} d"), 5322);
    refused(&format!("insert log (id) select (select 1) from {change} d"), 5323);
    refused(&format!("insert log (id) select id from {change} d where exists (select 1)"), 5323);
    refused(
        &format!("insert log (id) select row_number() over (order by id) from {change} d"),
        5329,
    );
    refused(&format!("insert log (id) select d.id from {change} d join s on s.id = d.id"), 10727);
    refused(
        &format!("insert log (id) select d.id from {change} d cross apply (select 1 a) x"),
        10727,
    );
    refused(
        &format!("insert log (id) select a from {change} d unpivot (a for b in (id)) u"),
        10728,
    );
    refused(&format!("select id from {change} d"), 10729);
    refused(&format!("insert log (id) select id from (select id from {change} d) e"), 10729);
    refused(&format!("delete s from {change} d"), 10730);
    refused(
        &format!(
            "insert log (id) select id from (insert log (id) output inserted.id select id from {change} d) e"
        ),
        10731,
    );
    refused(&format!("insert log (id) select 1 union all select id from {change} d"), 10732);
    refused(&format!("merge s using {change} d on d.id = s.id when matched then delete;"), 10733);
    refused(
        "insert log (id) select id from (update s set n = 1 output inserted.id, inserted.id) d",
        8156,
    );
    refused("insert log (id) select a from (update s set n = 1 output inserted.id + 1) d", 8155);
    b.check("select sum(n) from s", "100");
}

#[test]
fn merge_into_views_and_expressions() {
    let b = &mut bench();
    b.check(
        "create view small as select id as k, v as name, n from s where n < 35 with check option",
        "",
    );
    // Only rows of the view are matched; names are the view's.
    b.check(
        "merge small using (values (1, 'uno', 11), (4, 'quattro', 12), (5, 'cinque', 13)) x (k, name, n) on x.k = small.k
         when matched then update set name = x.name, n = x.n
         when not matched by target and x.k = 5 then insert (k, name, n) values (x.k, x.name, x.n)
         when not matched by source then delete
         output $action, deleted.k, deleted.name, inserted.k, inserted.name;",
        "UPDATE|1|one|1|uno\nDELETE|2|two|NULL|NULL\nDELETE|3|three|NULL|NULL\nINSERT|NULL|NULL|5|cinque",
    );
    b.check("select id, v, n from s order by id", "1|uno|11\n4|four|40\n5|cinque|13");
    // WITH CHECK OPTION holds, and the statement is undone as a whole.
    let check = "Msg 550: The attempted insert or update failed because the target view either specifies WITH CHECK OPTION or spans \
                 a view that specifies WITH CHECK OPTION and one or more rows resulting from the operation did not qualify under the \
                 CHECK OPTION constraint.";
    b.check(
        "merge small as t using (values (1)) x (k) on x.k = t.k when matched then update set n = 99;",
        check,
    );
    b.check("merge small t using (values (7)) x (k) on x.k = t.k when not matched then insert values (x.k, 'x', 77);", check);
    // An alias, no list of columns.
    b.check("merge into small as t using (values (7)) x (k) on x.k = t.k when not matched then insert values (x.k, 'x', 7); select n from s where id = 7", "(1)\n7");
    // Common table expressions.
    b.check(
        "with c as (select id, n from s where id > 1), src as (select 4 as id union all select 1)
         merge c using src on src.id = c.id when matched then update set n += 1
         when not matched by source and c.id = 7 then delete when not matched then insert (id, n) values (src.id + 10, 0);
         select id, n from s order by id",
        "(3)\n1|11\n4|41\n5|13\n11|0",
    );
    // A view of two tables: one of them is changed.
    b.check(
        "create table more (id int primary key, w int) insert more values (1, 1), (4, 4)",
        "(2)",
    );
    b.check(
        "create view both_of as select s.id, s.n, m.w, s.n + m.w as total from s join more m on m.id = s.id",
        "",
    );
    b.check("merge both_of b using (values (4, 400)) x (id, w) on x.id = b.id when matched then update set w = x.w; select w from more", "(1)\n1\n400");
    let i = &b.instance.clone();
    let refused = |sql: &str, number: i32| {
        fails(i, &format!("use t; {sql}"), &[number]);
    };
    refused(
        "merge both_of b using (values (4)) x (id) on x.id = b.id when matched then update set w = 1, n = 1;",
        4405,
    );
    refused(
        "merge both_of b using (values (4)) x (id) on x.id = b.id when matched then delete;",
        4405,
    );
    refused(
        "merge both_of b using (values (4)) x (id) on x.id = b.id when matched then update set total = 1;",
        4406,
    );
    refused(
        "with c as (select n, count(*) k from s group by n) merge c using (values (4)) x (id) on x.id = c.n when matched then delete;",
        4403,
    );
    refused("merge small using (values (4)) small (k) on 1 = 1 when matched then delete;", 5318);
    refused(
        "merge small t using (values (4)) x (k) on x.k = t.k when matched then update set v = '';",
        207,
    );
    b.check("create trigger tr on small instead of update as return", "");
    refused(
        "merge small t using (values (4)) x (k) on x.k = t.k when matched then update set n = 1;",
        40517,
    );
    // The right is one on the view.
    b.check("create user u without login grant select, update on both_of to u", "");
    b.check("execute as user = 'u' merge both_of b using (values (4)) x (id) on x.id = b.id when matched then update set w = 5; revert select w from more where id = 4", "(1)\n5");
    refused(
        "execute as user = 'u'; merge both_of b using (values (4)) x (id) on x.id = b.id when not matched then insert (id) values (9);",
        229,
    );
}
