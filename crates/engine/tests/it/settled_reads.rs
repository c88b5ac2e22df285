//! A reader under locks waits for the log only for what it has read: rows, and rows that are not
//! there any more, whose writers are not durable yet. What it has been told is there after a power
//! loss.

use engine::{Instance, InstanceOptions, ResultRows, Sink, SqlError};
use sim::SimDisk;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Long enough for any machine.
const LONG: Duration = Duration::from_secs(60);

fn open(disk: &SimDisk) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: Some(16 << 20),
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    Instance::open(options).unwrap()
}

/// The first number of the last result set, and the disk as a power loss at the moment when it
/// arrived would leave it.
#[derive(Default)]
struct Told<'d> {
    disk: Option<&'d SimDisk>,
    seen: Option<(i64, Option<SimDisk>)>,
}

impl Sink for Told<'_> {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            let value = row[0].as_i64().unwrap_or_default();
            self.seen = Some((value, self.disk.map(|disk| disk.crash_keeping(|_| false))));
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        // A change under range locks and an INSERT may meet each other.
        assert_eq!(error.number, 1205, "{error:?}");
        Ok(())
    }
}

fn told(
    instance: &Arc<Instance>,
    disk: Option<&SimDisk>,
    batch: &str,
) -> Option<(i64, Option<SimDisk>)> {
    let mut sink = Told { disk, seen: None };
    instance.session().unwrap().execute(batch, &mut sink);
    sink.seen
}

fn number(instance: &Arc<Instance>, batch: &str) -> i64 {
    told(instance, None, batch).map_or(0, |(value, _)| value)
}

/// A database whose tables have rows 1 to 40 with so much text that a page has few of them.
fn with_rows(seed: u64) -> (SimDisk, Arc<Instance>) {
    let disk = SimDisk::new(seed);
    let instance = open(&disk);
    let set_up = "create database d on (name = d, filename = 'd.mdf', size = 2MB)
                  log on (name = l, filename = 'd.ldf', size = 2MB)
                  exec('use d
                        create table c (id int primary key, n bigint, t char(900) default ''x'')
                        create table h (id int, n bigint, t char(900) default ''x'')
                        create index hi on h (id)
                        insert c (id, n) select value, 0 from generate_series(1, 40)
                        insert h (id, n) select value, 0 from generate_series(1, 40)')";
    told(&instance, None, set_up);
    (disk, instance)
}

/// Runs a batch in a thread of its own; tells the number that comes back.
fn in_a_thread(instance: &Arc<Instance>, batch: &str) -> mpsc::Receiver<i64> {
    let (instance, batch, (tell, told)) = (instance.clone(), batch.to_owned(), mpsc::channel());
    std::thread::spawn(move || tell.send(number(&instance, &batch)));
    told
}

/// Returns once so many sessions wait for the log.
fn until_waiting(instance: &Arc<Instance>, sessions: i64) {
    let waiting = "select count(*) from sys.dm_os_waiting_tasks where wait_type = 'WRITELOG'";
    let end = Instant::now() + LONG;
    while number(instance, waiting) < sessions {
        assert!(Instant::now() < end, "fewer than {sessions} sessions wait for the log");
        std::thread::yield_now();
    }
}

#[test]
fn only_what_is_not_durable_is_waited_for() {
    let reads = [
        ("c", "select count(*) from d..c with (serializable) where id between 30 and 35", 6),
        ("c", "select count(*) from d..c with (serializable) where id = 77", 0),
        ("c", "update d..c with (serializable) set n = 5 where id = 88 select @@rowcount", 0),
        ("h", "select count(n) from d..h with (serializable, index(hi)) where id = 33", 1),
    ];
    let waits = [
        (
            "update d..c set n = 1 where id = 3",
            "select n from d..c with (serializable) where id = 3",
            1,
        ),
        (
            "delete d..c where id = 3",
            "select count(*) from d..c with (serializable) where id = 3",
            0,
        ),
        (
            "delete d..c where id between 3 and 9",
            "update d..c with (serializable) set n = 5 where id = 3 select @@rowcount",
            0,
        ),
        (
            "update d..h set n = 4 where id = 5",
            "select n from d..h with (serializable, index(hi)) where id = 5",
            4,
        ),
        (
            "delete d..h where id = 5",
            "select count(n) from d..h with (repeatableread) where id = 5",
            0,
        ),
        // The reader has made its own row of what it tells.
        (
            "update d..c set n = 1 where id = 3",
            "begin tran update d..c set n = n + 1 where id = 3
             select n from d..c with (serializable) where id = 3 rollback",
            2,
        ),
        (
            "update d..c set n = 1 where id = 3",
            "begin tran update d..c set n = n + 1 where id = 3
             update d..c with (serializable) set n = 5 where id = 3 and n = 77
             select @@rowcount rollback",
            0,
        ),
        (
            "update d..h set n = 4 where id = 5",
            "begin tran update d..h set n = n + 1 where id = 5
             select n from d..h with (repeatableread, index(hi)) where id = 5 rollback",
            5,
        ),
    ];
    for (seed, (write, wait, answer)) in (31..).zip(waits) {
        let (disk, instance) = with_rows(seed);
        let hold = disk.hold_writes(Path::new("/data/d.ldf"));
        let written = in_a_thread(&instance, &format!("{write} select 1"));
        hold.wait_for_writer();
        for (_, read, rows) in reads {
            let read = in_a_thread(&instance, read);
            assert_eq!(read.recv_timeout(LONG), Ok(rows), "{write}: it has read other rows");
        }
        let waiter = in_a_thread(&instance, wait);
        until_waiting(&instance, 2);
        assert!(waiter.try_recv().is_err(), "{wait}: told what is not durable");
        drop(hold);
        assert_eq!(waiter.recv_timeout(LONG), Ok(answer), "{wait}");
        assert_eq!(written.recv_timeout(LONG), Ok(1));
    }
}

/// A definition tells which rows there are, and of which columns, and no row tells who made it.
#[test]
fn a_definition_that_is_not_durable_is_waited_for() {
    let waits = [
        (
            "use d alter table c add z int not null default 6",
            "select min(z) from d..c with (serializable) where id between 3 and 9",
            6,
        ),
        (
            "use d alter table c add z int not null default 6",
            "update d..c with (serializable) set n = z where id = 88 select @@rowcount",
            0,
        ),
    ];
    for (seed, (write, wait, answer)) in (51..).zip(waits) {
        let (disk, instance) = with_rows(seed);
        let hold = disk.hold_writes(Path::new("/data/d.ldf"));
        let written = in_a_thread(&instance, &format!("{write} select 1"));
        until_waiting(&instance, 1);
        let waiter = in_a_thread(&instance, wait);
        until_waiting(&instance, 2);
        assert!(waiter.try_recv().is_err(), "{wait}: told what is not durable");
        drop(hold);
        assert_eq!(waiter.recv_timeout(LONG), Ok(answer), "{wait}");
        assert_eq!(written.recv_timeout(LONG), Ok(1));
        let read = in_a_thread(&instance, wait);
        assert_eq!(read.recv_timeout(LONG), Ok(answer), "{wait}: once more");
    }
}

/// Sets a flag when it is dropped.
struct Ends<'f>(&'f AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn what_was_told_survives() {
    // A row comes and goes, with a larger number each time.
    let comes = "update d..k set n = n + 1 insert d..r select 1, n from d..k";
    let goes = "delete d..r where id = 1";
    let reads = [
        "select coalesce(max(n), -1) from d..r with (serializable) where id = 1",
        "select coalesce(max(n), -1) from d..r with (holdlock) where id between 1 and 3",
        "select coalesce(max(n), -1) from d..r with (repeatableread)",
        "begin tran update d..r with (serializable) set n = n where id = 1
         if @@rowcount = 0 select -1 rollback",
        "begin tran update d..r set n = n + 1 where id = 1
         select coalesce(max(n) - 1, -1) from d..r with (serializable) where id = 1 rollback",
    ];
    let (disk, instance) = with_rows(41);
    let tables = "create table d..r (id int primary key, n bigint) create table d..k (n bigint)
                  insert d..k values (0)";
    told(&instance, None, tables);
    let stop = AtomicBool::new(false);
    let mut seen: Vec<(i64, i64, SimDisk)> = Vec::new();
    std::thread::scope(|scope| {
        let _end = Ends(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                told(&instance, None, comes);
                told(&instance, None, goes);
            }
        });
        // A slow disk: its flushes wait for the copies.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                disk.crash_keeping(|_| false);
            }
        });
        let mut last = 0;
        for i in 0..120 {
            let read = reads[i % reads.len()];
            let Some((value, Some(left))) = told(&instance, Some(&disk), read) else { continue };
            seen.push((value, last, left));
            last = last.max(value);
        }
    });
    let gone = seen.iter().filter(|(value, ..)| *value == -1).count();
    assert!(gone > 0 && gone < seen.len(), "{gone} of {} found no row", seen.len());
    for (value, last, disk) in seen {
        let again = open(&disk);
        let found = number(&again, "select coalesce(max(n), -1) from d..r");
        let possible = match value {
            // The row that was there last is not to come back.
            -1 => found == -1 || found > last,
            value => found == -1 || found >= value,
        };
        assert!(possible, "told {value} after {last}, after the power loss there was {found}");
    }
}
