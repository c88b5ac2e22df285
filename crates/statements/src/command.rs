//! What a command is to the engine: who may run it, what clients take it for, what it does. They
//! take no part in a transaction.

use session::output::StatementKind;
use session::state::SessionCore;
use syntax::ast::Command;
use types::SqlError;

use super::{COMMANDS, StmtCtx};

/// A command as it is carried out; implemented for what the grammar gives, in the file of the
/// command.
pub trait CommandRun {
    /// The kind of statement in the token that ends it.
    fn kind(&self) -> StatementKind {
        StatementKind::Other
    }

    /// Whether the session may run it.
    ///
    /// # Errors
    /// The error of SQL Server for a caller without a right that the command needs.
    fn check_right(&self, core: &mut SessionCore) -> Result<(), SqlError>;

    /// Runs it.
    ///
    /// # Errors
    /// Its own.
    fn run(&self, ctx: &mut StmtCtx<'_>) -> Result<(), SqlError>;
}

/// What carries a command out, if it is of its kind.
pub(super) type CommandFinder = fn(&Command) -> Option<&dyn CommandRun>;

/// For the list of commands.
pub(super) fn known<T: CommandRun + 'static>(command: &Command) -> Option<&dyn CommandRun> {
    command.parts::<T>().map(|parts| parts as &dyn CommandRun)
}

/// What carries a command out.
///
/// # Errors
/// Internal, where it is in no list.
pub fn of(command: &Command) -> Result<&dyn CommandRun, SqlError> {
    let found = COMMANDS.iter().find_map(|known| known(command));
    found.ok_or_else(|| SqlError::internal(format!("nothing carries out {}", command.words)))
}
