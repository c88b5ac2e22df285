//! Ringwood in this process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{
    BulkOptions, ColumnInfo, FirstError, Instance, InstanceOptions, ResultRows, Session, Sink,
    SqlError, Value,
};

use super::{Engine, QueryRun, TpchOptions};
use crate::LabError;
use targets::embedded::page_memory;

pub(super) struct Ringwood {
    session: Session,
    instance: Arc<Instance>,
}

fn failed(error: &SqlError, statement: &str) -> LabError {
    LabError::Target {
        target: "Ringwood".into(),
        message: format!("Msg {}: {}", error.number, error.message),
        statement: statement.chars().take(300).collect(),
    }
}

/// Rows as text.
#[derive(Default)]
struct TextRows {
    types: Vec<types::DataType>,
    rows: Vec<Vec<String>>,
    error: FirstError,
}

impl Sink for TextRows {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.types = columns.iter().map(|c| c.ty).collect();
        Ok(())
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            let cells = row.iter().zip(&self.types);
            self.rows.push(cells.map(|(v, ty)| types::display::format_value(v, *ty)).collect());
            Ok(())
        })
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.error(error)
    }
}

impl Ringwood {
    fn execute(&mut self, sql: &str) -> Result<TextRows, LabError> {
        let mut rows = TextRows::default();
        self.session.execute(sql, &mut rows);
        match rows.error.get() {
            Some(e) => Err(failed(e, sql)),
            None => Ok(rows),
        }
    }
}

/// Opens the instance, and loads the tables where they are not there yet.
pub(super) fn open(options: &TpchOptions, say: &mut dyn FnMut(&str)) -> Result<Ringwood, LabError> {
    let folder = options.folder.join(format!("ringwood-{}", options.scale));
    let memory = page_memory(options.memory, false)?;
    let opened = Instance::open_in(InstanceOptions::new(&folder), memory);
    let instance =
        opened.map_err(|e| LabError::Request(format!("Ringwood in {}: {e}", folder.display())))?;
    let session = instance.session().map_err(|e| failed(&e, "a session"))?;
    let mut engine = Ringwood { session, instance };
    let there = engine.execute("SELECT name FROM sys.databases WHERE name = 'tpch'")?;
    if there.rows.is_empty() {
        let megabytes = (options.scale * 1400.0).max(16.0) as u64;
        engine.execute(&format!(
            "CREATE DATABASE tpch ON (NAME = tpch, FILENAME = 'tpch.mdf', SIZE = {megabytes}MB, FILEGROWTH = 256MB)
             LOG ON (NAME = tpch_log, FILENAME = 'tpch.ldf', SIZE = {}MB, FILEGROWTH = 256MB)",
            (megabytes / 4).max(16)
        ))?;
        engine.execute("ALTER DATABASE tpch SET RECOVERY SIMPLE")?;
    }
    engine.session.use_database("tpch").map_err(|e| failed(&e, "USE tpch"))?;
    for table in tpch::TABLES {
        let known = format!("SELECT name FROM sys.tables WHERE name = '{}'", table.name);
        if engine.execute(&known)?.rows.is_empty() {
            load(&mut engine, &table, options.scale, say)?;
        }
    }
    engine.execute("CHECKPOINT")?;
    Ok(engine)
}

/// A table appears with its rows or not at all.
fn load(
    engine: &mut Ringwood,
    table: &tpch::Table,
    scale: f64,
    say: &mut dyn FnMut(&str),
) -> Result<(), LabError> {
    let begin = Instant::now();
    engine.execute("BEGIN TRANSACTION")?;
    engine.execute(table.create)?;
    let mut rows = tpch::rows(table.name, scale);
    let mut next = |row: &mut [Value]| match rows.next() {
        None => Ok(false),
        Some(values) => {
            row.iter_mut().zip(values).for_each(|(place, value)| *place = value);
            Ok(true)
        }
    };
    let options = BulkOptions { table_lock: true, ..BulkOptions::default() };
    let loaded = engine.session.bulk_insert(table.name, &[], &options, &mut next);
    let loaded = loaded.map_err(|e| failed(&e, table.create))?;
    engine.execute("COMMIT")?;
    say(&format!(
        "Ringwood: {loaded} rows of {} in {:.1} s",
        table.name,
        begin.elapsed().as_secs_f64()
    ));
    Ok(())
}

impl Engine for Ringwood {
    fn name(&self) -> &'static str {
        "Ringwood"
    }

    fn run(&mut self, query: &str, limit: Duration) -> Result<QueryRun, LabError> {
        let cancel = self.session.cancel_handle();
        let (done, stopped) = std::sync::mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if stopped.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                cancel.cancel();
            }
        });
        let begin = Instant::now();
        let result = self.execute(query);
        let seconds = begin.elapsed().as_secs_f64();
        drop(done);
        let _ = watch.join();
        match result {
            Ok(rows) => Ok(QueryRun { seconds, rows: Some(rows.rows) }),
            Err(LabError::Target { message, .. }) if message.starts_with("Msg 3617:") => {
                Ok(QueryRun { seconds, rows: None })
            }
            Err(e) => Err(e),
        }
    }
}

impl Drop for Ringwood {
    fn drop(&mut self) {
        // What could not be closed is recovered at the next run.
        let _ = self.instance.close();
    }
}
