//! Rows of a result on the wire, which are written many at a time: short and long ones in one
//! answer, rows before an error, and the first rows of a query that waits for its next ones.

use crate::support::TestServer;
use tds::client::{Token, TokenReader};
use types::Value;

const ROWS: i32 = 300;

fn expected(column: &str, id: i32) -> Value {
    let times = |text: &str, count: i32| Value::str(text.repeat(count as usize));
    match column {
        "id" => Value::Int(id),
        "n" if id % 7 == 0 => Value::Null,
        "n" => Value::Int(id % 7),
        "v" => times("v", id * 37 % 8000),
        "upper(v)" => times("V", id * 37 % 8000),
        _ => times(
            "m",
            match id % 50 {
                0 => 200_000,
                25 => 70_000,
                _ => id,
            },
        ),
    }
}

#[test]
fn short_and_long_rows_come_in_their_order() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int primary key, n int, v varchar(8000), m varchar(max))");
    client.run(&format!(
        "insert t select value, nullif(value % 7, 0), replicate('v', value * 37 % 8000),
                         replicate(cast('m' as varchar(max)),
                                   case value % 50 when 0 then 200000 when 25 then 70000 else value end)
         from generate_series(1, {ROWS})"
    ));
    for columns in [
        &["id", "n", "v", "m"][..],
        &["m", "id"],
        &["id", "v"],
        &["id", "n"],
        &["id", "v", "upper(v)"],
        &["n", "n", "n"],
    ] {
        let sql = format!("select {} from t order by id", columns.join(", "));
        let answer = client.batch(&sql);
        assert!(answer.errors().is_empty(), "{sql}: {:?}", answer.errors());
        let rows = answer.rows();
        assert_eq!(rows.len(), ROWS as usize, "{sql}");
        for (id, row) in (1..).zip(&rows) {
            let wanted: Vec<Value> = columns.iter().map(|column| expected(column, id)).collect();
            assert!(*row == wanted, "{sql}: row {id}");
        }
        let (_, count) = answer.dones()[0];
        assert_eq!(count, ROWS as u64, "{sql}");
    }
}

#[test]
fn rows_before_an_error_come_before_it() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int primary key, v varchar(100))");
    client.run("insert t select value, concat('row ', value) from generate_series(1, 300)");
    for (sql, number) in [
        ("select id, 6000 / (id - 245) from t", 8134),
        ("select id, v, 1 / (id - 245) from t", 8134),
        (
            "exec ('select id, case when id = 245 then null else v end from t')
             with result sets ((id bigint, v nvarchar(100) not null))",
            11_553,
        ),
    ] {
        let answer = client.batch(sql);
        assert_eq!(answer.rows().len(), 244, "{sql}");
        assert_eq!(answer.error_numbers(), [number], "{sql}");
        let last_row = answer.tokens.iter().rposition(|token| matches!(token, Token::Row(_)));
        let error = answer.tokens.iter().position(|token| matches!(token, Token::Error(_)));
        assert!(last_row < error, "{sql}");
    }
}

/// What was gathered is sent while the query waits for a lock on a row behind it.
#[test]
fn first_rows_come_while_their_query_waits() {
    let server = TestServer::start();
    let (mut writer, mut reader) = (server.client(), server.client());
    writer.run("create table t (id int primary key, v char(500) not null)");
    writer.run("insert t select value, 'x' from generate_series(1, 2000)");
    writer.run("begin transaction update t set v = 'y' where id = 1000");
    reader.send(&reader.codec.batch("select id, v from t with (readcommittedlock)"));
    let (mut payload, mut ended) = (Vec::new(), false);
    while payload.len() < 256 << 10 {
        let (status, _, part) = reader.read_packet().unwrap();
        assert_eq!(status & 1, 0, "the answer ends before the writer does");
        payload.extend_from_slice(&part);
    }
    writer.run("commit");
    while !ended {
        let (status, _, part) = reader.read_packet().unwrap();
        payload.extend_from_slice(&part);
        ended = status & 1 != 0;
    }
    let tokens = TokenReader::read_all(&payload, reader.codec.version).unwrap();
    let rows = tokens.iter().filter_map(|token| match token {
        Token::Row(row) => Some(row),
        _ => None,
    });
    let changed: Vec<i64> = rows
        .clone()
        .filter(|row| row[1].as_str().is_some_and(|text| text.starts_with('y')))
        .filter_map(|row| row[0].as_i64())
        .collect();
    assert_eq!((rows.count(), changed), (2000, vec![1000]));
}
