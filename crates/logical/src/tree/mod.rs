//! The logical plan: what a query means, without how. Columns are statement-wide ids. A node's
//! inputs remember what has been worked out of them ([`input`]), the tables below them too
//! ([`sources`]).

pub mod input;
pub mod sources;

use self::input::{GatheredColumns, Input};
use crate::hints::{Hints, RowLocks};
use crate::order::SortKey;
use crate::view::ViewDef;
use crate::window::WindowCall;
use catalog::Db;
use catalog::TableDef;
use compact_str::CompactString;
use expr::aggregate::Aggregate;
use expr::document::Document;
use expr::{ColId, ErrorRules, Expr, Label, Pred, Routine, Typed};
use stack::Nested;
use std::sync::Arc;
use storage::TableMode;
use types::{Collation, DataType, Value};

/// A node of the logical plan.
#[derive(Clone, Debug)]
pub enum Logical {
    /// One row without columns.
    One,
    /// A base table.
    Get(Arc<Get>),
    /// A system view or table function.
    View(Box<ViewScan>),
    /// The table that a user's function fills.
    Routine(Box<RoutineScan>),
    /// Rows that the running statement keeps.
    Work(WorkScan),
    /// A recursive CTE: the anchor's rows, then those of the steps over the rows of the round
    /// before, until there are none. Column `i` is `1[i]` of each.
    Recursive {
        anchor: Nested<(Logical, Vec<ColId>)>,
        steps: Nested<Vec<(Logical, Vec<ColId>)>>,
        cols: Vec<ColId>,
        /// Number of the rows that [`WorkSource::Recursion`] means.
        work: usize,
        /// Most rounds; none for any number.
        limit: Option<u32>,
    },
    /// Rows of expressions; column `i` of each row is `cols[i]`.
    Values {
        rows: Vec<Vec<Expr>>,
        cols: Vec<ColId>,
    },
    Filter {
        input: Input,
        preds: Vec<Pred>,
    },
    Join {
        kind: JoinKind,
        left: Input,
        right: Input,
        on: Vec<Pred>,
        hint: Option<JoinHint>,
    },
    /// The right side runs once per left row, with these parameters set from it.
    Apply {
        outer: bool,
        left: Input,
        right: Input,
        args: Vec<(usize, Expr)>,
    },
    /// New columns; those of the input stay visible.
    Project {
        input: Input,
        exprs: Vec<(ColId, Expr)>,
    },
    /// Groups; without keys one row always comes out when `scalar`. Of no input there is also a row
    /// for each of `totals`, the numbers of the grouping sets without keys: that number in the last
    /// key, all other keys NULL.
    Aggregate {
        input: Input,
        keys: Vec<GroupCol>,
        aggregates: Vec<Aggregate>,
        scalar: bool,
        totals: Vec<i32>,
    },
    Window {
        input: Input,
        calls: Vec<WindowCall>,
    },
    Distinct {
        input: Input,
        cols: Vec<(ColId, Collation)>,
    },
    Sort {
        input: Input,
        keys: Vec<SortKey>,
    },
    Top {
        input: Input,
        top: TopSpec,
    },
    /// FOR JSON, FOR XML: all rows of the input, with `cols`, become one text; with `pieces` it
    /// goes out as rows of some length.
    Document {
        input: Input,
        cols: Vec<ColId>,
        document: Arc<Document>,
        pieces: bool,
        output: ColId,
    },
    /// UNION ALL: column `i` of input `k` is `inputs[k].1[i]`.
    Concat {
        inputs: Nested<Vec<(Logical, Vec<ColId>)>>,
        cols: Vec<ColId>,
    },
    /// EXCEPT and INTERSECT, without duplicates.
    SetOp {
        except: bool,
        left: Nested<(Logical, Vec<ColId>)>,
        right: Nested<(Logical, Vec<ColId>)>,
        cols: Vec<(ColId, Collation)>,
    },
}

impl Logical {
    /// Its rows that satisfy conditions.
    #[must_use]
    pub fn filtered(self, preds: Vec<Pred>) -> Logical {
        match preds.is_empty() {
            true => self,
            false => Logical::Filter { input: Input::new(self), preds },
        }
    }

    /// The constant, variable or parameter of `SELECT constant`.
    pub fn constant(&self) -> Option<&Expr> {
        match self {
            Logical::Project { input, exprs } if matches!(**input, Logical::One) => {
                match &exprs[..] {
                    [(_, e)] if e.is_one_value() => Some(e),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Which rows that a statement keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkSource {
    /// The rows of a change after it; of a trigger's statement.
    Inserted,
    /// The rows before it.
    Deleted,
    /// The rows that a recursive CTE's last round has given.
    Recursion(usize),
}

/// A read of rows that the statement keeps; column `i` is `first + i`.
#[derive(Clone, Debug)]
pub struct WorkScan {
    pub source: WorkSource,
    pub first: ColId,
    pub width: usize,
    /// How many are expected.
    pub rows: f64,
}

/// A base table in a plan. Column `i` of the table is `first + i`; the row's locator is `first +
/// columns`.
#[derive(Clone, Debug)]
pub struct Get {
    pub db: Arc<Db>,
    pub table: Arc<TableDef>,
    pub first: ColId,
    pub mode: TableMode,
    /// Locks that the read takes on rows.
    pub locks: Option<RowLocks>,
    pub hints: Hints,
    /// Values of the batch's variables for which the plan is made, by slot; NULL, or none, where
    /// nothing is known.
    pub values: Arc<[Value]>,
}

impl Get {
    /// The id of the locator pseudo column.
    pub fn locator(&self) -> ColId {
        self.first + self.table.columns.len() as ColId
    }

    /// Position of a column id in the table.
    pub fn position(&self, id: ColId) -> Option<usize> {
        let at = id.checked_sub(self.first)? as usize;
        (at < self.table.columns.len()).then_some(at)
    }
}

/// A system view or table function in a plan.
#[derive(Clone)]
pub struct ViewScan {
    pub db: Arc<Db>,
    pub view: &'static dyn ViewDef,
    pub args: Vec<Expr>,
    pub first: ColId,
}

impl std::fmt::Debug for ViewScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.view.name())
    }
}

/// The rows that a user's function gives for its arguments; column `i` is `first + i`.
#[derive(Clone, Debug)]
pub struct RoutineScan {
    pub routine: Arc<dyn Routine>,
    pub args: Vec<Expr>,
    pub first: ColId,
    pub width: usize,
    /// How many are expected.
    pub rows: f64,
}

/// How two inputs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Full,
    /// Left rows with a match.
    Semi,
    /// Left rows without a match.
    Anti,
}

/// A join hint that the planner honours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinHint {
    Loop,
    Hash,
    Merge,
    /// No hint: the search for an order of joins wants a merge by the orders in which the sides
    /// come.
    Ordered,
}

/// A key of a GROUP BY.
#[derive(Clone, Debug)]
pub struct GroupCol {
    pub output: ColId,
    pub expr: Expr,
    pub collation: Collation,
}

/// TOP, OFFSET and FETCH.
#[derive(Clone, Debug, Default)]
pub struct TopSpec {
    pub count: Option<Expr>,
    pub percent: bool,
    /// WITH TIES: the keys of the sort below.
    pub ties: Option<Vec<SortKey>>,
    pub offset: Option<Expr>,
}

/// A column of a bound query.
#[derive(Clone, Debug)]
pub struct OutColumn {
    pub name: CompactString,
    pub id: ColId,
    pub ty: DataType,
    pub nullable: bool,
    pub collation: Collation,
    /// How strong the collation is where a set operation meets another.
    pub label: Label,
    /// A bare NULL: its type is open.
    pub untyped: bool,
    /// IDENTITY of the base column that it is, for SELECT INTO.
    pub identity: Option<(i64, i64)>,
    /// It is a column of a table as it is.
    pub base: bool,
    /// It is computed, here or by the table.
    pub computed: bool,
    /// The names of its table, where clients want to know them: for text, ntext and image.
    pub table: Option<TableName>,
}

/// Schema and name of a table.
pub type TableName = Arc<[CompactString; 2]>;

impl OutColumn {
    /// A column that is computed, not one of a table.
    pub fn new(
        name: &str,
        id: ColId,
        ty: DataType,
        nullable: bool,
        collation: Collation,
    ) -> OutColumn {
        let (label, name) = (Label::Implicit, name.into());
        let (identity, table) = (None, None);
        OutColumn {
            name,
            id,
            ty,
            nullable,
            collation,
            label,
            untyped: false,
            identity,
            base: false,
            computed: true,
            table,
        }
    }

    /// The column as an expression.
    pub fn typed(&self) -> Typed {
        Typed {
            expr: Expr::Col(self.id),
            ty: self.ty,
            nullable: self.nullable,
            fixed: true,
            collation: self.collation,
            label: Label::Implicit,
            dialect: None,
            manner: ErrorRules::default(),
        }
    }
}

/// A bound query.
#[derive(Clone, Debug)]
pub struct BoundQuery {
    pub logical: Logical,
    pub columns: Vec<OutColumn>,
    /// `SELECT @v = x`: slot and value, evaluated row by row so that each row sees what the one
    /// before it set.
    pub assignments: Vec<(usize, Expr)>,
}

/// A subquery in an expression of the statement, as it was bound. Its plan is made when the
/// statement's own is.
#[derive(Clone, Debug)]
pub struct Subquery {
    pub logical: Arc<Logical>,
    /// The columns that are wanted of it; none for EXISTS.
    pub wanted: Vec<ColId>,
    /// Only so many rows will be taken.
    pub goal: Option<u64>,
}

/// A common table expression in sight: it is bound again at each mention.
#[derive(Debug)]
pub struct CteDef {
    /// Lower case.
    pub name: CompactString,
    pub columns: Vec<syntax::ast::Ident>,
    pub query: syntax::ast::Query,
    /// How many CTEs were in sight where it was defined.
    pub visible: usize,
}

impl Logical {
    /// Gathers the columns that the node offers to what is above it.
    pub fn offers(&self, out: &mut GatheredColumns) {
        let listed = |out: &mut GatheredColumns, ids: &[ColId]| {
            ids.iter().for_each(|id| out.add(*id, id + 1))
        };
        stack::with_room(|| match self {
            Logical::One => {}
            Logical::Get(get) => out.add(get.first, get.locator() + 1),
            Logical::View(v) => out.add(v.first, v.first + v.view.columns().len() as ColId),
            Logical::Work(work) => out.add(work.first, work.first + work.width as ColId),
            Logical::Routine(scan) => out.add(scan.first, scan.first + scan.width as ColId),
            Logical::Values { cols, .. }
            | Logical::Concat { cols, .. }
            | Logical::Recursive { cols, .. } => {
                listed(out, cols);
            }
            Logical::Filter { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Distinct { input, .. }
            | Logical::Top { input, .. } => out.add_input(input),
            Logical::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => {
                out.add_input(left)
            }
            Logical::Join { left, right, .. } | Logical::Apply { left, right, .. } => {
                out.add_input(left);
                out.add_input(right);
            }
            Logical::Project { input, exprs } => {
                out.add_input(input);
                exprs.iter().for_each(|(id, _)| out.add(*id, id + 1));
            }
            Logical::Aggregate { keys, aggregates, .. } => {
                keys.iter().for_each(|k| out.add(k.output, k.output + 1));
                aggregates.iter().for_each(|a| out.add(a.output, a.output + 1));
            }
            Logical::Window { input, calls } => {
                out.add_input(input);
                calls.iter().for_each(|c| out.add(c.output, c.output + 1));
            }
            Logical::Document { output, .. } => out.add(*output, *output + 1),
            Logical::SetOp { cols, .. } => cols.iter().for_each(|(id, _)| out.add(*id, id + 1)),
        })
    }
}
