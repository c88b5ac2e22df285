//! The binder: syntax in, typed expressions and logical plans with all conversions out. Statements
//! and queries share one [`Binder`]; what it knows of the statement, and the numbers of columns,
//! parameters and subqueries within it, are here. So is what goes with a compilation from its
//! beginning to its end: its [`options`], its [`counters`], which rewrites it has seen
//! ([`applied`]). Guarantees: what it returns needs no name; errors carry SQL Server's numbers.

pub mod applied;
#[cfg(debug_assertions)]
pub mod asks;
pub mod base_table;
pub mod browse;
mod bulk;
pub mod call;
mod column;
pub mod combine;
pub mod computed;
mod condition;
mod contains;
pub mod counters;
mod cte;
pub mod deduce;
mod derived;
pub mod document;
pub mod env;
mod explicit;
pub mod filter;
mod for_clause;
pub mod from;
pub mod function;
mod grouped;
mod grouping;
mod json;
pub mod literal;
pub mod mask;
pub mod module;
pub mod module_schema;
pub mod nested_change;
mod null_constant;
pub mod options;
mod order_by;
mod outer_aggregate;
pub mod partitioned;
pub mod period;
mod pivot;
mod policy;
mod query_source;
mod recursive;
pub mod resolve;
pub mod row_version;
mod sample;
pub mod scope;
mod select;
pub mod select_list;
pub mod sequence;
pub mod set_options;
mod set_query;
mod size;
pub mod source;
mod sources;
pub mod subquery;
pub mod synonym;
mod system_time;
mod system_view;
mod table_function;
pub mod table_hints;
pub mod table_use;
mod top;
pub mod type_names;
pub mod undeclared;
mod unresolved;
pub mod unresolved_names;
pub mod updatable;
mod value;
mod view_names;
pub mod view_rows;
mod window;
pub mod xml;

use catalog::other::SequenceDef;
use catalog::{Catalog, Db, ModuleDef};
use env::CompileEnv;
use expr::{ColId, InListExpr};
use logical::rights::{Chain, Rights};
use logical::tree::{CteDef, Subquery};
use scope::{Clause, Scope};
use std::sync::Arc;
use syntax::ast::{self};
use table_use::TableUse;
pub(crate) use type_names::cast_type;
pub use type_names::declared_type;
use types::{SqlError, Value, msg};

/// Rounds of a recursive CTE without OPTION (MAXRECURSION).
const DEFAULT_RECURSION: u32 = 100;

/// Binds one statement.
pub struct Binder<'a> {
    pub env: &'a CompileEnv<'a>,
    pub scopes: Vec<Scope>,
    /// Common table expressions in sight, the innermost last.
    pub(crate) ctes: Vec<Arc<CteDef>>,
    /// Names of the CTEs that are being bound right now, for the message about one that refers to
    /// itself.
    pub(crate) open_ctes: Vec<compact_str::CompactString>,
    next_col: ColId,
    next_param: usize,
    next_once: i32,
    next_list: usize,
    /// The variables that the statement gives values while it reads rows; none where it may be any.
    pub sets: Option<Vec<usize>>,
    /// Joins whose operator is prescribed beside them.
    pub join_hints: u64,
    /// OPTION (MAXRECURSION n); none for as many rounds as there are.
    pub(crate) max_recursion: Option<u32>,
    /// Values of the batch's variables for which the plan is made, by slot; NULL, or none, where
    /// nothing is known.
    pub values: Arc<[Value]>,
    /// OPTION (RECOMPILE): the plan is for one run.
    pub one_run: bool,
    /// The values that variables have in that run, as constants: of a statement that changes none
    /// of them.
    folds: bool,
    /// The database and the catalog in which names are looked up: those of the statement, inside a
    /// view those of the view.
    pub db: Arc<Db>,
    pub catalog: Arc<Catalog>,
    /// The schema in which names without one are looked up before `dbo`; inside a view that of the
    /// view.
    schema: Option<compact_str::CompactString>,
    /// What `inserted` and `deleted` mean here.
    pub(crate) changes: Option<module::ChangedTable>,
    /// An expression is bound to find out whether the type of a parameter fits.
    trial: bool,
    /// The next query is the whole statement: what FOR makes of it goes out in pieces.
    pub whole: bool,
    /// The next block is the whole statement's, in browse mode.
    browsing: bool,
    /// The next block is that of an EXISTS: its list is not looked at.
    for_exists: bool,
    /// Where the columns of a statement in browse mode come from.
    pub browsed: Option<Box<browse::Browse>>,
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
    pub(crate) query_sources: Vec<updatable::QuerySource>,
    /// The table that stands for a partitioned view.
    pub member: Option<Box<partitioned::ViewMember>>,
    /// The target of a change that was refused: the UNION ALL of tables below it, if it is over
    /// one.
    pub union_target: Option<(Arc<Db>, Arc<ModuleDef>)>,
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
    /// The block, by its number in `scopes`, that an aggregate in a subquery has turned out to be
    /// of while it was bound as one that does not group.
    late_grouping: Option<usize>,
    /// How many of these values are taken in whatever order the rows come.
    unordered_values: usize,
    /// What the caller must be allowed, as far as met.
    pub rights: Rights,
    /// Subqueries met so far; [`expr::SubRef::id`] counts through them.
    pub subqueries: Vec<Subquery>,
    /// OPTION (TABLE HINT (...)).
    pub(crate) table_hints: Vec<table_hints::TableHint>,
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
    /// How much has been bound.
    size: size::Size,
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
            next_list: 0,
            sets: Some(Vec::new()),
            join_hints: 0,
            max_recursion: Some(DEFAULT_RECURSION),
            values: crate::options::known(env).into(),
            one_run: false,
            folds: false,
            db: env.db.clone(),
            catalog: env.catalog.clone(),
            schema: env.schema.clone(),
            changes: env.changes.clone(),
            trial: false,
            whole: false,
            browsing: false,
            for_exists: false,
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
            member: None,
            union_target: None,
            modules: Vec::new(),
            assigning: false,
            sequences: Vec::new(),
            row_values: Vec::new(),
            combining: false,
            late_grouping: None,
            unordered_values: 0,
            rights: Rights::new(env.chain),
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
            size: size::Size::default(),
        }
    }

    /// What the OPTION clause of the statement says of how it is bound; `assigns`: the statement
    /// gives variables values.
    ///
    /// # Errors
    /// Those of the values that OPTIMIZE FOR names.
    pub fn apply_options(
        &mut self,
        options: &[ast::OptionItem],
        assigns: bool,
    ) -> Result<(), SqlError> {
        self.values = crate::options::values(options, self.env)?;
        self.one_run = crate::options::is_for_one_run(options);
        self.folds = self.one_run && !assigns && !self.env.values.is_empty();
        self.sets = (!assigns).then(Vec::new);
        self.table_hints = table_hints::of(options);
        if let Some(rounds) = crate::options::max_recursion(options) {
            self.max_recursion = rounds;
        }
        Ok(())
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
    pub(crate) fn new_once(&mut self) -> i32 {
        self.next_once += 1;
        self.next_once - 1
    }

    /// A list with variables that keep their values is kept by the run once it has computed it.
    pub fn keep_list(&mut self, list: &mut InListExpr) {
        let stays = |set: &Vec<usize>| list.can_be_kept(&|slot| !set.contains(&slot));
        if self.sets.as_ref().is_some_and(stays) {
            list.keep_as(self.next_list);
            self.next_list += 1;
        }
    }

    /// The block being bound.
    pub fn scope(&mut self) -> Result<&mut Scope, SqlError> {
        self.scopes.last_mut().ok_or_else(|| SqlError::internal("no query block"))
    }

    /// What clause is being bound; `None` outside any block.
    pub fn clause(&self) -> Clause {
        self.scopes.last().map_or(Clause::None, |scope| scope.clause)
    }
}

/// Error for a construct that parses and is not there yet.
pub fn unsupported(what: &str) -> SqlError {
    SqlError::of(msg::NOT_SUPPORTED, [&what])
}
