//! TPC-C on a PostgreSQL server of the lab's own, over loopback TCP, by the crate `postgres`.

use super::engine::Engine;
use super::inputs::{CustomerKey, Input};
use super::plain::STATEMENTS;
use super::rows;
use super::rows::Cell;
use super::tables::{INDEXES, SEED, Sizes, schema};
use super::terminal::{Datum, Param, Row, Statement, Terminal, TxnEnd, TxnFailure};
use crate::LabError;
use postgres::Client;
use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use std::fmt::Write as _;
use std::io::Write as _;
use targets::own_postgres::{OwnPostgres, failed};

const PROCEDURES: &str = include_str!("procedures-postgres.sql");
/// What the function of a new order says when it names an item that is not there.
const NO_ITEM: &str = "TP001";

/// The engine.
pub struct Postgres(pub OwnPostgres);

/// A connection and what it has prepared.
struct Connection {
    client: Client,
    statements: Vec<Option<postgres::Statement>>,
    calls: [Option<postgres::Statement>; 5],
}

const CALLS: [&str; 5] = [
    "select * from tpcc_new_order($1, $2, $3, $4, $5, $6, $7, $8)",
    "select * from tpcc_payment($1, $2, $3, $4, $5, $6, $7)",
    "select * from tpcc_order_status($1, $2, $3, $4)",
    "select tpcc_delivery($1, $2)",
    "select tpcc_stock_level($1, $2, $3)",
];

fn refused(error: &postgres::Error, statement: &str) -> TxnFailure {
    let retried = [&SqlState::T_R_DEADLOCK_DETECTED, &SqlState::T_R_SERIALIZATION_FAILURE];
    match error.code() {
        Some(code) if retried.contains(&code) => TxnFailure::Retry,
        _ => TxnFailure::Other(failed(error, statement)),
    }
}

fn row_of(row: &postgres::Row) -> Row {
    let datum = |at: usize| -> Option<Datum> {
        match *row.columns()[at].type_() {
            Type::INT4 => row.get::<_, Option<i32>>(at).map(|n| Datum::Int(n.into())),
            Type::INT8 => row.get::<_, Option<i64>>(at).map(Datum::Int),
            Type::VARCHAR | Type::BPCHAR | Type::TEXT => {
                row.get::<_, Option<String>>(at).map(Datum::Text)
            }
            _ => None,
        }
    };
    (0..row.len()).map(|at| datum(at).unwrap_or(Datum::Null)).collect()
}

impl Terminal for Connection {
    fn begin(&mut self) -> Result<(), TxnFailure> {
        self.client.batch_execute("begin").map_err(|e| refused(&e, "begin"))
    }

    fn commit(&mut self) -> Result<(), TxnFailure> {
        self.client.batch_execute("commit").map_err(|e| refused(&e, "commit"))
    }

    fn rollback(&mut self) -> Result<(), TxnFailure> {
        self.client.batch_execute("rollback").map_err(|e| refused(&e, "rollback"))
    }

    fn query(
        &mut self,
        statement: &'static Statement,
        params: &[Param],
    ) -> Result<Vec<Row>, TxnFailure> {
        let refused = |e: postgres::Error| refused(&e, statement.postgres);
        if self.statements[statement.id].is_none() {
            self.statements[statement.id] =
                Some(self.client.prepare(&statement.pg_sql()).map_err(refused)?);
        }
        let Some(prepared) = &self.statements[statement.id] else { return Ok(vec![]) };
        let mut values: Vec<&(dyn ToSql + Sync)> = Vec::with_capacity(params.len());
        for param in params {
            values.push(match param {
                Param::Int(n) => n,
                Param::Text(text) => text,
            });
        }
        let rows = self.client.query(prepared, &values).map_err(refused)?;
        Ok(rows.iter().map(row_of).collect())
    }

    fn call(&mut self, input: &Input) -> Result<TxnEnd, TxnFailure> {
        let kind = input.kind() as usize;
        let text = CALLS[kind];
        if self.calls[kind].is_none() {
            self.calls[kind] = Some(self.client.prepare(text).map_err(|e| refused(&e, text))?);
        }
        let Some(prepared) = &self.calls[kind] else { return Ok(TxnEnd::Committed) };
        let client = &mut self.client;
        let named = |who: &CustomerKey| match who {
            CustomerKey::Id(id) => (*id, String::new()),
            CustomerKey::Name(name) => (0, name.clone()),
        };
        let answered = match input {
            Input::NewOrder { w, d, c, lines } => {
                let all_local = i32::from(lines.iter().all(|l| l.supply == *w));
                let count = lines.len() as i32;
                let items: Vec<i32> = lines.iter().map(|l| l.item).collect();
                let supplies: Vec<i32> = lines.iter().map(|l| l.supply).collect();
                let quantities: Vec<i32> = lines.iter().map(|l| l.quantity).collect();
                client
                    .query(prepared, &[w, d, c, &count, &all_local, &items, &supplies, &quantities])
            }
            Input::Payment { w, d, c_w, c_d, who, amount } => {
                let (id, name) = named(who);
                client.query(prepared, &[w, d, c_w, c_d, &id, &name, amount])
            }
            Input::OrderStatus { w, d, who } => {
                let (id, name) = named(who);
                client.query(prepared, &[w, d, &id, &name])
            }
            Input::Delivery { w, carrier } => client.query(prepared, &[w, carrier]),
            Input::StockLevel { w, d, threshold } => client.query(prepared, &[w, d, threshold]),
        };
        match answered {
            Ok(_) => Ok(TxnEnd::Committed),
            Err(error) if error.code().is_some_and(|c| c.code() == NO_ITEM) => {
                Ok(TxnEnd::RolledBack)
            }
            Err(error) => Err(refused(&error, text)),
        }
    }

    fn number(&mut self, query: &str) -> Result<i64, LabError> {
        self.client
            .query_one(query, &[])
            .and_then(|row| row.try_get(0))
            .map_err(|e| failed(&e, query))
    }
}

/// A row as COPY takes it: values have no tab, line feed or backslash in them.
fn line(row: Vec<Cell>, out: &mut String) {
    for (i, cell) in row.into_iter().enumerate() {
        out.push_str(if i > 0 { "\t" } else { "" });
        // Writing into a string cannot fail.
        let _ = match cell {
            Cell::Int(n) => write!(out, "{n}"),
            Cell::Decimal(value, scale) => {
                let by = 10i64.pow(scale.into());
                let sign = if value < 0 { "-" } else { "" };
                let (whole, part) = (value.abs() / by, value.abs() % by);
                write!(out, "{sign}{whole}.{part:0width$}", width = scale.into())
            }
            Cell::Text(text) => write!(out, "{text}"),
            Cell::Now => write!(out, "2026-01-01 00:00:00"),
            Cell::Null => write!(out, "\\N"),
        };
    }
    out.push('\n');
}

impl Engine for Postgres {
    fn title(&self) -> &'static str {
        self.0.title()
    }

    fn start(&mut self) -> Result<(), LabError> {
        self.0.start()
    }

    fn stop(&mut self) -> Result<(), LabError> {
        self.0.stop()
    }

    fn kill(&mut self) -> Result<(), LabError> {
        self.0.kill()
    }

    fn restart(&mut self) -> Result<(), LabError> {
        self.0.start()
    }

    fn load(
        &mut self,
        warehouses: i32,
        sizes: Sizes,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        let mut client = self.0.connect()?;
        let run = |client: &mut Client, text: &str| {
            client.batch_execute(text).map_err(|e| failed(&e, text))
        };
        run(&mut client, &format!("drop table if exists {} cascade", rows::TABLES.join(", ")))?;
        run(&mut client, &schema("timestamp"))?;
        for table in rows::TABLES {
            say(&format!("PostgreSQL: loading {table}"));
            let copy = format!("copy {table} from stdin");
            let mut writer = client.copy_in(&copy).map_err(|e| failed(&e, &copy))?;
            let mut text = String::new();
            for warehouse in 1..=warehouses {
                rows::rows(table, warehouse, sizes, SEED, &mut |row| {
                    line(row, &mut text);
                    if text.len() > 64 << 10 {
                        writer.write_all(text.as_bytes())?;
                        text.clear();
                    }
                    Ok(())
                })?;
            }
            writer.write_all(text.as_bytes())?;
            writer.finish().map_err(|e| failed(&e, &copy))?;
        }
        run(&mut client, INDEXES)?;
        run(&mut client, PROCEDURES)?;
        run(&mut client, "vacuum analyze")?;
        run(&mut client, "checkpoint")
    }

    fn connect(&self) -> Result<Box<dyn Terminal>, LabError> {
        let statements = STATEMENTS.iter().map(|_| None).collect();
        Ok(Box::new(Connection {
            client: self.0.connect()?,
            statements,
            calls: [const { None }; 5],
        }))
    }

    fn checkpoint(&mut self) -> Result<(), LabError> {
        self.0.connect()?.batch_execute("checkpoint").map_err(|e| failed(&e, "checkpoint"))
    }

    fn said(&self) -> Result<Vec<String>, LabError> {
        let mut client = self.0.connect()?;
        let row = client.query_one("select version()", &[]).map_err(|e| failed(&e, "version"))?;
        let version: String = row.get(0);
        let version = version.split(" on ").next().unwrap_or_default().to_owned();
        Ok(vec![format!("{version}; {}", self.0.said())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_copy_reads_them() {
        let mut out = String::new();
        line(
            vec![
                Cell::Int(7),
                Cell::Decimal(-1_000, 2),
                Cell::Decimal(5, 4),
                Cell::Text("a b".into()),
                Cell::Null,
            ],
            &mut out,
        );
        assert_eq!(out, "7\t-10.00\t0.0005\ta b\t\\N\n");
    }
}
