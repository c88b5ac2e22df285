//! A row that a client has is there after a power loss: rows go out only when the commits they come
//! from are durable.

use engine::{Instance, InstanceOptions, ResultRows, Sink, SqlError};
use sim::SimDisk;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Loses power (on a copy of the disk) the moment a row arrives.
struct PowerLoss<'d> {
    disk: &'d SimDisk,
    seen: Option<(i64, SimDisk)>,
}

impl Sink for PowerLoss<'_> {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            let value = row[0].as_i64().unwrap_or_default();
            self.seen.get_or_insert_with(|| (value, self.disk.crash_keeping(|_| false)));
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("{error:?}")
    }
}

fn open(disk: &SimDisk) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: Some(16 << 20),
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    Instance::open(options).unwrap()
}

/// Raises a flag when it is dropped.
struct Ends<'f>(&'f AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the first row of a batch says, and the disk as a power loss at that moment would leave it.
fn first_row(instance: &Arc<Instance>, disk: &SimDisk, batch: &str) -> Option<(i64, SimDisk)> {
    let mut sink = PowerLoss { disk, seen: None };
    instance.session().unwrap().execute(batch, &mut sink);
    sink.seen
}

#[test]
fn rows_that_went_out_survive() {
    let disk = SimDisk::new(21);
    let instance = open(&disk);
    let set_up = "create database d on (name = d, filename = 'd.mdf', size = 1MB)
                  log on (name = l, filename = 'd.ldf', size = 1MB)
                  exec('use d create table c (id int primary key, n bigint) insert c values (1, 0), (2, 0)')";
    first_row(&instance, &disk, set_up);
    let stop = AtomicBool::new(false);
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        // The other threads end when this one does, however it ends.
        let _end = Ends(&stop);
        scope.spawn(|| {
            let mut session = instance.session().unwrap();
            let mut sink = PowerLoss { disk: &disk, seen: None };
            session.execute("use d", &mut sink);
            while !stop.load(Ordering::Relaxed) {
                session.execute("update c set n = n + 1", &mut sink);
            }
        });
        // A slow disk: its flushes wait for the copies.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                disk.crash_keeping(|_| false);
            }
        });
        for i in 0..60 {
            let batch = match i % 3 {
                0 => "select n from d..c where id = 1",
                // The second row is read when it is fetched, in a statement of its own.
                1 => {
                    "declare @n bigint; declare k cursor local fast_forward for
                     select n from d..c with (repeatableread); open k; fetch k into @n; fetch k"
                }
                _ => "begin tran update d..c set id = 1 output deleted.n where id = 1 rollback",
            };
            seen.extend(first_row(&instance, &disk, batch));
        }
    });
    assert_eq!(seen.len(), 60);
    for (value, disk) in seen {
        let again = open(&disk);
        let (found, _) = first_row(&again, &disk, "select n from d..c").unwrap();
        assert!(found >= value, "a client had {value}, after the power loss there was {found}");
    }
}
