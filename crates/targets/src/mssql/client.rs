//! Connections to a server that speaks TDS, through crate `client`, and those that wait to be used
//! again.

use super::address::Address;
use crate::LabError;
use crate::tsql::{BatchReply, Connection, PreparedBatch, Server, Site, is_unsupported, text_of};
use client::{ClientError, Connection as Open};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use types::{DataType, Mode, Value, convert};

/// A client's error as the lab's.
pub fn failed(error: &ClientError, statement: &str) -> LabError {
    let message = match error {
        ClientError::Server(e) if is_unsupported(e.number) => {
            return LabError::Unsupported(e.message.clone());
        }
        ClientError::Server(e) => {
            format!(
                "Msg {}, Level {}, State {}, Line {}: {}",
                e.number, e.severity, e.state, e.line, e.message
            )
        }
        other => other.to_string(),
    };
    LabError::Target {
        target: "mssql".into(),
        message,
        statement: statement.chars().take(300).collect(),
    }
}

/// Logs in, to that database.
pub fn log_in(address: &Address, database: &str) -> Result<Open, LabError> {
    Open::connect(&address.options(database))
        .map_err(|e| failed(&e, &format!("login of {}", address.shown())))
}

/// Runs a batch.
fn run(open: &mut Open, batch: &str) -> Result<BatchReply, LabError> {
    let reply = open.query(batch).map_err(|e| failed(&e, batch))?;
    let row = |row: Vec<Value>| row.iter().map(text_of).collect();
    let sets =
        reply.results.into_iter().map(|set| set.rows.into_iter().map(row).collect()).collect();
    Ok(BatchReply { sets, messages: reply.messages.into_iter().map(|m| m.message).collect() })
}

/// A server, and connections to it that nobody uses.
pub struct Wire {
    address: Address,
    site: Site,
    idle: Arc<Mutex<Vec<Open>>>,
}

impl Wire {
    /// The server at that address.
    pub fn new(address: Address, site: Site) -> Wire {
        Wire { address, site, idle: Arc::default() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Open>> {
        // A panic elsewhere leaves a list of connections, which is whole at any moment.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The study's database from now on; connections that wait are closed.
    pub fn set_database(&mut self, database: String) {
        self.site.database = database;
        self.forget();
    }

    /// Closes the connections that wait: they stand in the way of DROP DATABASE, or their server
    /// has ended.
    pub fn forget(&self) {
        self.idle().clear();
    }

    /// A connection that no study has used, in `database` or in `master`.
    fn fresh(&self, begin: &str) -> Result<Open, LabError> {
        let mut open = log_in(&self.address, "master")?;
        run(&mut open, begin)?;
        Ok(open)
    }
}

impl Server for Wire {
    fn connect(&self, database: Option<&str>) -> Result<Box<dyn Connection>, LabError> {
        let begin = format!("if @@trancount > 0 rollback; use [{}]", database.unwrap_or("master"));
        let idle = self.idle().pop();
        let reused = idle.and_then(|mut open| run(&mut open, &begin).ok().map(|_| open));
        let open = match reused {
            Some(open) => open,
            None => self.fresh(&begin)?,
        };
        Ok(Box::new(Session {
            open: Some(open),
            whole: true,
            site: self.site.clone(),
            idle: self.idle.clone(),
        }))
    }

    fn site(&self) -> &Site {
        &self.site
    }

    fn load_customers(&self, table: &str, file: &Path) -> Result<(), LabError> {
        let mut open = self.fresh(&format!("use [{}]", self.site.database))?;
        let what = format!("bulk load of {table}");
        let failed = |e: ClientError| failed(&e, &what);
        let mut load = open.bulk_load(table).map_err(failed)?;
        let types: Option<Vec<DataType>> =
            load.columns().iter().map(|c| c.ty.data_type()).collect();
        let types = types.unwrap_or_default();
        for line in BufReader::with_capacity(1 << 20, std::fs::File::open(file)?).lines() {
            let line = line?;
            let row = customer_row(&line, &types).ok_or_else(|| {
                LabError::Request(format!("{}: not a customer: {line}", file.display()))
            })?;
            load.row(&row).map_err(failed)?;
        }
        load.finish().map_err(failed).map(drop)
    }
}

/// A session; its connection goes back when it ends, unless something went wrong.
struct Session {
    open: Option<Open>,
    whole: bool,
    site: Site,
    idle: Arc<Mutex<Vec<Open>>>,
}

impl Connection for Session {
    fn run(&mut self, batch: &str) -> Result<BatchReply, LabError> {
        let open = self
            .open
            .as_mut()
            .ok_or_else(|| LabError::Request("the connection is closed".into()))?;
        let reply = run(open, batch);
        self.whole &= reply.is_ok();
        reply
    }

    fn prepare<'a>(&'a mut self, statement: &str) -> Result<PreparedBatch<'a>, LabError> {
        let Session { open, whole, .. } = self;
        let open =
            open.as_mut().ok_or_else(|| LabError::Request("the connection is closed".into()))?;
        let statement = statement.to_owned();
        // The handle ends with the connection, which nobody uses again.
        *whole = false;
        let prepared = open.prepare("@a int", &statement).map_err(|e| failed(&e, &statement))?;
        Ok(Box::new(move |value| {
            let call = prepared.with([client::int("", value)]);
            open.call(&call).map(drop).map_err(|e| failed(&e, &statement))
        }))
    }

    fn site(&self) -> &Site {
        &self.site
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(open) = self.open.take().filter(|_| self.whole) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(open);
        }
    }
}

/// A line of the file of customers as a row of those types; `None` where it is not one.
fn customer_row(line: &str, types: &[DataType]) -> Option<Vec<Value>> {
    let mut fields = line.split(crate::customers::FIELD);
    let mut row = Vec::with_capacity(types.len());
    for ty in types {
        let text = Value::str(fields.next()?);
        // The server fills a char up.
        let as_it_is = ty.is_string();
        row.push(if as_it_is {
            text
        } else {
            convert(&text, TEXT, *ty, 0, Mode::Assignment).ok()?
        });
    }
    fields.next().is_none().then_some(row)
}

/// What fields of a file are.
const TEXT: DataType = DataType::VarChar(types::Len::Max);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customers_are_read_as_they_are_written() {
        use DataType::{Char, DateTime, Int, SmallInt, TinyInt};
        let decimal = DataType::decimal(12, 2);
        let mut types = vec![Int, TinyInt, Int];
        types.extend([Char(500); 9]);
        types.extend([DateTime, Char(2), decimal, DataType::decimal(4, 4), decimal, decimal]);
        types.extend([SmallInt, SmallInt, Char(500)]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("customer.txt");
        crate::customers::write_customers(&path, 40, 3).unwrap();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let row = customer_row(line, &types).unwrap_or_else(|| panic!("{line}"));
            assert!(
                matches!((&row[0], &row[12]), (Value::Int(_), Value::DateTime { .. })),
                "{row:?}"
            );
        }
        assert!(customer_row("1|2|3", &types).is_none());
        assert!(customer_row("1|2|3|4", &types[..3]).is_none());
        assert!(customer_row("1|x|3", &types[..3]).is_none());
    }
}
