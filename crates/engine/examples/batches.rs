//! The engine as an embedded library: opens the instance of a folder and runs the batches of
//! standard input.
//!
//! `cargo run --release -p ringwood-engine --example batches -- FOLDER [MEGABYTES] < script.sql`
//!
//! Result sets go to standard output, messages and errors to standard error.

extern crate ringwood_engine as engine;

use std::io::Read;

use engine::{ColumnInfo, Instance, InstanceOptions, ResultRows, Sink, SqlError};

/// Prints what a batch produces, values between bars.
#[derive(Default)]
struct Print {
    types: Vec<engine::DataType>,
}

impl Sink for Print {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.types = columns.iter().map(|c| c.ty).collect();
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        println!("{}", names.join("|"));
        Ok(())
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            let cells: Vec<String> = row
                .iter()
                .zip(&self.types)
                .map(|(v, ty)| types::display::format_value(v, *ty))
                .collect();
            println!("{}", cells.join("|"));
            Ok(())
        })
    }

    fn done(&mut self, end: engine::StatementEnd) -> Result<(), SqlError> {
        if let Some(rows) = end.rows {
            println!("({rows} rows affected)");
        }
        Ok(())
    }

    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        eprintln!("{}", message.message);
        Ok(())
    }

    fn error(&mut self, e: &SqlError) -> Result<(), SqlError> {
        eprintln!(
            "Msg {}, Level {}, State {}, Line {}\n{}",
            e.number, e.severity, e.state, e.line, e.message
        );
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "ringwood-data".into());
    let started = std::time::Instant::now();
    let megabytes: Option<u64> = std::env::args().nth(2).and_then(|n| n.parse().ok());
    let memory_bytes = megabytes.map(|n| n << 20);
    let instance =
        Instance::open(InstanceOptions { memory_bytes, ..InstanceOptions::new(folder) })?;
    eprintln!("opened in {:.1} ms", started.elapsed().as_secs_f64() * 1000.0);
    let mut session = instance.session()?;
    let mut script = String::new();
    std::io::stdin().read_to_string(&mut script)?;
    for batch in syntax::split_batches(&script) {
        for _ in 0..batch.count {
            let started = std::time::Instant::now();
            session.execute(batch.text, &mut Print::default());
            eprintln!("-- {:.3} ms", started.elapsed().as_secs_f64() * 1000.0);
        }
    }
    drop(session);
    instance.close()?;
    Ok(())
}
