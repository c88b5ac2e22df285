//! Users' functions: calls of scalar functions in expressions, table functions in FROM. The query
//! of an inline function, and the expressions of a simple scalar one, are bound where the function
//! is called; the others are called when the statement runs. Guarantees: what stands around a call
//! is not seen inside; an argument of a scalar function that is not cheap is computed once for a
//! call, whatever the text of the function does with its parameter.

use stack::Nested;
use std::any::Any;
use std::sync::Arc;

use super::Binder;
use super::combine::case_of;
use super::scope::Clause;
use super::source::{ScopeColumn, Source};
use super::type_names::{data_type, type_of};
use super::view_names::{call_columns, view_names};
use catalog::other::OtherObject;
use catalog::security::Permission;
use catalog::{Db, ModuleDef, ModuleKind, fold_name};
use compact_str::CompactString;
use expr::{Expr, Routine, RoutineCall, Typed, bind_ops};
use logical::rights::Chain;
use logical::tree::input::Input;
use logical::tree::{Logical, RoutineScan};
use syntax::ast::{
    self, ConstraintKind, Declaration, FunctionBody, SetValue, Stmt, StmtKind, TableElement,
};
use types::convert::Mode;
use types::{DataType, SqlError, Value, msg};

/// Deepest nesting of scalar functions that are bound in place.
const MAX_INLINE: usize = 8;
/// Most statements of a function that is bound in place.
const MOST_STATEMENTS: usize = 100;
/// Values of variables, one made of another, that may be walked without asking for room on the
/// stack.
const MOST_VALUES: usize = 4;
/// Rows that a function is expected to fill its table with.
const FUNCTION_ROWS: f64 = 100.0;

/// A function that is called when the statement runs.
#[derive(Debug)]
pub struct CalledFunction {
    pub db: Arc<Db>,
    pub module: Arc<ModuleDef>,
}

impl Routine for CalledFunction {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A function whose text is being bound in place.
#[derive(Debug)]
pub struct InlineCall {
    /// Its variables; one that is set again is there again, later.
    variables: Vec<InlineVariable>,
    /// The block in which it is called; none for one that stands in FROM, whose arguments are no
    /// columns of its block.
    block: Option<usize>,
    /// It asks for something that is another in the scope of a call ([`OF_SCOPE`]).
    asks_scope: bool,
}

/// Functions whose value belongs to the scope that asks: a function is a scope of its own.
const OF_SCOPE: [&str; 6] =
    ["scope_identity", "@@procid", "@@nestlevel", "@@rowcount", "rowcount_big", "@@error"];

#[derive(Debug)]
struct InlineVariable {
    name: CompactString,
    value: Typed,
    uses: usize,
}

impl InlineCall {
    /// Whether the innermost of so many blocks is the one around the call.
    pub(super) fn is_beside(&self, blocks: usize) -> bool {
        self.block.is_some_and(|block| block + 1 == blocks)
    }

    /// Whether it has to be called after all: some value would be computed more often than it is
    /// written, or another than in a scope of its own.
    fn must_be_called(&self) -> bool {
        self.asks_scope || self.variables.iter().any(|v| v.uses > 1 && !is_cheap(&v.value.expr))
    }
}

fn is_cheap(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => true,
        Expr::Convert(c) => is_cheap(&c.operand),
        _ => false,
    }
}

impl Binder<'_> {
    /// `@name`: a variable of the batch, or of the function that is bound in place.
    pub(super) fn variable(&mut self, name: &str) -> Result<Typed, SqlError> {
        let Some(call) = &mut self.inline else {
            let (slot, ty) = self.env.vars.find(name)?;
            let value = self.env.values.get(slot).filter(|_| self.folds);
            let expr = value.map_or(Expr::Var(slot), |value| Expr::Const(value.clone()));
            return Ok(Typed::new(expr, ty, true).of_fixed_type());
        };
        let folded = fold_name(name);
        let Some(variable) = call.variables.iter_mut().rev().find(|v| v.name == folded) else {
            return Err(SqlError::of(msg::UNDECLARED_VARIABLE, [&name]));
        };
        let (value, block) = (variable.value.clone(), call.block);
        // In a block of its own it is computed for each row of it.
        let below = block.is_some_and(|block| block + 1 < self.scopes.len());
        variable.uses += if below { 2 } else { 1 };
        if block.is_some() && variable.uses > 1 && !is_cheap(&value.expr) {
            // It will be a call ([`InlineCall::must_be_called`]): no value is copied for what is
            // thrown away.
            return Ok(Typed { expr: Expr::Var(usize::MAX), ..value });
        }
        self.count_copy(&value)?;
        let mut varies = false;
        value.expr.leaves(&mut |leaf| varies |= matches!(leaf, Expr::Param(_)));
        if varies || value.expr.has_subquery() {
            // What is inside is another for another row of a block around the function.
            let first = block.map_or(0, |block| block + 1);
            self.scopes.iter_mut().skip(first).for_each(|scope| scope.correlated = true);
        }
        Ok(match block.filter(|_| below) {
            Some(block) => self.carried(block, value),
            None => value,
        })
    }

    /// The function of a name of at least two parts, or in FROM of one.
    fn find_function(&self, name: &ast::ObjectName) -> Option<(Arc<Db>, Arc<ModuleDef>)> {
        self.function_through(name, true)
    }

    /// Through a synonym, or where that has led.
    fn function_through(
        &self,
        name: &ast::ObjectName,
        synonyms: bool,
    ) -> Option<(Arc<Db>, Arc<ModuleDef>)> {
        let db = match &name.database {
            _ if name.server.is_some() => return None,
            Some(db) => self.env.names.database(&db.value).ok()?,
            None => self.db.clone(),
        };
        let catalog = if db.id() == self.db.id() { self.catalog.clone() } else { db.catalog() };
        let schema = self.schema_of(&catalog, name);
        if let (Some(OtherObject::Synonym(synonym)), true) =
            (catalog.find_other(schema, &name.name.value), synonyms)
        {
            return self.function_through(&super::synonym::base_of(&db, synonym), false);
        }
        let module = catalog.find_module(schema, &name.name.value).cloned()?;
        module.kind.is_function().then_some((db, module))
    }

    /// The call of a function with a schema in an expression.
    pub(super) fn user_function(&mut self, call: &ast::FunctionCall) -> Result<Typed, SqlError> {
        let found =
            self.find_function(&call.name).filter(|(_, m)| m.kind == ModuleKind::ScalarFunction);
        let Some((db, module)) = found else {
            let schema = call.name.schema.as_ref().map_or("", |s| s.value.as_str());
            return Err(SqlError::of(msg::FUNCTION_OR_COLUMN_NOT_FOUND, [&schema, &call.name]));
        };
        if call.star || call.distinct || call.over.is_some() {
            let near = if call.star {
                "*"
            } else if call.distinct {
                "distinct"
            } else {
                "over"
            };
            return Err(catalog::errors::syntax_near(near));
        }
        let args = self.function_arguments(&db, &module, &call.name, &call.args)?;
        let Some(FunctionBody::Scalar { returns, body }) = module.function().map(|f| &f.body)
        else {
            return Err(SqlError::internal("a module is no scalar function"));
        };
        let ty = data_type(returns, &db.catalog())?;
        self.uses_function(&db, &module, Permission::Execute);
        if let Some(typed) = self.inlined(&db, &module, &args, body, ty)? {
            return Ok(typed);
        }
        let strict = module.is_strict();
        let routine = Arc::new(CalledFunction { db: db.clone(), module });
        let args = args.into_iter().map(|(_, typed)| typed.expr).collect();
        let typed =
            Typed::new(Expr::Routine(Box::new(RoutineCall { routine, args, strict })), ty, true);
        Ok(typed.of_collation(db.default_collation()))
    }

    /// The statement locks the function and needs the right to it.
    fn uses_function(&mut self, db: &Arc<Db>, module: &Arc<ModuleDef>, permission: Permission) {
        let named = (module.schema.as_str(), module.name.as_str());
        self.rights.need_object(db, named, module.object_id, permission, &[]);
        if !self.modules.iter().any(|(_, used)| Arc::ptr_eq(used, module)) {
            self.modules.push((db.clone(), module.clone()));
        }
    }

    /// The arguments with the types of the parameters, and their names.
    ///
    /// Errors: 313 too few, 8144 too many, 201 DEFAULT where there is none.
    fn function_arguments(
        &mut self,
        db: &Arc<Db>,
        module: &ModuleDef,
        name: &ast::ObjectName,
        args: &[ast::Expr],
    ) -> Result<Vec<(CompactString, Typed)>, SqlError> {
        let params = module.function().map_or(&[][..], |function| &function.params);
        if args.len() < params.len() {
            return Err(SqlError::of(msg::TOO_FEW_ARGUMENTS, [&name]));
        }
        if args.len() > params.len() {
            return Err(SqlError::of(msg::TOO_MANY_ARGUMENTS, [&name]).state(3));
        }
        let catalog = db.catalog();
        let mut bound = Vec::with_capacity(args.len());
        for (param, arg) in params.iter().zip(args) {
            if super::type_names::table_type(&param.data_type, &catalog).is_some() {
                return Err(super::unsupported("A table as an argument of a function"));
            }
            let ty = data_type(&param.data_type, &catalog)?;
            let typed = match (&arg.kind, &param.default) {
                (
                    ast::ExprKind::Default,
                    Some(ast::Expr { kind: ast::ExprKind::GlobalVariable(said), .. }),
                ) => self.global(said)?,
                (ast::ExprKind::Default, Some(default)) => {
                    let value = super::literal::literal(default)?;
                    Typed::new(Expr::Const(value.clone()), value.natural_type(), true)
                }
                (ast::ExprKind::Default, None) => {
                    return Err(SqlError::of(
                        msg::PARAMETER_NOT_SUPPLIED,
                        [&module.name, &param.name],
                    ));
                }
                _ => {
                    self.deduce(arg, super::deduce::Wanted::Becomes(ty))?;
                    self.expr(arg)?
                }
            };
            let expr = bind_ops::folded(Typed::new(
                bind_ops::assigned(typed, ty, Mode::Implicit, self.collation())?,
                ty,
                true,
            ));
            bound.push((fold_name(&param.name), expr.of_fixed_type()));
        }
        Ok(bound)
    }

    /// The value of a scalar function as an expression, if it can be one.
    fn inlined(
        &mut self,
        db: &Arc<Db>,
        module: &Arc<ModuleDef>,
        args: &[(CompactString, Typed)],
        body: &[Stmt],
        ty: DataType,
    ) -> Result<Option<Typed>, SqlError> {
        let possible = self.may_inline
            && !self.trial
            && self.open_functions.len() < MAX_INLINE
            && !self.open_functions.contains(&(db.id(), module.object_id))
            && !self.scopes.is_empty()
            && !matches!(self.clause(), Clause::GroupBy | Clause::Aggregate)
            && module.settings.ansi_nulls == self.env.options.ansi_nulls
            && !module.is_strict()
            && module.execute_as().is_none_or(|who| *who == ast::ExecuteAs::Caller)
            && !module.is_never_inline()
            && statements(body) <= MOST_STATEMENTS
            && is_simple(body);
        if !possible {
            return Ok(None);
        }
        self.count_node()?;
        let mut call = inline_call(args);
        call.block = Some(self.scopes.len() - 1);
        self.open_functions.push((db.id(), module.object_id));
        let bound = self.inside(db, module, call, true, |binder| binder.value_of(body, ty));
        self.open_functions.pop();
        let (value, call) = bound?;
        if call.must_be_called() {
            return Ok(None);
        }
        let value = Typed::new(value.expr, ty, true).of_fixed_type();
        Ok(Some(value.of_collation(db.default_collation())))
    }

    /// The value that statements give: see [`is_simple`].
    fn value_of(&mut self, body: &[Stmt], ty: DataType) -> Result<Typed, SqlError> {
        self.deeper(|b| b.value_of_first(body, ty))
    }

    fn value_of_first(&mut self, body: &[Stmt], ty: DataType) -> Result<Typed, SqlError> {
        let Some((first, rest)) = body.split_first() else {
            return Err(SqlError::internal("a simple function has no value"));
        };
        match &first.kind {
            StmtKind::Return(Some(e)) => {
                let typed = self.expr(e)?;
                let expr = bind_ops::assigned(typed, ty, Mode::Implicit, self.collation())?;
                Ok(bind_ops::folded(Typed::new(expr, ty, true)).of_fixed_type())
            }
            StmtKind::Block(inner) => {
                let whole: Vec<Stmt> = inner.iter().chain(rest).cloned().collect();
                self.value_of(&whole, ty)
            }
            StmtKind::If { condition, then, otherwise } => {
                let condition = self.pred(condition)?;
                let known = self.inline.as_ref().map_or(0, |call| call.variables.len());
                let then = self.value_of(std::slice::from_ref(then), ty)?;
                self.forget_variables(known);
                let rest: Vec<Stmt> =
                    otherwise.iter().map(|s| Stmt::clone(s)).chain(rest.to_vec()).collect();
                let otherwise = self.value_of(&rest, ty)?;
                case_of(vec![(condition, then)], otherwise)
            }
            StmtKind::Declare(list) => {
                for item in list {
                    let Declaration::Scalar { name, data_type: named, value, .. } = item else {
                        return Err(SqlError::internal("a simple function has no tables"));
                    };
                    let ty = data_type(named, &self.catalog)?;
                    let value = match value {
                        Some(value) => self.expr(value)?,
                        None => Typed::new(Expr::Const(Value::Null), ty, true),
                    };
                    self.set_inline(name, value, ty)?;
                }
                self.value_of(rest, ty)
            }
            StmtKind::SetVariable(set) => {
                let SetValue::Expr(value) = &set.value else {
                    return Err(SqlError::internal("a simple function has no cursors"));
                };
                let value = self.expr(value)?;
                let name = fold_name(&set.name);
                let known = self
                    .inline
                    .as_ref()
                    .and_then(|c| c.variables.iter().rev().find(|v| v.name == name));
                let of = known.map_or(value.ty, |variable| variable.value.ty);
                self.set_inline(&set.name, value, of)?;
                self.value_of(rest, ty)
            }
            _ => Err(SqlError::internal("a simple function has other statements")),
        }
    }

    fn set_inline(&mut self, name: &str, value: Typed, ty: DataType) -> Result<(), SqlError> {
        let expr = bind_ops::assigned(value, ty, Mode::Implicit, self.collation())?;
        let value = bind_ops::folded(Typed::new(expr, ty, true)).of_fixed_type();
        if let Some(call) = &mut self.inline {
            let mut value = value;
            if call.variables.len() >= MOST_VALUES && !is_cheap(&value.expr) {
                value.expr = Expr::Deep(Nested::new(value.expr));
            }
            call.variables.push(InlineVariable { name: fold_name(name), value, uses: 0 });
        }
        Ok(())
    }

    /// What a branch has set holds in it alone. What it has used counts.
    fn forget_variables(&mut self, known: usize) {
        if let Some(call) = &mut self.inline {
            for variable in &mut call.variables[known..] {
                // No name finds it any more.
                variable.name = CompactString::default();
            }
        }
    }

    /// A function of the system is called by this name.
    pub(super) fn note_scope(&mut self, name: &str) {
        if let Some(call) = self.inline.as_mut().filter(|call| call.block.is_some()) {
            call.asks_scope |= OF_SCOPE.contains(&name);
        }
    }

    /// Binds the text of a function: nothing of what stands around the call is seen. `block`:
    /// within the block of the call.
    fn inside<T>(
        &mut self,
        db: &Arc<Db>,
        module: &Arc<ModuleDef>,
        call: InlineCall,
        block: bool,
        bind: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<(T, InlineCall), SqlError> {
        self.enter_view()?;
        let mut outside = self.step_into(db.clone(), &module.schema);
        let mut hidden = Vec::new();
        if block {
            self.scopes = std::mem::take(&mut outside.scopes);
            hidden.extend(
                self.scopes.iter_mut().map(|scope| std::mem::replace(&mut scope.visible, false)),
            );
        }
        let around = self.inline.replace(call);
        let chain = self.rights.chain;
        if chain != Chain::Trusted {
            let schema = self.catalog.schemas.get(&fold_name(&module.schema)).copied().unwrap_or(0);
            self.rights.chain =
                Chain::Owner(db.id(), db.security().object_owner(module.object_id, schema));
        }
        let bound = bind(self);
        self.rights.chain = chain;
        let call = std::mem::replace(&mut self.inline, around);
        if block {
            for (scope, visible) in self.scopes.iter_mut().zip(hidden) {
                scope.visible = visible;
            }
            outside.scopes = std::mem::take(&mut self.scopes);
        }
        self.step_out(outside);
        self.leave_view();
        let call = call.ok_or_else(|| SqlError::internal("a call was lost"))?;
        Ok((bound?, call))
    }

    /// A user's function in FROM; `None` when the name is none of a table function.
    pub(super) fn user_table_function(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::Expr],
        alias: Option<&ast::Ident>,
    ) -> Result<Option<Logical>, SqlError> {
        let Some((db, module)) =
            self.find_function(name).filter(|(_, m)| m.kind.is_table_function())
        else {
            return Ok(None);
        };
        let bound = self.function_arguments(&db, &module, name, args)?;
        self.uses_function(&db, &module, Permission::Select);
        let (logical, columns) = match module.function().map(|f| &f.body) {
            Some(FunctionBody::Inline(query)) => self.inline_table(&db, &module, bound, query)?,
            Some(FunctionBody::Table { elements, .. }) => {
                let first = self.new_cols(0);
                let columns = table_columns(&db, elements, first)?;
                self.new_cols(columns.len());
                let width = columns.len();
                let routine = Arc::new(CalledFunction { db: db.clone(), module: module.clone() });
                let args = bound.into_iter().map(|(_, typed)| typed.expr).collect();
                let scan = RoutineScan { routine, args, first, width, rows: FUNCTION_ROWS };
                (Logical::Routine(Box::new(scan)), columns)
            }
            _ => return Err(SqlError::internal("a module is no table function")),
        };
        let source = Source {
            name: fold_name(alias.map_or(name.name.value.as_str(), |a| a.value.as_str())),
            aliased: alias.is_some(),
            schema: Some(fold_name(&module.schema)),
            database: Some(fold_name(&db.name())),
            columns,
            object_id: 0,
            db_id: 0,
        };
        self.scope()?.sources.push(source);
        Ok(Some(logical))
    }

    fn inline_table(
        &mut self,
        db: &Arc<Db>,
        module: &Arc<ModuleDef>,
        args: Vec<(CompactString, Typed)>,
        query: &ast::Query,
    ) -> Result<(Logical, Vec<ScopeColumn>), SqlError> {
        let (mut args, mut once) = (args, Vec::new());
        for (_, value) in
            args.iter_mut().filter(|(_, v)| v.expr.is_volatile() || v.expr.has_subquery())
        {
            let slot = self.new_param();
            once.push((slot, std::mem::replace(&mut value.expr, Expr::Param(slot))));
        }
        let call = inline_call(&args);
        let bind = |binder: &mut Self| binder.nested(|b| b.inner_query(query));
        let ((mut bound, _), _) = self.inside(db, module, call, false, bind)?;
        let names = view_names(module, &[], &bound.columns)?;
        call_columns(&mut bound.columns, names);
        let columns = bound.columns.iter().map(ScopeColumn::of_query).collect();
        if once.is_empty() {
            return Ok((bound.logical, columns));
        }
        let (left, right) = (Input::new(Logical::One), Input::new(bound.logical));
        Ok((Logical::Apply { outer: false, left, right, args: once }, columns))
    }

    /// The columns of what an inline function returns, for its errors and for those who describe
    /// it.
    ///
    /// # Errors
    /// Those of its query; 4511 a column without a name, 4506 a name twice.
    pub fn inline_columns(
        &mut self,
        db: &Arc<Db>,
        module: &Arc<ModuleDef>,
    ) -> Result<Vec<ScopeColumn>, SqlError> {
        let Some(function) = module.function() else {
            return Err(SqlError::internal("a module is no function"));
        };
        let FunctionBody::Inline(query) = &function.body else {
            return Err(SqlError::internal("a function is not inline"));
        };
        let catalog = db.catalog();
        let mut args = Vec::with_capacity(function.params.len());
        for (slot, param) in function.params.iter().enumerate() {
            if super::type_names::table_type(&param.data_type, &catalog).is_some() {
                return Err(super::unsupported("A table as an argument of a function"));
            }
            let ty = data_type(&param.data_type, &catalog)?;
            args.push((fold_name(&param.name), Typed::new(Expr::Var(slot), ty, true)));
        }
        self.inline_table(db, module, args, query).map(|(_, columns)| columns)
    }
}

fn inline_call(args: &[(CompactString, Typed)]) -> InlineCall {
    let variable = |(name, value): &(CompactString, Typed)| InlineVariable {
        name: name.clone(),
        value: value.clone(),
        uses: 0,
    };
    InlineCall { variables: args.iter().map(variable).collect(), block: None, asks_scope: false }
}

/// The columns of the table that a function fills.
///
/// # Errors
/// 2715 an unknown type, 448 an unknown collation.
pub fn table_columns(
    db: &Db,
    elements: &[TableElement],
    first: u32,
) -> Result<Vec<ScopeColumn>, SqlError> {
    let catalog = db.catalog();
    let mut out = Vec::new();
    for element in elements {
        let TableElement::Column(column) = element else { continue };
        let Some(named) = &column.data_type else { continue };
        let (ty, nullable) = type_of(named, &catalog)?;
        let key = |c: &ast::Constraint| matches!(c.kind, ConstraintKind::Key { primary: true, .. });
        let nullable = column.nullable.or(nullable).unwrap_or(true)
            && column.identity.is_none()
            && !column.constraints.iter().any(key);
        let collation = match &column.collation {
            None => db.default_collation(),
            Some(name) => super::type_names::collation(name, db.default_collation(), 3)?,
        };
        let id = first + out.len() as u32;
        out.push(ScopeColumn::new(&column.name.value, id, ty, nullable, collation));
    }
    Ok(out)
}

/// How many statements there are, those inside of others included.
fn statements(body: &[Stmt]) -> usize {
    let (mut todo, mut count): (Vec<&Stmt>, usize) = (body.iter().collect(), 0);
    while let Some(stmt) = todo.pop() {
        count += 1;
        match &stmt.kind {
            StmtKind::Block(inner) => todo.extend(inner),
            StmtKind::If { then, otherwise, .. } => {
                todo.push(then);
                todo.extend(otherwise.as_deref());
            }
            _ => {}
        }
    }
    count
}

/// Whether statements are an expression: variables that get values, IF whose branch returns,
/// RETURN.
fn is_simple(body: &[Stmt]) -> bool {
    let Some((first, rest)) = body.split_first() else { return false };
    match &first.kind {
        StmtKind::Return(value) => value.is_some(),
        StmtKind::Block(inner) => {
            let whole: Vec<Stmt> = inner.iter().chain(rest).cloned().collect();
            is_simple(&whole)
        }
        StmtKind::If { then, otherwise, .. } => {
            let rest: Vec<Stmt> =
                otherwise.iter().map(|s| Stmt::clone(s)).chain(rest.to_vec()).collect();
            is_simple(std::slice::from_ref(then)) && is_simple(&rest)
        }
        StmtKind::Declare(list) => {
            list.iter().all(|item| matches!(item, Declaration::Scalar { .. })) && is_simple(rest)
        }
        StmtKind::SetVariable(set) => {
            set.op == ast::AssignOp::Set
                && matches!(set.value, SetValue::Expr(_))
                && is_simple(rest)
        }
        _ => false,
    }
}
