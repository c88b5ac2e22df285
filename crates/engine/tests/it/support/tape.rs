//! A sink that writes down everything it is told, one line each, and a session to try it on.
#![allow(dead_code)] // each test uses its part

use engine::{
    ColumnInfo, DataType, Instance, InstanceOptions, OutputParameter, ResultRows, RpcParam,
    Session, SessionChange, Sink, SqlError, StatementEnd, Value,
};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// What a sink was told.
#[derive(Default)]
pub struct Tape {
    pub lines: Vec<String>,
    types: Vec<DataType>,
}

impl Tape {
    fn put(&mut self, line: String) -> Result<(), SqlError> {
        self.lines.push(line);
        Ok(())
    }

    fn report(&mut self, what: &str, e: &SqlError) -> Result<(), SqlError> {
        let mut line = format!("{what} {} line {}", e.number, e.line);
        if !e.procedure().is_empty() {
            let _ = write!(line, " of {}", e.procedure());
        }
        if e.number == 0 {
            let _ = write!(line, ": {}", e.message);
        }
        self.put(line)
    }
}

impl Sink for Tape {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.types = columns.iter().map(|c| c.ty).collect();
        let shown = columns.iter().map(|c| {
            let mut text = format!("{} {:?}", c.name, c.ty);
            for (set, word) in [(c.nullable, " null"), (c.base, " base"), (c.identity, " identity")]
            {
                text.push_str(if set { word } else { "" });
            }
            text
        });
        let shown: Vec<String> = shown.collect();
        self.put(format!("columns [{}]", shown.join(", ")))
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            let cells: Vec<String> = row
                .iter()
                .zip(&self.types)
                .map(|(v, ty)| types::display::format_value(v, *ty))
                .collect();
            self.put(format!("row {}", cells.join("|")))
        })
    }
    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        let mut line = format!("done {:?}", end.statement);
        if let Some(rows) = end.rows {
            let _ = write!(line, " {rows}");
        }
        line.push_str(if end.error { " error" } else { "" });
        line.push_str(if end.nested { " nested" } else { "" });
        self.put(line)
    }
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.report("info", message)
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.report("error", error)
    }
    fn changed(&mut self, change: &SessionChange<'_>) -> Result<(), SqlError> {
        self.put(format!("{change:?}"))
    }
    fn procedure_done(&mut self, status: i32) -> Result<(), SqlError> {
        self.put(format!("status {status}"))
    }
    fn output_parameter(&mut self, p: &OutputParameter<'_>) -> Result<(), SqlError> {
        self.put(format!(
            "output {} {} {:?} {}",
            p.ordinal,
            p.name,
            p.ty,
            types::display::format_value(p.value, p.ty)
        ))
    }
}

/// An instance in a folder.
pub fn open(folder: &Path) -> Arc<Instance> {
    let options = InstanceOptions { memory_bytes: Some(32 << 20), ..InstanceOptions::new(folder) };
    Instance::open(options).unwrap()
}

/// An instance of its own with one session in it.
pub struct Bench {
    pub session: Session,
    pub instance: Arc<Instance>,
    _folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let instance = open(folder.path());
        Bench { session: instance.session().unwrap(), instance, _folder: folder }
    }

    /// What a batch says.
    pub fn run(&mut self, text: &str) -> Vec<String> {
        run(&mut self.session, text)
    }

    /// What a call says.
    pub fn call(&mut self, name: &str, params: &[RpcParam]) -> Vec<String> {
        let mut tape = Tape::default();
        self.session.rpc(name, params.to_vec(), &mut tape);
        tape.lines
    }

    /// Runs batches that must not fail.
    pub fn setup(&mut self, batches: &[&str]) {
        for text in batches {
            let lines = self.run(text);
            assert!(
                !lines.iter().any(|line| line.starts_with("error")),
                "{text}\n{}",
                lines.join("\n")
            );
        }
    }

    #[track_caller]
    pub fn check(&mut self, text: &str, expected: &[&str]) {
        assert_eq!(self.run(text), expected, "{text}");
    }
}

/// What a batch says.
pub fn run(session: &mut Session, text: &str) -> Vec<String> {
    let mut tape = Tape::default();
    session.execute(text, &mut tape);
    tape.lines
}

/// A parameter of a call.
pub fn param(name: &str, ty: DataType, value: Value) -> RpcParam {
    RpcParam {
        name: name.into(),
        ty: Some(ty),
        value,
        output: false,
        is_default: false,
        table: None,
    }
}

/// A text as clients send texts.
pub fn text(name: &str, value: &str) -> RpcParam {
    param(name, DataType::NVarChar(types::Len::N(4000)), Value::str(value))
}

pub fn int(name: &str, value: i32) -> RpcParam {
    param(name, DataType::Int, Value::Int(value))
}

/// The parameter as one that comes back.
pub fn out(of: RpcParam) -> RpcParam {
    RpcParam { output: true, ..of }
}
