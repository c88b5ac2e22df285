//! Rows that are made one by one, those of OUTPUT and of a client's cursor, reach the client many
//! at a time; those before an error reach it before the error.

use crate::support::tape::{Bench, int, out, param, text};
use engine::{DataType, OutputParameter, ResultRows, RpcParam, Sink, SqlError, Value};

/// How many rows came with each call, up to the first error.
#[derive(Default)]
struct Calls {
    rows: Vec<usize>,
    error: Option<i32>,
    outputs: Vec<Value>,
}

impl Sink for Calls {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        assert_eq!(self.error, None, "rows after the error");
        self.rows.push(rows.len());
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert(error.number);
        Ok(())
    }
    fn output_parameter(&mut self, parameter: &OutputParameter<'_>) -> Result<(), SqlError> {
        self.outputs.push(parameter.value.clone());
        Ok(())
    }
}

/// `t`: 1 to 300, of which only 200 has an `n` of 0.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.setup(&[
        "create table t (id int primary key, n int not null)",
        "insert t select value, case value when 200 then 0 else 1 end from generate_series(1, 300)",
        "create table v (a int not null, s varchar(max) null)",
        "create table child (p int references t (id))",
    ]);
    b
}

fn calls(b: &mut Bench, statement: &str) -> Calls {
    let mut calls = Calls::default();
    b.session.execute(statement, &mut calls);
    calls
}

#[test]
fn rows_of_output() {
    let mut b = bench();
    for statement in [
        "insert v (a) output inserted.a select id from t",
        "update v set a = a + 1 output deleted.a, inserted.a",
        "merge v using t on v.a = t.id + 1000 when not matched then insert (a) values (t.id)
         output $action, inserted.a;",
        // These wait for the foreign key.
        "insert child output inserted.p select id from t",
        "delete child output deleted.p",
        "delete v output deleted.a where s is null and a in (select id + 1 from t)",
    ] {
        let Calls { rows, error, .. } = calls(&mut b, statement);
        assert_eq!(error, None, "{statement}");
        assert!(rows.iter().sum::<usize>() >= 300 && rows.len() <= 2, "{statement}: {rows:?}");
    }
    // Large ones come by themselves.
    b.setup(&["delete v"]);
    let large = "insert v output inserted.s
                 select top (5) id, replicate(cast('x' as varchar(max)), 100000) from t";
    assert_eq!(calls(&mut b, large).rows, [1; 5]);
}

#[test]
fn rows_of_output_before_an_error() {
    let mut b = bench();
    let Calls { rows, error, .. } =
        calls(&mut b, "insert v (a) output inserted.a select id / n from t order by id");
    assert_eq!((rows.iter().sum::<usize>(), error), (199, Some(8134)), "{rows:?}");
    assert!(rows.len() <= 2, "{rows:?}");
    // The expression of OUTPUT itself.
    let Calls { rows, error, .. } =
        calls(&mut b, "insert v (a) output 100 / inserted.a select id - 3 from t where id < 9");
    assert_eq!((rows, error), (vec![2], Some(8134)));
    b.check("select count(*) as n from v", &["columns [n Int]", "row 0", "done Select 1"]);
    // They are not what the caller wants: that comes first.
    b.setup(&["create procedure p as insert v (a) output inserted.a select id / n from t"]);
    for (sets, number) in [("a int, b int", 11537), ("a date", 11538)] {
        let exec = format!("exec p with result sets (({sets}))");
        let Calls { rows, error, .. } = calls(&mut b, &exec);
        assert_eq!((rows, error), (vec![], Some(number)), "{sets}");
    }
}

#[test]
fn rows_of_a_cursor() {
    let mut b = bench();
    let handle = out(param("", DataType::Int, Value::Null));
    // Keyset and static: forward, and backward from the end.
    for kind in [1, 8] {
        let open = [
            handle.clone(),
            text("", "select id from t"),
            out(int("", kind)),
            out(int("", 1)),
            handle.clone(),
        ];
        let opened = call(&mut b, "sp_cursoropen", &open);
        let Some(Value::Int(number)) = opened.outputs.first() else {
            panic!("{:?}", opened.outputs);
        };
        for fetch in [2, 8] {
            let fetch = [int("", *number), int("", fetch), int("", 0), int("", 250)];
            let Calls { rows, error, .. } = call(&mut b, "sp_cursorfetch", &fetch);
            assert_eq!((rows, error), (vec![250], None));
        }
    }
}

fn call(b: &mut Bench, name: &str, params: &[RpcParam]) -> Calls {
    let mut calls = Calls::default();
    b.session.rpc(name, params.to_vec(), &mut calls);
    calls
}
