//! Table types: what they may have, variables and parameters of them, and what a client's rows must
//! be to be one.

use crate::support::tape::{self, int, text as string};
use crate::support::text::{Bench, power_loss, run, say, try_open};
use engine::session::{RpcTable, RpcTableColumn};
use engine::{RpcParam, Value};
use sim::SimDisk;
use std::sync::Arc;

const TYPE: &str = "create type dbo.lines as table (
    id int not null primary key, word nvarchar(20) null, amount decimal(9, 2) not null default 5 check (amount > 0),
    at datetime2(3) null, unique (word, id), index by_amount (amount))";

fn bench() -> Bench {
    let mut b = Bench::new();
    for batch in [
        TYPE,
        "create procedure total @l dbo.lines readonly, @plus int = 0, @sum decimal(12, 2) = null output as
         select @sum = sum(amount) + @plus from @l
         select count(*), @sum from @l",
        "create procedure outer_one @l lines readonly as exec total @l, 100",
    ] {
        assert_eq!(b.run(batch), "", "{batch}");
    }
    b
}

#[test]
fn variables_of_a_type() {
    let mut b = bench();
    b.check(
        "declare @l lines, @n int = 3
         insert @l (id, word) values (1, N'a'), (2, null)
         insert @l values (@n, N'c', 7.5, '2024-01-02')
         update @l set amount = 1 where id = 2
         delete @l where id = 1
         select id, word, amount, at from @l order by id",
        "(2)\n(1)\n(1)\n(1)\n2|NULL|1.00|NULL\n3|c|7.50|2024-01-02 00:00:00.000",
    );
    // Its constraints hold.
    let said = b.run("declare @l lines insert @l (id) values (1) insert @l (id) values (1)");
    assert!(said.contains("Msg 2627"), "{said}");
    let said = b.run("declare @l lines insert @l (id, amount) values (1, 0)");
    assert!(said.starts_with("Msg 547"), "{said}");
    // A loop declares it once, each batch has its own.
    b.check(
        "declare @i int = 0 while @i < 3 begin declare @l lines insert @l (id) values (@i) set @i += 1 end select count(*) from @l",
        "(1)\n(1)\n(1)\n3",
    );
    b.check("declare @l lines select count(*) from @l", "0");
    b.check("select count(*) from @l", "Msg 1087: Must declare the table variable \"@l\".");
    b.check("declare @l lines select @l", "Msg 137: Must declare the scalar variable \"@l\".");
}

#[test]
fn parameters_of_procedures() {
    let mut b = bench();
    let fill = "declare @l lines, @s decimal(12, 2) insert @l (id) values (1), (2) ";
    b.check(&format!("{fill} exec total @l, 1, @s output select @s"), "(2)\n2|11.00\n11.00");
    b.check(&format!("{fill} exec dbo.total @plus = 2, @l = @l"), "(2)\n2|12.00");
    // Passed on; the caller's variable is as it was, and can be changed again.
    b.check(
        &format!(
            "{fill} exec outer_one @l exec outer_one @l insert @l (id) values (9) select count(*) from @l"
        ),
        "(2)\n2|110.00\n2|110.00\n(1)\n3",
    );
    // Left out and DEFAULT: an empty table.
    b.check("exec total exec total default, 4 exec outer_one", "0|NULL\n0|NULL\n0|NULL");
    // Texts.
    b.check(
        &format!(
            "{fill} exec sp_executesql N'select sum(id) + @k from @t', N'@t lines readonly, @k int', @l, 10"
        ),
        "(2)\n13",
    );
    b.check(
        &format!("{fill} exec sp_executesql N'select count(*) from @t', N'@t dbo.lines readonly', @t = @l"),
        "(2)\n2",
    );
    // Another type, another table, no table.
    b.run("create type other as table (id int not null)");
    b.check(
        "declare @o other exec total @o",
        "Msg 206: Operand type clash: table is incompatible with lines",
    );
    b.check(
        "declare @o table (id int) exec total @o",
        "Msg 206: Operand type clash: table is incompatible with lines",
    );
    b.check("exec total 5", "Msg 206: Operand type clash: int is incompatible with lines");
    b.check(
        &format!("{fill} exec sp_executesql N'select @a', N'@a int', @l"),
        "(2)\nMsg 206: Operand type clash: table is incompatible with int",
    );
    // An error leaves nothing in sight of the next scope.
    b.check(
        "exec ('select count(*) from @l')",
        "Msg 1087: Must declare the table variable \"@l\".",
    );
}

#[test]
fn a_parameter_is_readonly() {
    let mut b = bench();
    for (i, body) in ["insert @l (id) values (7)", "delete @l", "update x set id = 1 from @l as x"]
        .iter()
        .enumerate()
    {
        b.run(&format!("create procedure bad{i} @l lines readonly as {body}"));
        b.check(
            &format!("declare @v lines insert @v (id) values (1) exec bad{i} @v select count(*) from @v"),
            "(1)\nMsg 10700: The table-valued parameter \"@l\" is READONLY and cannot be modified.\n1",
        );
    }
    b.check(
        "create procedure p @l lines as select 1",
        "Msg 352: The table-valued parameter \"@l\" must be declared with the READONLY option.",
    );
    b.check(
        "create procedure p @n int readonly as select 1",
        "Msg 346: The parameter \"@n\" can not be declared READONLY since it is not a table-valued parameter.",
    );
    b.check(
        "exec sp_executesql N'select 1', N'@l lines'",
        "Msg 352: The table-valued parameter \"@l\" must be declared with the READONLY option.",
    );
    // A type that there is not is told of first.
    for text in [
        "exec sp_executesql N'select 1', N'@n int, @l nothing readonly', 1",
        "exec sp_prepare null, N'@n int, @l nothing readonly', N'select 1'",
        "create procedure p @n int, @l nothing readonly as select 1",
    ] {
        let said = b.run(text);
        let expected =
            "Msg 2715: Column, parameter, or variable #2: Cannot find data type nothing.";
        assert!(said.starts_with(expected), "{text}: {said}");
    }
}

#[test]
fn types_are_made_and_dropped() {
    let mut b = bench();
    b.check(
        "create type lines as table (a int)",
        "Msg 219: The type 'dbo.lines' already exists, or you do not have permission to create it.",
    );
    b.check(
        "create type lines from int",
        "Msg 219: The type 'dbo.lines' already exists, or you do not have permission to create it.",
    );
    b.check(
        "create type x as table (a int constraint c check (a > 0))",
        "Msg 102: Incorrect syntax near 'CONSTRAINT'.",
    );
    let said = b.run("create type x as table (a int check (b > 0))");
    assert!(said.starts_with("Msg 207"), "{said}");
    let said = b.run("create type x as table (a int, a int)");
    assert!(said.starts_with("Msg 2705"), "{said}");
    b.check(
        "drop type lines",
        "Msg 3732: Cannot drop type 'dbo.lines' because it is being referenced by object 'total'. There may be other objects that reference this type.",
    );
    b.check("drop type none", "Msg 218: Could not find the type 'none'. Either it does not exist or you do not have the necessary permission.");
    b.run("drop procedure outer_one, total");
    // A transaction takes both back.
    b.check(
        "begin tran drop type lines create type lines as table (z int) rollback declare @l lines insert @l (id) values (1) select id from @l",
        "(1)\n1",
    );
    b.check("begin tran create type y as table (z int) rollback select type_id('y')", "NULL");
    b.check("drop type if exists lines, none select type_id('lines')", "NULL");
    let said = b.run("declare @l lines");
    assert!(said.starts_with("Msg 2715"), "{said}");
}

#[test]
fn a_type_survives_a_restart() {
    let mut b = bench();
    b.run("set ansi_null_dflt_on off set quoted_identifier off create type odd as table (a int, b varchar(9) default \"x\")");
    let mut b = b.restart();
    b.check("declare @l lines insert @l (id) values (4) exec total @l", "(1)\n1|5.00");
    b.check("declare @o odd insert @o (a) values (1) select * from @o", "(1)\n1|x");
    let said = b.run("declare @o odd insert @o values (null, 'y')");
    assert!(said.starts_with("Msg 515"), "{said}");
}

#[test]
fn a_power_loss_among_types_leaves_all_or_none() {
    let disk = SimDisk::new(23);
    let open = |disk: &SimDisk| try_open(disk, 64 << 20).unwrap();
    let instance = open(&disk);
    for sql in [
        "create database t",
        "use t create type old as table (a int not null primary key) create type phone from varchar(20)",
    ] {
        run(&instance, sql);
    }
    instance.close().unwrap();
    drop(instance);
    let changes = "use t begin tran drop type old drop type phone create type old as table (b int, c varchar(9) default 'x')
                   create type amount from decimal(9, 2) commit";
    let mut seen = std::collections::BTreeSet::new();
    power_loss(&disk, open, changes, 30, |instance, _, at| {
        let state = say(
            instance,
            "use t select t.name, c.name from sys.types t left join sys.table_types tt on tt.user_type_id = t.user_type_id
             left join sys.columns c on c.object_id = tt.type_table_object_id where t.is_user_defined = 1 order by 1, 2",
        );
        let state = state.lines().filter(|line| line.contains('|')).collect::<Vec<_>>().join(" ");
        assert!(
            state == "old|a phone|NULL" || state == "amount|NULL old|b old|c",
            "power lost at I/O {at}: {state}"
        );
        // What is there can be used, and the names that are free be taken.
        let (make, gone) = if state.starts_with("old") { ("a", "amount") } else { ("b", "phone") };
        run(
            instance,
            &format!(
                "use t exec ('declare @o old insert @o ({make}) values (1) create type {gone} from int')"
            ),
        );
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
fn the_catalog_shows_them() {
    let mut b = bench();
    b.check(
        "select name, system_type_id, is_user_defined, is_table_type, max_length from sys.types where is_table_type = 1",
        "lines|243|1|1|-1",
    );
    b.check(
        "select t.name, c.name, type_name(c.user_type_id), c.is_nullable from sys.table_types t join sys.columns c \
         on c.object_id = t.type_table_object_id order by c.column_id",
        "lines|id|int|0\nlines|word|nvarchar|1\nlines|amount|decimal|0\nlines|at|datetime2|1",
    );
    b.check(
        "select name, system_type_id, type_name(user_type_id), is_readonly from sys.parameters where object_id = object_id('total') order by parameter_id",
        "@l|243|lines|1\n@plus|56|int|0\n@sum|106|decimal|0",
    );
    b.check(
        "select PARAMETER_NAME, DATA_TYPE, USER_DEFINED_TYPE_SCHEMA, USER_DEFINED_TYPE_NAME from INFORMATION_SCHEMA.PARAMETERS where SPECIFIC_NAME = 'outer_one'",
        "@l|table type|dbo|lines",
    );
    b.check("select type_name(type_id('dbo.lines'))", "lines");
}

/// A table-valued parameter with rows of (id, word, amount).
fn rows(type_name: &str, values: &[(i32, &str, f64)]) -> RpcParam {
    let column = |position, default| RpcTableColumn { position, default };
    let values = values.iter().flat_map(|(id, word, amount)| {
        // In another order than the type's; the last column has its default.
        [Value::str(word), Value::Int(*id), Value::Float(*amount), Value::Null]
    });
    let table = RpcTable {
        schema: "".into(),
        type_name: type_name.into(),
        columns: vec![column(1, false), column(0, false), column(2, false), column(3, true)],
        values: values.collect(),
    };
    RpcParam { table: Some(Arc::new(table)), ty: None, value: Value::Null, ..int("@l", 0) }
}

fn call(b: &mut Bench, name: &str, params: &[RpcParam]) -> Vec<String> {
    let mut tape = tape::Tape::default();
    b.session.rpc(name, params.to_vec(), &mut tape);
    tape.lines
        .into_iter()
        .filter(|line| !line.starts_with("columns") && !line.starts_with("done"))
        .collect()
}

#[test]
fn a_clients_rows() {
    let mut b = bench();
    let two = [(1, "a", 1.5), (2, "b", 2.25)];
    assert_eq!(
        call(&mut b, "total", &[rows("lines", &two), int("@plus", 1)]),
        ["row 2|4.75", "status 0"]
    );
    // The type need not be named.
    assert_eq!(call(&mut b, "dbo.total", &[rows("", &two)]), ["row 2|3.75", "status 0"]);
    let text = string("", "select id, word, at from @l order by id");
    let declared = string("", "@l dbo.lines readonly");
    assert_eq!(
        call(&mut b, "sp_executesql", &[text, declared, rows("lines", &two)]),
        ["row 1|a|NULL", "row 2|b|NULL", "status 0"]
    );
    // NULL, default and nothing are an empty table.
    let null = RpcParam { table: Some(Arc::default()), ..rows("lines", &[]) };
    assert_eq!(call(&mut b, "total", &[null]), ["row 0|NULL", "status 0"]);
    assert_eq!(
        call(&mut b, "total", &[RpcParam { is_default: true, ..int("", 0) }]),
        ["row 0|NULL", "status 0"]
    );
    assert_eq!(call(&mut b, "total", &[rows("lines", &[])]), ["row 0|NULL", "status 0"]);
    // Many rows.
    let many: Vec<(i32, String, f64)> = (0..5000).map(|i| (i, i.to_string(), 1.0)).collect();
    let many: Vec<(i32, &str, f64)> = many.iter().map(|(i, w, a)| (*i, w.as_str(), *a)).collect();
    assert_eq!(call(&mut b, "total", &[rows("lines", &many)]), ["row 5000|5000.00", "status 0"]);
    // What is wrong with them is an error of the call.
    for (param, number) in [
        (rows("lines", &[(1, "a", 1.0), (1, "b", 1.0)]), 2627),
        (rows("lines", &[(1, "a", -1.0)]), 547),
        (rows("lines", &[(1, "more than twenty characters", 1.0)]), 2628),
        (rows("none", &two), 2715),
        (int("@l", 5), 206),
    ] {
        let said = call(&mut b, "total", &[param]);
        assert!(
            said.iter().any(|line| line.starts_with(&format!("error {number} "))),
            "{number}: {said:?}"
        );
        assert!(!said.iter().any(|line| line.starts_with("row")), "{said:?}");
    }
    let columns = vec![RpcTableColumn { position: 0, default: false }];
    let narrow = RpcTable { columns, ..RpcTable::default() };
    let narrow = RpcParam { table: Some(Arc::new(narrow)), ..rows("lines", &[]) };
    let said = call(&mut b, "total", &[narrow]);
    assert!(said[0].starts_with("error 500 "), "{said:?}");
    // Nothing stays.
    assert_eq!(call(&mut b, "total", &[rows("lines", &two)]), ["row 2|3.75", "status 0"]);
}
