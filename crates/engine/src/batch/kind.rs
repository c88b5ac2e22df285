//! What a statement is for clients: the command in the token that ends it.

use syntax::ast::StmtKind;

use exec::output::StatementKind;

/// What clients take a statement for.
pub fn kind_of(stmt: &StmtKind) -> StatementKind {
    match stmt {
        StmtKind::Select(query) if query.body.first_select().into.is_some() => StatementKind::SelectInto,
        StmtKind::Select(_) => StatementKind::Select,
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
        StmtKind::SetOption(_) | StmtKind::SetVariable(_) => StatementKind::Set,
        StmtKind::Use(_) => StatementKind::Use,
        StmtKind::Execute(_) => StatementKind::Execute,
        StmtKind::CreateTable(_)
        | StmtKind::CreateIndex(_)
        | StmtKind::CreateView(_)
        | StmtKind::CreateProcedure(_)
        | StmtKind::CreateFunction(_)
        | StmtKind::CreateTrigger(_)
        | StmtKind::CreateType(_)
        | StmtKind::CreateSchema(_)
        | StmtKind::CreateStatistics(_)
        | StmtKind::CreateDatabase(_) => StatementKind::Create,
        StmtKind::AlterTable(_) | StmtKind::AlterIndex(_) | StmtKind::AlterDatabase(_) => {
            StatementKind::Alter
        }
        StmtKind::Drop(_) | StmtKind::DropIndex(_) | StmtKind::DropDatabase { .. } => StatementKind::Drop,
        _ => StatementKind::Other,
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
