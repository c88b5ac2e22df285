//! The user's command that ends and starts his server: `--restart-with COMMAND`. It is run by `sh`
//! with one argument: `kill` (the process ends at once, nothing is written), `stop` (a clean end)
//! or `start`. `docker $1 NAME` is such a command.

use crate::LabError;
use std::process::{Command, Stdio};

/// What is to be done with the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookAction {
    Kill,
    Stop,
    Start,
}

impl HookAction {
    fn word(self) -> &'static str {
        match self {
            HookAction::Kill => "kill",
            HookAction::Stop => "stop",
            HookAction::Start => "start",
        }
    }
}

/// The command.
#[derive(Clone, Debug)]
pub struct Hook(pub String);

impl Hook {
    /// Runs it to its end. Errors: it could not be run, or its exit code is not 0.
    pub fn run(&self, action: HookAction) -> Result<(), LabError> {
        let mut command = Command::new("sh");
        command.args(["-c", &self.0, "restart-with", action.word()]);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        if status.success() {
            return Ok(());
        }
        Err(LabError::Request(format!("--restart-with, asked to {}: {status}", action.word())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_what_to_do_and_its_failure_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let said = folder.path().join("said");
        let hook = Hook(format!("echo $1 >> '{}'", said.display()));
        for action in [HookAction::Kill, HookAction::Start, HookAction::Stop] {
            hook.run(action).unwrap();
        }
        assert_eq!(std::fs::read_to_string(said).unwrap(), "kill\nstart\nstop\n");
        let error = Hook("exit 3".into()).run(HookAction::Kill).unwrap_err().to_string();
        assert!(error.contains("asked to kill") && error.contains('3'), "{error}");
    }
}
