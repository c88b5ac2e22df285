//! Durable one-row INSERTs of a client that sends some of them before it reads: those whose answers
//! wait for the log together, beside the same ones that each wait by themselves (they end with
//! sp_flush_log). In turns, by how many requests are in flight; medians of the microseconds for
//! each request of a connection, and of the commits that a write of the log takes along.
//! `./bench pipelined [--help]`

#[path = "../../engine/examples/support/measure.rs"]
mod measure;
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use engine::{DataType, Value};
use measure::{Arguments, Done, Rows, in_turns, median};
use support::{Client, PASSWORD, TestServer};
use tds::encode::type_of;
use tds::prelogin::Encryption;
use tds::request::rpc::procedure_id;
use tds::request::{Procedure, RpcParam, RpcRequest};

const HELP: &str =
    "pipelined_bench [--flight N,N,...] [--connections N] [--rounds N] [--milliseconds N]
                [--tls yes] [--json]

  --flight        requests of a connection in flight, 1,2,4,16,64 unless said
  --connections   at once, 1 unless said: one thread each
  --rounds        of each comparison, 7 unless said
  --milliseconds  of each way in each round, 200 unless said
  --tls yes       connections are encrypted
  --json          a line of JSON for each row of the table

The database lies in the folder for temporary files: TMPDIR names one on the disk to be measured.";

const TOGETHER: &str = "insert t values (@n, 'a few words')";
const ALONE: &str = "insert t values (@n, 'a few words') exec sys.sp_flush_log";

/// What the log file was written for so far.
const WRITES: &str = "select num_of_writes from sys.dm_io_virtual_file_stats(db_id('d'), 2)";

/// A connection, and the next number that it inserts.
struct Inserter {
    client: Client,
    next: i32,
}

impl Inserter {
    /// A message of one INSERT.
    fn message(&mut self, text: &str, out: &mut Vec<u8>) {
        let string = |text: &str| {
            RpcParam::new("", type_of(DataType::NVarChar(types::Len::N(4000))), Value::str(text))
        };
        let value = RpcParam::new("@n", type_of(DataType::Int), Value::Int(self.next));
        self.next += 1;
        let params = vec![string(text), string("@n int"), value];
        let call = RpcRequest::new(Procedure::Id(procedure_id::EXECUTE_SQL), params);
        out.extend(self.client.codec.rpc(&[call]).expect("a message"));
    }

    /// So many requests at a time until it is `end`: how many in all.
    fn work(&mut self, text: &str, flight: usize, end: Instant) -> u64 {
        let (mut done, mut bytes) = (0, Vec::new());
        while done == 0 || Instant::now() < end {
            bytes.clear();
            for _ in 0..flight {
                self.message(text, &mut bytes);
            }
            self.client.send(&bytes);
            for _ in 0..flight {
                let answer = self.client.read().expect("an answer");
                assert!(answer.errors().is_empty(), "{:?}", answer.errors());
                done += 1;
            }
        }
        done
    }
}

/// What all connections did together.
struct RoundPart {
    /// Microseconds for each request of a connection.
    each: f64,
    /// Commits for each write of the log.
    commits: f64,
}

fn together(
    inserters: &mut [Inserter],
    watcher: &mut Client,
    (text, flight): (&str, usize),
    time: Duration,
) -> RoundPart {
    // Each round begins with a small table.
    watcher.run("truncate table d.dbo.t");
    let (writes, begin) = (watcher.int(WRITES), Instant::now());
    let connections = inserters.len() as f64;
    let done: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = inserters
            .iter_mut()
            .map(|inserter| scope.spawn(move || inserter.work(text, flight, begin + time)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a connection")).sum()
    });
    let took = begin.elapsed().as_secs_f64();
    let writes = watcher.int(WRITES) - writes;
    assert_eq!(watcher.int("select count(*) from d.dbo.t"), done as i64, "rows were lost");
    RoundPart {
        each: took * 1e6 * connections / done as f64,
        commits: done as f64 / writes.max(1) as f64,
    }
}

fn main() -> Done<()> {
    let known = ["--flight", "--connections", "--rounds", "--milliseconds", "--tls"];
    let arguments = Arguments::read(HELP, &known)?;
    let flights = arguments.numbers::<usize>("--flight", &[1, 2, 4, 16, 64])?;
    let rounds = arguments.number("--rounds", 7)?;
    let time = Duration::from_millis(arguments.number("--milliseconds", 200)?);
    let tls = arguments.text("--tls") == Some("yes");
    let server = TestServer::start();
    let mut watcher = server.client();
    watcher.run("create database d");
    watcher.run("alter database d set recovery simple");
    watcher.run("create table d.dbo.t (n int not null, words varchar(40))");
    let encryption = if tls { Encryption::On } else { Encryption::NotSupported };
    let mut inserters: Vec<Inserter> = (0..arguments.number("--connections", 1_usize)?)
        .map(|_| Client::connect(server.address, encryption, "sa", PASSWORD, "d"))
        .map(|connected| Inserter { client: connected.expect("a login"), next: 0 })
        .collect();
    let figures = &[
        ("in flight", 0),
        ("alone us", 1),
        ("together us", 1),
        ("ratio", 3),
        ("alone commits", 2),
        ("together commits", 2),
    ];
    let mut printed = Rows::new(arguments.json, "pipelined", &[], figures);
    for flight in flights.into_iter().filter(|flight| *flight > 0) {
        let mut commits = [Vec::new(), Vec::new()];
        let turns = in_turns::<2>(rounds, |way| {
            let text = [ALONE, TOGETHER][way];
            let part = together(&mut inserters, &mut watcher, (text, flight), time);
            commits[way].push(part.commits);
            Ok(part.each)
        })?;
        let [alone, joined] = commits.map(median);
        let figures =
            [flight as f64, turns.median(0), turns.median(1), turns.ratio(0, 1), alone, joined];
        printed.row(&[], &figures);
    }
    Ok(())
}
