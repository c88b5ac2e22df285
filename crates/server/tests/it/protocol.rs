//! What clients see of types and options, by raw TDS.

use crate::support::{self, TestServer};
use engine::{DataType, Value};
use tds::client::{Token, message};
use tds::column::ColumnFlags;
use tds::encode::type_of;
use tds::login::{Feature, Login7, Password, feature};
use tds::prelogin::Encryption;
use tds::request::rpc::procedure_id;
use tds::request::{Procedure, RpcParam, RpcRequest, RpcValue, TableColumn, TableValue};
use tds::tokens::DoneStatus;
use tds::{PacketType, TdsVersion, TypeInfo};

/// The types of the columns of a query's result.
fn types(client: &mut support::Client, text: &str) -> Vec<TypeInfo> {
    let answer = client.batch(text);
    assert!(answer.errors().is_empty(), "{text}: {:?}", answer.errors());
    let columns =
        answer.tokens.iter().find_map(|t| if let Token::Columns(c) = t { Some(c) } else { None });
    columns.unwrap().iter().map(|c| c.ty).collect()
}

#[test]
fn numeric_and_decimal_have_a_type_byte_each() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (n numeric(9, 2), d decimal(9, 2))");
    let names: Vec<bool> =
        types(&mut client, "select n, d, 1.5, cast(1 as decimal(5)), cast(1 as numeric(5)) from t")
            .iter()
            .map(|ty| match ty {
                TypeInfo::Decimal { numeric, .. } => *numeric,
                other => panic!("{other:?}"),
            })
            .collect();
    assert_eq!(names, [true, false, true, false, true]);
}

fn text(value: &str) -> RpcParam {
    RpcParam::new("", type_of(DataType::NVarChar(types::Len::N(4000))), Value::str(value))
}

fn table(name: &str, type_name: &str, rows: &[(i32, &str)]) -> RpcParam {
    let column = |ty: DataType, default| TableColumn {
        user_type: 0,
        flags: ColumnFlags::NULLABLE,
        ty: type_of(ty),
        default,
    };
    let value = TableValue {
        schema: "dbo".into(),
        type_name: type_name.into(),
        columns: vec![
            column(DataType::Int, false),
            column(DataType::NVarChar(types::Len::Max), false),
            column(DataType::Int, true),
        ],
        column_order: Vec::new(),
        values: rows
            .iter()
            .flat_map(|(id, word)| [Value::Int(*id), Value::str(word), Value::Null])
            .collect(),
    };
    RpcParam { name: name.into(), by_ref: false, default: false, value: RpcValue::Table(value) }
}

#[test]
fn table_valued_parameters() {
    let server = TestServer::start();
    let mut client = server.client();
    client
        .run("create type words as table (id int not null primary key, word nvarchar(max), n int identity)");
    client.run("create procedure p @w words readonly as select id, word, n from @w order by id");
    let mut call = |request: RpcRequest| {
        let bytes = client.codec.rpc(&[request]).unwrap();
        client.send(&bytes);
        client.read().unwrap()
    };
    let by_name = |param| RpcRequest::new(Procedure::Name("dbo.p".into()), vec![param]);
    let long = "wörd".repeat(5000);
    let answer = call(by_name(table("@w", "words", &[(2, &long), (1, "one")])));
    let expected = [
        [Value::Int(1), Value::str("one"), Value::Int(2)],
        [Value::Int(2), Value::str(&long), Value::Int(1)],
    ];
    assert_eq!(answer.rows(), expected);
    // NULL is an empty table.
    let null = TableValue { type_name: "words".into(), ..TableValue::default() };
    let null = RpcParam { value: RpcValue::Table(null), ..table("@w", "words", &[]) };
    let answer = call(by_name(null));
    assert!(answer.errors().is_empty() && answer.rows().is_empty(), "{answer:?}");
    // By sp_executesql.
    let statement = text("select count(*), max(id) from @x where id > @least");
    let least = RpcParam::new("@least", type_of(DataType::Int), Value::Int(1));
    let params = vec![
        statement,
        text("@x dbo.words readonly, @least int"),
        table("@x", "words", &[(1, "a"), (5, "b")]),
        least,
    ];
    let answer = call(RpcRequest::new(Procedure::Id(procedure_id::EXECUTE_SQL), params));
    assert_eq!(answer.rows(), [[Value::Int(1), Value::Int(5)]]);
    // A duplicate key is an error of the call; the next one is as good as ever.
    let answer = call(by_name(table("@w", "words", &[(1, "a"), (1, "b")])));
    assert!(answer.error_numbers().contains(&2627), "{answer:?}");
    assert_eq!(call(by_name(table("@w", "words", &[(1, "a")]))).rows().len(), 1);
}

/// Logs in as `sa` with changes; the answer, or the errors of a refusal.
fn log_in(
    server: &TestServer,
    change: impl FnOnce(&mut Login7),
) -> Result<(support::Client, support::TokenAnswer), Vec<i32>> {
    let mut client = support::Client::open(server.address);
    client.prelogin(Encryption::NotSupported);
    let mut login = Login7::new(TdsVersion::V7_4, "sa", support::PASSWORD);
    change(&mut login);
    client.log_in_as(&login).map(|answer| (client, answer))
}

#[test]
fn features_that_are_there_are_acknowledged_and_no_others() {
    let server = TestServer::start();
    let asked =
        |ids: &[u8]| ids.iter().map(|id| Feature { id: *id, data: vec![1] }).collect::<Vec<_>>();
    let acknowledged = |ids: &[u8]| {
        let features = asked(ids);
        let (_, answer) = log_in(&server, |login| login.features = features).unwrap();
        let acks = answer
            .tokens
            .into_iter()
            .filter_map(|t| if let Token::FeatureExtAck(f) = t { Some(f) } else { None });
        acks.collect::<Vec<_>>()
    };
    // One token with one feature.
    let utf8 = vec![vec![Feature { id: feature::UTF8_SUPPORT, data: vec![1] }]];
    assert_eq!(acknowledged(&[feature::UTF8_SUPPORT]), utf8);
    let many = [
        feature::SESSION_RECOVERY,
        feature::COLUMN_ENCRYPTION,
        feature::DATA_CLASSIFICATION,
        feature::UTF8_SUPPORT,
        feature::JSON_SUPPORT,
    ];
    assert_eq!(acknowledged(&many), utf8);
    assert!(acknowledged(&[feature::SESSION_RECOVERY]).is_empty());
    assert!(acknowledged(&[]).is_empty());
}

#[test]
fn options_follow_from_the_kind_of_client() {
    let server = TestServer::start();
    let options = |odbc: bool, oledb: bool| {
        let (mut client, _) = log_in(&server, |login| {
            login.options.odbc = odbc;
            login.options.oledb = oledb;
        })
        .unwrap();
        client.int("select @@options")
    };
    // ANSI_NULLS, QUOTED_IDENTIFIER, ANSI_NULL_DFLT_ON, CONCAT_NULL_YIELDS_NULL.
    let ansi = 32 | 256 | 1024 | 4096;
    assert_eq!(options(true, false) & ansi, ansi);
    assert_eq!(options(false, true) & ansi, ansi);
    assert_eq!(options(false, false) & ansi, 0);
    // A reset goes back to them.
    let (mut client, _) = log_in(&server, |login| login.options.odbc = false).unwrap();
    client.run("set quoted_identifier on");
    call_by_name(&mut client, "sp_reset_connection", vec![]);
    assert_eq!(client.int("select @@options") & ansi, 0);
}

#[test]
fn an_unknown_language_or_database_is_fatal_when_the_client_says_so() {
    let server = TestServer::start();
    let language = |fatal| {
        log_in(&server, |login| {
            login.language = "klingon".into();
            login.options.language_fatal = fatal;
        })
    };
    assert_eq!(language(true).err(), Some(vec![2740, 18456]));
    let (mut client, answer) = language(false).unwrap();
    assert!(
        answer.tokens.iter().any(|t| matches!(t, Token::Info(m) if m.number == 2740)),
        "{answer:?}"
    );
    assert_eq!(client.value("select @@language"), Value::str("us_english"));
    assert!(log_in(&server, |login| login.language = "English".into()).is_ok());
    let (mut client, answer) = log_in(&server, |login| login.language = "German".into()).unwrap();
    assert!(
        answer
            .tokens
            .iter()
            .any(|t| matches!(t, Token::Info(m) if m.message.ends_with("Deutsch."))),
        "{answer:?}"
    );
    assert_eq!(client.value("select datename(month, '05.03.2024')"), Value::str("März"));
    // A connection that is given to somebody else is in the language of its login again.
    client.run("set language french");
    call_by_name(&mut client, "sp_reset_connection", vec![]);
    assert_eq!(client.value("select @@language"), Value::str("Deutsch"));
    let database = |fatal| {
        log_in(&server, |login| {
            login.database = "none".into();
            login.options.database_fatal = fatal;
        })
    };
    assert_eq!(database(true).err(), Some(vec![4060, 18456]));
    let (mut client, answer) = database(false).unwrap();
    assert_eq!(answer.error_numbers(), [4063]);
    assert_eq!(client.value("select db_name()"), Value::str("master"));
}

#[test]
fn a_password_is_changed_at_login() {
    let server = TestServer::start();
    server.client().run("create login ann with password = 'Some-l0ng-one', check_policy = on");
    let as_ann = |password: &str, new: Option<&str>| {
        log_in(&server, |login| {
            login.user = "ann".into();
            login.password = Password(password.into());
            login.new_password = new.map(|new| Password(new.into()));
        })
        .map(|(mut client, _)| client.value("select suser_sname()"))
    };
    // One that may not be leaves the old one, and who does not know the old one changes nothing.
    let refused = as_ann("Some-l0ng-one", Some("x")).unwrap_err();
    assert!(refused.len() > 1 && refused.last() == Some(&18456), "{refused:?}");
    assert_eq!(as_ann("wrong", Some("An0ther-'long]-one")), Err(vec![18456]));
    assert_eq!(as_ann("Some-l0ng-one", None), Ok(Value::str("ann")));
    assert_eq!(as_ann("Some-l0ng-one", Some("An0ther-'long]-one")), Ok(Value::str("ann")));
    assert_eq!(as_ann("Some-l0ng-one", None), Err(vec![18456]));
    assert_eq!(as_ann("An0ther-'long]-one", None), Ok(Value::str("ann")));
    // One that must be changed opens a session only for the client that changes it.
    server
        .client()
        .run("alter login ann with password = 'Must-be-0ther' must_change, check_expiration = on");
    assert_eq!(as_ann("Must-be-0ther", None), Err(vec![18488]));
    let refused = as_ann("Must-be-0ther", Some("x")).unwrap_err();
    assert!(refused.len() > 1 && refused.last() == Some(&18456), "{refused:?}");
    assert_eq!(as_ann("Must-be-0ther", None), Err(vec![18488]));
    assert_eq!(as_ann("Must-be-0ther", Some("L0ng-and-new")), Ok(Value::str("ann")));
    assert_eq!(as_ann("L0ng-and-new", None), Ok(Value::str("ann")));
}

#[test]
fn a_request_belongs_to_the_sessions_transaction() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (id int)");
    client.run("begin tran insert t values (1)");
    let known = client.codec.transaction;
    assert_ne!(known, 0);
    client.codec.transaction = 0;
    assert_eq!(client.batch("select 1").error_numbers(), [3989]);
    client.codec.transaction = known + 1;
    assert_eq!(client.batch("commit").error_numbers(), [3971]);
    client.codec.transaction = known;
    assert_eq!(client.int("select count(*) from t"), 1);
    client.run("rollback");
    assert_eq!(client.codec.transaction, 0);
    // One that has ended.
    client.codec.transaction = known;
    assert_eq!(client.batch("select 1").error_numbers(), [3971]);
    client.codec.transaction = 0;
    assert_eq!(client.int("select count(*) from t"), 0);
}

#[test]
fn query_notifications_are_refused() {
    let server = TestServer::start();
    let mut client = server.client();
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let (id, options) = (utf16("id"), utf16("service=x"));
    let mut header = 1u16.to_le_bytes().to_vec();
    for text in [&id, &options] {
        header.extend((text.len() as u16).to_le_bytes());
        header.extend(text);
    }
    let mut payload = (4 + 4 + header.len() as u32 + 18).to_le_bytes().to_vec();
    payload.extend((4 + header.len() as u32).to_le_bytes());
    payload.extend(&header);
    payload.extend(18u32.to_le_bytes());
    payload.extend([2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    payload.extend(utf16("create table t (id int)"));
    client.send(&message(PacketType::SqlBatch, &payload, 4096, 0));
    let answer = client.read().unwrap();
    assert_eq!(answer.errors().len(), 1, "{answer:?}");
    assert!(answer.errors()[0].message.contains("notification"), "{answer:?}");
    assert_eq!(client.value("select object_id('t')"), Value::Null);
}

fn call_by_name(
    client: &mut support::Client,
    name: &str,
    params: Vec<RpcParam>,
) -> support::TokenAnswer {
    let request = RpcRequest::new(Procedure::Name(name.into()), params);
    let bytes = client.codec.rpc(&[request]).unwrap();
    client.send(&bytes);
    client.read().unwrap()
}

#[test]
fn a_connection_is_reset_by_name() {
    let server = TestServer::start();
    let mut client = server.client();
    for name in ["sp_reset_connection", "[sys].sp_reset_connection"] {
        client.run("set lock_timeout 77 create table #t (id int) begin tran insert #t values (1)");
        let answer = call_by_name(&mut client, name, vec![]);
        assert!(answer.errors().is_empty(), "{answer:?}");
        assert!(answer.tokens.iter().any(|t| matches!(t, Token::ReturnStatus(0))), "{answer:?}");
        assert_eq!(client.codec.transaction, 0);
        assert_eq!(client.int("select @@trancount"), 0);
        assert_eq!(client.int("select @@lock_timeout"), -1);
        assert_eq!(client.value("select object_id('tempdb..#t')"), Value::Null);
    }
}

#[test]
fn messages_and_fetches_into_variables_end_like_statements() {
    let server = TestServer::start();
    let mut client = server.client();
    let counted = |answer: &support::TokenAnswer| {
        answer
            .dones()
            .iter()
            .map(|(status, _)| status.contains(DoneStatus::COUNT))
            .collect::<Vec<_>>()
    };
    let answer = client.batch("print 'a'; select 1; raiserror('b', 10, 1); print 'c'");
    assert_eq!(counted(&answer), [false, true, false, false]);
    let answer = client.batch(
        "declare @n int
         declare c cursor for select 1 union select 2
         open c; fetch c into @n; close c; deallocate c",
    );
    assert_eq!(counted(&answer), [false; 5]);
}

#[test]
fn an_error_of_severity_20_ends_the_connection() {
    let server = TestServer::start();
    let mut client = server.client();
    assert_eq!(client.batch("raiserror('x', 20, 1)").error_numbers(), [2754]);
    assert_eq!(client.batch("raiserror('x', 19, 1) with log; select 1").rows(), [[Value::Int(1)]]);
    client.run("create table t (id int) begin tran insert t values (1)");
    let answer = client.batch(
        "begin try raiserror('fatal', 20, 1) with log end try begin catch select 1 end catch; select 2",
    );
    // The error itself comes first: drivers judge by it whether the connection is over.
    assert_eq!(answer.error_numbers(), [50000, 2745, 596]);
    assert!(answer.rows().is_empty());
    assert!(answer.dones().last().unwrap().0.contains(DoneStatus::SERVER_ERROR), "{answer:?}");
    assert!(client.is_closed());
    let mut other = server.client();
    assert_eq!(other.int("select count(*) from t"), 0);
    // A login that is no administrator cannot.
    other.run("create login ann with password = 'Some-l0ng-one'");
    let (mut ann, _) = log_in(&server, |login| {
        login.user = "ann".into();
        login.password = Password("Some-l0ng-one".into());
    })
    .unwrap();
    assert_eq!(ann.batch("raiserror('fatal', 20, 1) with log").error_numbers(), [2778]);
    assert_eq!(ann.int("select 1"), 1);
}

#[test]
fn output_parameters_have_the_clients_types() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create procedure p @b bit output, @s varchar(20) output, @d date output as select @b = 1, @s = 'abcdef', @d = '2024-02-29'");
    let null = |name: &str, ty: DataType| RpcParam::new(name, type_of(ty), Value::Null).output();
    let answer = call_by_name(
        &mut client,
        "p",
        vec![
            null("@b", DataType::BigInt),
            null("@s", DataType::NVarChar(types::Len::N(4))),
            null("@d", DataType::VarChar(types::Len::N(30))),
        ],
    );
    let values: Vec<Value> = answer
        .tokens
        .iter()
        .filter_map(|t| {
            if let Token::ReturnValue { value, .. } = t { Some(value.clone()) } else { None }
        })
        .collect();
    assert_eq!(
        values,
        [Value::BigInt(1), Value::str("abcd"), Value::str("2024-02-29")],
        "{answer:?}"
    );
    // What the client's type cannot take.
    let answer = call_by_name(
        &mut client,
        "p",
        vec![null("@b", DataType::Int), null("@s", DataType::Int), null("@d", DataType::Date)],
    );
    assert_eq!(answer.error_numbers(), [245], "{answer:?}");
    assert_eq!(client.int("select 1"), 1);
}

#[test]
fn a_cursor_tells_where_its_columns_come_from() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run(
        "create table t (id int primary key, n int, w varchar(10)) create table u (id int, v int)",
    );
    client.run("insert t values (1, 10, 'a'), (2, 20, 'b') insert u values (1, 5)");
    let int = |n: i32| RpcParam::new("", type_of(DataType::Int), Value::Int(n));
    let mut open = |query: &str, scroll: i32| {
        let params = vec![
            int(0).output(),
            text(query),
            int(scroll).output(),
            int(4).output(),
            int(0).output(),
        ];
        let bytes = client
            .codec
            .rpc(&[RpcRequest::new(Procedure::Id(procedure_id::CURSOR_OPEN), params)])
            .unwrap();
        client.send(&bytes);
        client.read().unwrap()
    };
    let answer = open("select t.n as m, t.id, v, w + 'x' as e from t join u on u.id = t.id", 1);
    assert!(answer.errors().is_empty(), "{answer:?}");
    let names = answer
        .tokens
        .iter()
        .find_map(|t| if let Token::TableNames(names) = t { Some(names) } else { None });
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
    assert_eq!(
        told,
        [
            (1, false, false, false, Some("n")),
            (1, false, true, false, None),
            (2, false, false, false, None),
            (0, true, false, false, None),
            (0, true, false, true, None),
        ]
    );
    // Rows that are none of a table come from nowhere.
    let answer = open("select distinct n from t", 8);
    assert!(
        !answer.tokens.iter().any(|t| matches!(t, Token::TableNames(_) | Token::ColumnSources(_))),
        "{answer:?}"
    );
    // A fetch whose client knows the columns gets none, and the same rows.
    let answer = open("select id, w from t", 1);
    let handle = answer.tokens.iter().find_map(|t| match t {
        Token::ReturnValue { ordinal: 0, value, .. } => value.as_i64(),
        _ => None,
    });
    let params = vec![int(handle.unwrap() as i32), int(2), int(0), int(5)];
    let mut fetch = RpcRequest::new(Procedure::Id(procedure_id::CURSOR_FETCH), params);
    let columns = |fetch: &RpcRequest, client: &mut support::Client| {
        client.send(&client.codec.rpc(std::slice::from_ref(fetch)).unwrap());
        let payload = client.read_payload().unwrap().0;
        u16::from_le_bytes([payload[1], payload[2]])
    };
    assert_eq!(columns(&fetch, &mut client), 3);
    fetch.no_metadata = true;
    assert_eq!(columns(&fetch, &mut client), 0xFFFF);
}

/// What drivers declare their parameters as, whatever the column: JDBC's strings, BigDecimal and
/// Timestamp.
#[test]
fn parameters_of_other_types_seek() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run(
        "create table t (id int primary key, code varchar(20), at datetime, amount decimal(9, 2), big bigint, d date)
         insert t select value, concat('c', value), dateadd(minute, value, '2024-01-01'), value, value, dateadd(day, value, '2024-01-01')
         from generate_series(1, 5000)
         create index by_code on t (code) create index by_at on t (at) create index by_amount on t (amount)
         create index by_big on t (big) create index by_d on t (d)",
    );
    let datetime = client.value("select cast('2024-01-01 00:07:00' as datetime2(7))");
    let decimal = client.value("select cast(7 as decimal(38, 4))");
    let whole = client.value("select cast(7 as decimal(38, 0))");
    let nvarchar = DataType::NVarChar(types::Len::N(4000));
    let cases = [
        ("code = @p", "nvarchar(4000)", nvarchar, Value::str("c7")),
        ("code >= @p and code < @p + 'x'", "nvarchar(4000)", nvarchar, Value::str("c77")),
        ("id = @p", "decimal(38, 0)", DataType::numeric(38, 0), whole.clone()),
        ("id = @p", "decimal(38, 4)", DataType::numeric(38, 4), decimal.clone()),
        ("id = @p", "bigint", DataType::BigInt, Value::BigInt(7)),
        ("id = @p", "nvarchar(4000)", nvarchar, Value::str("7")),
        ("big = @p", "decimal(38, 0)", DataType::numeric(38, 0), whole.clone()),
        ("amount = @p", "decimal(38, 4)", DataType::numeric(38, 4), decimal),
        ("at = @p", "datetime2(7)", DataType::DateTime2(7), datetime.clone()),
        ("at between @p and @p", "datetime2(7)", DataType::DateTime2(7), datetime),
        ("at = @p", "nvarchar(4000)", nvarchar, Value::str("2024-01-01T00:07:00")),
        ("d = @p", "nvarchar(4000)", nvarchar, Value::str("2024-01-08")),
    ];
    client.run("set statistics profile on");
    for (condition, declared, ty, value) in cases {
        let params = vec![
            text(&format!("select id from t where {condition}")),
            text(&format!("@p {declared}")),
            RpcParam::new("@p", type_of(ty), value),
        ];
        let bytes = client
            .codec
            .rpc(&[RpcRequest::new(Procedure::Id(procedure_id::EXECUTE_SQL), params)])
            .unwrap();
        client.send(&bytes);
        let answer = client.read().unwrap();
        let rows = answer.rows();
        let found: Vec<&Value> =
            rows.iter().filter(|row| row.len() == 1).map(|row| &row[0]).collect();
        let expected = if condition.starts_with("code >=") { 77 } else { 7 };
        assert_eq!(found.first(), Some(&&Value::Int(expected)), "{condition}: {answer:?}");
        let operators: Vec<&str> = rows.iter().filter_map(|row| row.get(6)?.as_str()).collect();
        assert!(
            operators.iter().any(|name| name.ends_with("Seek"))
                && !operators.iter().any(|name| name.ends_with("Scan")),
            "{condition} as {declared}: {operators:?}"
        );
    }
}
