//! What the benchmarks share: TPC-C's customer table and its rows of about 700 bytes, and a sink
//! that reports.

use ringwood_engine::{ResultRows, Sink, SqlError};

/// The table, without indexes.
pub const TABLE: &str = "CREATE TABLE customer (c_id int, c_d_id tinyint, c_w_id int, c_first char(16), c_middle char(2), \
    c_last char(16), c_street_1 char(20), c_street_2 char(20), c_city char(20), c_state char(2), c_zip char(9), \
    c_phone char(16), c_since datetime, c_credit char(2), c_credit_lim numeric(12,2), c_discount numeric(4,4), \
    c_balance numeric(12,2), c_ytd_payment numeric(12,2), c_payment_cnt smallint, c_delivery_cnt smallint, \
    c_data char(500))";

/// Inserts `rows` rows; `i` makes a row's number from `n`, which counts from 0.
pub fn insert(rows: u64, i: &str) -> String {
    format!(
        "WITH t AS (SELECT value AS n FROM GENERATE_SERIES(0, {rows} - 1)),
         s AS (SELECT {i} AS i FROM t)
         INSERT customer SELECT i % 3000 + 1, i / 3000 % 10 + 1, i / 30000 + 1, 'First' + CAST(i AS varchar(9)), 'OE',
            'BARBARBAR' + CHAR(65 + i % 26), 'Street one ' + CAST(i AS varchar(9)), 'Street two', 'City', 'NY',
            '123456789', '0123456789012345', GETDATE(), 'GC', 50000, 0.1, i % 977, 10, 1, 0,
            REPLICATE('AbCdEfGhIj', 40 + i % 10) FROM s"
    )
}

/// Prints messages and errors, and rows if it is told to.
#[derive(Default)]
pub struct Report {
    pub rows: bool,
}

impl Sink for Report {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            if self.rows {
                println!("    {row:?}");
            }
            Ok(())
        })
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
