//! tiberius, the Rust client of SQL Server, against the server: the list of checks that the other
//! clients run from `clients/` (clients/README.md). Encryption is checked there too, by
//! `clients/rust`: tiberius' TLS would bring a second one into the workspace.

use std::borrow::Cow;
use std::future::Future;
use std::time::{Duration, Instant};

use crate::support::{PASSWORD, TestServer};
use futures_util::TryStreamExt;
use tiberius::numeric::Numeric;
use tiberius::{
    AuthMethod, ColumnData, Command, Config, EncryptionLevel, IntoRow, IsolationLevel, SortOrder,
    SqlBulkCopyOption, ToSql, TokenRow,
};
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

type Client = tiberius::Client<Compat<TcpStream>>;

fn run<F: Future<Output = ()>>(work: F) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}

async fn connect_with(
    server: &TestServer,
    change: impl FnOnce(&mut Config),
) -> tiberius::Result<Client> {
    let mut config = Config::new();
    config.host("127.0.0.1");
    config.port(server.address.port());
    config.authentication(AuthMethod::sql_server("sa", PASSWORD));
    config.encryption(EncryptionLevel::NotSupported);
    config.database("tempdb");
    change(&mut config);
    let socket = TcpStream::connect(config.get_addr()).await?;
    socket.set_nodelay(true)?;
    tiberius::Client::connect(config, socket.compat_write()).await
}

async fn connect(server: &TestServer) -> Client {
    connect_with(server, |_| {}).await.unwrap()
}

/// Runs a batch; everything in it must succeed.
async fn batch(client: &mut Client, text: &str) {
    client
        .simple_query(text)
        .await
        .unwrap()
        .into_results()
        .await
        .unwrap_or_else(|e| panic!("{text}: {e}"));
}

/// The error that the server gives to a batch.
async fn error_of(client: &mut Client, text: &str) -> tiberius::error::TokenError {
    let result = match client.simple_query(text).await {
        Ok(stream) => stream.into_results().await,
        Err(error) => Err(error),
    };
    match result {
        Err(tiberius::error::Error::Server(error)) => error,
        other => panic!("{text}: no error of the server: {other:?}"),
    }
}

async fn int(client: &mut Client, text: &str) -> i32 {
    let row = client.simple_query(text).await.unwrap().into_row().await.unwrap().unwrap();
    row.get(0).unwrap()
}

#[test]
fn logins_that_fail() {
    let server = TestServer::start();
    run(async {
        let wrong = |e: tiberius::Result<Client>| e.map(drop).unwrap_err().code();
        assert_eq!(
            wrong(
                connect_with(&server, |c| c.authentication(AuthMethod::sql_server("sa", "wrong")))
                    .await
            ),
            Some(18456)
        );
        assert_eq!(
            wrong(connect_with(&server, |c| c.database("no_such_database")).await),
            Some(4060)
        );
        for packet_size in [512, 4096, 32767] {
            let mut client = connect_with(&server, |c| c.packet_size(packet_size)).await.unwrap();
            let text = "select len(replicate(cast(N'x' as nvarchar(max)), 40000)) / 10";
            let row = client.simple_query(text).await.unwrap().into_row().await.unwrap().unwrap();
            assert_eq!(row.get::<i64, _>(0), Some(4000), "{packet_size}");
        }
    });
}

fn date(year: i32, month: u8, day: u8) -> Date {
    Date::from_calendar_date(year, Month::try_from(month).unwrap(), day).unwrap()
}

/// Type of the column, values that go there and come back, and a literal that equals the first of
/// them.
type TypeCheck = (&'static str, Vec<Box<dyn ToSql>>, &'static str);

fn type_checks() -> Vec<TypeCheck> {
    fn values<const N: usize, T: ToSql + 'static>(values: [T; N]) -> Vec<Box<dyn ToSql>> {
        values.into_iter().map(|v| Box::new(v) as Box<dyn ToSql>).collect()
    }
    let last = Time::from_hms_nano(23, 59, 59, 999_999_900).unwrap();
    let moment = PrimitiveDateTime::new(date(2024, 2, 29), last);
    let quarter =
        PrimitiveDateTime::new(date(2024, 2, 29), Time::from_hms_milli(12, 30, 15, 250).unwrap());
    let minute = PrimitiveDateTime::new(date(2079, 6, 6), Time::from_hms(23, 59, 0).unwrap());
    let offset = UtcOffset::from_hms(-3, -30, 0).unwrap();
    let guid = tiberius::Uuid::parse_str("6f9619ff-8b86-d011-b42d-00c04fc964ff").unwrap();
    let big = Numeric::new_with_scale(12_345_678_901_234_567_890_123_456_780_123_456_789, 10);
    vec![
        ("bit", values([true, false]), "1"),
        ("tinyint", values([255u8, 0]), "255"),
        ("smallint", values([i16::MIN, i16::MAX]), "-32768"),
        ("int", values([i32::MIN, i32::MAX]), "-2147483648"),
        ("bigint", values([i64::MIN, i64::MAX]), "-9223372036854775808"),
        ("real", values([2.25f32, -0.5]), "2.25"),
        ("float", values([1.7976931348623157e308, -2.25]), "1.7976931348623157e308"),
        (
            "decimal(18,4)",
            values([Numeric::new_with_scale(123_456_789_012_345_678, 4)]),
            "12345678901234.5678",
        ),
        ("numeric(38,10)", values([big]), "1234567890123456789012345678.0123456789"),
        ("date", values([date(1, 1, 1), date(9999, 12, 31)]), "'0001-01-01'"),
        ("time(7)", values([last, Time::MIDNIGHT]), "'23:59:59.9999999'"),
        ("datetime2(7)", values([moment]), "'2024-02-29T23:59:59.9999999'"),
        ("datetime", values([quarter]), "'2024-02-29T12:30:15.250'"),
        ("smalldatetime", values([minute]), "'2079-06-06T23:59:00'"),
        (
            "datetimeoffset(7)",
            values([OffsetDateTime::new_in_offset(date(2024, 2, 29), last, offset)]),
            "'2024-02-29T23:59:59.9999999-03:30'",
        ),
        ("varchar(50)", values(["café", ""]), "'café'"),
        ("char(5)", values(["ab   "]), "'ab'"),
        ("nvarchar(50)", values(["Ж中😀", "o'clock"]), "N'Ж中😀'"),
        ("nchar(4)", values(["€€€€"]), "N'€€€€'"),
        (
            "varchar(max)",
            values(["x".repeat(100_000)]),
            "replicate(cast('x' as varchar(max)), 100000)",
        ),
        (
            "nvarchar(max)",
            values(["中".repeat(100_000), String::new()]),
            "replicate(cast(N'中' as nvarchar(max)), 100000)",
        ),
        ("varbinary(20)", values([vec![0u8, 0xca, 0xfe, 0xff], vec![]]), "0x00cafeff"),
        ("binary(4)", values([vec![1u8, 2, 3, 4]]), "0x01020304"),
        (
            "varbinary(max)",
            values([vec![7u8; 100_000]]),
            "cast(replicate(cast(0x07 as varchar(max)), 100000) as varbinary(max))",
        ),
        ("uniqueidentifier", values([guid]), "'6F9619FF-8B86-D011-B42D-00C04FC964FF'"),
    ]
}

/// How a value is compared: the client reads `datetime` and `smalldatetime` as types that it does
/// not send.
fn shown(data: &ColumnData<'_>) -> String {
    use tiberius::FromSql;
    let moment =
        |data: ColumnData<'static>| format!("{:?}", PrimitiveDateTime::from_sql(&data).unwrap());
    match data {
        ColumnData::DateTime(value @ Some(_)) => moment(ColumnData::DateTime(*value)),
        ColumnData::SmallDateTime(value @ Some(_)) => moment(ColumnData::SmallDateTime(*value)),
        ColumnData::DateTime2(value @ Some(_)) => moment(ColumnData::DateTime2(*value)),
        ColumnData::DateTimeOffset(value @ Some(_)) => {
            format!("{:?}", OffsetDateTime::from_sql(&ColumnData::DateTimeOffset(*value)).unwrap())
        }
        // The column's precision and scale come back, the value is the same.
        ColumnData::Numeric(Some(n)) => format!("{} / 10^{}", n.value(), n.scale()),
        other => format!("{other:?}"),
    }
}

#[test]
fn types_there_and_back() {
    let server = TestServer::start();
    run(async {
        let mut client = connect(&server).await;
        for (column_type, values, literal) in type_checks() {
            batch(
                &mut client,
                &format!("create table #there (id int primary key, v {column_type} null)"),
            )
            .await;
            for (id, value) in values.iter().enumerate() {
                let parameters: [&dyn ToSql; 2] = [&(id as i32), &**value];
                let inserted = client.execute("insert #there values (@P1, @P2)", &parameters).await;
                assert_eq!(
                    inserted.unwrap_or_else(|e| panic!("{column_type}: {e}")).rows_affected(),
                    [1]
                );
            }
            batch(&mut client, "insert #there values (1000, null)").await;
            let rows = client.query("select v from #there order by id", &[]).await.unwrap();
            let rows = rows.into_first_result().await.unwrap();
            let got: Vec<String> =
                rows.iter().map(|row| shown(row.cells().next().unwrap().1)).collect();
            let want: Vec<String> = values.iter().map(|v| shown(&v.to_sql())).collect();
            assert_eq!(got[..want.len()], want, "{column_type}");
            assert!(got[want.len()].ends_with("(None)"), "{column_type}: {}", got[want.len()]);
            let same = int(
                &mut client,
                &format!("select count(*) from #there where id = 0 and v = {literal}"),
            )
            .await;
            assert_eq!(same, 1, "{column_type} equals {literal:.40}");
            batch(&mut client, "drop table #there").await;
        }
        // Read only: the client has no parameters of these types.
        let text =
            "select cast(-12.3456 as money), cast(214748.3647 as smallmoney), cast(null as money)";
        match client.simple_query(text).await {
            Ok(stream) => {
                let row = stream.into_row().await.unwrap().unwrap();
                assert_eq!(row.get::<f64, _>(0), Some(-12.3456));
                assert_eq!(row.get::<f64, _>(1), Some(214748.3647));
                assert_eq!(row.get::<f64, _>(2), None);
            }
            Err(error) => panic!("{error}"),
        }
    });
}

#[test]
fn names_big_values_and_many_rows() {
    let server = TestServer::start();
    run(async {
        let mut client = connect(&server).await;
        batch(
            &mut client,
            "create table #n ([señor 中] nvarchar(40), [b]]c] int); insert #n values (N'ä😀', 1)",
        )
        .await;
        let row =
            client.query("select * from #n", &[]).await.unwrap().into_row().await.unwrap().unwrap();
        assert_eq!(row.columns().iter().map(|c| c.name()).collect::<Vec<_>>(), ["señor 中", "b]c"]);
        assert_eq!((row.get::<&str, _>(0), row.get::<i32, _>(1)), (Some("ä😀"), Some(1)));

        let (text, data) = ("é".repeat(3_000_000), vec![0xa5u8; 3_000_000]);
        batch(&mut client, "create table #big (t nvarchar(max), b varbinary(max))").await;
        client.execute("insert #big values (@P1, @P2)", &[&text, &data]).await.unwrap();
        let row = client
            .query("select t, b, datalength(t) from #big", &[])
            .await
            .unwrap()
            .into_row()
            .await
            .unwrap()
            .unwrap();
        assert!(
            row.get::<&str, _>(0) == Some(text.as_str())
                && row.get::<&[u8], _>(1) == Some(data.as_slice())
        );
        assert_eq!(row.get::<i64, _>(2), Some(6_000_000));

        let text = "select value, replicate('x', value % 100) from generate_series(1, 50000)";
        let mut rows = client.simple_query(text).await.unwrap().into_row_stream();
        let (mut count, mut length) = (0, 0);
        while let Some(row) = rows.try_next().await.unwrap() {
            count += 1;
            length += row.get::<&str, _>(1).unwrap().len();
            assert_eq!(row.get::<i32, _>(0), Some(count));
        }
        assert_eq!((count, length), (50_000, 500 * 4950));
    });
}

#[test]
fn parameters_row_counts_and_result_sets() {
    let server = TestServer::start();
    run(async {
        let mut client = connect(&server).await;
        let parameters: [&dyn ToSql; 4] = [&2i32, &3i32, &"it''s", &None::<i32>];
        let rows = client
            .query("select @P1 + @P2, @P3 + N'!', coalesce(@P4, 5)", &parameters)
            .await
            .unwrap();
        let row = rows.into_row().await.unwrap().unwrap();
        assert_eq!(
            (row.get::<i32, _>(0), row.get::<&str, _>(1), row.get::<i32, _>(2)),
            (Some(5), Some("it''s!"), Some(5))
        );

        batch(&mut client, "create table #r (id int primary key, v varchar(20))").await;
        for id in 0..200 {
            client.execute("insert #r values (@P1, @P2)", &[&id, &format!("v{id}")]).await.unwrap();
        }
        for id in (0..200).step_by(7) {
            let rows = client.query("select v from #r where id = @P1", &[&id]).await.unwrap();
            let row = rows.into_row().await.unwrap().unwrap();
            assert_eq!(row.get::<&str, _>(0), Some(format!("v{id}").as_str()));
        }
        let text = "update #r set v = 'x' where id < @P1; delete #r where id >= @P1; insert #r values (500, null)";
        assert_eq!(client.execute(text, &[&50i32]).await.unwrap().rows_affected(), [50, 150, 1]);

        let text =
            "select 1 a; select 'x' b, 2 c union all select 'y', 3; select 4 where 1 = 0; select 5";
        let sets = client.simple_query(text).await.unwrap().into_results().await.unwrap();
        assert_eq!(sets.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 0, 1]);
        assert_eq!(
            (sets[1][1].get::<&str, _>("b"), sets[1][1].get::<i32, _>("c")),
            (Some("y"), Some(3))
        );
    });
}

#[test]
fn procedures_with_output_parameters_and_status() {
    let server = TestServer::start();
    run(async {
        let mut client = connect(&server).await;
        let text =
            "create procedure dbo.twice @n int, @out int output, @text nvarchar(20) output as begin
            select @n as given; set @out = @n * 2; set @text = @text + N'!'; return 7 end";
        batch(&mut client, text).await;
        let mut call = Command::new("dbo.twice");
        call.bind_param("@n", 21i32);
        call.bind_out_param("@out", 0i32);
        call.bind_out_param("@text", "так");
        let result = call.exec(&mut client).await.unwrap().into_command_result().await.unwrap();
        assert_eq!(result.return_code(), 7);
        assert_eq!(result.try_return_value::<i32>("@out").unwrap(), Some(42));
        assert_eq!(result.try_return_value::<&str>("@text").unwrap(), Some("так!"));
        assert_eq!(result.to_query_result(0).unwrap()[0].get::<i32, _>("given"), Some(21));
    });
}

#[test]
fn transactions() {
    let server = TestServer::start();
    run(async {
        let (mut client, mut other) = (connect(&server).await, connect(&server).await);
        batch(&mut client, "create table dbo.tx (id int)").await;
        // The client's own requests.
        client.begin_transaction().await.unwrap();
        client.execute("insert tx values (@P1)", &[&1i32]).await.unwrap();
        client.rollback_transaction().await.unwrap();
        assert_eq!(int(&mut client, "select count(*) from tx").await, 0);
        client.begin_transaction_with_isolation(IsolationLevel::Serializable).await.unwrap();
        let level = "select cast(transaction_isolation_level as int) from sys.dm_exec_sessions where session_id = @@spid";
        assert_eq!(int(&mut client, level).await, 4);
        client.execute("insert tx values (@P1)", &[&2i32]).await.unwrap();
        // Not by the client's own request: it gives the name's length in characters, where the
        // protocol has bytes.
        batch(&mut client, "save transaction s").await;
        client.execute("insert tx values (@P1)", &[&3i32]).await.unwrap();
        batch(&mut client, "rollback transaction s").await;
        client.commit_transaction().await.unwrap();
        assert_eq!(int(&mut other, "select sum(id) from tx").await, 2);
        // T-SQL's own statements.
        batch(
            &mut client,
            "begin tran; insert tx values (4); rollback; begin tran; insert tx values (5); commit",
        )
        .await;
        assert_eq!(int(&mut other, "select sum(id) from tx").await, 7);
        batch(&mut client, "begin tran; insert tx values (6)").await;
        assert_eq!(int(&mut client, "select @@trancount").await, 1);
        batch(&mut client, "rollback").await;
        batch(&mut client, "set implicit_transactions on; insert tx values (8)").await;
        assert_eq!(int(&mut client, "select @@trancount").await, 1);
        batch(&mut client, "rollback; set implicit_transactions off").await;
        assert_eq!(int(&mut other, "select count(*) from tx").await, 2);
        // A connection that goes away leaves nothing of its transaction.
        client.begin_transaction().await.unwrap();
        client.execute("insert tx values (@P1)", &[&9i32]).await.unwrap();
        drop(client);
        assert_eq!(int(&mut other, "select count(*) from tx").await, 2);
    });
}

#[test]
fn errors() {
    let server = TestServer::start();
    run(async {
        let mut client = connect(&server).await;
        let error = error_of(&mut client, "-- not here\nselect * from no_such_table").await;
        assert_eq!((error.code(), error.class(), error.line()), (208, 16, 2));
        assert!(error.message().contains("no_such_table"), "{error:?}");
        batch(&mut client, "create table #k (id int primary key)").await;
        for (text, number) in [
            ("insert #k values (1), (1)", 2627),
            ("select 1 / 0", 8134),
            ("raiserror('of ours', 16, 1)", 50000),
            ("throw 51000, 'thrown', 1", 51000),
            ("select 1 +", 102),
        ] {
            assert_eq!(error_of(&mut client, text).await.code(), number, "{text}");
        }
        batch(&mut client, "create procedure #fails as\n\nselect 1 / 0").await;
        let error = error_of(&mut client, "exec #fails").await;
        assert_eq!((error.code(), error.line()), (8134, 3));
        assert!(error.procedure().starts_with("#fails"), "{error:?}");
        let error = client.execute("insert #k values (@P1), (@P1)", &[&7i32]).await.unwrap_err();
        assert_eq!(error.code(), Some(2627));
        assert_eq!(int(&mut client, "select 5").await, 5);
    });
}

#[test]
fn abandoned_requests() {
    let server = TestServer::start();
    run(async {
        let mut client = connect(&server).await;
        let began = Instant::now();
        // A result set that is not read to its end: the next request reads on.
        let text = "select value from generate_series(1, 20000)";
        let mut rows = client.simple_query(text).await.unwrap().into_row_stream();
        rows.try_next().await.unwrap().unwrap();
        drop(rows);
        assert_eq!(int(&mut client, "select 7").await, 7);
        // A connection that is dropped in the middle of a request ends the request.
        let mut gone = connect(&server).await;
        let spid = int(&mut gone, "select cast(@@spid as int)").await;
        let request = async {
            gone.simple_query("waitfor delay '00:01:00'")
                .await
                .unwrap()
                .into_results()
                .await
                .map(drop)
        };
        assert!(tokio::time::timeout(Duration::from_millis(200), request).await.is_err());
        drop(gone);
        let count = format!("select count(*) from sys.dm_exec_sessions where session_id = {spid}");
        while int(&mut client, &count).await > 0 {
            assert!(began.elapsed() < Duration::from_secs(30), "the session goes on");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
}

#[test]
fn bulk_load() {
    let server = TestServer::start();
    run(async {
        let mut client = connect(&server).await;
        batch(&mut client, "create table dbo.loaded (id int not null primary key, name nvarchar(40) null, amount decimal(10,2) null, at datetime2(7) null)").await;
        let mut load = client.bulk_insert("dbo.loaded").await.unwrap();
        let at = PrimitiveDateTime::new(date(2024, 2, 29), Time::MIDNIGHT);
        for id in 0..5000i32 {
            let mut row = TokenRow::new();
            row.push(ColumnData::I32(Some(id)));
            row.push(ColumnData::String((id % 3 != 0).then(|| Cow::from(format!("näme {id}")))));
            row.push(ColumnData::Numeric(Some(Numeric::new_with_scale(i128::from(id) * 25, 2))));
            row.push(if id % 2 == 0 { at.to_sql() } else { ColumnData::DateTime2(None) });
            load.send(row).await.unwrap();
        }
        assert_eq!(load.finalize().await.unwrap().total(), 5000);
        let text = "select count(*), count(name), cast(sum(amount) as float), max(name), count(at) from loaded";
        let row = client.query(text, &[]).await.unwrap().into_row().await.unwrap().unwrap();
        assert_eq!(
            (row.get::<i32, _>(0), row.get::<i32, _>(1), row.get::<f64, _>(2)),
            (Some(5000), Some(3333), Some(3_124_375.0))
        );
        assert_eq!((row.get::<&str, _>(3), row.get::<i32, _>(4)), (Some("näme 998"), Some(2500)));

        // A key that is there already: the load fails as one, and the connection goes on.
        let mut load = client.bulk_insert_columns("dbo.loaded", &["id"]).await.unwrap();
        for id in [9000i32, 17] {
            load.send(id.into_row()).await.unwrap();
        }
        assert_eq!(load.finalize().await.unwrap_err().code(), Some(2627));
        assert_eq!(int(&mut client, "select count(*) from loaded where id = 9000").await, 0);

        batch(
            &mut client,
            "create table dbo.numbered (id int identity(1, 1) primary key, v int not null)",
        )
        .await;
        let options = SqlBulkCopyOption::KeepIdentity | SqlBulkCopyOption::TableLock;
        let order = [("id", SortOrder::Ascending)];
        let mut load = client
            .bulk_insert_with_options("dbo.numbered", &["id", "v"], options, &order)
            .await
            .unwrap();
        for id in [10i32, 20, 30] {
            load.send((id, id * 2).into_row()).await.unwrap();
        }
        load.finalize().await.unwrap();
        assert_eq!(int(&mut client, "select sum(id * 1000 + v) from numbered").await, 60_120);
    });
}

#[test]
fn thirty_two_connections() {
    let server = TestServer::start();
    let server = &server;
    run(async {
        let work = (0..32i32).map(|n| async move {
            let mut client = connect(server).await;
            for i in 0..20 {
                let rows = client.query("select @P1 * 2, @@spid", &[&(n * i)]).await.unwrap();
                assert_eq!(
                    rows.into_row().await.unwrap().unwrap().get::<i32, _>(0),
                    Some(n * i * 2)
                );
            }
        });
        futures_util::future::join_all(work).await;
    });
}
