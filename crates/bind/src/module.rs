//! Views in FROM: a view's query is bound where it is named, with the names of the database that
//! the view is in. Also the tables `inserted` and `deleted` of a trigger. Guarantees: what stands
//! around a mention of a view is not seen inside it; a view that contains itself is an error.

use crate::Binder;
use crate::module_schema::looked_up_first;
use crate::period;
use crate::source::{ScopeColumn, Source};
use crate::updatable::Origin;
use crate::view_names::{call_columns, view_names};
use catalog::security::Permission;
use catalog::{Db, ModuleDef, TableDef, fold_name};
use compact_str::CompactString;
use logical::rights::Chain;
use logical::tree::{Logical, OutColumn, WorkScan, WorkSource};
use std::sync::Arc;
use syntax::ast;
use types::{Collation, DataType, SqlError, msg};

/// Deepest nesting of views.
const MAX_VIEWS: usize = 32;
/// Rows that a statement is expected to change.
pub const CHANGED_ROWS: f64 = 10.0;
/// The hidden column that pairs a row of `deleted` with its row of `inserted`.
pub const ROW_NUMBER: &str = "$row";
/// `deleted` and `inserted` in the place of their table, in a statement of the engine: they go by
/// the table's own name, schema and database, as in `dbo.t.c`.
pub const DELETED_IN_PLACE: &str = "$deleted";
pub const INSERTED_IN_PLACE: &str = "$inserted";

/// The rows that a statement changes, which `inserted` and `deleted` name.
#[derive(Clone, Debug)]
pub struct ChangedTable {
    pub table: Arc<TableDef>,
    /// The statement deletes rows or their old state.
    pub deleted: bool,
    pub inserted: bool,
    /// In the body of a trigger that stands in the place of this event, which does not stand in its
    /// own place.
    pub instead_of: Option<&'static str>,
    /// How many rows are expected.
    pub rows: f64,
}

impl Binder<'_> {
    /// Binds a view as a source of the current block.
    pub(super) fn user_view(
        &mut self,
        db: Arc<Db>,
        view: &Arc<ModuleDef>,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
    ) -> Result<Logical, SqlError> {
        let named = (view.schema.as_str(), view.name.as_str());
        self.rights.need_object(&db, named, view.object_id, Permission::Select, &[]);
        let known = self.query_sources.len();
        let (logical, columns) = self.view_query(&db, view)?;
        let shown = alias.map_or(name.name.value.as_str(), |a| a.value.as_str());
        self.note_query(shown, Origin::View(db.clone(), view.clone()), known, &logical, &columns);
        let source = Source {
            name: fold_name(shown),
            aliased: alias.is_some(),
            schema: Some(fold_name(&view.schema)),
            database: Some(fold_name(&db.name())),
            columns: columns.iter().map(ScopeColumn::of_query).collect(),
            object_id: 0,
            db_id: 0,
        };
        let rows = self.let_through((&db, view), &source, logical)?;
        self.scope()?.sources.push(source);
        Ok(rows)
    }

    /// The query of a view, with the columns as the view names them.
    ///
    /// # Errors
    /// 217 views nested too deeply; 4413-like: the errors of its query.
    pub fn view_query(
        &mut self,
        db: &Arc<Db>,
        view: &Arc<ModuleDef>,
    ) -> Result<(Logical, Vec<OutColumn>), SqlError> {
        let Some(create) = view.view() else {
            return Err(SqlError::internal("a module is no view"));
        };
        let member = self.standing_for(db, view);
        let query = member.as_ref().map_or(&create.query, |(query, _)| &**query);
        self.enter_view()?;
        let outside = self.step_into(db.clone(), &view.schema);
        let chain = self.rights.chain;
        if chain != Chain::Trusted {
            let schema = self.catalog.schemas.get(&fold_name(&view.schema)).copied().unwrap_or(0);
            self.rights.chain =
                Chain::Owner(db.id(), db.security().object_owner(view.object_id, schema));
        }
        let bound = self.nested(|b| b.inner_query(query));
        self.step_out(outside);
        self.rights.chain = chain;
        self.leave_view();
        let mut columns = bound?.0;
        let names = match &member {
            // The first SELECT names the columns.
            Some((_, names)) => names.to_vec(),
            None => view_names(view, &create.columns, &columns.columns)?,
        };
        call_columns(&mut columns.columns, names);
        if !self.modules.iter().any(|(_, used)| Arc::ptr_eq(used, view)) {
            self.modules.push((db.clone(), view.clone()));
        }
        Ok((columns.logical, columns.columns))
    }

    /// Another module's text begins inside.
    ///
    /// Errors: 217 modules nested too deeply.
    pub(super) fn enter_view(&mut self) -> Result<(), SqlError> {
        if self.view_depth >= MAX_VIEWS {
            return Err(SqlError::of(msg::NESTING_LEVEL, [&MAX_VIEWS]));
        }
        self.view_depth += 1;
        Ok(())
    }

    pub(super) fn leave_view(&mut self) {
        self.view_depth -= 1;
    }

    /// Hides everything that a module's text cannot name; `schema` is the module's.
    pub(super) fn step_into(&mut self, db: Arc<Db>, schema: &str) -> Outside {
        let catalog =
            if db.id() == self.env.db.id() { self.env.catalog.clone() } else { db.catalog() };
        Outside {
            scopes: std::mem::take(&mut self.scopes),
            ctes: std::mem::take(&mut self.ctes),
            open_ctes: std::mem::take(&mut self.open_ctes),
            changes: self.changes.take(),
            inline: self.inline.take(),
            db: std::mem::replace(&mut self.db, db),
            catalog: std::mem::replace(&mut self.catalog, catalog),
            schema: std::mem::replace(&mut self.schema, looked_up_first(schema)),
        }
    }

    pub(super) fn step_out(&mut self, outside: Outside) {
        self.scopes = outside.scopes;
        self.ctes = outside.ctes;
        self.open_ctes = outside.open_ctes;
        self.changes = outside.changes;
        self.inline = outside.inline;
        self.db = outside.db;
        self.catalog = outside.catalog;
        self.schema = outside.schema;
    }

    /// `inserted` or `deleted` of the trigger that is being bound, if a name means one.
    pub(super) fn changed_rows(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
    ) -> Result<Option<Logical>, SqlError> {
        let Some(changes) = self.changes.clone().filter(|_| name.is_bare()) else {
            return Ok(None);
        };
        let trusted = self.rights.chain == Chain::Trusted;
        let (source, in_place) = match fold_name(&name.name.value).as_str() {
            "inserted" => (WorkSource::Inserted, false),
            "deleted" => (WorkSource::Deleted, false),
            INSERTED_IN_PLACE if trusted => (WorkSource::Inserted, true),
            DELETED_IN_PLACE if trusted => (WorkSource::Deleted, true),
            _ => return Ok(None),
        };
        let there = if source == WorkSource::Inserted { changes.inserted } else { changes.deleted };
        let width = changes.table.columns.len() + 1;
        let first = self.new_cols(width);
        let db = self.db.clone();
        self.note_masks(&db, &changes.table, first);
        let mut columns = self.columns_of(&db, &changes.table, first)?;
        let mut number = ScopeColumn::new(
            ROW_NUMBER,
            first + width as u32 - 1,
            DataType::BigInt,
            false,
            Collation::DEFAULT,
        );
        number.hidden = true;
        columns.push(number);
        columns.extend(self.time_column(&changes.table)?);
        let table = &changes.table;
        let own = if in_place { table.name.as_str() } else { name.name.value.as_str() };
        let source_of = Source {
            name: fold_name(alias.map_or(own, |a| a.value.as_str())),
            aliased: alias.is_some(),
            schema: in_place.then(|| fold_name(&table.schema)),
            database: in_place.then(|| fold_name(&db.name())),
            columns,
            object_id: 0,
            db_id: 0,
        };
        self.scope()?.sources.push(source_of);
        let rows = if there { changes.rows } else { 0.0 };
        Ok(Some(Logical::Work(WorkScan { source, first, width, rows })))
    }
}

impl Binder<'_> {
    /// The hidden column with the transaction's time, of a table that has a period.
    fn time_column(&mut self, table: &TableDef) -> Result<Option<ScopeColumn>, SqlError> {
        let Some((_, end)) = table.period() else { return Ok(None) };
        let ty = table.columns[end].ty;
        let mut column =
            ScopeColumn::new(period::TIME, self.new_col(), ty, false, Collation::DEFAULT);
        column.hidden = true;
        let function = self.env.names.function(period::TRANSACTION_TIME);
        column.value = Some(Arc::new(period::transaction_time(function, ty)?));
        Ok(Some(column))
    }

    /// UPDATE(column) in a trigger.
    ///
    /// # Errors
    /// 140 outside a trigger, 207 no such column.
    pub(super) fn column_updated(&mut self, column: &ast::Ident) -> Result<expr::Pred, SqlError> {
        let Some(changes) = &self.changes else {
            return Err(SqlError::of(msg::IF_UPDATE_OUTSIDE_TRIGGER, []));
        };
        let Some(at) = changes.table.column(&column.value) else {
            return Err(SqlError::of(msg::INVALID_COLUMN, [&column.value]));
        };
        let span = column.span;
        let number = |n: usize| {
            let kind = ast::ExprKind::Literal(ast::Literal::Integer(n as _));
            Box::new(ast::Expr { kind, span })
        };
        let name = ast::Ident { value: "column_updated".into(), quoted: false, span };
        let call = ast::FunctionCall {
            name: ast::ObjectName { server: None, database: None, schema: None, name },
            args: vec![*number(at)],
            distinct: false,
            star: false,
            niladic: false,
            odbc: false,
            ignore_nulls: false,
            within_group: Vec::new(),
            over: None,
            prolog: Default::default(),
        };
        let left = Box::new(ast::Expr { kind: ast::ExprKind::Function(Box::new(call)), span });
        let kind = ast::ExprKind::Compare { op: ast::CompareOp::Equal, left, right: number(1) };
        self.pred(&ast::Expr { kind, span })
    }
}

/// What a mention of a view hides.
pub(super) struct Outside {
    pub(super) scopes: Vec<crate::scope::Scope>,
    ctes: Vec<Arc<logical::tree::CteDef>>,
    open_ctes: Vec<CompactString>,
    changes: Option<ChangedTable>,
    inline: Option<crate::function::InlineCall>,
    db: Arc<Db>,
    catalog: Arc<catalog::Catalog>,
    schema: Option<CompactString>,
}

/// Whether a view tests what is changed through it: WITH CHECK OPTION.
pub fn checks_changes(view: &ModuleDef) -> bool {
    view.view().is_some_and(|create| create.check_option)
}
