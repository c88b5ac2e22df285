//! Scans whose conditions compute something of a variable: with a constant in its place, computed
//! once for the scan, and computed for each row. The last is what a statement does that gives the
//! variable a value itself.

use std::time::Duration;

use ringwood_engine::{DataType, Session, Value};
use types::Len;

use crate::Wanted;
use crate::measure::{Done, Rows, in_turns, seconds};
use crate::statements::{run, run_prepared};

/// Shorter runs are repeated for so long.
const LEAST: Duration = Duration::from_millis(10);

/// A condition.
struct Case {
    /// Of the variable `@x`.
    computed: &'static str,
    /// The same of constants.
    constant: &'static str,
    /// Of the type of the variable.
    total: &'static str,
    ty: DataType,
    value: &'static str,
}

const TEXT: DataType = DataType::VarChar(Len::N(20));

const CASES: [Case; 4] = [
    Case {
        computed: "v < @x * 2 + 10",
        constant: "v < 50",
        total: "MAX(v)",
        ty: DataType::Int,
        value: "20",
    },
    Case {
        computed: "d < DATEADD(month, 1, @x)",
        constant: "d < '20200210'",
        total: "MAX(d)",
        ty: DataType::Date,
        value: "20200110",
    },
    Case {
        computed: "s LIKE @x",
        constant: "s LIKE 'a%1'",
        total: "MAX(s)",
        ty: TEXT,
        value: "a%1",
    },
    Case {
        computed: "p < CAST(@x AS decimal(12, 2)) - 0.01",
        constant: "p < 49.99",
        total: "CONVERT(varchar(20), MAX(p))",
        ty: TEXT,
        value: "50.00",
    },
];

/// Prints a row for each condition.
pub fn measure(session: &mut Session, wanted: &Wanted) -> Done<()> {
    let made = format!(
        "CREATE TABLE computed (v int NOT NULL, d date NOT NULL, s varchar(20) NOT NULL,
                                p decimal(12, 2) NOT NULL)
         INSERT computed SELECT value % 1000, DATEADD(day, value % 800, '20200101'),
            CONCAT(CHAR(97 + value % 26), value), value % 1000 FROM GENERATE_SERIES(1, {})",
        wanted.rows
    );
    run(session, &made)?;
    let labels = &[("condition", 38)];
    let figures = &[("constant ns", 1), ("once ns", 1), ("each row ns", 1), ("ratio", 2)];
    let mut printed = Rows::new(wanted.json, "computed", labels, figures);
    for case in &CASES {
        let text = |variable: &str, condition: &str| {
            format!("SELECT {variable} = {} FROM computed WHERE {condition}", case.total)
        };
        let texts =
            [text("@y", case.constant), text("@y", case.computed), text("@x", case.computed)];
        let mut prepared = Vec::new();
        for text in &texts {
            prepared.push(session.prepare(text, &[("@x", case.ty), ("@y", case.ty)])?);
        }
        let values = [Value::str(case.value), Value::Null];
        let turns = in_turns::<3>(wanted.rounds, |way| {
            let run = || run_prepared(session, &prepared[way], &values);
            Ok(seconds(LEAST, run)? * 1e9 / f64::from(wanted.rows))
        })?;
        let [constant, once, each] = [0, 1, 2].map(|way| turns.median(way));
        printed.row(&[case.computed], &[constant, once, each, turns.ratio(2, 1)]);
    }
    run(session, "DROP TABLE computed")
}
