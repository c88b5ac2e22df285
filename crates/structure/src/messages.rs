//! Errors that are no messages of the list: what Ringwood says is `SqlError::of(msg::NAME, ...)`,
//! and `SqlError::new` is left to the places that hand on what somebody else has worded.
//! Guarantee: no code but tests calls it with a number that is written out, unless it is 0.

use std::io;
use std::path::Path;

use crate::folders;
use crate::paths::bare;

/// The files that may call it, and what it is there.
const WORDED_ELSEWHERE: &[(&str, &str)] = &[
    ("catalog/src/errors.rs", "errors that nobody sees; the parser's"),
    ("cli/src/export.rs", "the end of an export, without a number"),
    ("cli/src/sql/printer.rs", "the output fails, without a number"),
    ("cli/src/sql/target.rs", "what another server says; its loss, without a number"),
    ("engine/src/batch/flow.rs", "PRINT, RAISERROR, THROW"),
    ("engine/src/session/login.rs", "notices of the instance, without a number"),
    ("engine/src/typed_rows.rs", "another error, with its column behind it"),
    ("expr/src/functions/xml.rs", "errors of XQuery, with their method before them"),
    ("expr/src/parsed.rs", "errors of the reader of XML"),
    ("server/src/login.rs", "another error as a note"),
    ("statements/src/backup_errors.rs", "errors of log and pages outside a database"),
    ("statements/src/dbcc/commands.rs", "the lines of DBCC HELP, without a number"),
    ("tds/src/error.rs", "faults of the caller, as a user's errors"),
    ("types/src/convert/xml.rs", "errors of the reader of XML"),
    ("types/src/error.rs", "the errors of the list"),
];

const CALL: &str = "SqlError::new(";

/// Prints each place that words an error itself; false when there is one.
pub fn check(crates: &Path) -> io::Result<bool> {
    let mut sound = true;
    let mut left: Vec<&str> = WORDED_ELSEWHERE.iter().map(|(file, _)| *file).collect();
    for folder in folders(crates)?.iter().filter(|folder| folder.join("src").is_dir()) {
        walk(&folder.join("src"), &mut |path: &Path, text: &str| {
            let file = path.strip_prefix(crates).unwrap_or(path).to_string_lossy().into_owned();
            let calls = numbers(text);
            let known = left.iter().position(|known| *known == file);
            if let (Some(at), false) = (known, calls.is_empty()) {
                left.remove(at);
            }
            for number in calls {
                if number.is_empty() && known.is_some() {
                    continue;
                }
                println!(
                    "{file}: SqlError::new({number}...): what Ringwood says is SqlError::of(msg::...)"
                );
                sound = false;
            }
        })?;
    }
    for file in left {
        println!(
            "{file} calls SqlError::new no more: it leaves the list of structure/src/messages.rs"
        );
        sound = false;
    }
    Ok(sound)
}

/// What each call has for a number: the digits of one that is written out and not 0, else nothing.
fn numbers(text: &str) -> Vec<String> {
    let text = bare(text);
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let number = |(at, _): (usize, &str)| {
        let first = code[at + CALL.len()..].trim_start();
        let digits =
            first.split(|c: char| !c.is_ascii_digit() && c != '_').next().unwrap_or_default();
        if digits == "0" { String::new() } else { digits.to_owned() }
    };
    code.match_indices(CALL).map(number).collect()
}

/// Files of source, but for those of tests.
fn walk(folder: &Path, see: &mut dyn FnMut(&Path, &str)) -> io::Result<()> {
    for path in folders(folder)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            walk(&path, see)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            see(&path, &std::fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_written_out_are_seen() {
        let text = "SqlError::new(15_002, 16, 1, \"x\") SqlError::new(\n    208, 16) SqlError::new(0, 0) \
                    SqlError::new(e.number, 1) // SqlError::new(1,\n\"SqlError::new(2, \"";
        assert_eq!(numbers(text), ["15_002", "208", "", ""]);
        let tests = "fn a() {}\n#[cfg(test)]\nmod tests { SqlError::new(1, 2) }";
        assert!(numbers(tests).is_empty());
    }
}
