//! Bids of an auction under SERIALIZABLE: many sessions each read the last number of an item's bids
//! by one bidder (`MAX(nr) ... WHERE item = @item AND who = @who`, the key is (nr, item, who)) and
//! insert the next one. As it is planned, which visits each number, beside a scan of the table
//! (FORCESCAN) and READ COMMITTED: transactions a second, and how many of a thousand had to begin
//! again, as victims of a deadlock. Medians of the rounds, which take turns.
//! `./bench bids [--help]`

#[path = "support/instance.rs"]
mod instance;
#[path = "support/measure.rs"]
mod measure;
#[path = "support/statements.rs"]
mod statements;

use std::sync::Arc;
use std::time::{Duration, Instant};

use instance::with_instance;
use measure::{Arguments, Done, Rows, in_turns, median};
use ringwood_engine::{DataType, Instance, SqlError, Value};
use statements::{run, run_prepared};

const HELP: &str = "bids_bench [--items N] [--sessions N] [--rounds N] [--seconds N] [--json]

  --items     each has 1 to 40 bids, 5000 unless said
  --sessions  16 unless said
  --rounds    of each way, 3 unless said
  --seconds   of a round, 3 unless said
  --json      a line of JSON for each row of the table";

/// Ways to read, and their levels.
const WAYS: [(&str, &str, &str); 3] = [
    ("planned", "SERIALIZABLE", ""),
    ("scan", "SERIALIZABLE", "WITH (FORCESCAN)"),
    ("planned", "READ COMMITTED", ""),
];
/// Most bids of an item at first.
const BIDS: u32 = 40;
/// Bidders.
const WHO: i32 = 1_000;
/// Who has to begin again: the victim of a deadlock, and under READ COMMITTED who comes second with
/// a number.
const AGAIN: [i32; 2] = [1205, 2627];

/// What the sessions of a round have done.
#[derive(Clone, Copy, Default)]
struct Count {
    done: u32,
    victims: u32,
}

/// One session's bids until `end`.
fn bids(
    instance: &Arc<Instance>,
    (_, level, hint): (&str, &str, &str),
    (items, seed): (u32, u64),
    end: Instant,
) -> Result<Count, SqlError> {
    let mut session = instance.session()?;
    session.use_database("bench")?;
    let params = [("@item", DataType::Int), ("@who", DataType::Int)];
    let set =
        session.prepare(&format!("SET TRANSACTION ISOLATION LEVEL {level} SET NOCOUNT ON"), &[])?;
    run_prepared(&mut session, &set, &[])?;
    let text = format!(
        "BEGIN TRAN
         DECLARE @nr int
         SELECT @nr = MAX(nr) FROM bid {hint} WHERE item = @item AND who = @who
         INSERT bid VALUES (ISNULL(@nr, 0) + 1, @item, @who, 'a bid')
         COMMIT"
    );
    let batch = session.prepare(&text, &params)?;
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut count = Count::default();
    while Instant::now() < end {
        let (item, who) = (rng.u32(..items) as i32, rng.i32(..WHO));
        match run_prepared(&mut session, &batch, &[Value::Int(item), Value::Int(who)]) {
            Ok(()) => count.done += 1,
            Err(e) if AGAIN.contains(&e.number) => count.victims += 1,
            Err(e) => return Err(e),
        }
    }
    Ok(count)
}

fn main() -> Done<()> {
    let arguments = Arguments::read(HELP, &["--items", "--sessions", "--rounds", "--seconds"])?;
    let items = arguments.number("--items", 5_000_u32)?.max(1);
    let sessions = arguments.number("--sessions", 16_u64)?;
    let rounds = arguments.number("--rounds", 3_usize)?;
    let long = Duration::from_secs(arguments.number("--seconds", 3_u64)?);
    with_instance("bids", 512 << 20, |instance| {
        let mut session = instance.session()?;
        run(
            &mut session,
            "CREATE DATABASE bench ALTER DATABASE bench SET DELAYED_DURABILITY = FORCED",
        )?;
        session.use_database("bench")?;
        let fill = format!(
            "CREATE TABLE bid (nr int NOT NULL, item int NOT NULL, who int NOT NULL, note char(40) NOT NULL,
                               PRIMARY KEY (nr, item, who))
             INSERT bid SELECT 1 + value % {BIDS}, value / {BIDS}, value * CAST(7919 AS bigint) % {WHO}, 'a bid'
                    FROM GENERATE_SERIES(0, {} - 1) WHERE value % {BIDS} <= value / {BIDS} % {BIDS}",
            items * BIDS
        );
        run(&mut session, &fill)?;
        let mut victims: [Vec<f64>; 3] = Default::default();
        let mut seed = 0;
        let turns = in_turns::<3>(rounds, |way| {
            let begin = Instant::now();
            let counts: Vec<Result<Count, SqlError>> = std::thread::scope(|scope| {
                let one = |number: u64| {
                    let seed = seed + number;
                    scope.spawn(move || bids(instance, WAYS[way], (items, seed), begin + long))
                };
                let workers: Vec<_> = (0..sessions).map(one).collect();
                workers.into_iter().map(|worker| worker.join().expect("a session ends")).collect()
            });
            seed += sessions;
            let took = begin.elapsed().as_secs_f64();
            let mut all = Count::default();
            for count in counts {
                let count = count?;
                (all.done, all.victims) = (all.done + count.done, all.victims + count.victims);
            }
            let (done, lost) = (f64::from(all.done), f64::from(all.victims));
            victims[way].push(lost / (done + lost).max(1.0) * 1e3);
            Ok(done / took)
        })?;
        let labels = &[("isolation level", 16), ("plan", 8)];
        let figures = &[("per second", 0), ("victims", 1), ("of scan", 2)];
        let mut printed = Rows::new(arguments.json, "bids", labels, figures);
        for (way, (name, level, _)) in WAYS.into_iter().enumerate() {
            let figures = [turns.median(way), median(victims[way].clone()), turns.ratio(way, 1)];
            printed.row(&[level, name], &figures);
        }
        Ok(())
    })
}
