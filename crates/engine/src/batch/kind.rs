//! What a statement is for clients: the command in the token that ends it.
//! As SQL Server 2025 was seen to name its statements on the wire.

use syntax::ast::{DropKind, SetOption, StmtKind};

use session::output::StatementKind;
use statements::command::{self, CommandRun};

/// What clients take a statement for.
pub fn kind_of(stmt: &StmtKind) -> StatementKind {
    match stmt {
        StmtKind::Select(query) if query.body.first_select().into.is_some() => {
            StatementKind::SelectInto
        }
        StmtKind::Select(_) | StmtKind::SetVariable(_) => StatementKind::Select,
        StmtKind::DeclareCursor(_) | StmtKind::Fetch(_) => StatementKind::Select,
        StmtKind::Insert(_) => StatementKind::Insert,
        StmtKind::Update(_) => StatementKind::Update,
        StmtKind::Delete(_) => StatementKind::Delete,
        StmtKind::Merge(_) => StatementKind::Merge,
        StmtKind::BulkInsert(_) | StmtKind::InsertBulk(_) => StatementKind::BulkInsert,
        StmtKind::Truncate(_) => StatementKind::Truncate,
        StmtKind::BeginTransaction(_) => StatementKind::BeginTransaction,
        StmtKind::Commit(_) => StatementKind::Commit,
        StmtKind::Rollback(_) => StatementKind::Rollback,
        StmtKind::SaveTransaction(_) => StatementKind::SaveTransaction,
        StmtKind::SetOption(option) => kind_of_set(option),
        StmtKind::Use(_) => StatementKind::Use,
        StmtKind::Execute(_) => StatementKind::Execute,
        StmtKind::Print(_) => StatementKind::Print,
        StmtKind::RaisError(_) => StatementKind::RaisError,
        StmtKind::WaitFor(_) => StatementKind::WaitFor,
        StmtKind::OpenCursor(_) => StatementKind::OpenCursor,
        StmtKind::CloseCursor(_) => StatementKind::CloseCursor,
        StmtKind::Deallocate(_) => StatementKind::Deallocate,
        StmtKind::Dbcc(_) => StatementKind::Dbcc,
        StmtKind::Command(what) => command::of(what).map_or(StatementKind::Other, CommandRun::kind),
        _ => kind_of_definition(stmt),
    }
}

fn kind_of_set(option: &SetOption) -> StatementKind {
    match option {
        // The parser's own: they are done before anything runs.
        SetOption::Switch { names, .. }
            if names
                .iter()
                .all(|name| matches!(name.as_str(), "QUOTED_IDENTIFIER" | "PARSEONLY")) =>
        {
            StatementKind::Quiet
        }
        SetOption::Switch { on: true, .. } => StatementKind::SetOn,
        SetOption::Switch { .. } => StatementKind::SetOff,
        SetOption::Statistics { on: true, .. } => StatementKind::SetStatisticsOn,
        SetOption::Statistics { .. } => StatementKind::SetStatisticsOff,
        SetOption::IdentityInsert { .. } => StatementKind::SetIdentityInsert,
        SetOption::Value { name, .. } if name == "ROWCOUNT" => StatementKind::SetRowCount,
        SetOption::Value { name, .. } if name == "TEXTSIZE" => StatementKind::SetTextSize,
        SetOption::Value { .. } | SetOption::IsolationLevel(_) => StatementKind::SetValue,
    }
}

/// Statements about definitions.
fn kind_of_definition(stmt: &StmtKind) -> StatementKind {
    match stmt {
        StmtKind::CreateTable(_) => StatementKind::CreateTable,
        StmtKind::AlterTable(_) => StatementKind::AlterTable,
        StmtKind::CreateIndex(_) | StmtKind::CreateStatistics(_) => StatementKind::CreateIndex,
        StmtKind::AlterIndex(_) => StatementKind::AlterIndex,
        StmtKind::DropIndex(_) => StatementKind::DropIndex,
        StmtKind::UpdateStatistics(_) => StatementKind::UpdateStatistics,
        StmtKind::CreateView(_) => StatementKind::CreateView,
        StmtKind::CreateProcedure(_) | StmtKind::CreateFunction(_) => {
            StatementKind::CreateProcedure
        }
        StmtKind::CreateTrigger(_) => StatementKind::CreateTrigger,
        StmtKind::CreateDatabase(_) => StatementKind::CreateDatabase,
        StmtKind::AlterDatabase(_) => StatementKind::AlterDatabase,
        StmtKind::DropDatabase { .. } => StatementKind::DropDatabase,
        StmtKind::Drop(drop) => kind_of_drop(drop.kind),
        StmtKind::CreatePrincipal(_)
        | StmtKind::AlterPrincipal(_)
        | StmtKind::Permission(_)
        | StmtKind::AlterAuthorization(_)
        | StmtKind::TransferSchema { .. }
        | StmtKind::CreateSynonym { .. } => StatementKind::Security,
        StmtKind::CreateSchema(_)
        | StmtKind::CreateType(_)
        | StmtKind::CreateSequence(_)
        | StmtKind::AlterSequence(_)
        | StmtKind::SwitchTrigger(_)
        | StmtKind::ExecuteAs { .. }
        | StmtKind::Revert { .. }
        | StmtKind::Throw(_)
        | StmtKind::Declare(_) => StatementKind::Quiet,
        _ => StatementKind::Other,
    }
}

fn kind_of_drop(kind: DropKind) -> StatementKind {
    match kind {
        DropKind::Table => StatementKind::DropTable,
        DropKind::View => StatementKind::DropView,
        DropKind::Procedure => StatementKind::DropProcedure,
        DropKind::Function => StatementKind::DropFunction,
        DropKind::Trigger => StatementKind::DropTrigger,
        DropKind::Statistics => StatementKind::DropIndex,
        DropKind::Sequence => StatementKind::DropSequence,
        DropKind::Synonym => StatementKind::DropSynonym,
        DropKind::Type => StatementKind::Quiet,
        _ => StatementKind::Security,
    }
}

/// INSERT, UPDATE, DELETE, MERGE, SELECT INTO, BULK INSERT.
pub(super) fn is_dml(kind: &StmtKind) -> bool {
    match kind {
        StmtKind::Insert(_)
        | StmtKind::Update(_)
        | StmtKind::Delete(_)
        | StmtKind::Merge(_)
        | StmtKind::BulkInsert(_) => true,
        StmtKind::Select(query) => query.body.first_select().into.is_some(),
        _ => false,
    }
}
