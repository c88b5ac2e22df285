//! OUTPUT: expressions over the row before and after the change, sent to the client row by row.

use crate::exec::context::RowSink;
use crate::exec::rt::Rt;
use crate::output::ColumnInfo;
use catalog::security::Permission;
use catalog::{Db, TableDef};
use expr::{ColId, Expr};
use plan::bind::scope::{Clause, Scope, ScopeColumn, Source};
use plan::bind::{Binder, unsupported};
use plan::physical::slots;
use std::sync::Arc;
use syntax::ast::{self, SelectItem};
use types::{SqlError, Value};

/// A compiled OUTPUT clause; slots: the columns of `deleted`, then those of `inserted`.
#[derive(Debug)]
pub struct OutputPlan {
    pub columns: Vec<ColumnInfo>,
    exprs: Vec<Expr>,
}

/// Which of the two pseudo tables a statement has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Images {
    Inserted,
    Deleted,
    Both,
}

/// Compiles OUTPUT; `None` without one.
pub fn compile(
    binder: &mut Binder<'_>,
    (db, table): (&Arc<Db>, &TableDef),
    output: &[ast::Output],
    images: Images,
) -> Result<Option<OutputPlan>, SqlError> {
    let output = match output {
        [] => return Ok(None),
        [one] if one.into.is_none() => one,
        _ => return Err(unsupported("OUTPUT ... INTO")),
    };
    let width = table.columns.len();
    let first = binder.new_cols(2 * width);
    let cols: Vec<ColId> = (first..first + 2 * width as ColId).collect();
    let image = |name: &str, first: ColId| Source {
        name: name.into(),
        aliased: true,
        schema: None,
        database: None,
        columns: table
            .columns
            .iter()
            .enumerate()
            .map(|(i, c)| ScopeColumn::new(&c.name, first + i as ColId, c.ty, c.nullable, c.collation))
            .collect(),
        object_id: 0,
        db_id: 0,
    };
    let mut scope = Scope { visible: true, clause: Clause::Where, ..Scope::default() };
    if images != Images::Inserted {
        scope.sources.push(image("deleted", first));
    }
    if images != Images::Deleted {
        scope.sources.push(image("inserted", first + width as ColId));
    }
    binder.scopes.push(scope);
    let bound = items(binder, output);
    binder.scopes.pop();
    let (columns, mut exprs) = bound?;
    let mut shown: Vec<ColId> = Vec::new();
    exprs.iter().for_each(|e| e.columns(&mut shown));
    let mut shown: Vec<usize> = shown.iter().map(|id| (id - first) as usize % width.max(1)).collect();
    shown.sort_unstable();
    shown.dedup();
    if !shown.is_empty() {
        binder.rights.need_table(db, table, Permission::Select, &shown);
    }
    for e in &mut exprs {
        slots(e, &cols)?;
    }
    Ok(Some(OutputPlan { columns, exprs }))
}

fn items(binder: &mut Binder<'_>, output: &ast::Output) -> Result<(Vec<ColumnInfo>, Vec<Expr>), SqlError> {
    let (mut columns, mut exprs) = (Vec::new(), Vec::new());
    for item in &output.items {
        match item {
            SelectItem::Wildcard { qualifier: Some(qualifier), .. } => {
                let scope = binder.scope()?;
                let Some(source) = scope.sources.iter().find(|s| s.is_named(qualifier)) else {
                    let text = format!(
                        "The column prefix '{qualifier}' does not match with a table name or alias name used in the \
                         query."
                    );
                    return Err(SqlError::new(107, 15, 1, text));
                };
                for c in &source.columns {
                    let collation = c.collation;
                    columns
                        .push(ColumnInfo { collation, ..ColumnInfo::new(c.name.clone(), c.ty, c.nullable) });
                    exprs.push(Expr::Col(c.id));
                }
            }
            SelectItem::Expr { expr, alias } => {
                let typed = binder.expr(expr)?;
                let name = match (alias, &expr.kind) {
                    (Some(alias), _) => alias.value.clone(),
                    (None, ast::ExprKind::Column(c)) => c.name.value.clone(),
                    _ => "".into(),
                };
                let collation = typed.collation;
                columns.push(ColumnInfo { collation, ..ColumnInfo::new(name, typed.ty, typed.nullable) });
                exprs.push(typed.expr);
            }
            _ => return Err(SqlError::new(102, 15, 1, "Incorrect syntax near '*'.")),
        }
    }
    Ok((columns, exprs))
}

impl OutputPlan {
    /// Sends the row of one change. An image that the statement does not have is empty.
    pub fn send(
        &self,
        deleted: &[Value],
        inserted: &[Value],
        rt: &mut Rt<'_, '_>,
        out: &mut dyn RowSink,
    ) -> Result<(), SqlError> {
        rt.session().acknowledge_reads()?;
        let width = deleted.len().max(inserted.len());
        let mut row = Vec::with_capacity(2 * width);
        row.extend_from_slice(deleted);
        row.resize(width, Value::Null);
        row.extend_from_slice(inserted);
        row.resize(2 * width, Value::Null);
        let values: Result<Vec<Value>, SqlError> = self.exprs.iter().map(|e| e.eval(&row, rt)).collect();
        out.row(&values?)
    }
}
