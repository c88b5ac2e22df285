//! Rows of a large SELECT from the engine to bytes at a client, which takes packets apart and
//! nothing more: beside the same query in this process, whose rows nobody takes. In turns; medians
//! of the nanoseconds for each row. A SELECT of one row, too, again and again.
//! `./bench select [--help]`

#[path = "../../engine/examples/support/measure.rs"]
mod measure;
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::io::{self, ErrorKind, Read};
use std::time::Instant;

use engine::{Session, Sink, SqlError};
use measure::{Arguments, Done, Rows, in_turns};
use support::{Client, PASSWORD, TestServer};
use tds::prelogin::Encryption;

const HELP: &str = "select_bench [--rows N] [--requests N] [--rounds N] [--json]

  --rows      of the table, 1000000 unless said
  --requests  for one row, in each round, 5000 unless said
  --rounds    of each query, 7 unless said
  --json      a line of JSON for each row of the table

The database lies in the folder for temporary files, and in memory while it is measured.";

/// Memory for pages: the table's.
const PAGES: u64 = 512 << 20;

/// Names, queries, and whether each gives one row.
const QUERIES: [(&str, &str, bool); 6] = [
    ("numbers", "select id, a, b from t", false),
    ("one text", "select words from t", false),
    ("with a text", "select id, a, words from t", false),
    ("six kinds", "select id, a, b, words, price, day from t", false),
    ("computed", "select id + 1, a * 2, price from t", false),
    ("one row", "select id, a, b, words from t where id = 4711", true),
];

/// Rows that nobody takes. Errors end the benchmark.
struct Nobody;

impl Sink for Nobody {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("{error:?}")
    }
}

/// A client that counts.
struct Counting {
    client: Client,
    room: Vec<u8>,
}

/// What an answer was.
struct CountedAnswer {
    bytes: usize,
    rows: u64,
}

impl Counting {
    /// Sends a batch and reads its answer, whose last DONE tells how many rows there were.
    fn run(&mut self, message: &[u8]) -> io::Result<CountedAnswer> {
        self.client.send(message);
        let (mut held, mut bytes, mut last) = (0, 0, Vec::new());
        loop {
            let read = self.client.socket.read(&mut self.room[held..])?;
            if read == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            held += read;
            let mut at = 0;
            while held - at >= 8 {
                let header = &self.room[at..at + 8];
                let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
                if held - at < len {
                    break;
                }
                bytes += len;
                let ends = header[1] & 1 != 0;
                last.extend_from_slice(
                    &self.room[(at + 8).max(at + len.saturating_sub(13))..at + len],
                );
                last.drain(..last.len().saturating_sub(13));
                at += len;
                if ends {
                    return rows_of(&last).map(|rows| CountedAnswer { bytes, rows });
                }
            }
            self.room.copy_within(at..held, 0);
            held -= at;
        }
    }
}

/// The count of a DONE without an error.
fn rows_of(done: &[u8]) -> io::Result<u64> {
    match done {
        [0xFD, status, _, _, _, rows @ ..] if status & 2 == 0 => {
            let rows = <[u8; 8]>::try_from(rows).map_err(io::Error::other)?;
            Ok(u64::from_le_bytes(rows))
        }
        _ => Err(io::Error::other("the answer is an error")),
    }
}

/// A table of so many rows, which all sessions find in memory.
fn fill(session: &mut Session, rows: u64) {
    let insert = format!(
        "insert t with (tablock)
         select value, value % 1000, value * cast(7 as bigint), concat('row ', value % 100000),
                value % 10000 / 4.0, dateadd(day, value % 3000, '2020-01-01')
         from generate_series(1, {rows})"
    );
    let table = "create table t (id int not null primary key, a int, b bigint not null,
                                 words varchar(20), price decimal(9, 2), day date)";
    for sql in [table, insert.as_str(), "select sum(b) from t"] {
        session.execute(sql, &mut Nobody);
    }
}

fn main() -> Done<()> {
    let arguments = Arguments::read(HELP, &["--rows", "--requests", "--rounds"])?;
    // The row that is looked for is there.
    let rows = arguments.number("--rows", 1_000_000_u64)?.max(5000);
    let requests = arguments.number("--requests", 5000_u32)?.max(1);
    let rounds = arguments.number("--rounds", 7)?;
    let server = TestServer::open(|options| options.memory_bytes = Some(PAGES), |_| {});
    let mut maker = server.client();
    maker.run("create database d");
    maker.run("alter database d set recovery simple");
    let mut session = server.instance.session()?;
    session.use_database("d")?;
    fill(&mut session, rows);
    let client = Client::connect(server.address, Encryption::NotSupported, "sa", PASSWORD, "d");
    let client = client.map_err(|errors| format!("the login fails: {errors:?}"))?;
    let mut client = Counting { client, room: vec![0; 256 << 10] };
    let figures = &[("engine ns", 1), ("wire ns", 1), ("bytes", 1), ("million rows/s", 2)];
    let mut printed = Rows::new(arguments.json, "select", &[("query", 12)], figures);
    for (name, sql, is_one) in QUERIES {
        let (requests, expected) = if is_one { (requests, 1) } else { (1, rows) };
        let message = client.client.codec.batch(sql);
        let mut bytes = 0;
        let turns = in_turns::<2>(rounds, |way| {
            let begin = Instant::now();
            for _ in 0..requests {
                if way == 0 {
                    session.execute(sql, &mut Nobody);
                } else {
                    let counted = client.run(&message)?;
                    assert_eq!(counted.rows, expected, "{sql}");
                    bytes = counted.bytes;
                }
            }
            Ok(begin.elapsed().as_nanos() as f64 / (f64::from(requests) * expected as f64))
        })?;
        let (engine, wire) = (turns.median(0), turns.median(1));
        printed.row(&[name], &[engine, wire, bytes as f64 / expected as f64, 1e3 / wire]);
    }
    Ok(())
}
