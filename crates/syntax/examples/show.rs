//! Prints the statements of a script, one a line, or the whole trees with `--tree`: a tool to look
//! at the parser by hand. `cargo run --example show -- [--tree] FILE`

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut tree = false;
    let mut failed = false;
    for argument in std::env::args().skip(1) {
        if argument == "--tree" {
            tree = true;
            continue;
        }
        let script = match std::fs::read_to_string(&argument) {
            Ok(script) => script,
            Err(error) => {
                eprintln!("{argument}: {error}");
                return ExitCode::FAILURE;
            }
        };
        for batch in ringwood_syntax::split_batches(&script) {
            match ringwood_syntax::parse(batch.text) {
                Ok(statements) => statements.iter().for_each(|statement| {
                    if tree {
                        println!("{statement:#?}");
                    } else {
                        let line = batch.first_line + statement.span.line - 1;
                        println!(
                            "{line}: {}",
                            statement.span.text(batch.text).replace(['\n', '\r'], " ")
                        );
                    }
                }),
                Err(error) => {
                    failed = true;
                    println!("{}: {error}", batch.first_line);
                }
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
