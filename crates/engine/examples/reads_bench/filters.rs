//! Scans whose conditions compare columns with variables and reject all rows: tested on the bytes
//! of the rows, and on values made of them. The last is what a statement does that gives the
//! variables values itself.

use std::time::Duration;

use ringwood_engine::{DataType, Session, Value};
use types::Len;

use crate::Wanted;
use crate::measure::{Done, Rows, in_turns, seconds};
use crate::statements::{run, run_prepared};

/// Shorter runs are repeated for so long.
const LEAST: Duration = Duration::from_millis(10);

/// Conditions of the variables `@a` and `@b`, and of columns of each kind: `i` and `u` are varchar
/// in the usual collation, `w` in a Windows collation, `n` is nvarchar.
const CONDITIONS: [&str; 7] = [
    "i = @a AND u = @b",
    "u = @b",
    "u > @a",
    "w = @b",
    "n = @b",
    "u IN (@a, @b, 'none')",
    "u IS NULL OR i BETWEEN @a AND @b",
];

/// Prints a row for each condition.
pub fn measure(session: &mut Session, wanted: &Wanted) -> Done<()> {
    let made = format!(
        "CREATE TABLE filters (id int NOT NULL, i varchar(128) NOT NULL, u varchar(128) NOT NULL,
                               w varchar(128) COLLATE Latin1_General_CI_AS NOT NULL,
                               n nvarchar(128) NOT NULL, PRIMARY KEY (id, i, u))
         INSERT filters SELECT value, CONCAT('instance of the series', 10000000 + value),
            CONCAT('user number ', 10000000 + value), CONCAT('user number ', 10000000 + value),
            CONCAT(N'user number ', 10000000 + value) FROM GENERATE_SERIES(1, {})",
        wanted.rows
    );
    run(session, &made)?;
    let labels = &[("condition", 34)];
    let figures = &[("bytes ns", 1), ("values ns", 1), ("ratio", 2)];
    let mut printed = Rows::new(wanted.json, "filters", labels, figures);
    let text = DataType::NVarChar(Len::N(4000));
    for condition in CONDITIONS {
        let texts = [
            format!("SELECT @y = MAX(id) FROM filters WHERE {condition}"),
            format!(
                "SELECT @a = CONVERT(nvarchar(20), MAX(id)), @b = CONVERT(nvarchar(20), MAX(id))
                 FROM filters WHERE {condition}"
            ),
        ];
        let mut prepared = Vec::new();
        for sql in &texts {
            prepared
                .push(session.prepare(sql, &[("@a", text), ("@b", text), ("@y", DataType::Int)])?);
        }
        let values =
            [Value::str("user of no instance"), Value::str("user of no number"), Value::Null];
        let turns = in_turns::<2>(wanted.rounds, |way| {
            let run = || run_prepared(session, &prepared[way], &values);
            Ok(seconds(LEAST, run)? * 1e9 / f64::from(wanted.rows))
        })?;
        let [bytes, made] = [0, 1].map(|way| turns.median(way));
        printed.row(&[condition], &[bytes, made, turns.ratio(1, 0)]);
    }
    run(session, "DROP TABLE filters")
}
