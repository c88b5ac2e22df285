//! Speed of set-based and single-row DML on 300,000 TPC-C customer rows (about 700 bytes each):
//! INSERT ... SELECT, UPDATE of a 500-byte column, DELETE of all rows, and 50,000 one-row INSERTs
//! in a WHILE loop in one transaction. Prints seconds and microseconds per row. `./bench dml [ROWS
//! DIR]`

mod support;

use ringwood_engine::{Instance, InstanceOptions, Session};
use std::time::Instant;
use support::{Report, TABLE, insert};

/// What the customers' table gets besides, and a small one.
const REST: &str = "CREATE UNIQUE CLUSTERED INDEX ci_customer ON customer(c_w_id, c_d_id, c_id); \
    CREATE TABLE one (id int NOT NULL, n int, name varchar(30), price decimal(12,2))";

fn timed(session: &mut Session, what: &str, sql: &str, rows: u64) {
    let begin = Instant::now();
    session.execute(sql, &mut Report { rows: true });
    let seconds = begin.elapsed().as_secs_f64();
    println!("{what:<44} {seconds:8.3} s {:10.3} us each", seconds * 1e6 / rows as f64);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let rows: u64 = args.next().map_or(Ok(300_000), |n| n.parse())?;
    let dir = match args.next() {
        Some(dir) => std::path::PathBuf::from(dir),
        None => std::env::temp_dir().join(format!("ringwood-dml-{}", std::process::id())),
    };
    let instance = Instance::open(InstanceOptions {
        memory_bytes: Some(2 << 30),
        ..InstanceOptions::new(&dir)
    })?;
    let mut session = instance.session()?;
    session.execute(
        "CREATE DATABASE bench ON (NAME = bench, SIZE = 1GB) LOG ON (NAME = bench_log, SIZE = 4GB)",
        &mut Report { rows: true },
    );
    session.use_database("bench")?;
    session.execute(TABLE, &mut Report { rows: true });
    session.execute(REST, &mut Report { rows: true });
    timed(&mut session, "fill: INSERT ... SELECT of expressions", &insert(rows, "n"), rows);
    session
        .execute("SELECT * INTO customer_tmp FROM customer WHERE 1=2", &mut Report { rows: true });
    timed(&mut session, "checkpoint", "CHECKPOINT", rows);
    timed(
        &mut session,
        "INSERT customer_tmp SELECT * FROM customer",
        "INSERT customer_tmp SELECT * FROM customer",
        rows,
    );
    timed(
        &mut session,
        "UPDATE c_data = lower(c_data)",
        "UPDATE customer SET c_data = lower(c_data)",
        rows,
    );
    timed(
        &mut session,
        "SELECT COUNT(*), MAX(c_data)",
        "SELECT COUNT(*), MAX(c_id) FROM customer",
        rows,
    );
    timed(&mut session, "DELETE FROM customer", "DELETE FROM customer", rows);
    let each = 50_000;
    let lp = "SET NOCOUNT ON; DECLARE @i int = 1; BEGIN TRAN; WHILE @i <= 50000 BEGIN INSERT one VALUES (@i, @i * 2, \
              'some name', 12.5); SET @i = @i + 1 END; COMMIT";
    for _ in 0..3 {
        timed(&mut session, "50,000 one-row INSERTs in a loop", lp, each);
    }
    let empty = "DECLARE @i int = 1; WHILE @i <= 50000 BEGIN SET @i = @i + 1 END";
    timed(&mut session, "50,000 turns of an empty loop", empty, each);
    let point = "DECLARE @i int = 1, @x int; WHILE @i <= 50000 BEGIN SELECT @x = c_id FROM customer_tmp WHERE 1 = 0; \
                 SET @i = @i + 1 END";
    timed(&mut session, "50,000 queries without rows", point, each);
    drop(session);
    instance.close()?;
    if std::env::args().len() < 3 {
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(())
}
