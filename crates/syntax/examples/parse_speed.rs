//! How fast scripts parse: `./bench parse FILE...`. Each file's batches are
//! parsed again and again for a second; prints bytes and statements a second.

use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        let script = match std::fs::read_to_string(&path) {
            Ok(script) => script,
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        };
        let batches = ringwood_syntax::split_batches(&script);
        let (mut bytes, mut statements) = (0usize, 0usize);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(1) {
            for batch in &batches {
                match ringwood_syntax::parse(batch.text) {
                    Ok(list) => statements += list.len(),
                    Err(error) => {
                        eprintln!("{path}: {error}");
                        return ExitCode::FAILURE;
                    }
                }
                bytes += batch.text.len();
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let (speed, rate) = (bytes as f64 / seconds / 1e6, statements as f64 / seconds);
        println!("{path}: {speed:.1} MB/s, {rate:.0} statements/s, {:.0} ns each", 1e9 / rate);
    }
    ExitCode::SUCCESS
}
