//! What a user's function depends on besides its arguments, found in its text each time it is asked
//! for. Guarantee: one that depends on its arguments alone ([`FunctionNature::is_of_arguments`])
//! has one value for them in every session and at all times. All that such a one computes has been
//! bound; a query is not, so that a function with one is never vouched for.

use std::collections::HashMap;
use std::sync::Arc;

use syntax::ast::{
    Expr, ExprKind, FunctionBody, Ident, ObjectName, Query, QueryBody, SelectItem, SetValue,
    SetVariable, StmtKind, TypeName,
};
use syntax::mentions::{Listener, Use, of_expr, of_statement};
use types::{DataType, SqlError};

use super::definition_binder::with_variables;
use super::system_functions::SystemFunctions;
use bind::Binder;
use bind::computed::Nature;
use bind::env::VarScope;
use bind::select_list::compound;
use bind::type_names::{data_type, table_type};
use catalog::{Catalog, Db, ModuleDef, fold_name};
use expr::functions::Stability;
use programs::program::{FunctionResult, Op, Program};

/// Functions that call each other so deep cannot run.
const MOST_NESTED: usize = 32;

/// What a function depends on besides its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionNature {
    /// The same database gives the same value: IsDeterministic.
    pub deterministic: bool,
    /// It computes with neither float nor real: IsPrecise.
    pub precise: bool,
    /// All that it computes was looked at: IsSystemVerified.
    pub verified: bool,
    /// It reads tables: UserDataAccess.
    pub reads: bool,
}

impl FunctionNature {
    /// One that computes nothing.
    const PLAIN: FunctionNature =
        FunctionNature { deterministic: true, precise: true, verified: true, reads: false };
    /// One of which nothing is known, as without SCHEMABINDING.
    const UNKNOWN: FunctionNature =
        FunctionNature { deterministic: false, precise: false, verified: false, reads: true };

    /// The nature of a function or a view.
    #[must_use]
    pub fn of(functions: SystemFunctions, db: &Arc<Db>, module: &Arc<ModuleDef>) -> FunctionNature {
        Natures { functions, db, known: HashMap::new(), depth: 0 }.of(module)
    }

    /// Of an expression that calls these functions.
    #[must_use]
    pub(crate) fn of_calls(
        functions: SystemFunctions,
        db: &Arc<Db>,
        called: &[(Arc<Db>, Arc<ModuleDef>)],
    ) -> FunctionNature {
        let mut natures = Natures { functions, db, known: HashMap::new(), depth: 0 };
        called.iter().fold(FunctionNature::PLAIN, |nature, (of, module)| {
            nature.with(if of.id() == db.id() {
                natures.of(module)
            } else {
                FunctionNature::UNKNOWN
            })
        })
    }

    /// Whether its value can be kept.
    #[must_use]
    pub fn is_of_arguments(self) -> bool {
        self.deterministic && self.verified && !self.reads
    }

    fn with(self, other: FunctionNature) -> FunctionNature {
        FunctionNature {
            deterministic: self.deterministic && other.deterministic,
            precise: self.precise && other.precise,
            verified: self.verified && other.verified,
            reads: self.reads || other.reads,
        }
    }
}

/// Whether values of a type are not exact.
#[must_use]
pub(crate) fn is_imprecise(ty: DataType) -> bool {
    matches!(ty, DataType::Float | DataType::Real)
}

/// The functions of a database that have been looked at: each is, once.
struct Natures<'d> {
    functions: SystemFunctions,
    db: &'d Arc<Db>,
    known: HashMap<i32, FunctionNature>,
    depth: usize,
}

impl Natures<'_> {
    fn of(&mut self, module: &Arc<ModuleDef>) -> FunctionNature {
        if let Some(known) = self.known.get(&module.object_id) {
            return *known;
        }
        if !module.has_option("SCHEMABINDING") || self.depth >= MOST_NESTED {
            return FunctionNature::UNKNOWN;
        }
        self.depth += 1;
        let found = stack::with_room(|| self.look(module)).unwrap_or(FunctionNature::UNKNOWN);
        self.depth -= 1;
        self.known.insert(module.object_id, found);
        found
    }

    fn look(&mut self, module: &ModuleDef) -> Result<FunctionNature, SqlError> {
        let catalog = self.db.catalog();
        let functions = self.functions;
        let mut found = FoundNature {
            functions,
            nature: FunctionNature::PLAIN,
            called: Vec::new(),
            catalog: &catalog,
        };
        match module.function().map(|function| (&function.params, &function.body)) {
            Some((params, FunctionBody::Scalar { returns, body })) => {
                let mut vars = VarScope::new();
                for param in params {
                    vars.declare(&param.name, data_type(&param.data_type, &catalog)?)?;
                }
                let type_of = |name: &TypeName| match table_type(name, &catalog) {
                    Some(_) => Ok(None),
                    None => data_type(name, &catalog).map(Some),
                };
                let result = FunctionResult::Scalar(data_type(returns, &catalog)?);
                let program =
                    Program::build_function(body.clone(), vars, &type_of, result, &|| Ok(()))?;
                with_variables(functions, self.db, &program.vars, |binder| {
                    found.program(binder, &program);
                    Ok(())
                })?;
            }
            _ => found.not_bound(|listener| of_statement(&module.stmt, listener)),
        }
        let FoundNature { nature, called, .. } = found;
        Ok(called.iter().fold(nature, |nature, module| nature.with(self.of(module))))
    }
}

/// What has been found in a function.
struct FoundNature<'c> {
    functions: SystemFunctions,
    nature: FunctionNature,
    called: Vec<Arc<ModuleDef>>,
    catalog: &'c Catalog,
}

impl FoundNature<'_> {
    fn program(&mut self, binder: &mut Binder<'_>, program: &Program) {
        let vars = &program.vars;
        let float =
            (0..vars.len()).filter_map(|slot| vars.get(slot)).any(|(_, ty)| is_imprecise(ty));
        self.nature.precise &= !float;
        for op in &program.ops {
            match op {
                Op::Branch { condition, .. } => {
                    let condition = &program.exprs[*condition as usize];
                    self.bound(binder.nature_of_condition(condition), condition);
                }
                Op::Init { slot, expr } => {
                    let ty = vars.get(*slot as usize).map(|(_, ty)| ty);
                    self.value(binder, &program.exprs[*expr as usize], ty);
                }
                Op::Return(Some(expr)) => self.value(binder, &program.exprs[*expr as usize], None),
                Op::Stmt(at) => self.statement(binder, vars, &program.stmts[*at as usize].kind),
                _ => {}
            }
        }
    }

    fn statement(&mut self, binder: &mut Binder<'_>, vars: &VarScope, kind: &StmtKind) {
        match kind {
            StmtKind::SetVariable(SetVariable { name, op, value: SetValue::Expr(value) }) => {
                self.assigned(binder, vars, (name.as_str(), compound(*op)), value);
            }
            StmtKind::Select(query) if is_plain(query) => {
                for item in &query.body.first_select().items {
                    if let SelectItem::Assign { variable, op, expr } = item {
                        self.assigned(binder, vars, (variable.as_str(), compound(*op)), expr);
                    }
                }
            }
            kind => self.not_bound(|listener| of_statement(kind, listener)),
        }
    }

    /// `SET @name op= value`.
    fn assigned(
        &mut self,
        binder: &mut Binder<'_>,
        vars: &VarScope,
        (name, op): (&str, Option<syntax::ast::BinaryOp>),
        value: &Expr,
    ) {
        let ty = vars.find(name).ok().map(|(_, ty)| ty);
        match op {
            None => self.value(binder, value, ty),
            Some(op) => {
                let left =
                    Box::new(Expr { kind: ExprKind::Variable(name.into()), span: value.span });
                let kind = ExprKind::Binary { op, left, right: Box::new(value.clone()) };
                self.value(binder, &Expr { kind, span: value.span }, ty);
            }
        }
    }

    fn value(&mut self, binder: &mut Binder<'_>, value: &Expr, becomes: Option<DataType>) {
        match becomes {
            Some(ty) => self.bound(binder.nature_of_value(value, ty), value),
            None => self.not_bound(|listener| of_expr(value, listener)),
        }
    }

    fn bound(&mut self, nature: Result<Nature, SqlError>, of: &Expr) {
        match nature {
            Ok(nature) if !nature.queries => {
                self.nature.deterministic &= nature.varies.is_none();
                self.called.extend(nature.called.into_iter().map(|(_, module)| module));
            }
            // A query, or a name of its tables.
            _ => self.not_bound(|listener| of_expr(of, listener)),
        }
    }

    /// What is not bound is known by what it names.
    fn not_bound(&mut self, tell: impl FnOnce(&mut dyn Listener)) {
        self.nature.verified = false;
        tell(self);
    }
}

/// SELECT of nothing but values for variables.
fn is_plain(query: &Query) -> bool {
    let QueryBody::Select(select) = &query.body else { return false };
    query.ctes.is_empty()
        && query.order_by.is_empty()
        && query.offset.is_none()
        && query.for_clause.is_none()
        && select.top.is_none()
        && select.into.is_none()
        && select.from.is_empty()
        && select.filter.is_none()
        && select.group_by.is_none()
        && select.having.is_none()
        && select.items.iter().all(SelectItem::assigns)
}

impl Listener for FoundNature<'_> {
    fn object(&mut self, name: &ObjectName, _: Option<&Ident>, how: Use) {
        let schema = name.schema.as_ref().map(|schema| schema.value.as_str());
        match how {
            Use::Read | Use::Write => self.nature.reads = true,
            Use::Execute | Use::Sequence => self.nature.deterministic = false,
            // A table function of the system.
            Use::Call if name.is_bare() => {}
            Use::Call => match self.catalog.find_module(schema.unwrap_or(""), &name.name.value) {
                Some(module) => self.called.push(module.clone()),
                None => self.nature = self.nature.with(FunctionNature::UNKNOWN),
            },
        }
    }

    fn built_in(&mut self, name: &str) {
        let found = self.functions.find(&fold_name(name));
        self.nature.deterministic &=
            found.is_none_or(|function| function.stability == Stability::Pure);
    }

    fn data_type(&mut self, name: &TypeName) {
        self.nature.precise &= !data_type(name, self.catalog).is_ok_and(is_imprecise);
    }
}
