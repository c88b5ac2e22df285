//! Speed of set-based and single-row DML on 300,000 TPC-C customer rows (about 700 bytes each): INSERT ... SELECT,
//! UPDATE of a 500-byte column, DELETE of all rows, and 50,000 one-row INSERTs in a WHILE loop in one transaction.
//! Prints seconds and microseconds per row. `cargo run --release -p ringwood-engine --example dml_bench [-- ROWS DIR]`

use ringwood_engine::{ColumnInfo, Instance, InstanceOptions, Session, Sink, SqlError, Value};
use std::time::Instant;

/// Prints messages and errors, forgets rows.
struct Quiet;

impl Sink for Quiet {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        println!("    {row:?}");
        Ok(())
    }
    fn done(&mut self, _: Option<u64>) -> Result<(), SqlError> {
        Ok(())
    }
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        println!("    {}", message.message);
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        println!("    Msg {}: {}", error.number, error.message);
        Ok(())
    }
}

const TABLE: &str = "CREATE TABLE customer (c_id int, c_d_id tinyint, c_w_id int, c_first char(16), c_middle char(2), \
    c_last char(16), c_street_1 char(20), c_street_2 char(20), c_city char(20), c_state char(2), c_zip char(9), \
    c_phone char(16), c_since datetime, c_credit char(2), c_credit_lim numeric(12,2), c_discount numeric(4,4), \
    c_balance numeric(12,2), c_ytd_payment numeric(12,2), c_payment_cnt smallint, c_delivery_cnt smallint, \
    c_data char(500)); \
    CREATE UNIQUE CLUSTERED INDEX ci_customer ON customer(c_w_id, c_d_id, c_id); \
    CREATE TABLE one (id int NOT NULL, n int, name varchar(30), price decimal(12,2))";

fn fill(rows: u64) -> String {
    format!(
        "WITH d AS (SELECT n FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS x(n)),
         s AS (SELECT TOP ({rows}) a.n + 10 * b.n + 100 * c.n + 1000 * e.n + 10000 * f.n + 100000 * g.n AS i
               FROM d AS g, d AS f, d AS e, d AS c, d AS b, d AS a)
         INSERT customer SELECT i % 3000 + 1, i / 3000 % 10 + 1, i / 30000 + 1, 'First' + CAST(i AS varchar(9)), 'OE',
            'BARBARBAR', 'Street one ' + CAST(i AS varchar(9)), 'Street two', 'City', 'NY', '123456789',
            '0123456789012345', GETDATE(), 'GC', 50000, 0.1, -10, 10, 1, 0,
            REPLICATE('AbCdEfGhIj', 40 + i % 10) FROM s"
    )
}

fn timed(session: &mut Session, what: &str, sql: &str, rows: u64) {
    let begin = Instant::now();
    session.execute(sql, &mut Quiet);
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
    let instance =
        Instance::open(InstanceOptions { memory_bytes: Some(2 << 30), ..InstanceOptions::new(&dir) })?;
    let mut session = instance.session()?;
    session.execute(
        "CREATE DATABASE bench ON (NAME = bench, SIZE = 1GB) LOG ON (NAME = bench_log, SIZE = 4GB)",
        &mut Quiet,
    );
    session.use_database("bench")?;
    session.execute(TABLE, &mut Quiet);
    timed(&mut session, "fill: INSERT ... SELECT of expressions", &fill(rows), rows);
    session.execute("SELECT * INTO customer_tmp FROM customer WHERE 1=2", &mut Quiet);
    timed(&mut session, "checkpoint", "CHECKPOINT", rows);
    timed(
        &mut session,
        "INSERT customer_tmp SELECT * FROM customer",
        "INSERT customer_tmp SELECT * FROM customer",
        rows,
    );
    timed(&mut session, "UPDATE c_data = lower(c_data)", "UPDATE customer SET c_data = lower(c_data)", rows);
    timed(&mut session, "SELECT COUNT(*), MAX(c_data)", "SELECT COUNT(*), MAX(c_id) FROM customer", rows);
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
