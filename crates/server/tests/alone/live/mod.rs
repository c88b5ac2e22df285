//! Whole conversations against a server that listens: random requests that follow the protocol,
//! damaged, cut, out of order, given up in the middle, from several clients at a time. Everything
//! that is sent follows from a seed; what comes of it does not.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::{DataType, Value};
use fastrand::Rng;
use tds::client::{ClientCodec, Token, TokenReader, message};
use tds::column::ColumnFlags;
use tds::encode::type_of;
use tds::login::{Feature, Login7};
use tds::packet::status;
use tds::prelogin::{Encryption, Prelogin};
use tds::request::{
    Begin, Procedure, RpcParam, RpcRequest, RpcValue, TableColumn, TableValue, TransactionRequest,
};
use tds::{Column, PacketType, TdsVersion};

use crate::support::{Client, PASSWORD, TestServer};

/// Longest time that a client of its own waits for the answer to a small question while others
/// misbehave.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Statements that are sent; some fail, some wait, some say a lot.
const STATEMENTS: [&str; 18] = [
    "select 1",
    "select * from sys.objects",
    "select top (3000) a.object_id, b.name, N'\u{e9}\u{4e2d}' from sys.all_columns a cross join sys.types b",
    "insert f values (@@spid, 'x')",
    "update f set t = t + 'y' where n = @@spid",
    "delete top (10) from f",
    "begin tran insert f values (1, null)",
    "commit",
    "rollback",
    "if @@trancount > 0 rollback",
    "declare @w words insert @w values (1, N'a') exec take @w",
    "select 1/0 print 'after'",
    "waitfor delay '00:00:00.020'",
    "set implicit_transactions on",
    "create table #t (a int) insert #t values (1), (2) select * from #t",
    "begin try select cast('x' as int) end try begin catch select error_number() throw end catch",
    "exec sp_describe_undeclared_parameters N'select * from f where n = @p'",
    "select frm",
];

/// Starts a server with what the statements need.
pub fn server() -> TestServer {
    let server = TestServer::with(|options| {
        options.login_timeout = Duration::from_secs(2);
        options.max_message = 4 << 20;
    });
    let mut client = server.client();
    client.run("create database fuzz");
    client.run("use fuzz create table f (n int, t varchar(200)) create table reached (n int)");
    client.run("use fuzz create table fuzz.dbo.loaded (a int not null, b nvarchar(max) null)");
    client.run("use fuzz exec ('create type words as table (a int primary key, b nvarchar(max))')");
    client.run("use fuzz exec ('create procedure take @w words readonly as select * from @w')");
    server
}

fn pick<'a, T>(rng: &mut Rng, list: &'a [T]) -> &'a T {
    &list[rng.usize(..list.len())]
}

/// Changes, inserts, removes and repeats some bytes; lengths and type bytes are hit more often than
/// at random.
fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    const NUMBERS: [u8; 12] = [0, 1, 2, 7, 8, 0x1F, 0x7F, 0x80, 0xF0, 0xF3, 0xFE, 0xFF];
    for _ in 0..rng.usize(1..5) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.usize(..bytes.len());
        match rng.u8(..7) {
            0 => bytes[at] = rng.u8(..),
            1 | 2 => bytes[at] = *pick(rng, &NUMBERS),
            3 => bytes[at] ^= 1 << rng.u8(..8),
            4 => drop(bytes.remove(at)),
            5 => bytes.insert(at, *pick(rng, &NUMBERS)),
            _ => bytes.truncate(at),
        }
    }
}

/// The payload of a message without its packets' headers.
fn payload(bytes: &[u8]) -> Vec<u8> {
    let (mut rest, mut out) = (bytes, Vec::new());
    while rest.len() >= 8 {
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]])).clamp(8, rest.len());
        out.extend_from_slice(&rest[8..len]);
        rest = &rest[len..];
    }
    out
}

fn value(rng: &mut Rng) -> (DataType, Value) {
    match rng.u8(..6) {
        0 => (DataType::Int, Value::Int(rng.i32(..))),
        1 => (DataType::NVarChar(types::Len::Max), Value::str("wörd".repeat(rng.usize(..2000)))),
        2 => (
            DataType::VarBinary(types::Len::N(50)),
            Value::bytes(vec![rng.u8(..); rng.usize(..50)]),
        ),
        3 => (DataType::Float, Value::Float(rng.f64())),
        4 => (DataType::DateTime, Value::Null),
        _ => (DataType::Bit, Value::Bit(rng.bool())),
    }
}

fn param(rng: &mut Rng, name: &str) -> RpcParam {
    let (ty, value) = value(rng);
    RpcParam {
        default: rng.u8(..12) == 0,
        by_ref: rng.u8(..6) == 0,
        ..RpcParam::new(name, type_of(ty), value)
    }
}

fn text(value: &str) -> RpcParam {
    RpcParam::new("", type_of(DataType::NVarChar(types::Len::N(4000))), Value::str(value))
}

fn words(rng: &mut Rng) -> RpcParam {
    let column = |ty: DataType| TableColumn {
        user_type: 0,
        flags: ColumnFlags::NULLABLE,
        ty: type_of(ty),
        default: false,
    };
    let rows = rng.i32(..50);
    let value = TableValue {
        schema: String::new(),
        type_name: pick(rng, &["words", "words", "", "none"]).to_string(),
        columns: vec![column(DataType::Int), column(DataType::NVarChar(types::Len::Max))],
        column_order: Vec::new(),
        values: (0..rows).flat_map(|n| [Value::Int(n), Value::str("w")]).collect(),
    };
    RpcParam { name: "@w".into(), by_ref: false, default: false, value: RpcValue::Table(value) }
}

fn call(rng: &mut Rng) -> RpcRequest {
    match rng.u8(..6) {
        0 => {
            let declared = text("@a int, @b nvarchar(max)");
            let params = vec![text("select @a, @b"), declared, param(rng, "@a"), param(rng, "@b")];
            RpcRequest::new(Procedure::Id(10), params)
        }
        1 => {
            let handle = RpcParam::new("", type_of(DataType::Int), Value::Null).output();
            RpcRequest::new(
                Procedure::Id(*pick(rng, &[11, 13])),
                vec![handle, text("@a int"), text("select @a"), param(rng, "")],
            )
        }
        2 => {
            let handle = RpcParam::new("", type_of(DataType::Int), Value::Int(rng.i32(..4)));
            RpcRequest::new(Procedure::Id(*pick(rng, &[12, 15])), vec![handle, param(rng, "")])
        }
        3 => RpcRequest::new(Procedure::Name("take".into()), vec![words(rng)]),
        4 => {
            let names = [
                "sp_tables",
                "sp_reset_connection",
                "none",
                "fuzz..take",
                "sp_cursoropen",
                "sp_columns_100",
            ];
            let name = pick(rng, &names).to_string();
            let params = (0..rng.usize(..4)).map(|_| param(rng, "")).collect();
            RpcRequest::new(Procedure::Name(name), params)
        }
        _ => {
            let params = (0..rng.usize(..6)).map(|_| param(rng, "")).collect();
            RpcRequest::new(Procedure::Id(rng.u16(..18)), params)
        }
    }
}

fn transaction(rng: &mut Rng) -> TransactionRequest {
    let begin = |rng: &mut Rng| Begin { isolation: rng.u8(..7), name: String::new() };
    match rng.u8(..4) {
        0 => TransactionRequest::Begin(begin(rng)),
        1 => {
            TransactionRequest::Commit { name: String::new(), then: rng.bool().then(|| begin(rng)) }
        }
        2 => TransactionRequest::Rollback {
            name: String::new(),
            then: rng.bool().then(|| begin(rng)),
        },
        _ => TransactionRequest::Save { name: "s".into() },
    }
}

/// What a client sends next, as it should be.
fn request(rng: &mut Rng, codec: &mut ClientCodec) -> Vec<u8> {
    codec.status = if rng.u8(..10) == 0 { status::RESET_CONNECTION } else { 0 };
    match rng.u8(..12) {
        0..=4 => codec.batch(STATEMENTS[rng.usize(..STATEMENTS.len())]),
        5..=7 => {
            let calls: Vec<RpcRequest> = (0..rng.usize(1..4)).map(|_| call(rng)).collect();
            codec.rpc(&calls).unwrap_or_default()
        }
        8 | 9 => codec.transaction(&transaction(rng)),
        10 => {
            // The announcement and, without waiting for its answer, the rows.
            let mut bytes = codec.batch("insert bulk fuzz.dbo.loaded (a int, b nvarchar(max))");
            let columns = [
                Column::new("a", type_of(DataType::Int), ColumnFlags::NULLABLE),
                Column::new(
                    "b",
                    type_of(DataType::NVarChar(types::Len::Max)),
                    ColumnFlags::NULLABLE,
                ),
            ];
            let rows: Vec<Vec<Value>> = (0..rng.usize(..300))
                .map(|n| vec![Value::Int(n as i32), Value::str("row".repeat(n))])
                .collect();
            bytes.extend(codec.bulk(&columns, &rows, rng.bool()).unwrap_or_default());
            bytes
        }
        _ => codec.attention(),
    }
}

/// Sends bytes in random pieces; false when the server takes no more.
fn send(rng: &mut Rng, socket: &mut TcpStream, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        let n = if rng.u8(..3) == 0 { rng.usize(1..=rest.len()) } else { rest.len() };
        if socket.write_all(&rest[..n]).is_err() {
            return false;
        }
        rest = &rest[n..];
    }
    true
}

/// Reads what comes until nothing has come for some time; takes over what it says of transactions.
/// False at the end.
fn read(socket: &mut TcpStream, quiet: Duration, codec: &mut ClientCodec) -> bool {
    let (mut room, mut all) = ([0; 16384], Vec::new());
    let _ = socket.set_read_timeout(Some(quiet));
    let open = loop {
        match socket.read(&mut room) {
            Ok(0) => break false,
            Ok(n) => all.extend_from_slice(&room[..n]),
            Err(e) => break matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    };
    // An answer that is cut says nothing.
    for token in TokenReader::read_all(&payload(&all), codec.version).unwrap_or_default() {
        match token {
            Token::EnvChange { kind: 8, new, .. } => {
                codec.transaction = new.as_slice().try_into().map_or(0, u64::from_le_bytes);
            }
            Token::EnvChange { kind: 9 | 10, .. } => codec.transaction = 0,
            _ => {}
        }
    }
    open
}

fn prelogin(codec: &ClientCodec) -> Vec<u8> {
    codec.prelogin(&Prelogin {
        version: [11, 0, 0, 0, 0, 0],
        encryption: Some(Encryption::NotSupported),
        mars: Some(false),
        ..Prelogin::default()
    })
}

fn login(rng: &mut Rng, version: TdsVersion, password: &str) -> Login7 {
    let mut login = Login7::new(version, "sa", password);
    login.database = "fuzz".into();
    login.packet_size = *pick(rng, &[0, 512, 4096, 32767]);
    login.options.odbc = rng.bool();
    if rng.bool() {
        login.features = vec![Feature { id: rng.u8(1..15), data: vec![1] }];
    }
    login
}

/// A client that never logs in: nothing that it sends may reach a statement.
fn stranger(rng: &mut Rng, socket: &mut TcpStream) {
    let mut codec = ClientCodec::new(TdsVersion::V7_4);
    let wanted = "insert fuzz.dbo.reached values (1)";
    for _ in 0..rng.usize(1..6) {
        let mut bytes = match rng.u8(..8) {
            0 | 1 => prelogin(&codec),
            2 => codec.batch(wanted),
            3 => codec
                .rpc(&[RpcRequest::new(Procedure::Id(10), vec![text(wanted)])])
                .unwrap_or_default(),
            4 => codec.transaction(&transaction(rng)),
            5 => codec.attention(),
            6 => {
                let mut login = login(rng, TdsVersion::V7_4, "wrong");
                login.user = "nobody".into();
                codec.login(&login)
            }
            _ => (0..rng.usize(..300)).map(|_| rng.u8(..)).collect(),
        };
        if rng.u8(..3) == 0 {
            damage(rng, &mut bytes);
        }
        if !send(rng, socket, &bytes) {
            return;
        }
        if rng.bool() && !read(socket, Duration::from_millis(5), &mut codec) {
            return;
        }
    }
}

/// A client that logs in and then does as it likes.
fn guest(rng: &mut Rng, socket: &mut TcpStream) {
    let version =
        *pick(rng, &[TdsVersion::V7_4, TdsVersion::V7_4, TdsVersion::V7_2, TdsVersion::V7_1]);
    let mut codec = ClientCodec::new(version);
    let _ = socket.write_all(&prelogin(&codec));
    let asked = login(rng, version, PASSWORD);
    if !send(rng, socket, &codec.login(&asked))
        || !read(socket, Duration::from_millis(30), &mut codec)
    {
        return;
    }
    codec.packet_size = asked.negotiated_packet_size(4096);
    for _ in 0..rng.usize(1..8) {
        let mut bytes = request(rng, &mut codec);
        match rng.u8(..8) {
            // Damage of the packets, damage of what is inside, a cut.
            0 => damage(rng, &mut bytes),
            1 | 2 if !bytes.is_empty() => {
                let kind = *pick(
                    rng,
                    &[
                        PacketType::SqlBatch,
                        PacketType::Rpc,
                        PacketType::TransactionManager,
                        PacketType::BulkLoad,
                    ],
                );
                let kind =
                    if rng.bool() { PacketType::from_byte(bytes[0]).unwrap_or(kind) } else { kind };
                let mut inside = payload(&bytes);
                damage(rng, &mut inside);
                bytes = message(kind, &inside, rng.usize(512..=32767), 0);
            }
            3 => bytes.truncate(rng.usize(..=bytes.len())),
            _ => {}
        }
        if !send(rng, socket, &bytes) {
            return;
        }
        match rng.u8(..4) {
            // Does not read.
            0 => {}
            1 => {
                let attention = codec.attention();
                if !send(rng, socket, &attention) {
                    return;
                }
            }
            _ => {
                if !read(socket, Duration::from_millis(rng.u64(1..15)), &mut codec) {
                    return;
                }
            }
        }
    }
}

/// One conversation.
pub fn conversation(address: SocketAddr, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let Ok(mut socket) = TcpStream::connect(address) else { return };
    // Whoever does not read is not waited for.
    let _ = socket.set_write_timeout(Some(Duration::from_millis(200)));
    let _ = socket.set_nodelay(true);
    if rng.u8(..4) == 0 {
        stranger(&mut rng, &mut socket)
    } else {
        guest(&mut rng, &mut socket)
    }
    if rng.bool() {
        let _ = socket.shutdown(Shutdown::Both);
    }
}

/// Bytes of memory that the process has resident.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// What a run has shown.
#[derive(Debug)]
pub struct Report {
    pub conversations: u64,
    /// The longest wait of a client that behaves, for the answer to a small question.
    pub slowest: Duration,
    /// Growth of resident memory over the run.
    pub grown: u64,
}

/// Conversations by some clients at a time for so long; panics when the server does not hold its
/// promises.
pub fn run(server: &TestServer, duration: Duration, clients: u64, first: u64) -> Report {
    let (address, before, start) = (server.address, resident(), Instant::now());
    let (next, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let slowest = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| {
                    while start.elapsed() < duration {
                        conversation(
                            address,
                            first.wrapping_add(next.fetch_add(1, Ordering::Relaxed)),
                        );
                    }
                })
            })
            .collect();
        let canary = scope.spawn(|| {
            let (mut client, mut slowest) = (server.client(), Duration::ZERO);
            client.socket.set_read_timeout(Some(PATIENCE)).unwrap();
            while !over.load(Ordering::Relaxed) {
                let asked = Instant::now();
                assert_eq!(client.int("select 40 + 2"), 42);
                slowest = slowest.max(asked.elapsed());
                // A newcomer is let in.
                drop(server.client());
                std::thread::sleep(Duration::from_millis(20));
            }
            slowest
        });
        for worker in workers {
            worker.join().unwrap();
        }
        over.store(true, Ordering::Relaxed);
        canary.join().unwrap()
    });
    // All of them are gone, and with them what they held.
    let deadline = Instant::now() + PATIENCE;
    while server.server.as_ref().is_some_and(|s| s.connections() > 0) {
        assert!(Instant::now() < deadline, "connections stay");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut client: Client = server.client();
    assert_eq!(
        client.int("select count(*) from fuzz.dbo.reached"),
        0,
        "a stranger has reached a statement"
    );
    client.run("delete fuzz.dbo.f delete fuzz.dbo.loaded");
    assert_eq!(
        client.int("select count(*) from sys.dm_exec_sessions where is_user_process = 1"),
        1
    );
    Report { conversations: next.into_inner(), slowest, grown: resident().saturating_sub(before) }
}
