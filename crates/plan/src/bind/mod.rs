//! The binder of expressions: syntax in, typed expressions with all conversions out. Statements and queries share
//! one [`Binder`]; it numbers columns, parameters and subqueries within the statement.
//! Guarantees: what it returns needs no name; errors carry SQL Server's numbers.

mod browse;
mod bulk;
pub mod call;
pub mod computed;
pub mod deduce;
pub mod document;
pub mod env;
mod explicit;
pub mod filter;
pub mod from;
pub mod function;
mod grouping;
mod json;
pub mod literal;
pub mod mask;
pub mod module;
pub mod nested_change;
pub mod period;
mod pivot;
mod policy;
mod query_source;
pub mod recursive;
pub mod row_version;
pub mod scope;
pub mod select;
pub mod sequence;
pub mod set_options;
mod subquery;
pub mod synonym;
pub mod system_time;
mod system_view;
pub mod table_hints;
pub mod type_names;
pub mod undeclared;
pub mod updatable;
pub mod view_rows;
pub mod window;
pub mod xml;

use crate::applied::{Applied, RuleSet};
use crate::chance::Chance;
use crate::logical::CteDef;
use crate::nodes::{Node, Path, Plan, Subquery};
use crate::options::JoinMethods;
use crate::rights::{Chain, Rights};
use crate::{TableUse, Watched};
use catalog::other::SequenceDef;
use catalog::statistics::threshold;
use catalog::{Catalog, Db, ModuleDef, TableDef, fold_name};
use deduce::Wanted;
use env::CompileEnv;
use expr::{CaseExpr, ColId, CompareExpr, Expr, InListExpr, Label, LikeExpr, Pred, QuantifiedExpr, Typed};
use scope::{Clause, Scope};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use syntax::ast::{self, CompareOp, ExprKind};
pub use type_names::{cast_type, declared_type};
use types::convert::Mode;
use types::like::LikePattern;
use types::{Collation, DataType, SqlError, Value};

/// Rounds of a recursive CTE without OPTION (MAXRECURSION).
const DEFAULT_RECURSION: u32 = 100;

/// Binds one statement.
pub struct Binder<'a> {
    pub env: &'a CompileEnv<'a>,
    pub scopes: Vec<Scope>,
    /// Common table expressions in sight, the innermost last.
    pub ctes: Vec<Arc<CteDef>>,
    /// Names of the CTEs that are being bound right now, for the message about one that refers to itself.
    pub open_ctes: Vec<compact_str::CompactString>,
    next_col: ColId,
    next_param: usize,
    next_once: i32,
    /// OPTION (FORCE ORDER): joins stay in the order in which they are written.
    pub force_order: bool,
    /// OPTION (LOOP JOIN, ...): the operators that joins may be made with.
    pub join_methods: JoinMethods,
    /// USE HINT ('RINGWOOD_ANY_PLAN_n'): any plan will do, and this chooses it.
    pub any_plan: Option<Chance>,
    /// OPTION (QUERYRULEOFF name): rewrites that are left out.
    pub rules_off: RuleSet,
    /// What the rewrites have done.
    pub applied: Applied,
    /// Joins whose operator is prescribed beside them.
    pub join_hints: u64,
    /// OPTION (MAXRECURSION n); none for as many rounds as there are.
    pub max_recursion: Option<u32>,
    /// Values of the batch's variables for which the plan is made, by slot; NULL, or none, where nothing is known.
    pub values: Arc<[Value]>,
    /// OPTION (RECOMPILE): the plan is for one run.
    pub one_run: bool,
    /// The values that variables have in that run, as constants: of a statement that changes none of them.
    folds: bool,
    /// The database and the catalog in which names are looked up: those of the statement, inside a view those of the view.
    pub db: Arc<Db>,
    pub catalog: Arc<Catalog>,
    /// What `inserted` and `deleted` mean here.
    pub changes: Option<module::ChangedTable>,
    /// An expression is bound to find out whether the type of a parameter fits.
    trial: bool,
    /// The next query is the whole statement: what FOR makes of it goes out in pieces.
    pub whole: bool,
    /// The next block is the whole statement's, in browse mode.
    browsing: bool,
    /// Where the columns of a statement in browse mode come from.
    pub browsed: Option<Box<crate::Browse>>,
    /// Views and functions around what is bound.
    view_depth: usize,
    /// The function whose text is bound in place: what its variables mean.
    inline: Option<function::InlineCall>,
    /// The scalar functions that are being bound in place: database and object_id.
    open_functions: Vec<(i32, i32)>,
    /// Whether the text of a scalar function may be bound where it is called.
    pub may_inline: bool,
    /// A definition is being made: what a constant means as a date is not settled by this session.
    defining: bool,
    /// Recursive CTEs whose steps are being bound.
    recursions: Vec<recursive::OpenRecursion>,
    next_work: usize,
    /// Base tables met so far.
    pub tables: Vec<TableUse>,
    /// Sources of FROM that are queries, as far as they are in sight.
    pub query_sources: Vec<updatable::QuerySource>,
    /// Views met so far.
    pub modules: Vec<(Arc<Db>, Arc<ModuleDef>)>,
    /// The value of a column is bound that SET gives.
    pub assigning: bool,
    /// Sequences met so far.
    pub sequences: Vec<(Arc<Db>, Arc<SequenceDef>)>,
    /// Sequences that the row which is bound has a value of: database and object_id.
    row_values: Vec<(i32, i32)>,
    /// A side of a set operation is bound.
    combining: bool,
    /// How many of these values are taken in whatever order the rows come.
    unordered_values: usize,
    /// What the caller must be allowed, as far as met.
    pub rights: Rights,
    /// Tables whose rows and values decided how they are read.
    pub watched: Vec<Watched>,
    /// Subqueries met so far; [`expr::SubRef::id`] counts through them.
    pub subqueries: Vec<Subquery>,
    /// OPTION (TABLE HINT (...)).
    pub table_hints: Vec<table_hints::TableHint>,
    /// INSERT: the rows of the change in its FROM, until that is bound.
    pub change: Option<nested_change::ChangeRows>,
    /// SELECT INTO: the items of its list that are IDENTITY(...), each with seed and increment.
    pub numbered: Option<Vec<(usize, (i64, i64))>>,
    /// FOR SYSTEM_TIME of the view that is being bound.
    system_time: Option<system_time::OfView>,
    /// Rows are what security policies let through.
    policies: bool,
    /// The tables whose predicates are being bound: database and object_id.
    open_policies: Vec<(i32, i32)>,
    /// Columns that are made of masked ones.
    masks: mask::Masks,
    /// Columns that nodes() gives.
    node_columns: Vec<ColId>,
    /// The column that is bound next may be one of them.
    node_access: bool,
}

impl<'a> Binder<'a> {
    /// A binder for one statement.
    pub fn new(env: &'a CompileEnv<'a>) -> Binder<'a> {
        Binder {
            env,
            scopes: Vec::new(),
            ctes: Vec::new(),
            open_ctes: Vec::new(),
            next_col: 0,
            next_param: 0,
            next_once: 0,
            force_order: false,
            join_methods: JoinMethods::ALL,
            any_plan: None,
            rules_off: RuleSet::default(),
            applied: Applied::default(),
            join_hints: 0,
            max_recursion: Some(DEFAULT_RECURSION),
            values: crate::options::known(env).into(),
            one_run: false,
            folds: false,
            db: env.db.clone(),
            catalog: env.catalog.clone(),
            changes: env.changes.clone(),
            trial: false,
            whole: false,
            browsing: false,
            browsed: None,
            view_depth: 0,
            inline: None,
            open_functions: Vec::new(),
            may_inline: true,
            defining: false,
            recursions: Vec::new(),
            next_work: 0,
            tables: Vec::new(),
            query_sources: Vec::new(),
            modules: Vec::new(),
            assigning: false,
            sequences: Vec::new(),
            row_values: Vec::new(),
            combining: false,
            unordered_values: 0,
            rights: Rights::new(env.chain),
            watched: Vec::new(),
            subqueries: Vec::new(),
            table_hints: Vec::new(),
            change: None,
            numbered: None,
            system_time: None,
            policies: env.chain != Chain::Trusted || env.predicate_of.is_some(),
            open_policies: env.predicate_of.map(|table| (env.db.id(), table)).into_iter().collect(),
            masks: mask::Masks::default(),
            node_columns: Vec::new(),
            node_access: false,
        }
    }

    /// What the OPTION clause of the statement says of how it is bound; `assigns`: the statement gives variables values.
    ///
    /// # Errors
    /// Those of the values that OPTIMIZE FOR names.
    pub fn apply_options(&mut self, options: &[ast::OptionItem], assigns: bool) -> Result<(), SqlError> {
        self.values = crate::options::values(options, self.env)?;
        self.one_run = crate::options::is_for_one_run(options);
        self.folds = self.one_run && !assigns && !self.env.values.is_empty();
        self.force_order = crate::options::forces_order(options);
        self.join_methods = crate::options::join_methods(options);
        self.table_hints = table_hints::of(options);
        self.any_plan = crate::options::any_plan(options).map(Chance::new);
        if let Some(rounds) = crate::options::max_recursion(options) {
            self.max_recursion = rounds;
        }
        Ok(())
    }

    /// Error 3617 when the session was told to stop.
    pub fn check_cancel(&self) -> Result<(), SqlError> {
        if self.env.cancel.load(Ordering::Relaxed) { Err(catalog::errors::cancelled()) } else { Ok(()) }
    }

    /// Another row is bound: it has values of sequences of its own.
    pub fn begin_row(&mut self) {
        self.row_values.clear();
    }

    /// A new column id.
    pub fn new_col(&mut self) -> ColId {
        self.next_col += 1;
        self.next_col - 1
    }

    /// `n` consecutive column ids; the first.
    pub fn new_cols(&mut self, n: usize) -> ColId {
        let first = self.next_col;
        self.next_col += n as ColId;
        first
    }

    /// The plan reads a table as its rows and values of this moment suggest; a seek of one row by a key is good whatever becomes of
    /// them.
    pub fn watch(&mut self, table: &TableDef, plan: &Plan) {
        let point = match &plan.node {
            Node::Scan(scan) => match &scan.path {
                Path::Point(_) => true,
                Path::Index { point, .. } => *point,
                Path::Base | Path::Clustered(_) => false,
            },
            _ => false,
        };
        let known = self.watched.iter().any(|watched| Arc::ptr_eq(&watched.state, &table.state));
        if !point && !known {
            let rows = crate::statistics::table_rows(table);
            let limit = table.state.modified().saturating_add(threshold(rows));
            let renewals = table.state.statistics.renewals();
            self.watched.push(Watched { state: table.state.clone(), limit, renewals });
        }
    }

    /// A new parameter slot.
    pub fn new_param(&mut self) -> usize {
        self.next_param += 1;
        self.next_param - 1
    }

    /// A number for the rows that a recursive CTE works with.
    pub fn new_work(&mut self) -> usize {
        self.next_work += 1;
        self.next_work - 1
    }

    /// A number for a call that has one value for the whole statement.
    pub fn new_once(&mut self) -> i32 {
        self.next_once += 1;
        self.next_once - 1
    }

    /// The block being bound.
    pub fn scope(&mut self) -> Result<&mut Scope, SqlError> {
        self.scopes.last_mut().ok_or_else(|| SqlError::internal("no query block"))
    }

    /// What clause is being bound; `None` outside any block.
    pub fn clause(&self) -> Clause {
        self.scopes.last().map_or(Clause::None, |scope| scope.clause)
    }

    /// Binds a value, which is computed with in the session's manner.
    pub fn expr(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        let mut typed = self.value(e)?;
        if typed.label == Label::Default {
            typed.collation = self.collation();
        }
        Ok(Typed { manner: self.env.options.manner(), ..typed })
    }

    /// The collation of constants and variables: the database's.
    pub fn collation(&self) -> Collation {
        self.db.default_collation()
    }

    fn value(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        self.deduce(e, Wanted::Nothing)?;
        if let Some(key) = self.group_key(e)? {
            return Ok(key);
        }
        match &e.kind {
            ExprKind::Literal(literal) if self.trial => self.tried_literal(literal),
            ExprKind::Literal(literal) => {
                Ok(self.of_session(expr::bind_ops::literal(literal, self.collation())?))
            }
            ExprKind::OdbcLiteral { kind, text } => expr::bind_ops::odbc_literal(*kind, text),
            ExprKind::Default => {
                Err(SqlError::new(156, 15, 1, "Incorrect syntax near the keyword 'DEFAULT'."))
            }
            ExprKind::Column(column) => self.column(column),
            ExprKind::Variable(name) => self.variable(name),
            ExprKind::GlobalVariable(name) => self.global(name),
            ExprKind::Unary { op, operand } => {
                let operand = self.expr(operand)?;
                expr::bind_ops::unary(*op, operand)
            }
            ExprKind::Binary { op, left, right } => {
                let (a, b) = (self.expr(left)?, self.expr(right)?);
                let (a_type, b_type) = (a.ty, b.ty);
                let a = beside_decimal(*op, a, left, b_type)?;
                let b = beside_decimal(*op, b, right, a_type)?;
                self.binary(*op, a, b)
            }
            ExprKind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())
            }
            ExprKind::Cast { operand, target, or_null } => {
                let ty = cast_type(target)?;
                self.deduce(operand, Wanted::Becomes(ty))?;
                let operand = self.expr(operand)?;
                expr::bind_ops::explicit(operand, ty, 0, *or_null)
            }
            ExprKind::Convert { target, operand, style, or_null } => {
                self.convert(target, operand, style.as_deref(), *or_null)
            }
            ExprKind::Parse { operand, target, culture, or_null } => {
                self.parse(operand, target, culture.as_deref(), *or_null)
            }
            ExprKind::Function(call) => self.call(call),
            ExprKind::Collate { operand, collation } => self.collate(operand, collation),
            ExprKind::Subquery(query) => self.scalar_subquery(query),
            ExprKind::NextValueFor { sequence, over } => self.next_value(sequence, over.as_deref()),
            ExprKind::Identity { .. } => Err(identity_outside()),
            ExprKind::AtTimeZone { operand, zone } => {
                let args = vec![self.expr(operand)?, self.expr(zone)?];
                call::apply(expr::functions::required("at_time_zone")?, args)
            }
            ExprKind::Method { target, method, args, prolog } => self.method(target, method, args, prolog),
            _ => Err(SqlError::internal("a condition stands where a value belongs")),
        }
    }

    /// A constant that is read as the session reads dates.
    pub fn of_session(&self, typed: Typed) -> Typed {
        let dialect = (!self.defining).then_some(self.env.options.dialect);
        Typed { dialect, ..typed }
    }

    /// Binds a value and converts it implicitly to a type.
    pub fn expr_as(&mut self, e: &ast::Expr, ty: DataType) -> Result<Expr, SqlError> {
        self.deduce(e, Wanted::Becomes(ty))?;
        let typed = self.expr(e)?;
        expr::bind_ops::implicit(typed, ty)
    }

    /// Binds a condition.
    pub fn pred(&mut self, e: &ast::Expr) -> Result<Pred, SqlError> {
        match &e.kind {
            ExprKind::Compare { op, left, right } => {
                self.deduce_compared(*op, left, right)?;
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                self.compare(*op, left, right)
            }
            ExprKind::And(list) => Ok(conjunction(self.preds(list)?)),
            ExprKind::Or(list) => Ok(disjunction(self.preds(list)?)),
            ExprKind::Not(inner) => Ok(negate(self.pred(inner)?)),
            ExprKind::IsNull { operand, negated } => {
                self.node_access =
                    !self.node_columns.is_empty() && matches!(operand.kind, ExprKind::Column(_));
                let operand = self.expr(operand);
                self.node_access = false;
                let operand = operand?;
                Ok(match operand.expr.as_const() {
                    Some(value) => Pred::Const(Some(value.is_null() != *negated)),
                    None => Pred::IsNull(Box::new(operand.expr), *negated),
                })
            }
            ExprKind::IsDistinct { left, right, negated } => {
                self.deduce_compared(CompareOp::Equal, left, right)?;
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                let (left, right, collation) = expr::bind_ops::comparable(left, right, "is distinct from")?;
                let compare = CompareExpr { op: CompareOp::Equal, left, right, collation };
                Ok(Pred::Distinct(Box::new(compare), *negated))
            }
            ExprKind::Between { operand, low, high, negated } => self.between(operand, low, high, *negated),
            ExprKind::InList { operand, list, negated } => self.in_list(operand, list, *negated),
            ExprKind::InQuery { operand, query, negated } => {
                let op = if *negated { CompareOp::NotEqual } else { CompareOp::Equal };
                self.quantified(op, operand, *negated, query)
            }
            ExprKind::Quantified { op, left, all, query } => self.quantified(*op, left, *all, query),
            ExprKind::Like { operand, pattern, escape, negated } => {
                self.like(operand, pattern, escape.as_deref(), *negated)
            }
            ExprKind::Exists(query) => Ok(Pred::Exists(Box::new(self.subquery(query, true)?.0))),
            ExprKind::ColumnUpdated(column) => self.column_updated(column),
            ExprKind::FullText(_) => Err(unsupported("Full-text search")),
            _ => {
                let text = "An expression of non-boolean type specified in a context where a condition is \
                            expected.";
                Err(SqlError::new(4145, 15, 1, text))
            }
        }
    }

    /// `a op b` under the session's ANSI_NULLS. OFF, a bare NULL or a variable that is NULL equals NULL and nothing else;
    /// columns and other expressions are compared as ever.
    pub fn compare(&self, op: CompareOp, left: Typed, right: Typed) -> Result<Pred, SqlError> {
        let usual = |left, right| expr::bind_ops::compare(op, left, right);
        let equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        if self.env.options.ansi_nulls || !equality {
            return usual(left, right);
        }
        let differs = op == CompareOp::NotEqual;
        let is_null = |e: &Typed| Pred::IsNull(Box::new(e.expr.clone()), false);
        let has_value = |e: &Typed| Pred::IsNull(Box::new(e.expr.clone()), true);
        match (may_be_null_value(&left), may_be_null_value(&right)) {
            (false, false) => usual(left, right),
            (true, true) => {
                let (left, right, collation) = expr::bind_ops::comparable(left, right, "equal to")?;
                let compare = CompareExpr { op: CompareOp::Equal, left, right, collation };
                Ok(Pred::Distinct(Box::new(compare), !differs))
            }
            (given_left, _) => {
                let (given, other) = if given_left { (&left, &right) } else { (&right, &left) };
                let of_null =
                    conjunction(vec![is_null(given), Pred::IsNull(Box::new(other.expr.clone()), differs)]);
                let of_value = vec![has_value(given), usual(left.clone(), right.clone())?];
                Ok(disjunction(vec![of_null, conjunction(of_value)]))
            }
        }
    }

    /// `a op b` under the session's CONCAT_NULL_YIELDS_NULL: OFF, NULL added to a string is an empty one.
    pub fn binary(&self, op: ast::BinaryOp, left: Typed, right: Typed) -> Result<Typed, SqlError> {
        let strings = left.ty.is_string() || right.ty.is_string();
        let text = |e: &Typed| e.ty.is_string() || e.is_null_literal();
        if op != ast::BinaryOp::Add
            || self.env.options.concat_null_yields_null
            || !strings
            || !text(&left)
            || !text(&right)
        {
            return expr::bind_ops::binary(op, left, right);
        }
        let or_empty = |e: Typed| {
            let ty = if e.is_null_literal() { DataType::VarChar(types::Len::N(1)) } else { e.ty };
            let list = vec![e.expr, Expr::Const(Value::str(""))];
            Typed { expr: Expr::Coalesce(list), ty, nullable: false, ..e }
        };
        expr::bind_ops::binary(op, or_empty(left), or_empty(right))
    }

    fn preds(&mut self, list: &[ast::Expr]) -> Result<Vec<Pred>, SqlError> {
        list.iter().map(|e| self.pred(e)).collect()
    }

    fn between(
        &mut self,
        operand: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
    ) -> Result<Pred, SqlError> {
        self.deduce_compared(CompareOp::GreaterEqual, operand, low)?;
        self.deduce_compared(CompareOp::LessEqual, operand, high)?;
        let operand = self.expr(operand)?;
        let (low, high) = (self.expr(low)?, self.expr(high)?);
        let low = expr::bind_ops::compare(CompareOp::GreaterEqual, operand.clone(), low)?;
        let high = expr::bind_ops::compare(CompareOp::LessEqual, operand, high)?;
        let both = conjunction(vec![low, high]);
        Ok(if negated { negate(both) } else { both })
    }

    fn in_list(&mut self, operand: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Pred, SqlError> {
        self.deduce_in(operand, list)?;
        let operand = self.expr(operand)?;
        let elements = list.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>, _>>()?;
        if let [only] = elements.as_slice() {
            let op = if negated { CompareOp::NotEqual } else { CompareOp::Equal };
            return self.compare(op, operand, only.clone());
        }
        if !self.env.options.ansi_nulls && elements.iter().any(may_be_null_value) {
            let equal = |e: &Typed| self.compare(CompareOp::Equal, operand.clone(), e.clone());
            let any = disjunction(elements.iter().map(equal).collect::<Result<_, _>>()?);
            return Ok(if negated { negate(any) } else { any });
        }
        // One type for all of them, as SQL Server has it: the comparison of the whole list is of one kind.
        let mut ty = operand.ty;
        for e in elements.iter().filter(|e| !e.is_null_literal()) {
            ty = expr::bind_ops::comparison_type(ty, e.ty, "equal to")?;
        }
        let mut all = vec![&operand];
        all.extend(&elements);
        let (_, _, collation) = expr::bind_ops::unified_in_one(&all, "equal to")?;
        let operand = expr::bind_ops::to_comparison(operand, ty)?;
        let list = elements
            .into_iter()
            .map(|e| expr::bind_ops::to_comparison(e, ty))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Pred::InList(Box::new(InListExpr { operand, list, negated, collation })))
    }

    fn like(
        &mut self,
        operand: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
    ) -> Result<Pred, SqlError> {
        self.deduce_like(operand, pattern)?;
        let operand = self.expr(operand)?;
        let pattern = self.expr(pattern)?;
        let (_, collation) = expr::bind_ops::collation_of(&operand, &pattern, "like")?;
        let escape = match escape {
            Some(e) => {
                let e = self.expr(e)?;
                Some(expr::bind_ops::as_string(e)?)
            }
            None => None,
        };
        let unicode = operand.ty.is_unicode() || pattern.ty.is_unicode();
        let operand = expr::bind_ops::as_string(operand)?;
        let pattern = expr::bind_ops::as_string(pattern)?;
        let fixed_escape = escape.as_ref().map(|e| e.as_const().and_then(Value::as_str));
        let compiled = match (pattern.as_const().and_then(Value::as_str), fixed_escape) {
            (Some(text), None) => Some(Arc::new(LikePattern::new(text, None)?)),
            (Some(text), Some(Some(escape))) => Some(Arc::new(LikePattern::new(text, Some(escape))?)),
            _ => None,
        };
        let like = LikeExpr { operand, pattern, escape, compiled, unicode, negated, collation };
        Ok(Pred::Like(Box::new(like)))
    }

    fn quantified(
        &mut self,
        op: CompareOp,
        operand: &ast::Expr,
        all: bool,
        query: &ast::Query,
    ) -> Result<Pred, SqlError> {
        self.deduce_quantified(op, operand, query)?;
        let operand = self.expr(operand)?;
        let (mut sub, columns) = self.subquery(query, false)?;
        let [column] = columns.as_slice() else {
            let text = "Only one expression can be specified in the select list when the subquery is not \
                        introduced with EXISTS.";
            return Err(SqlError::new(116, 16, 1, text));
        };
        let (_, collation) = expr::bind_ops::collation_of(&operand, column, "equal to")?;
        let ty = expr::bind_ops::comparison_type(operand.ty, column.ty, "equal to")?;
        let operand = expr::bind_ops::to_comparison(operand, ty)?;
        if let Some(convert) = expr::bind_ops::conversion_for_comparison(column.ty, ty)? {
            sub.convert = Some(convert);
        }
        Ok(Pred::Quantified(Box::new(QuantifiedExpr { op, operand, all, query: sub, collation })))
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[ast::CaseBranch],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Typed, SqlError> {
        let null = |e: &ast::Expr| matches!(e.kind, ExprKind::Literal(ast::Literal::Null));
        if otherwise.is_none_or(null) && branches.iter().all(|branch| null(&branch.then)) {
            let text = "At least one of the result expressions in a CASE specification must be an expression other than \
                        the NULL constant.";
            return Err(SqlError::new(8133, 16, 1, text));
        }
        if let Some(operand) = operand {
            branches.iter().try_for_each(|b| self.deduce_compared(CompareOp::Equal, operand, &b.when))?;
        }
        let operand = operand.map(|e| self.expr(e)).transpose()?;
        let mut bound = Vec::with_capacity(branches.len());
        for branch in branches {
            let when = match &operand {
                Some(operand) => {
                    let when = self.expr(&branch.when)?;
                    self.compare(CompareOp::Equal, operand.clone(), when)?
                }
                None => self.pred(&branch.when)?,
            };
            bound.push((when, self.expr(&branch.then)?));
        }
        let otherwise = match otherwise {
            Some(e) => self.expr(e)?,
            None => Typed::new(Expr::Const(Value::Null), DataType::Int, true),
        };
        case_of(bound, otherwise)
    }

    fn convert(
        &mut self,
        target: &ast::TypeName,
        operand: &ast::Expr,
        style: Option<&ast::Expr>,
        or_null: bool,
    ) -> Result<Typed, SqlError> {
        let ty = cast_type(target)?;
        self.deduce(operand, Wanted::Becomes(ty))?;
        let operand = self.expr(operand)?;
        let style = match style {
            None => 0,
            Some(e) => {
                let e = self.expr_as(e, DataType::Int)?;
                match e {
                    Expr::Const(Value::Int(style)) => style,
                    Expr::Const(Value::Null) => return Ok(Typed::new(Expr::Const(Value::Null), ty, true)),
                    style => {
                        types::convert::check_conversion(operand.ty, ty, Mode::Explicit)?;
                        let style = Typed::new(style, DataType::Int, true);
                        let args = vec![operand, style, type_of(ty), flag(or_null)];
                        return call::apply(expr::functions::required("convert_styled")?, args);
                    }
                }
            }
        };
        expr::bind_ops::explicit(operand, ty, style, or_null)
    }

    fn parse(
        &mut self,
        operand: &ast::Expr,
        target: &ast::TypeName,
        culture: Option<&ast::Expr>,
        or_null: bool,
    ) -> Result<Typed, SqlError> {
        let ty = cast_type(target)?;
        let operand = self.expr(operand)?;
        if !operand.ty.is_string() && !operand.is_null_literal() {
            return Err(expr::functions::invalid_argument(operand.ty, 1, "parse"));
        }
        let culture = match culture {
            Some(culture) => self.expr(culture)?,
            // The session's.
            None => Typed::new(Expr::Const(Value::Null), DataType::NVarChar(types::Len::N(128)), true),
        };
        let args = vec![operand, culture, type_of(ty), flag(or_null)];
        call::apply(expr::functions::required("parse_as")?, args)
    }

    fn collate(&mut self, operand: &ast::Expr, collation: &ast::Ident) -> Result<Typed, SqlError> {
        let typed = self.expr(operand)?;
        if !typed.ty.is_string() {
            let text = format!("Expression type {} is invalid for COLLATE clause.", typed.ty.message_name());
            return Err(SqlError::new(447, 16, 0, text));
        }
        let known = type_names::collation(collation, self.collation(), 1)?;
        Ok(expr::bind_ops::collated(typed, known))
    }

    /// Resolves a column name, from the innermost block outwards.
    pub fn column(&mut self, column: &ast::ColumnRef) -> Result<Typed, SqlError> {
        if self.clause() == Clause::None && self.scopes.len() <= 1 {
            return Err(self.no_column_here(column));
        }
        let folded = fold_name(&column.name.value);
        for depth in (0..self.scopes.len()).rev() {
            if !self.scopes[depth].visible {
                continue;
            }
            if let Some(found) = self.column_at(depth, column, &folded)? {
                if let Expr::Col(id) = found.expr
                    && self.node_columns.contains(&id)
                    && !self.node_access
                {
                    return Err(xml::node_by_itself(&column.name.value));
                }
                return Ok(self.carried(depth, found));
            }
        }
        Err(match &column.qualifier {
            None if column.name.value.starts_with('$') && !column.name.quoted => {
                SqlError::new(126, 15, 1, format!("Invalid pseudocolumn \"{}\".", column.name.value))
            }
            None => SqlError::new(207, 16, 1, format!("Invalid column name '{}'.", column.name.value)),
            Some(qualifier) if self.source_exists(qualifier) => {
                SqlError::new(207, 16, 1, format!("Invalid column name '{}'.", column.name.value))
            }
            Some(qualifier) => {
                let name = format!("{qualifier}.{}", column.name.value);
                let text = format!("The multi-part identifier \"{name}\" could not be bound.");
                SqlError::new(4104, 16, 1, text)
            }
        })
    }

    fn no_column_here(&self, column: &ast::ColumnRef) -> SqlError {
        let name = match &column.qualifier {
            Some(qualifier) => format!("{qualifier}.{}", column.name.value),
            None => column.name.value.to_string(),
        };
        let text = format!(
            "The name \"{name}\" is not permitted in this context. Valid expressions are constants, constant \
             expressions, and (in some contexts) variables. Column names are not permitted."
        );
        SqlError::new(128, 15, 1, text)
    }

    fn source_exists(&self, qualifier: &ast::ObjectName) -> bool {
        self.scopes.iter().any(|scope| scope.sources.iter().any(|s| s.is_named(qualifier)))
    }

    fn column_at(
        &mut self,
        depth: usize,
        column: &ast::ColumnRef,
        folded: &str,
    ) -> Result<Option<Typed>, SqlError> {
        let scope = &self.scopes[depth];
        let mut found: Option<(ColId, Typed, String)> = None;
        let unnamed = if column.qualifier.is_none() { scope.prefixed } else { 0 };
        for source in scope.sources.iter().skip(unnamed) {
            if column.qualifier.as_ref().is_some_and(|q| !source.is_named(q)) {
                continue;
            }
            for candidate in source.columns.iter().filter(|c| c.folded == folded) {
                if found.is_some() {
                    let text = format!("Ambiguous column name '{}'.", column.name.value);
                    return Err(SqlError::new(209, 16, 1, text));
                }
                found =
                    Some((candidate.id, candidate.typed(), format!("{}.{}", source.name, candidate.name)));
            }
        }
        let Some((id, typed, full)) = found else { return Ok(None) };
        self.rights.mentions(id);
        self.grouped_column(depth, typed, &full).map(Some)
    }

    /// After grouping only keys may be named outside aggregates.
    pub fn grouped_column(&self, depth: usize, typed: Typed, full: &str) -> Result<Typed, SqlError> {
        let scope = &self.scopes[depth];
        let after = matches!(scope.clause, Clause::Select | Clause::Having | Clause::OrderBy);
        let Some(grouping) = scope.grouping.as_ref().filter(|_| after) else { return Ok(typed) };
        let Expr::Col(id) = typed.expr else { return self.grouped_value(depth, typed, full) };
        let key = grouping.keys.iter().position(|k| matches!(k.source.expr, Expr::Col(k) if k == id));
        if let Some(at) = key {
            let nullable = typed.nullable || grouping.leaves_out(at);
            return Ok(Typed { expr: Expr::Col(grouping.keys[at].output), nullable, ..typed });
        }
        let (number, place) = match (scope.clause, grouping.keys.is_empty()) {
            (Clause::Having, _) => (8121, "the HAVING clause"),
            (Clause::OrderBy, _) => (8127, "the ORDER BY clause"),
            _ => (8120, "the select list"),
        };
        let quote = if number == 8127 { '"' } else { '\'' };
        let text = format!(
            "Column {quote}{full}{quote} is invalid in {place} because it is not contained in either an aggregate function \
             or the GROUP BY clause."
        );
        Err(SqlError::new(number, 16, 1, text))
    }

    /// The same for the value of a computed column: what it is computed from is grouped.
    fn grouped_value(&self, depth: usize, mut typed: Typed, full: &str) -> Result<Typed, SqlError> {
        let mut ids = Vec::new();
        typed.expr.columns(&mut ids);
        for id in ids {
            let column = Typed { expr: Expr::Col(id), ..typed.clone() };
            let grouped = self.grouped_column(depth, column, full)?.expr;
            typed.expr.leaves_mut(&mut |leaf| {
                if matches!(leaf, Expr::Col(of) if *of == id) {
                    *leaf = grouped.clone();
                }
            });
        }
        Ok(typed)
    }

    /// A key of GROUP BY that is an expression and stands here again, written the same way.
    fn group_key(&mut self, e: &ast::Expr) -> Result<Option<Typed>, SqlError> {
        if self.inline.as_ref().is_some_and(|call| call.is_beside(self.scopes.len())) {
            return Ok(None);
        }
        let Some(scope) = self.scopes.last() else { return Ok(None) };
        let Some(grouping) = &scope.grouping else { return Ok(None) };
        if !matches!(scope.clause, Clause::Select | Clause::Having | Clause::OrderBy) {
            return Ok(None);
        }
        let key = grouping.keys.iter().position(|key| {
            !matches!(key.source.expr, Expr::Col(_))
                && std::mem::discriminant(&key.ast.kind) == std::mem::discriminant(&e.kind)
                && expr::bind_ops::same_syntax(&key.ast, e)
        });
        Ok(key.map(|at| {
            let key = &grouping.keys[at];
            let nullable = key.source.nullable || grouping.leaves_out(at);
            Typed { expr: Expr::Col(key.output), nullable, ..key.source.clone() }
        }))
    }

    /// What is made of columns of an outer block becomes one of parameters of the block below it.
    pub(super) fn carried(&mut self, depth: usize, mut found: Typed) -> Typed {
        if depth + 1 == self.scopes.len() {
            return found;
        }
        for scope in &mut self.scopes[depth + 1..] {
            scope.correlated = true;
        }
        let mut ids = Vec::new();
        found.expr.columns(&mut ids);
        for id in ids {
            let slot = self.param_of(depth, id);
            found.expr.leaves_mut(&mut |leaf| {
                if matches!(leaf, Expr::Col(of) if *of == id) {
                    *leaf = Expr::Param(slot);
                }
            });
        }
        found
    }

    /// The parameter that a column of a block is below it.
    fn param_of(&mut self, depth: usize, id: ColId) -> usize {
        let known = self.scopes[depth + 1].outer.iter();
        let known = known.clone().find(|(_, e)| matches!(e, Expr::Col(c) if *c == id)).map(|(slot, _)| *slot);
        known.unwrap_or_else(|| {
            let slot = self.new_param();
            self.scopes[depth + 1].outer.push((slot, Expr::Col(id)));
            slot
        })
    }
}

/// What SET ANSI_NULLS OFF looks at: a bare NULL or a variable.
fn may_be_null_value(e: &Typed) -> bool {
    e.is_null_literal() || matches!(e.expr, Expr::Var(_))
}

/// CASE from bound branches: all results meet in one type.
pub fn case_of(branches: Vec<(Pred, Typed)>, otherwise: Typed) -> Result<Typed, SqlError> {
    let results: Vec<&Typed> = branches.iter().map(|(_, then)| then).chain([&otherwise]).collect();
    let (ty, label, collation) = expr::bind_ops::unified(&results, "CASE")?;
    let nullable = results.iter().any(|r| r.nullable);
    let branches = branches
        .into_iter()
        .map(|(when, then)| Ok((when, expr::bind_ops::implicit_in(then, ty, collation)?)))
        .collect::<Result<Vec<_>, SqlError>>()?;
    let otherwise = expr::bind_ops::implicit_in(otherwise, ty, collation)?;
    let expr = Expr::Case(Box::new(CaseExpr { branches, otherwise }));
    Ok(Typed { collation, label, ..Typed::new(expr, ty, nullable) })
}

/// AND, with constants taken out.
pub fn conjunction(list: Vec<Pred>) -> Pred {
    let mut flat = Vec::with_capacity(list.len());
    for p in list {
        match p {
            Pred::And(inner) => flat.extend(inner),
            Pred::Const(Some(true)) => {}
            Pred::Const(Some(false)) => return Pred::Const(Some(false)),
            other => flat.push(other),
        }
    }
    match flat.len() {
        0 => Pred::Const(Some(true)),
        1 => flat.remove(0),
        _ => Pred::And(flat),
    }
}

fn disjunction(list: Vec<Pred>) -> Pred {
    let mut flat = Vec::with_capacity(list.len());
    for p in list {
        match p {
            Pred::Or(inner) => flat.extend(inner),
            Pred::Const(Some(false)) => {}
            other => flat.push(other),
        }
    }
    match flat.len() {
        0 => Pred::Const(Some(false)),
        1 => flat.remove(0),
        _ => Pred::Or(flat),
    }
}

/// NOT, pushed into what can carry it.
pub fn negate(p: Pred) -> Pred {
    match p {
        Pred::Const(truth) => Pred::Const(truth.map(|t| !t)),
        Pred::IsNull(e, negated) => Pred::IsNull(e, !negated),
        Pred::Distinct(c, negated) => Pred::Distinct(c, !negated),
        Pred::Like(mut l) => {
            l.negated = !l.negated;
            Pred::Like(l)
        }
        Pred::InList(mut l) => {
            l.negated = !l.negated;
            Pred::InList(l)
        }
        Pred::Not(inner) => *inner,
        other => Pred::Not(Box::new(other)),
    }
}

/// NULL of a type, by which a function is told the type of its result.
fn type_of(ty: DataType) -> Typed {
    Typed::new(Expr::Const(Value::Null), ty, true)
}

/// A truth as an argument.
fn flag(on: bool) -> Typed {
    Typed::new(Expr::Const(Value::Int(i32::from(on))), DataType::Int, false)
}

/// 177.
fn identity_outside() -> SqlError {
    let text = "The IDENTITY function can only be used when the SELECT statement has an INTO clause.";
    SqlError::new(177, 15, 1, text)
}

/// Error for a construct that parses and is not there yet.
pub fn unsupported(what: &str) -> SqlError {
    SqlError::new(40517, 16, 1, format!("{what} is not supported in this version of Ringwood."))
}

/// In arithmetic an integer constant next to a decimal is a decimal of its own digits: `1.0 / 3` is a decimal(2, 1) over a
/// decimal(1, 0), not over the ten digits of an int.
fn beside_decimal(
    op: ast::BinaryOp,
    operand: Typed,
    written: &ast::Expr,
    other: DataType,
) -> Result<Typed, SqlError> {
    use ast::BinaryOp::{Add, Divide, Modulo, Multiply, Subtract};
    let constant = match &written.kind {
        ExprKind::Unary { op: ast::UnaryOp::Minus | ast::UnaryOp::Plus, operand } => &operand.kind,
        kind => kind,
    };
    let (DataType::Decimal { .. }, ExprKind::Literal(ast::Literal::Integer(n))) = (other, constant) else {
        return Ok(operand);
    };
    if operand.ty != DataType::Int || !matches!(op, Add | Subtract | Multiply | Divide | Modulo) {
        return Ok(operand);
    }
    let precision = n.checked_ilog10().unwrap_or(0) as u8 + 1;
    let ty = DataType::decimal(precision, 0);
    Ok(Typed::new(expr::bind_ops::implicit(operand, ty)?, ty, false))
}
