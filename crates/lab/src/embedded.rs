//! Ringwood embedded, as the lab uses it: text in, rows out, the first error of a batch as a `LabError`.

use crate::LabError;
use engine::{ColumnInfo, Instance, InstanceOptions, Session, Sink, SqlError, Value};
use std::path::Path;
use std::sync::Arc;

/// Collects the rows of every result set and the first error.
#[derive(Default)]
struct Collector {
    sets: Vec<Vec<Vec<Value>>>,
    error: Option<SqlError>,
}

impl Sink for Collector {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
        self.sets.push(Vec::new());
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        if let Some(set) = self.sets.last_mut() {
            set.push(row.to_vec());
        }
        Ok(())
    }
    fn done(&mut self, _: Option<u64>) -> Result<(), SqlError> {
        Ok(())
    }
    fn message(&mut self, _: &SqlError) -> Result<(), SqlError> {
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert_with(|| error.clone());
        Ok(())
    }
}

fn failed(error: &SqlError, statement: &str) -> LabError {
    LabError::Target {
        target: "Ringwood".into(),
        message: format!(
            "Msg {}, Level {}, State {}: {}",
            error.number, error.severity, error.state, error.message
        ),
        statement: statement.chars().take(300).collect(),
    }
}

/// Opens an instance on `folder` with `memory` bytes of buffer pool.
pub fn open(folder: &Path, memory: u64) -> Result<Arc<Instance>, LabError> {
    let options = InstanceOptions { memory_bytes: Some(memory), ..InstanceOptions::new(folder) };
    Instance::open(options).map_err(|e| LabError::Request(format!("Ringwood in {}: {e}", folder.display())))
}

/// A session with the lab's manners.
pub struct Client(Session);

impl Client {
    /// A new session, in `database` when one is named.
    pub fn new(instance: &Arc<Instance>, database: Option<&str>) -> Result<Client, LabError> {
        let mut client = Client(instance.session().map_err(|e| failed(&e, "a session"))?);
        if let Some(name) = database {
            client.run(&format!("use [{name}]"))?;
        }
        Ok(client)
    }

    /// Runs a batch; the rows of its result sets.
    pub fn run(&mut self, batch: &str) -> Result<Vec<Vec<Vec<Value>>>, LabError> {
        let mut collector = Collector::default();
        self.0.execute(batch, &mut collector);
        match collector.error {
            Some(error) => Err(failed(&error, batch)),
            None => Ok(collector.sets),
        }
    }

    /// Runs a batch; seconds.
    pub fn timed(&mut self, batch: &str) -> Result<f64, LabError> {
        let begin = std::time::Instant::now();
        self.run(batch)?;
        Ok(begin.elapsed().as_secs_f64())
    }

    /// The single number that a query returns.
    pub fn number(&mut self, query: &str) -> Result<f64, LabError> {
        let sets = self.run(query)?;
        sets.first()
            .and_then(|s| s.first())
            .and_then(|r| r.first())
            .and_then(as_number)
            .ok_or_else(|| LabError::Request(format!("this query returned no number: {query}")))
    }
}

/// A number of any numeric type.
pub fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Null => None,
        Value::Str(text) => text.parse().ok(),
        other => other.to_string().parse().ok(),
    }
}
