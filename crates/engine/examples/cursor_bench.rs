//! What a row costs that is fetched through a cursor: 10,000 rows in a WHILE loop by each kind,
//! beside a loop without a cursor. `./bench cursors`; figures in docs/internals/cursors.md.

use std::time::{Duration, Instant};

use ringwood_engine::{Instance, InstanceOptions, Sink, SqlError};

const ROWS: u32 = 10_000;
const ROUNDS: usize = 15;

/// Fails at any error.
struct NoErrors;

impl Sink for NoErrors {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("{error}")
    }
}

fn loop_over(kind: &str) -> String {
    format!(
        "declare c cursor local {kind} for select id, n, s from t order by id
         declare @id int, @n int, @s varchar(40), @sum bigint = 0
         open c fetch next from c into @id, @n, @s
         while @@fetch_status = 0 begin set @sum += @n fetch next from c into @id, @n, @s end
         close c deallocate c
         if @sum <> {} raiserror('wrong sum', 16, 1)",
        u64::from(ROWS) * (u64::from(ROWS) + 1)
    )
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let options =
        InstanceOptions { memory_bytes: Some(256 << 20), ..InstanceOptions::new(folder.path()) };
    let instance = Instance::open(options).expect("an instance");
    let mut session = instance.session().expect("a session");
    let setup = format!(
        "create table t (id int primary key, n int not null, s varchar(40) not null)
         insert t select value, value * 2, concat('row number ', value) from generate_series(1, {ROWS})"
    );
    session.execute(&setup, &mut NoErrors);
    let empty = format!(
        "declare @id int = 1, @n int = 0, @sum bigint = 0
         while @id <= {ROWS} begin set @sum += @n set @id = @id + 1 end"
    );
    let kinds =
        ["fast_forward", "static", "keyset", "dynamic", "forward_only", "dynamic read_only"];
    let mut batches = vec![("no cursor", empty)];
    batches.extend(kinds.map(|kind| (kind, loop_over(kind))));
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); batches.len()];
    for _ in 0..ROUNDS {
        for ((_, batch), times) in batches.iter().zip(&mut times) {
            let begun = Instant::now();
            session.execute(batch, &mut NoErrors);
            times.push(begun.elapsed());
        }
    }
    for ((name, _), times) in batches.iter().zip(&mut times) {
        times.sort();
        let median = times[ROUNDS / 2];
        println!(
            "{name:20} {:8.2} ms  {:6.2} us a row",
            median.as_secs_f64() * 1e3,
            median.as_secs_f64() * 1e6 / f64::from(ROWS)
        );
    }
}
