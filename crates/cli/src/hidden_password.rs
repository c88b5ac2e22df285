//! The administrator's password in the environment: taken, and taken out of it.
//!
//! What the environment of a process says can be read in `/proc/PID/environ` for as long as the
//! process runs, whatever it does to its own copy. So a server whose environment has the password
//! starts its program again in the same process, without the variable, and gives itself the
//! password through a pipe, as its standard input. Guarantee: once the server listens, neither the
//! environment nor the pipe has the password.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, id};

use super::say::say;

/// The variables that have the password, in two spellings.
pub const PASSWORD: &str = "MSSQL_SA_PASSWORD";
const OLD_PASSWORD: &str = "SA_PASSWORD";
/// Says to the program that was started again in the process of this number that the password is
/// its standard input.
const ON_INPUT: &str = "RINGWOOD_PASSWORD_ON_INPUT";
/// What a pipe takes without a reader.
const LONGEST: usize = 4096;

/// The password of the environment. Call it before anything else is begun: it may start the program
/// again.
///
/// # Errors
/// The password is too long, or could not be read.
pub fn take() -> Result<Option<String>, String> {
    if std::env::var(ON_INPUT).is_ok_and(|process| process == id().to_string()) {
        let mut password = String::new();
        let read = std::io::stdin().read_to_string(&mut password);
        return read.map(|_| Some(password)).map_err(|e| format!("{PASSWORD}: {e}"));
    }
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let Some(password) = set(PASSWORD).or_else(|| set(OLD_PASSWORD)) else { return Ok(None) };
    if password.len() > LONGEST {
        return Err(format!("{PASSWORD}: longer than {LONGEST} bytes"));
    }
    // It returns only when it has failed.
    let error = start_anew(&password);
    say(format_args!(
        "{PASSWORD} stays in the environment of this process, where its owner can read it: {error}"
    ));
    Ok(Some(password))
}

/// Starts the program again in this process, with the password as its standard input.
fn start_anew(password: &str) -> std::io::Error {
    let begin = || -> std::io::Result<std::io::Error> {
        let program = std::env::current_exe()?;
        let (reader, mut writer) = std::io::pipe()?;
        writer.write_all(password.as_bytes())?;
        drop(writer);
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_else(|| OsString::from("ringwood"));
        let mut command = Command::new(program);
        command.arg0(name).args(arguments).stdin(reader);
        command.env_remove(PASSWORD).env_remove(OLD_PASSWORD).env(ON_INPUT, id().to_string());
        Ok(command.exec())
    };
    begin().unwrap_or_else(|error| error)
}
