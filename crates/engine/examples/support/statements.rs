//! Statements of benchmarks, which end with an error where one of them does.
#![allow(dead_code)] // each program uses its part

use std::error::Error;

use ringwood_engine::session::Prepared;
use ringwood_engine::{ResultRows, Session, Sink, SqlError, Value};

/// Keeps the first error, and rows if they are asked for.
#[derive(Default)]
struct Answer {
    error: Option<SqlError>,
    rows: Option<Vec<Vec<Value>>>,
}

impl Sink for Answer {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            if let Some(rows) = &mut self.rows {
                rows.push(row.to_vec());
            }
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert_with(|| error.clone());
        Ok(())
    }
}

fn answer(
    session: &mut Session,
    sql: &str,
    rows: Option<Vec<Vec<Value>>>,
) -> Result<Answer, Box<dyn Error>> {
    let mut answer = Answer { error: None, rows };
    session.execute(sql, &mut answer);
    match answer.error {
        Some(e) => Err(format!("Msg {}: {} in {sql}", e.number, e.message).into()),
        None => Ok(answer),
    }
}

/// Runs a batch.
pub fn run(session: &mut Session, sql: &str) -> Result<(), Box<dyn Error>> {
    answer(session, sql, None).map(drop)
}

/// The rows of a batch.
pub fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, Box<dyn Error>> {
    answer(session, sql, Some(Vec::new())).map(|answer| answer.rows.unwrap_or_default())
}

/// Runs a prepared batch.
pub fn run_prepared(
    session: &mut Session,
    batch: &Prepared,
    values: &[Value],
) -> Result<(), SqlError> {
    let mut answer = Answer::default();
    session.execute_prepared(batch, values, &mut answer)?;
    answer.error.map_or(Ok(()), Err)
}

/// A number as one to calculate with; not a number of anything else.
pub fn figure(value: &Value) -> f64 {
    match value {
        Value::Float(number) => *number,
        other => other.as_i64().map_or(f64::NAN, |number| number as f64),
    }
}
