//! The numbers by which DONE tokens name statements, as SQL Server was seen to send them: drivers
//! tell updates and definitions from queries by them.

use engine::StatementKind;
use tds::tokens::command;

/// The number that DONE gives a statement.
pub fn command_of(statement: StatementKind) -> u16 {
    match statement {
        StatementKind::Select => command::SELECT,
        StatementKind::SelectInto => command::SELECT_INTO,
        StatementKind::Insert => command::INSERT,
        StatementKind::Update => command::UPDATE,
        StatementKind::Delete => command::DELETE,
        StatementKind::Merge => command::MERGE,
        StatementKind::BulkInsert => command::BULK_INSERT,
        StatementKind::Truncate => command::TRUNCATE,
        StatementKind::BeginTransaction => command::BEGIN_TRANSACTION,
        StatementKind::Commit => command::COMMIT,
        StatementKind::Rollback => command::ROLLBACK,
        StatementKind::SaveTransaction => command::SAVE_TRANSACTION,
        StatementKind::SetOn => command::SET_ON,
        StatementKind::SetOff => command::SET_OFF,
        StatementKind::SetValue => command::SET_VALUE,
        StatementKind::SetRowCount => command::SET_ROWCOUNT,
        StatementKind::SetTextSize => command::SET_TEXTSIZE,
        StatementKind::SetStatisticsOn => command::SET_STATISTICS_ON,
        StatementKind::SetStatisticsOff => command::SET_STATISTICS_OFF,
        StatementKind::SetIdentityInsert => command::SET_IDENTITY_INSERT,
        StatementKind::Use => command::USE,
        StatementKind::Execute => command::EXECUTE,
        StatementKind::Condition => command::CONDITION,
        StatementKind::Goto => command::GOTO,
        StatementKind::Return => command::RETURN,
        StatementKind::BeginTry => command::BEGIN_TRY,
        StatementKind::BeginCatch => command::BEGIN_CATCH,
        StatementKind::EndBlock => command::END_BLOCK,
        StatementKind::Print => command::PRINT,
        StatementKind::RaisError => command::RAISERROR,
        StatementKind::WaitFor => command::WAITFOR,
        StatementKind::OpenCursor => command::OPEN_CURSOR,
        StatementKind::CloseCursor => command::CLOSE_CURSOR,
        StatementKind::Deallocate => command::DEALLOCATE,
        StatementKind::CreateTable => command::CREATE_TABLE,
        StatementKind::AlterTable => command::ALTER_TABLE,
        StatementKind::DropTable => command::DROP_TABLE,
        StatementKind::CreateIndex => command::CREATE_INDEX,
        StatementKind::AlterIndex => command::ALTER_INDEX,
        StatementKind::DropIndex => command::DROP_INDEX,
        StatementKind::UpdateStatistics => command::UPDATE_STATISTICS,
        StatementKind::CreateDatabase => command::CREATE_DATABASE,
        StatementKind::AlterDatabase => command::ALTER_DATABASE,
        StatementKind::DropDatabase => command::DROP_DATABASE,
        StatementKind::CreateView => command::CREATE_VIEW,
        StatementKind::DropView => command::DROP_VIEW,
        StatementKind::CreateProcedure => command::CREATE_PROCEDURE,
        StatementKind::DropProcedure => command::DROP_PROCEDURE,
        StatementKind::DropFunction => command::DROP_FUNCTION,
        StatementKind::CreateTrigger => command::CREATE_TRIGGER,
        StatementKind::DropTrigger => command::DROP_TRIGGER,
        StatementKind::DropSequence => command::DROP_SEQUENCE,
        StatementKind::DropSynonym => command::DROP_SYNONYM,
        StatementKind::Dbcc => command::DBCC,
        StatementKind::Checkpoint => command::CHECKPOINT,
        StatementKind::Reconfigure => command::RECONFIGURE,
        StatementKind::Security => command::SECURITY,
        StatementKind::Quiet | StatementKind::Other => command::BATCH,
    }
}

/// Whether a statement's end is told by nothing, unless it fails.
pub fn is_untold(statement: StatementKind) -> bool {
    matches!(statement, StatementKind::Security | StatementKind::Quiet)
}
