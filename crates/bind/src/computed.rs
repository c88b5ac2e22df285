//! Computed columns: the columns of a table as sources offer them, those without values in the rows
//! as their expressions; the expressions of a table's computed columns over its rows; what an
//! expression of a new one is. Guarantees: nothing of the statement around is seen in an
//! expression; whoever may read a computed column needs no right to what it is computed from.

use std::sync::Arc;

use super::Binder;
use super::scope::{Clause, Scope};
use super::source::{ScopeColumn, Source};
use crate::function::CalledFunction;
use catalog::{ComputedDef, Db, ModuleDef, TableDef, fold_name};
use expr::functions::Stability;
use expr::{ColId, Expr, Pred, Typed, bind_ops};
use logical::rights::{Chain, Rights};
use logical::slots::slots;
use syntax::ast;
use types::convert::Mode;
use types::{Collation, DataType, SqlError, msg};

/// A column as an expression may name it.
#[derive(Clone, Debug)]
pub struct NamedColumn {
    pub name: compact_str::CompactString,
    pub ty: DataType,
    pub nullable: bool,
    pub collation: Collation,
    pub computed: bool,
}

/// What an expression of a computed column is.
#[derive(Clone, Debug)]
pub struct Computed {
    pub ty: DataType,
    pub nullable: bool,
    pub collation: Collation,
    /// What its value depends on besides the row.
    pub nature: Nature,
}

impl Binder<'_> {
    /// The columns of a table whose ids begin with `first`.
    ///
    /// # Errors
    /// Those of binding a computed column: what it calls may have gone.
    pub fn columns_of(
        &mut self,
        db: &Arc<Db>,
        table: &TableDef,
        first: ColId,
    ) -> Result<Vec<ScopeColumn>, SqlError> {
        let mut columns = plain_columns(table, first);
        if table.columns.iter().any(catalog::ColumnDef::is_virtual) {
            for (at, column) in columns.iter_mut().enumerate() {
                let Some(computed) = table.columns[at].computed.clone().filter(|c| !c.stored)
                else {
                    continue;
                };
                column.value = Some(Arc::new(self.computed(db, table, first, at, &computed)?));
            }
        }
        Ok(columns)
    }

    /// The stored computed columns of a table that depend on one of the changed ones (all for an
    /// INSERT), each with its value over a row of the table.
    ///
    /// # Errors
    /// Those of binding them.
    pub fn stored_computed(
        &mut self,
        db: &Arc<Db>,
        table: &TableDef,
        changed: Option<&[usize]>,
    ) -> Result<Vec<(usize, Expr)>, SqlError> {
        let mut out = Vec::new();
        for at in 0..table.columns.len() {
            let Some(computed) = table.columns[at].computed.clone().filter(|c| c.stored) else {
                continue;
            };
            let width = table.columns.len();
            let first = self.new_cols(width);
            let mut value = self.computed(db, table, first, at, &computed)?;
            let mut used = Vec::new();
            value.columns(&mut used);
            let used =
                |changed: &[usize]| changed.iter().any(|c| used.contains(&(first + *c as ColId)));
            if changed.is_none_or(used) {
                let all: Vec<ColId> = (first..first + width as ColId).collect();
                slots(&mut value, &all)?;
                out.push((at, value));
            }
        }
        Ok(out)
    }

    fn computed(
        &mut self,
        db: &Arc<Db>,
        table: &TableDef,
        first: ColId,
        at: usize,
        computed: &ComputedDef,
    ) -> Result<Expr, SqlError> {
        let source = Source {
            name: fold_name(&table.name),
            aliased: false,
            schema: Some(fold_name(&table.schema)),
            database: None,
            columns: plain_columns(table, first),
            object_id: table.object_id,
            db_id: db.id(),
        };
        let typed = self.over(db.clone(), source, &computed.expr)?;
        bind_ops::assigned(typed, table.columns[at].ty, Mode::Implicit, table.columns[at].collation)
    }

    /// Binds an expression over one source and nothing else.
    pub(super) fn over(
        &mut self,
        db: Arc<Db>,
        source: Source,
        e: &ast::Expr,
    ) -> Result<Typed, SqlError> {
        let outside = self.step_into(db, "dbo");
        let rights = std::mem::replace(&mut self.rights, Rights::new(Chain::Trusted));
        let may_inline = std::mem::replace(&mut self.may_inline, false);
        let block = Scope {
            sources: vec![source].into(),
            visible: true,
            clause: Clause::Definition,
            ..Scope::default()
        };
        self.scopes.push(block);
        let bound = self.expr(e);
        self.may_inline = may_inline;
        self.rights = rights;
        self.step_out(outside);
        bound
    }

    /// Binds the expression of a computed column that is being made.
    ///
    /// # Errors
    /// Those of binding; 1046 a subquery, 1759 another computed column.
    pub fn new_computed(
        &mut self,
        db: &Arc<Db>,
        table: &str,
        columns: &[NamedColumn],
        e: &ast::Expr,
    ) -> Result<Computed, SqlError> {
        let first = self.new_cols(columns.len());
        let offered = columns.iter().enumerate();
        let offered = offered.map(|(i, c)| {
            ScopeColumn::new(&c.name, first + i as ColId, c.ty, c.nullable, c.collation)
        });
        let source = Source {
            name: fold_name(table),
            aliased: false,
            schema: None,
            database: None,
            columns: offered.collect(),
            object_id: 0,
            db_id: 0,
        };
        let before = self.subqueries.len();
        // What a constant means must not be settled by the session that makes the column.
        self.defining = true;
        let typed = self.over(db.clone(), source, e);
        self.defining = false;
        let typed = typed?;
        if self.subqueries.len() > before {
            return Err(SqlError::of(msg::SUBQUERY_NOT_ALLOWED, []));
        }
        let mut used = Vec::new();
        typed.expr.columns(&mut used);
        if let Some(other) = used.iter().find(|id| columns[(**id - first) as usize].computed) {
            let other = &columns[(*other - first) as usize].name;
            return Err(SqlError::of(msg::COMPUTED_OF_COMPUTED, [&other, &table]));
        }
        let mut nature = Nature::default();
        nature.expr(&typed.expr);
        let ty = if typed.is_null_literal() { DataType::Int } else { typed.ty };
        Ok(Computed { ty, nullable: typed.nullable, collation: typed.collation, nature })
    }

    /// What the value of an expression of variables depends on besides them, as a variable of a
    /// type takes it.
    ///
    /// # Errors
    /// Those of binding.
    pub fn nature_of_value(
        &mut self,
        e: &ast::Expr,
        becomes: DataType,
    ) -> Result<Nature, SqlError> {
        let typed = self.over_variables(|binder| binder.expr(e))?;
        let value = bind_ops::assigned(typed, becomes, Mode::Implicit, self.collation())?;
        let mut nature = Nature { of_variables: true, ..Nature::default() };
        nature.expr(&value);
        Ok(nature)
    }

    /// The same of a condition.
    ///
    /// # Errors
    /// Those of binding.
    pub fn nature_of_condition(&mut self, e: &ast::Expr) -> Result<Nature, SqlError> {
        let condition = self.over_variables(|binder| binder.pred(e))?;
        let mut nature = Nature { of_variables: true, ..Nature::default() };
        nature.pred(&condition);
        Ok(nature)
    }

    /// Binds what stands in a definition and in no query.
    fn over_variables<T>(
        &mut self,
        bind: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let settings = (self.defining, self.may_inline);
        (self.defining, self.may_inline) = (true, false);
        self.scopes.push(Scope { clause: Clause::None, ..Scope::default() });
        let bound = bind(self);
        self.scopes.pop();
        (self.defining, self.may_inline) = settings;
        bound
    }
}

fn plain_columns(table: &TableDef, first: ColId) -> Vec<ScopeColumn> {
    let columns = table.columns.iter().enumerate();
    columns.map(|(i, c)| ScopeColumn::of_table(c, first + i as ColId)).collect()
}

/// What expressions depend on besides the rows.
#[derive(Clone, Debug, Default)]
pub struct Nature {
    /// The name of a function that may give another value each time.
    pub varies: Option<String>,
    /// Users' functions that are called: what they depend on, their texts tell.
    pub called: Vec<(Arc<Db>, Arc<ModuleDef>)>,
    /// There is a query inside.
    pub queries: bool,
    /// A method of xml is called.
    pub methods_of_xml: bool,
    /// The expressions are those of a function: they have variables and may have queries.
    of_variables: bool,
}

impl Nature {
    fn varying(&mut self, name: &str) {
        self.varies.get_or_insert_with(|| name.to_string());
    }

    fn query(&mut self) {
        self.queries = true;
        if !self.of_variables {
            self.varying("");
        }
    }

    /// Looks through an expression.
    pub fn expr(&mut self, e: &Expr) {
        match e {
            Expr::Const(_) | Expr::Col(_) | Expr::Param(_) => {}
            // @@names are functions.
            Expr::Var(_) if self.of_variables => {}
            Expr::Var(_) => self.varying(""),
            Expr::Subquery(_) => self.query(),
            Expr::Convert(c) => {
                if !types::convert::is_deterministic(c.from, c.to, c.style) {
                    self.varying("convert");
                }
                self.expr(&c.operand);
            }
            Expr::Binary(b) => {
                self.expr(&b.left);
                self.expr(&b.right);
            }
            Expr::Negate(e, _) | Expr::BitNot(e, _) => self.expr(e),
            Expr::Deep(e) => stack::with_room(|| self.expr(e)),
            Expr::Case(c) => {
                for (when, then) in &c.branches {
                    self.pred(when);
                    self.expr(then);
                }
                self.expr(&c.otherwise);
            }
            Expr::Coalesce(list) => list.iter().for_each(|e| self.expr(e)),
            Expr::Call(c) => {
                if c.function.stability != Stability::Pure {
                    self.varying(c.function.name);
                }
                self.methods_of_xml |= c.function.name.starts_with("xml ");
                c.args.iter().for_each(|e| self.expr(e));
            }
            Expr::Routine(c) => {
                match c.routine.as_any().downcast_ref::<CalledFunction>() {
                    Some(called) => self.called.push((called.db.clone(), called.module.clone())),
                    None => self.varying(""),
                }
                c.args.iter().for_each(|e| self.expr(e));
            }
        }
    }

    /// Looks through a condition.
    pub fn pred(&mut self, p: &Pred) {
        match p {
            Pred::Const(_) => {}
            Pred::Compare(c) | Pred::Distinct(c, _) => {
                self.expr(&c.left);
                self.expr(&c.right);
            }
            Pred::And(list) | Pred::Or(list) => list.iter().for_each(|p| self.pred(p)),
            Pred::Not(p) => self.pred(p),
            Pred::IsNull(e, _) => self.expr(e),
            Pred::Like(l) => {
                [&l.operand, &l.pattern].into_iter().chain(&l.escape).for_each(|e| self.expr(e))
            }
            Pred::InList(l) => l.list.iter().chain([&l.operand]).for_each(|e| self.expr(e)),
            Pred::Exists(_) | Pred::Quantified(_) => self.query(),
        }
    }
}
