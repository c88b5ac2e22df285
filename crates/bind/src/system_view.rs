//! System views as sources: those whose rows the engine makes, and those that are queries over
//! other system views. Guarantee: a view has the columns and types that it declares, whatever its
//! query gives; whoever may see the view needs no further right for what its query reads, and sees
//! of it the rows that it may see there.

use super::Binder;
use super::source::{ScopeColumn, Source};
use catalog::security::Securable;
use catalog::{Db, fold_name};
use expr::{ColId, Expr, bind_ops};
use logical::rights::{Chain, ViewRight};
use logical::tree::input::Input;
use logical::tree::{Logical, OutColumn, ViewScan};
use logical::view::ViewDef;
use std::sync::Arc;
use syntax::ast;
use types::SqlError;

impl Binder<'_> {
    /// A system view or table function as the next source of the current block.
    pub(super) fn system_view(
        &mut self,
        db: Arc<Db>,
        view: &'static dyn ViewDef,
        args: Vec<Expr>,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
    ) -> Result<Logical, SqlError> {
        self.rights.need(&db, Securable::DATABASE, catalog::security::Permission::Connect);
        match view.right() {
            ViewRight::Public => {}
            ViewRight::Database(permission) => {
                self.rights.need(&db, Securable::DATABASE, permission)
            }
            ViewRight::Server(permission) => self.rights.need(&db, Securable::SERVER, permission),
        }
        let (logical, ids) = match view.query()? {
            Some(query) => self.defined_view(db, view, query)?,
            None => {
                let first = self.new_cols(view.columns().len());
                let ids = (first..).take(view.columns().len()).collect();
                (Logical::View(Box::new(ViewScan { db, view, args, first })), ids)
            }
        };
        let own = self.collation();
        let columns =
            view.columns().iter().zip(ids).enumerate().map(|(i, ((name, ty, nullable), id))| {
                ScopeColumn::new(name, id, *ty, *nullable, collation_in(view, i, own))
            });
        let source = Source {
            name: alias.map_or_else(|| fold_name(view.name()), |a| fold_name(&a.value)),
            aliased: alias.is_some(),
            schema: Some(fold_name(view.schema())),
            database: name.database.as_ref().map(|d| fold_name(&d.value)),
            columns: columns.collect(),
            object_id: 0,
            db_id: 0,
        };
        self.scope()?.sources.push(source);
        Ok(logical)
    }

    /// The query of a system view, its columns in the types that the view declares; a value that
    /// its type cannot hold is NULL.
    fn defined_view(
        &mut self,
        db: Arc<Db>,
        view: &'static dyn ViewDef,
        query: &ast::Query,
    ) -> Result<(Logical, Vec<ColId>), SqlError> {
        self.enter_view()?;
        let outside = self.step_into(db, "sys");
        let chain = std::mem::replace(&mut self.rights.chain, Chain::Trusted);
        let bound = self.nested(|b| b.inner_query(query));
        self.rights.chain = chain;
        self.step_out(outside);
        self.leave_view();
        let bound = bound?.0;
        if bound.columns.len() != view.columns().len() {
            return Err(SqlError::internal(
                "a system view's query has other columns than the view",
            ));
        }
        let (mut ids, mut exprs) = (Vec::with_capacity(bound.columns.len()), Vec::new());
        for (at, (column, (_, ty, _))) in bound.columns.iter().zip(view.columns()).enumerate() {
            if is_as_declared(column, *ty, collation_in(view, at, column.collation)) {
                ids.push(column.id);
                continue;
            }
            let id = self.new_cols(1);
            let converted = match column.untyped {
                true => Expr::Const(types::Value::Null),
                false => bind_ops::explicit(column.typed(), *ty, 0, true)?.expr,
            };
            exprs.push((id, converted));
            ids.push(id);
        }
        let logical = match exprs.is_empty() {
            true => bound.logical,
            false => Logical::Project { input: Input::new(bound.logical), exprs },
        };
        Ok((logical, ids))
    }
}

/// The collation of a view's column: names and words are compared as the database's own texts are.
fn collation_in(view: &dyn ViewDef, column: usize, own: types::Collation) -> types::Collation {
    match view.collation(column) {
        types::Collation::DEFAULT => own,
        special => special,
    }
}

fn is_as_declared(column: &OutColumn, ty: types::DataType, collation: types::Collation) -> bool {
    column.ty == ty && !column.untyped && (!ty.is_string() || column.collation == collation)
}
