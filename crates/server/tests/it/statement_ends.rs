//! How each statement of a batch ends on the wire, and what the flags of columns say. The sequences
//! of tokens are those that SQL Server 2022 and 2025 were seen to send.

use crate::support::{TestServer, TokenAnswer};
use tds::client::Token;
use tds::tokens::{DoneKind, DoneStatus};

/// The tokens that count, one word group each: `DONE C1 MORE COUNT 1`.
fn told(answer: &TokenAnswer) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for token in &answer.tokens {
        lines.push(match token {
            Token::Columns(_) => "ROWS".into(),
            Token::Error(error) => format!("ERR {}", error.number),
            Token::Info(info) => format!("INFO {}", info.number),
            Token::ReturnStatus(status) => format!("RET {status}"),
            Token::EnvChange { kind, .. } => format!("ENV{kind}"),
            Token::Done { kind, status, command, rows } => {
                let kind = match kind {
                    DoneKind::Done => "DONE",
                    DoneKind::Proc => "DONEPROC",
                    DoneKind::InProc => "DONEINPROC",
                };
                let bit = |bit: DoneStatus, name: &'static str| {
                    if status.contains(bit) { name } else { "" }
                };
                let (more, error) =
                    (bit(DoneStatus::MORE, " MORE"), bit(DoneStatus::ERROR, " ERROR"));
                let count = bit(DoneStatus::COUNT, " COUNT");
                let rows = if count.is_empty() { String::new() } else { format!(" {rows}") };
                format!("{kind} {command:X}{more}{error}{count}{rows}")
            }
            _ => continue,
        });
    }
    lines
}

/// Runs batches and compares what is told of the last.
fn check(before: &[&str], text: &str, expected: &[&str]) {
    let server = TestServer::start();
    let mut client = server.client();
    before.iter().for_each(|text| client.run(text));
    assert_eq!(told(&client.batch(text)), expected, "{text}");
}

#[test]
fn assignments_count_a_row_and_conditions_come_before_their_branch() {
    check(
        &[],
        "declare @x int; declare @y int = 1; set @x = 2; select @x = 3",
        &["DONE C1 MORE COUNT 1", "DONE C1 MORE COUNT 1", "DONE C1 COUNT 1"],
    );
    check(
        &[],
        "declare @i int = 0; while @i < 2 set @i += 1; if @i = 2 print 'x'",
        &[
            "DONE C1 MORE COUNT 1",
            "DONE C0 MORE",
            "DONE C1 MORE COUNT 1",
            "DONE C0 MORE",
            "DONE C1 MORE COUNT 1",
            "DONE C0 MORE",
            "DONE C0 MORE",
            "INFO 0",
            "DONE F7",
        ],
    );
    check(
        &[],
        "while 1 = 1 begin if 1 = 1 break end goto ready; select 1; ready: return",
        &["DONE C0 MORE", "DONE C0 MORE", "DONE CA MORE", "DONE CA MORE", "DONE DB"],
    );
    check(&[], "declare @x int", &["DONE FD"]);
}

#[test]
fn blocks_of_try_and_catch_are_told() {
    check(
        &[],
        "begin try select 1/0 end try begin catch print 'c' end catch",
        &[
            "DONE 15D MORE",
            "ROWS",
            "DONE C1 MORE COUNT 0",
            "DONE 15E MORE",
            "INFO 0",
            "DONE F7 MORE",
            "DONE 15F",
        ],
    );
    check(
        &[],
        "begin try throw 50001, 'x', 1 end try begin catch select 1 end catch",
        &[
            "DONE 15D MORE",
            "DONE F6 MORE",
            "DONE 15E MORE",
            "ROWS",
            "DONE C1 MORE COUNT 1",
            "DONE 15F",
        ],
    );
    check(
        &[],
        "begin try select 1 end try begin catch select 2 end catch",
        &["DONE 15D MORE", "ROWS", "DONE C1 MORE COUNT 1", "DONE 15F"],
    );
}

#[test]
fn options_transactions_and_definitions_have_their_numbers() {
    check(
        &[],
        "set nocount on; set quoted_identifier on; set lock_timeout 5; set nocount off",
        &["DONE B9 MORE", "DONE F9 MORE", "DONE BA"],
    );
    check(
        &[],
        "begin tran; save tran s; rollback tran s; commit",
        &["ENV8", "DONE D4 MORE", "DONE D6 MORE", "DONE D2 MORE", "ENV9", "DONE D5"],
    );
    check(
        &["create schema s", "create user u without login"],
        "create table t (id int); create index i on t (id); select id into v from t; drop index i on t; \
         grant select on t to u; truncate table t; drop table t",
        &[
            "DONE C6 MORE",
            "DONE C8 MORE",
            "DONE C2 MORE COUNT 0",
            "DONE C9 MORE",
            "DONE EA MORE",
            "DONE C7",
        ],
    );
    check(&[], "create type n from int", &["DONE FD"]);
    check(
        &[],
        "grant select on nosuch to public; select 1",
        &["ERR 15151", "DONE AA MORE ERROR", "ROWS", "DONE C1 COUNT 1"],
    );
}

#[test]
fn errors_end_their_statement_or_the_batch() {
    check(
        &["create table t (a int primary key) insert t values (1)"],
        "commit; insert t values (1); select 1",
        &[
            "ERR 3902",
            "DONE D5 MORE ERROR",
            "ERR 2627",
            "INFO 3621",
            "DONE C3 MORE ERROR",
            "ROWS",
            "DONE C1 COUNT 1",
        ],
    );
    check(
        &[],
        "select 1; throw 50001, 'x', 1; select 2",
        &["ROWS", "DONE C1 MORE COUNT 1", "ERR 50001", "DONE FD ERROR"],
    );
    check(
        &[],
        "exec nosuch; select 1",
        &["ERR 2812", "DONEPROC E0 MORE ERROR", "ROWS", "DONE C1 COUNT 1"],
    );
}

#[test]
fn columns_come_before_the_error() {
    check(
        &[],
        "select 1/0; select 2",
        &["ROWS", "ERR 8134", "DONE C1 MORE ERROR", "ROWS", "DONE C1 COUNT 1"],
    );
    check(&[], "select cast('x' as int)", &["ROWS", "ERR 245", "DONE C1 ERROR"]);
    // What is not compiled has none.
    check(&[], "select nosuch", &["ERR 207", "DONE C1 ERROR"]);
    check(
        &["create table t (a int primary key) insert t values (1)"],
        "insert t output inserted.a values (1)",
        &["ROWS", "ERR 2627", "INFO 3621", "DONE C3 ERROR"],
    );
    let p = "create procedure p as select 1/0";
    check(
        &[p],
        "exec p",
        &["ROWS", "ERR 8134", "DONEINPROC C1 MORE ERROR", "RET 0", "DONEPROC E0"],
    );
    check(
        &[p],
        "begin try exec p end try begin catch print 'c' end catch",
        &[
            "DONE 15D MORE",
            "ROWS",
            "DONEINPROC C1 MORE COUNT 0",
            "DONE 15E MORE",
            "INFO 0",
            "DONE F7 MORE",
            "DONE 15F",
        ],
    );
    // In browse mode where the columns come from, too.
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int primary key, n int) insert t values (1, 0)");
    let answer = client.batch("select id from t where 1 / n = 1 for browse");
    assert_eq!(told(&answer), ["ROWS", "ERR 8134", "DONE C1 ERROR"]);
    assert!(answer.tokens.iter().any(|t| matches!(t, Token::ColumnSources(_))), "{answer:?}");
}

#[test]
fn procedures_tell_of_their_statements_unless_nocount_is_on() {
    let p = "create procedure p as begin select 1; return 5 end";
    check(
        &[p],
        "exec p; select 2",
        &[
            "ROWS",
            "DONEINPROC C1 MORE COUNT 1",
            "DONEINPROC C1 MORE COUNT 1",
            "RET 5",
            "DONEPROC E0 MORE",
            "ROWS",
            "DONE C1 COUNT 1",
        ],
    );
    let q = "create procedure q as select 2";
    let calls = "create procedure p as begin exec q end";
    check(
        &[q, calls],
        "exec p",
        &["ROWS", "DONEINPROC C1 MORE COUNT 1", "DONEINPROC E0 MORE", "RET 0", "DONEPROC E0"],
    );
    let silent = "create procedure p as begin set nocount on; declare @x int = 1; \
                  create table #t (id int); insert #t values (1); if @x = 1 exec q end";
    check(&[q, silent], "exec p", &["ROWS", "DONEINPROC C1 MORE", "RET 0", "DONEPROC E0"]);
    check(
        &["create procedure p as begin print 'a'; begin tran; commit end"],
        "exec p",
        &[
            "INFO 0",
            "DONEINPROC F7 MORE",
            "ENV8",
            "DONEINPROC D4 MORE",
            "ENV9",
            "DONEINPROC D5 MORE",
            "RET 0",
            "DONEPROC E0",
        ],
    );
    // A function says nothing of what it does.
    check(
        &[
            "create function f(@n int) returns int as begin declare @m int = 0; while @m < @n set @m += 1; return @m end",
        ],
        "select dbo.f(3)",
        &["ROWS", "DONE C1 COUNT 1"],
    );
}

#[test]
fn flags_of_columns_say_what_they_are() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run(
        "create table t (id int identity primary key, n int null, w varchar(5) not null, twice as n * 2, \
         kept as w + 'x' persisted, v rowversion)",
    );
    let mut flags = |text: &str| -> Vec<u16> {
        let answer = client.batch(text);
        assert!(answer.errors().is_empty(), "{text}: {answer:?}");
        let columns = answer.tokens.iter().find_map(|t| match t {
            Token::Columns(columns) => Some(columns.iter().map(|c| c.flags.0).collect()),
            _ => None,
        });
        columns.unwrap()
    };
    // Nullable is 1, perhaps updatable 8, identity 0x10, computed 0x20.
    assert_eq!(flags("select id, n, w, twice, kept, v from t"), [0x10, 0x09, 0x08, 0x21, 0x20, 0]);
    assert_eq!(flags("select 'foo' as bar, n + 1, count(*) over () from t"), [0x20, 0x21, 0x21]);
    assert_eq!(flags("select t.n, 1 as one from t join t as u on t.id = u.id"), [0x09, 0x20]);
}

#[test]
fn browse_mode_tells_tables_and_keys() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int primary key, n int, w varchar(10), twice as n * 2) insert t values (1, 10, 'a')");
    client.run("create table u (v int, x int)");
    // As SqlClient asks for the keys of a query, and for its columns alone.
    for (text, rows) in [
        (
            "set no_browsetable on; select n as m, w + 'x' as e, u.x from t left join u on u.v = t.id; set no_browsetable off",
            1,
        ),
        (
            "set fmtonly off; set no_browsetable on; set fmtonly on; select n as m, w + 'x' as e, u.x from t left join u on u.v = t.id \
          set fmtonly off; set no_browsetable off",
            0,
        ),
        ("select n as m, w + 'x' as e, u.x from t left join u on u.v = t.id for browse", 1),
    ] {
        let answer = client.batch(text);
        assert!(answer.errors().is_empty(), "{answer:?}");
        assert_eq!(answer.rows().len(), rows, "{text}");
        let names = answer
            .tokens
            .iter()
            .find_map(|t| if let Token::TableNames(n) = t { Some(n) } else { None });
        assert_eq!(
            names,
            Some(&vec![vec!["dbo".to_owned(), "t".into()], vec!["dbo".into(), "u".into()]])
        );
        let sources = answer
            .tokens
            .iter()
            .find_map(|t| if let Token::ColumnSources(c) = t { Some(c) } else { None });
        let told: Vec<(u8, bool, bool, bool, Option<&str>)> = sources
            .unwrap()
            .iter()
            .map(|s| (s.table, s.expression, s.key, s.hidden, s.base_name.as_deref()))
            .collect();
        let expected = [
            (1, false, false, false, Some("n")),
            (0, true, false, false, None),
            (2, false, false, false, None),
            (1, false, true, true, None),
        ];
        assert_eq!(told, expected, "{text}");
    }
    let answer = client.batch("select * from t; select count(*) from t for browse");
    assert!(!answer.tokens.iter().any(|t| matches!(t, Token::ColumnSources(_))), "{answer:?}");
}
