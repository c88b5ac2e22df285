//! From bound queries to plans: rewrites of the logical plan, estimates, the choice of access paths
//! and joins, and the physical plan as plain data. It knows databases and tables (crates `catalog`,
//! `storage`), but neither sessions nor how a plan runs: what it asks of the instance comes through
//! [`bind::env::Names`]. Names and types are the binder's (crate `bind`); [`compile_query`] is
//! both. A [`statement`] that is compiled is its binder and what planning alone knows of it.
//! Guarantees: a compiled object holds no name that must be looked up again; errors carry SQL
//! Server's numbers.

mod access_path;
mod assignments;
mod columns;
mod conversions;
pub mod cost;
pub mod cursor;
mod decorrelate;
pub mod deep_plan;
mod estimate;
mod implied;
mod needs;
mod never_fails;
pub mod nodes;
mod nulls;
mod owners;
pub mod physical;
pub mod planner;
mod random_plan;
pub mod reads;
pub mod rewrite;
mod rule_set;
pub mod statement;
pub mod statistics;
mod view_seek;
pub mod watched;

use crate::random_plan::RandomChoices;
use crate::statement::Statement;
use bind::browse::Browse;
use bind::counters::{Compilation, CompiledKind};
use bind::env::CompileEnv;
use bind::options;
use compact_str::CompactString;
use expr::Expr;
use logical::order::SortKey;
use logical::tree::{BoundQuery, Logical, OutColumn, TableName};
use nodes::Plan;
use std::sync::Arc;
use std::time::Instant;
use syntax::ast;
use types::{Collation, DataType, SqlError, msg};

pub use needs::Needs;

/// One column of a result set.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnInfo {
    /// The name that the client sees; empty for an unnamed expression.
    pub name: CompactString,
    /// The static type of the column.
    pub ty: DataType,
    /// Whether the column can be NULL.
    pub nullable: bool,
    /// Of its strings.
    pub collation: Collation,
    /// It is a column of a table as it is, not a value computed from some.
    pub base: bool,
    /// It is computed: an expression of a query, or a computed column of a table.
    pub computed: bool,
    /// It is the identity column of its table.
    pub identity: bool,
    /// The names of its table, where clients want to know them: for text, ntext and image.
    pub table: Option<TableName>,
}

impl ColumnInfo {
    /// A column of computed values, in the default collation.
    pub fn new(name: impl Into<CompactString>, ty: DataType, nullable: bool) -> ColumnInfo {
        let collation = Collation::DEFAULT;
        let (name, base, computed) = (name.into(), false, false);
        ColumnInfo { name, ty, nullable, collation, base, computed, identity: false, table: None }
    }
}

/// A compiled query.
#[derive(Debug)]
pub struct QueryPlan {
    columns: Vec<ColumnInfo>,
    /// The operators.
    pub plan: Plan,
    /// `SELECT @v = x`: slot, value over the plan's rows.
    pub assignments: Vec<(usize, Expr)>,
    /// It is one row of a table by its key: see [`nodes::ScanPlan::is_plain_point`].
    pub point: bool,
    /// In browse mode: where its columns come from.
    pub browse: Option<Box<Browse>>,
    /// See [`QueryPlan::order`].
    order: Vec<u16>,
    pub needs: Needs,
}

impl QueryPlan {
    /// Whether the query may run under a limit of its estimated seconds; 0 is none.
    ///
    /// # Errors
    /// 8649.
    pub fn check_cost(&self, limit: u32) -> Result<(), SqlError> {
        if limit == 0 {
            return Ok(());
        }
        let seconds = cost::of(&self.plan).total * cost::SECONDS;
        if seconds <= f64::from(limit) {
            return Ok(());
        }
        Err(SqlError::of(msg::COST_OVER_LIMIT, [&format_args!("{seconds:.0}"), &limit]))
    }
}

/// What the OPTION clause of a statement says of its compilation; `assigns`: the statement gives
/// variables values.
///
/// # Errors
/// Those of [`options::check`]; 10715 a rewrite is to be left out that there is not.
pub fn apply_options(
    statement: &mut Statement<'_>,
    options: &[ast::OptionItem],
    assigns: bool,
) -> Result<(), SqlError> {
    options::check(options, statement.env)?;
    statement.apply_options(options, assigns)?;
    statement.force_order = options::forces_order(options);
    statement.join_methods = options::join_methods(options);
    statement.any_plan = options::any_plan(options).map(RandomChoices::new);
    statement.rules_off = rewrite::left_out(options)?;
    Ok(())
}

/// A statement whose compilation is to be counted.
#[derive(Debug)]
pub struct CountedCompilation<'s> {
    pub kind: CompiledKind,
    pub began: Instant,
    pub options: &'s [ast::OptionItem],
    /// In units of [`cost`], without its subqueries.
    pub cost: f64,
    /// Its plan needed no choice.
    pub trivial: bool,
}

impl CountedCompilation<'_> {
    /// Counts the compilation that has come to its end.
    pub fn add(&self, statement: &Statement<'_>, needs: &Needs) {
        let subqueries: f64 = needs.subqueries.iter().map(|plan| cost::of(plan).total).sum();
        statement.env.counters.add(&Compilation {
            kind: self.kind,
            elapsed: self.began.elapsed(),
            cost: (self.cost + subqueries) * cost::SECONDS,
            trivial: self.trivial,
            tables: needs.tables.len(),
            views: needs.modules.len(),
            subqueries: needs.subqueries.len(),
            hints: options::used(self.options, statement.join_hints),
            applied: &statement.applied,
        });
    }
}

/// Compiles a query.
pub fn compile_query(q: &ast::Query, env: &CompileEnv<'_>) -> Result<Arc<QueryPlan>, SqlError> {
    let began = Instant::now();
    let mut statement = Statement::new(env);
    let list = &q.body.first_select().items;
    let assigns = list.iter().any(ast::SelectItem::assigns);
    apply_options(&mut statement, &q.options, assigns)?;
    if assigns {
        statement.sets = Some(set_by(list, env));
    }
    statement.whole = true;
    let mut bound = statement.query(q)?;
    statement.mask_result(&mut bound);
    let BoundQuery { logical, columns, assignments } = bound;
    let order = if assignments.is_empty() { ordered_by(&logical, &columns) } else { Vec::new() };
    let (plan, assignments) = if assignments.is_empty() {
        let wanted: Vec<expr::ColId> = columns.iter().map(|c| c.id).collect();
        (physical::plan_query(&mut statement, logical, &wanted, None)?, assignments)
    } else {
        assignments::plan(&mut statement, logical, assignments)?
    };
    let columns = columns_of(&columns);
    let point = matches!(&plan.node, nodes::Node::Scan(scan) if scan.is_plain_point());
    // One assignment at most: where it fails, operators begin again, and no variable may have
    // another value by then.
    let point = point && assignments.len() <= 1 && assignments.iter().all(|(_, e)| e.is_plain());
    let browse = statement.browsed.take();
    // One row by its key tells of no origins.
    let point = point && browse.is_none();
    let needs = physical::needs(&mut statement)?;
    let query = QueryPlan { columns, plan, assignments, point, browse, order, needs };
    let (cost, trivial) = (cost::of(&query.plan).total, query.reads_points());
    CountedCompilation { kind: CompiledKind::Query, began, options: &q.options, cost, trivial }
        .add(&statement, &query.needs);
    Ok(Arc::new(query))
}

/// The columns of the result that ORDER BY names, from 1; none where it names anything else.
fn ordered_by(logical: &Logical, columns: &[OutColumn]) -> Vec<u16> {
    let mut logical = logical;
    while let Logical::Top { input, .. } = logical {
        logical = input;
    }
    let Logical::Sort { keys, .. } = logical else { return Vec::new() };
    let number = |key: &SortKey| match &key.expr {
        expr::Expr::Col(id) => {
            columns.iter().zip(1..).find(|(c, _)| c.id == *id).map(|(_, number)| number)
        }
        _ => None,
    };
    keys.iter().map(number).collect::<Option<Vec<u16>>>().unwrap_or_default()
}

/// The variables that a list gives values. One that is not declared is refused when it is bound.
fn set_by(list: &[ast::SelectItem], env: &CompileEnv<'_>) -> Vec<usize> {
    let slot = |item: &ast::SelectItem| match item {
        ast::SelectItem::Assign { variable, .. } => {
            env.vars.find(variable).ok().map(|(slot, _)| slot)
        }
        _ => None,
    };
    list.iter().filter_map(slot).collect()
}

/// The columns of a query's result.
fn columns_of(columns: &[OutColumn]) -> Vec<ColumnInfo> {
    let columns = columns.iter().map(|c| ColumnInfo {
        collation: c.collation,
        base: c.base,
        computed: c.computed,
        identity: c.identity.is_some(),
        table: c.table.clone(),
        ..ColumnInfo::new(c.name.clone(), c.ty, c.nullable)
    });
    columns.collect()
}

impl QueryPlan {
    /// The result's columns; none when the query assigns variables.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    /// The numbers, from 1, of the result's columns that the rows are in order of; none where
    /// something else says the order, too.
    pub fn order(&self) -> &[u16] {
        &self.order
    }

    /// Whether the query assigns variables and gives no rows.
    pub fn assigns(&self) -> bool {
        !self.assignments.is_empty()
    }

    /// What it needs when it runs.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Whether it reads tables by whole keys of unique indexes alone.
    pub fn reads_points(&self) -> bool {
        self.needs.subqueries.is_empty() && self.plan.reads_points()
    }

    /// The operators, for showing plans.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
