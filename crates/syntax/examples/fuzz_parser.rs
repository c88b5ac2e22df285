//! Fuzzes the parser for a while: `./fuzz parser [--seconds N] [--seed S]`. Prints progress every
//! few seconds; on a panic it prints the seed and the text and exits with 1. A seed is replayed by
//! `./fuzz parser SEED`.

#[path = "../tests/it/fuzz_input/mod.rs"]
mod fuzz_input;

use std::process::ExitCode;
use std::time::{Duration, Instant};

struct Options {
    seconds: u64,
    seed: u64,
}

fn options() -> Result<Options, String> {
    let mut options = Options { seconds: 60, seed: 0 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        let number = value.parse().map_err(|_| format!("{name} needs a number, not {value}"))?;
        match name.as_str() {
            "--seconds" => options.seconds = number,
            "--seed" => options.seed = number,
            _ => return Err(format!("unknown option {name}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    let start = Instant::now();
    let end = Duration::from_secs(options.seconds);
    let mut report = Duration::from_secs(5);
    let (mut seed, mut good, mut bytes) = (options.seed, 0u64, 0u64);
    loop {
        let text = fuzz_input::text(seed);
        bytes += text.len() as u64;
        match std::panic::catch_unwind(|| fuzz_input::check(&text)) {
            Ok(parsed) => good += u64::from(parsed),
            Err(_) => {
                println!("seed {seed} panics on this text:\n{text}\nreplay: ./fuzz parser {seed}");
                return ExitCode::FAILURE;
            }
        }
        seed = seed.wrapping_add(1);
        let elapsed = start.elapsed();
        if elapsed >= report || elapsed >= end {
            let done = seed.wrapping_sub(options.seed);
            println!("{:4} s: {done} texts, {} MB, {good} parse", elapsed.as_secs(), bytes >> 20);
            report += Duration::from_secs(5);
        }
        if elapsed >= end {
            return ExitCode::SUCCESS;
        }
    }
}
