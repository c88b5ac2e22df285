//! Calls by name with values: the user's procedures with OUTPUT parameters and status,
//! sp_executesql, statements prepared under numbers; and the same procedures by EXEC in any
//! spelling.

use crate::support::tape::{self, Bench, int, out, param, text};
use engine::{DataType, RpcParam, Value};

fn bench() -> Bench {
    let mut b = Bench::new();
    b.setup(&[
        "create table t (id int identity primary key, name varchar(20) null)",
        "insert t values ('one'), ('two')",
        "create procedure add_up @a int, @b int = 10, @sum int output, @text varchar(10) = 'none' output as
         select @sum = @a + @b
         set @text = @text + '!'
         print 'added'
         return 7",
        "create procedure fails as
         select 1/0
         select 2",
    ]);
    b
}

#[test]
fn a_procedure_gives_rows_status_and_output() {
    let mut b = bench();
    let sum = out(param("@sum", DataType::BigInt, Value::Null));
    // Named parameters in any order, defaults for what is left out.
    assert_eq!(
        b.call("add_up", &[sum.clone(), int("@a", 5)]),
        [
            "info 0 line 4 of add_up: added",
            "done Print nested",
            "status 7",
            "output 0 @sum BigInt 15"
        ]
    );
    // By position, and DEFAULT.
    let default = RpcParam { is_default: true, ..int("", 0) };
    let by_position = [int("", 1), default, out(int("", 0)), out(text("", "x"))];
    let lines = b.call("dbo.add_up", &by_position);
    assert_eq!(lines[2..], ["status 7", "output 2  Int 11", "output 3  NVarChar(N(4000)) x!"]);
    for name in ["[add_up]", "[dbo].[add_up]", "master..add_up", "\"master\".\"dbo\".add_up"] {
        assert_eq!(b.call(name, &[int("", 1), int("", 2), out(int("", 0))]).len(), 4, "{name}");
    }
}

#[test]
fn a_document_is_given_back_as_text() {
    let mut b = bench();
    b.setup(&["create procedure doc @x xml output as set @x = '<a><b/></a>'"]);
    for ty in [
        DataType::NVarChar(types::Len::Max),
        DataType::NVarChar(types::Len::N(4000)),
        DataType::Xml,
    ] {
        let lines = b.call("doc", &[out(param("@x", ty, Value::str("<a/>")))]);
        assert_eq!(
            lines,
            ["status 0".to_string(), format!("output 0 @x {ty:?} <a><b/></a>")],
            "{ty:?}"
        );
    }
    // A number is none.
    let lines = b.call("doc", &[out(param("@x", DataType::Int, Value::Null))]);
    assert!(lines.iter().any(|line| line.starts_with("error")), "{lines:?}");
}

#[test]
fn errors_of_calls() {
    let mut b = bench();
    assert_eq!(b.call("nowhere", &[]), ["error 2812 line 0"]);
    assert_eq!(b.call("add_up", &[int("@a", 1)]), ["error 201 line 0"]);
    assert_eq!(b.call("add_up", &[int("@c", 1)]), ["error 8145 line 0"]);
    assert_eq!(b.call("fails", &[out(int("", 1))]), ["error 8146 line 0"]);
    assert_eq!(b.call("add_up", &[out(int("@a", 1)), int("@sum", 1)]), ["error 8162 line 0"]);
    // An error in the procedure has its name and line, and the procedure goes on.
    assert_eq!(
        b.call("fails", &[]),
        [
            "columns [ Int]",
            "error 8134 line 2 of fails",
            "done Select error nested",
            "columns [ Int]",
            "row 2",
            "done Select 1 nested",
            "status 0"
        ]
    );
    assert_eq!(b.run("select 1")[1], "row 1");
    assert_eq!(b.call("sp_cursoropen", &[]), ["error 201 line 0"]);
}

#[test]
fn texts_with_parameters() {
    let mut b = bench();
    let rows = |lines: &[String]| -> Vec<String> {
        lines
            .iter()
            .filter(|line| line.starts_with("row") || line.starts_with("error"))
            .cloned()
            .collect()
    };
    for name in [
        "sp_executesql",
        "sys.sp_executesql",
        "[sys].[sp_executesql]",
        "master..sp_executesql",
        "..sp_executesql",
    ] {
        // The names of statement and list are the client's affair.
        for (statement, list) in
            [("", ""), ("@statement", "@params"), ("stmt", "params"), ("@stmt", "@parameters")]
        {
            let lines = b.call(
                name,
                &[
                    text(statement, "select name from t where id = @id"),
                    text(list, "@id int"),
                    int(if list.is_empty() { "" } else { "@id" }, 2),
                ],
            );
            assert_eq!(rows(&lines), ["row two"], "{name} {lines:?}");
        }
    }
    // No list, an empty one, a NULL.
    for list in [
        &[][..],
        &[text("params", "")],
        &[param("", DataType::NVarChar(types::Len::Max), Value::Null)],
    ] {
        let mut params = vec![text("stmt", "select 5")];
        params.extend_from_slice(list);
        assert_eq!(rows(&b.call("sp_executesql", &params)), ["row 5"]);
    }
    let output = [
        text("", "set @n = @n + 1; select @more = count(*) from t"),
        text("", "@n int output, @more bigint OUT"),
        out(int("@n", 41)),
        out(param("@more", DataType::BigInt, Value::Null)),
    ];
    let lines = b.call("sp_executesql", &output);
    assert_eq!(lines, ["status 0", "output 2 @n Int 42", "output 3 @more BigInt 2"]);
    // Two statements without anything between them.
    let insert = [
        text("", "insert t values (@P0) select SCOPE_IDENTITY() AS GENERATED_KEYS"),
        text("", "@P0 nvarchar(4000)"),
        text("", "three"),
    ];
    let lines = b.call("sp_executesql", &insert);
    assert_eq!(lines[0], "done Insert 1 nested");
    assert_eq!(lines[2], "row 3");
    assert_eq!(
        rows(&b.call("sp_executesql", &[text("", "select @a"), text("", "@a int")])),
        ["error 8178 line 0"]
    );
    assert_eq!(
        rows(&b.call("sp_executesql", &[text("", "select 1"), text("", ""), int("", 1)])),
        ["error 8144 line 0"]
    );
    assert_eq!(rows(&b.call("sp_executesql", &[int("", 1)])), ["error 214 line 0"]);
    assert_eq!(rows(&b.call("sp_executesql", &[])), ["error 201 line 0"]);
    // A NULL without a type.
    let untyped = RpcParam { ty: None, ..param("", DataType::Int, Value::Null) };
    let lines =
        b.call("sp_executesql", &[text("", "select isnull(@a, 9)"), text("", "@a int"), untyped]);
    assert_eq!(rows(&lines), ["row 9"]);
}

/// A session knows what the texts were that it ran last: each is what it would be found to be now.
#[test]
fn a_text_that_comes_again_is_found_under_what_holds_now() {
    let mut b = bench();
    let mut says = |name: &str, params: &[RpcParam]| -> Vec<String> {
        let lines = b.call(name, params);
        lines
            .into_iter()
            .filter(|line| line.starts_with("row") || line.starts_with("error"))
            .collect()
    };
    for n in 0..200 {
        let params = [text("", "select @a + 1"), text("", "@a int"), int("", n)];
        assert_eq!(says("sp_executesql", &params), [format!("row {}", n + 1)]);
    }
    let three = DataType::VarChar(types::Len::N(3));
    for _ in 0..3 {
        // Another list, another database, no list, other options.
        let params = [text("", "select @a"), text("", "@a int"), int("", 7)];
        assert_eq!(says("sp_executesql", &params), ["row 7"]);
        let params =
            [text("", "select @a"), text("", "@a varchar(3)"), param("", three, Value::str("abc"))];
        assert_eq!(says("sp_executesql", &params), ["row abc"]);
        assert_eq!(says("master..sp_executesql", &[text("", "select db_name()")]), ["row master"]);
        assert_eq!(says("tempdb..sp_executesql", &[text("", "select db_name()")]), ["row tempdb"]);
        let undeclared = says("sp_executesql", &[text("", "select @a")]);
        assert!(undeclared.len() == 1 && undeclared[0].starts_with("error 137 "), "{undeclared:?}");
        let quoted = says("sp_executesql", &[text("", "select \"x\"")]);
        assert!(quoted.len() == 1 && quoted[0].starts_with("error 207 "), "{quoted:?}");
        let off = [text("", "set quoted_identifier off exec sp_executesql N'select \"x\"'")];
        assert_eq!(says("sp_executesql", &off), ["row x"]);
    }
}

/// Whoever may create a synonym does not say what drivers call.
#[test]
fn a_synonym_does_not_stand_before_procedures_of_the_system() {
    let mut b = bench();
    b.setup(&["create synonym sp_executesql for nowhere", "create synonym sp_tables for nowhere"]);
    for name in ["sp_executesql", "dbo.sp_executesql", "sys.sp_executesql", "master..sp_executesql"]
    {
        let lines = b.call(name, &[text("", "select 5")]);
        assert!(lines.contains(&"row 5".to_string()), "{name} {lines:?}");
        let lines = b.run(&format!("exec {name} N'select 5'"));
        assert!(lines.contains(&"row 5".to_string()), "{name} {lines:?}");
    }
    let lines = b.run("exec sp_tables @table_name = 't'");
    assert!(!lines.iter().any(|line| line.starts_with("error")), "{lines:?}");
}

#[test]
fn prepared_statements_have_numbers() {
    let mut b = bench();
    let handle = || out(param("@handle", DataType::Int, Value::Null));
    let list = || text("@params", "@id int");
    let statement = || text("@stmt", "select name from t where id = @id");
    // The columns come with the number, the rows with each call.
    let lines = b.call("sp_prepare", &[handle(), list(), statement(), int("@options", 1)]);
    assert_eq!(
        lines,
        [
            "columns [name VarChar(N(20)) null base]",
            "done Select 0 nested",
            "status 0",
            "output 0 @handle Int 1"
        ]
    );
    for id in 1..=2 {
        let lines = b.call("sp_execute", &[int("", 1), int("@id", id)]);
        assert_eq!(lines[1], format!("row {}", ["one", "two"][id as usize - 1]));
        assert_eq!(lines[3], "status 0");
    }
    // Another number in place of one that is given back.
    let lines = b.call("sp_prepexec", &[out(int("", 1)), list(), statement(), int("", 2)]);
    assert_eq!(lines.last().unwrap(), "output 0  Int 2");
    assert!(lines.contains(&"row two".to_string()));
    assert_eq!(b.call("sp_execute", &[int("", 1), int("", 1)]), ["error 8179 line 0"]);
    assert_eq!(b.session.prepared_statements(), 1);
    assert_eq!(b.call("sp_unprepare", &[int("", 2)]), ["status 0"]);
    assert_eq!(b.call("sp_unprepare", &[int("", 2)]), ["error 8179 line 0"]);
    // What does not compile is kept under no number.
    assert_eq!(
        b.call("sp_prepare", &[handle(), list(), text("", "select from where")]),
        ["error 156 line 1", "error 8180 line 0"]
    );
    assert_eq!(b.session.prepared_statements(), 0);
    // The numbers are the session's own.
    b.call("sp_prepare", &[handle(), list(), statement()]);
    let mut other = b.instance.session().unwrap();
    let mut tape = tape::Tape::default();
    other.rpc("sp_execute", vec![int("", 3), int("", 1)], &mut tape);
    assert_eq!(tape.lines, ["error 8179 line 0"]);
}

#[test]
fn calls_of_procedures_have_numbers() {
    let mut b = bench();
    let handle = || out(param("@handle", DataType::Int, Value::Null));
    let values = |b: i32| [int("", 5), int("", b), out(int("", 0))];
    let of = |first: [RpcParam; 2], rest: [RpcParam; 3]| -> Vec<RpcParam> {
        first.into_iter().chain(rest).collect()
    };
    let said = ["info 0 line 4 of add_up: added", "done Print nested", "status 7"];
    for (number, call) in
        (1..).zip(["{? = CALL add_up(?, ?, ?)}", "{call [dbo].[add_up](?,?,?)}", "add_up"])
    {
        let lines = b.call("sp_prepexecrpc", &of([handle(), text("", call)], values(number)));
        assert_eq!(lines[..3], said, "{call}");
        let given =
            [format!("output 0 @handle Int {number}"), format!("output 4  Int {}", 5 + number)];
        assert_eq!(lines[3..], given, "{call}");
    }
    assert_eq!(b.session.prepared_statements(), 3);
    let lines = b.call("sp_execute", &[int("", 2), int("", 1), int("", 2), out(int("", 0))]);
    assert_eq!(lines[..3], said);
    assert_eq!(lines[3..], ["output 3  Int 3"]);
    // Another number in place of one that is given back, which is then gone.
    let lines = b.call("sp_prepexecrpc", &of([out(int("", 2)), text("", "add_up")], values(1)));
    assert_eq!(lines[3], "output 0  Int 4");
    assert_eq!(b.call("sp_execute", &[int("", 2), int("", 1)]), ["error 8179 line 0"]);
    assert_eq!(b.call("sp_unprepare", &[int("", 4)]), ["status 0"]);
    assert_eq!(b.session.prepared_statements(), 2);
    // Procedures of the system, too; but no call of a call.
    let lines = b.call(
        "sp_prepexecrpc",
        &[
            handle(),
            text("", "{call sp_executesql(?,?,?)}"),
            text("", "select @n"),
            text("", "@n int"),
            int("", 8),
        ],
    );
    assert_eq!(lines[1..4], ["row 8", "done Select 1 nested", "status 0"]);
    for call in ["sp_prepexecrpc", "{call sp_execute(?)}"] {
        assert_eq!(
            b.call("sp_prepexecrpc", &[handle(), text("", call), int("", 1)]),
            ["error 40510 line 0"]
        );
    }
    // What cannot be called is kept under no number.
    assert_eq!(
        b.call("sp_prepexecrpc", &[handle(), text("", "{call nowhere(?)}")]),
        ["error 2812 line 0"]
    );
    let lines = b.call("sp_prepexecrpc", &[handle(), text("", "{call add_up(1)}")]);
    assert_eq!(lines, ["error 102 line 0", "error 8180 line 0"]);
    assert_eq!(b.session.prepared_statements(), 3);
    // The procedure is looked up at each run.
    b.setup(&["drop procedure add_up"]);
    assert_eq!(b.call("sp_execute", &[int("", 3), int("", 1)]), ["error 2812 line 0"]);
}

#[test]
fn the_same_by_exec() {
    let mut b = bench();
    b.check(
        "declare @h int, @n int = 1
         exec [sys].[sp_prepexec] @h output, N'@id int, @n int output', N'select @n = @n + @id from t where id = @id', 2, @n output
         exec sp_execute @h, 1, @n output
         exec ..sp_execute @h, 1, @n output
         exec master..sp_unprepare @h
         exec sp_execute @h, 1, @n
         select @n",
        &[
            "status 0",
            "status 0",
            "status 0",
            "status 0",
            "error 8179 line 6",
            "done Execute error",
            "columns [ Int null]",
            "row 5",
            "done Select 1",
        ],
    );
    // Procedures within procedures give no status to the client.
    b.setup(&["create procedure outer_one as declare @s int exec @s = add_up 1, 2, 0 select @s"]);
    b.check(
        "exec outer_one",
        &[
            "info 0 line 4 of add_up: added",
            "done Print nested",
            "columns [ Int null]",
            "row 7",
            "done Select 1 nested",
            "status 0",
        ],
    );
}
