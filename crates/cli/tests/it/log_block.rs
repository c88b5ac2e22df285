//! Commits on modelled devices of 4 KB sectors, one that reports them and one that hides them: the
//! log's own choice and trace flag 1800 never make the device read before it writes; blocks of 512
//! bytes do, and cost what was published for such a volume (0.25 to 0.34 of the aligned
//! throughput).

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::errors::Errors;
use engine::{Instance, InstanceOptions, Session};
use model::{ModelDisk, builtin};

fn run(session: &mut Session, batch: &str) {
    let mut errors = Errors::default();
    session.execute(batch, &mut errors);
    assert!(errors.0.is_empty(), "{batch}: {:?}", errors.0);
}

/// One commit's payload: rows of these lengths.
const PAYLOADS: [&[u32]; 4] = [&[2_500], &[6_000], &[6_000, 5_000], &[7_700, 7_700, 7_500]];
const COMMITS: u32 = 30;

struct MeasuredBlocks {
    /// Best time of the commits of each payload.
    times: [Duration; 4],
    rmw_writes: u64,
}

fn measure(device: &str, flags: &[i32], alignment: &str) -> MeasuredBlocks {
    let folder = tempfile::tempdir().expect("folder");
    // The device's clock runs slowly, so that its time is measured and not the machine's.
    let device = builtin(device).expect(device).with_time_scale(0.1);
    let disk = Arc::new(ModelDisk::for_measuring(device, folder.path()).expect("device"));
    let options = InstanceOptions {
        memory_bytes: Some(64 << 20),
        trace_flags: flags.to_vec(),
        disk: disk.clone(),
        ..InstanceOptions::new(folder.path())
    };
    let instance = Instance::open(options).expect("instance");
    let mut session = instance.session().expect("session");
    run(&mut session, "create database t");
    // Taken when the log is opened, and then with its next VLF: the log is moved there.
    run(
        &mut session,
        &format!("alter database t set log_alignment = {alignment}, recovery simple"),
    );
    run(&mut session, "alter database t set offline; alter database t set online; use t");
    run(
        &mut session,
        "create table filler (c char(8000));
         while (select vlf_changes from sys.dm_db_log_stats(db_id())) = 0 insert filler values ('x')",
    );
    run(&mut session, "use t; create table x (c varchar(8000))");
    let before = disk.counters()[0].rmw_writes;
    let times = PAYLOADS.map(|rows| {
        let inserts: String =
            rows.iter().map(|n| format!("insert x values (replicate('a', {n})); ")).collect();
        let batch = format!(
            "set nocount on; declare @i int = 0;
             while @i < {COMMITS} begin begin tran; {inserts} commit; set @i += 1 end"
        );
        let time = || {
            let start = Instant::now();
            run(&mut session, &batch);
            start.elapsed()
        };
        std::iter::repeat_with(time).take(3).min().unwrap_or_default()
    });
    let rmw_writes = disk.counters()[0].rmw_writes - before;
    instance.close().expect("close");
    MeasuredBlocks { times, rmw_writes }
}

#[test]
fn aligned_log_blocks_need_no_reading_and_512_byte_ones_pay_for_it() {
    let reported = measure("ssd-512e", &[], "auto");
    let follows = measure("ssd-4k-hidden", &[], "auto");
    let forced = measure("ssd-4k-hidden", &[1800], "device");
    let misfits = measure("ssd-4k-hidden", &[], "device");
    assert_eq!((reported.rmw_writes, follows.rmw_writes, forced.rmw_writes), (0, 0, 0));
    assert!(misfits.rmw_writes > u64::from(COMMITS) * 4, "{}", misfits.rmw_writes);
    for (i, rows) in PAYLOADS.iter().enumerate() {
        let ratio = follows.times[i].as_secs_f64() / misfits.times[i].as_secs_f64();
        println!("{rows:?}: {ratio:.2} ({:?}, forced {:?})", follows.times[i], forced.times[i]);
        assert!((0.15..=0.45).contains(&ratio), "{rows:?}: {ratio:.2} of the aligned throughput");
    }
}
