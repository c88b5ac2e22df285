//! Where rows come from: tables by their access paths, system views, and what is kept of the
//! columns of a source that gives all of them.

use super::{Context, Planner};
use crate::access_path::{self, Wishes};
use crate::nodes::{Node, Path, Plan};
use crate::statistics::table_rows;
use crate::view_seek;
use crate::watched::WatchedTable;
use catalog::TableDef;
use catalog::statistics::threshold;
use expr::{ColId, Expr, InPlace, Pred};
use logical::tree::{Get, ViewScan};
use std::sync::Arc;
use storage::TableStore;
use types::SqlError;

/// A condition of more columns, variables and constants is not copied for a run.
const MOST_LEAVES: usize = 200;

impl Planner<'_, '_> {
    pub(super) fn get(
        &mut self,
        get: Arc<Get>,
        preds: Vec<Pred>,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let (local, above): (Vec<_>, Vec<_>) =
            preds.into_iter().partition(|p| !p.has_subquery() || access_path::is_sought(&get, p));
        let store = TableStore::open(&get.db, &get.table)?;
        let with = cx.with(&above);
        let wishes = Wishes {
            needed: &with.needed,
            order: &cx.order,
            grouping: &cx.grouping,
            goal: cx.goal,
            exact: cx.exact,
        };
        let mut plan =
            access_path::plan(&get, store, local, &wishes, &mut self.statement.any_plan)?;
        if let Node::Scan(scan) = &mut plan.node {
            scan.computes = scan.pred.as_ref().is_some_and(|pred| self.computes(pred));
            let told =
                scan.pred.as_ref().filter(|pred| scan.computes || InPlace::is_possible(pred));
            scan.in_place = told.is_some_and(|pred| self.stays(pred));
            // The rows behind entries that fail the test are not locked, so it may not say another
            // thing when they are read. All that it says is tested on the rows besides.
            if scan.locks.is_some()
                && scan.entry.as_ref().is_some_and(|test| !self.stays(&test.pred))
            {
                scan.entry = None;
            }
        }
        self.watch(&get.table, &plan);
        self.above(plan, above)
    }

    /// The plan reads a table as its rows and values of this moment suggest; a seek of one row by a
    /// key is good whatever becomes of them.
    fn watch(&mut self, table: &TableDef, plan: &Plan) {
        let point = match &plan.node {
            Node::Scan(scan) => match &scan.path {
                Path::Point(_) => true,
                Path::Index { point, .. } => *point,
                Path::Base | Path::Clustered(_) => false,
            },
            _ => false,
        };
        let watched = &mut self.statement.watched;
        let known = watched.iter().any(|watched| Arc::ptr_eq(&watched.state, &table.state));
        if !point && !known {
            let limit = table.state.modified().saturating_add(threshold(table_rows(table)));
            let renewals = table.state.statistics.renewals();
            watched.push(WatchedTable { state: table.state.clone(), limit, renewals });
        }
    }

    /// Whether parts of a condition are worth to be computed once for many rows: it is no long one,
    /// and the statement sets none of its variables. Where errors are NULL and a message, computing
    /// them ahead would tell of an error that no row has asked for.
    fn computes(&self, pred: &Pred) -> bool {
        let mut leaves = 0;
        pred.leaves(&mut |_| leaves += 1);
        let silent = !self.statement.env.options.manner().lenient;
        silent && leaves <= MOST_LEAVES && pred.has_computed() && self.stays(pred)
    }

    /// Whether the statement sets none of the variables that a condition asks for.
    fn stays(&self, pred: &Pred) -> bool {
        let mut stays = true;
        pred.leaves(&mut |leaf| {
            if let Expr::Var(slot) = leaf {
                stays &= self.statement.sets.as_ref().is_some_and(|set| !set.contains(slot));
            }
        });
        stays
    }

    pub(super) fn view(
        &mut self,
        view: Box<ViewScan>,
        preds: Vec<Pred>,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let (cols, keep) = kept(view.first, view.view.columns().len(), &cx.with(&preds));
        let equal = view_seek::wanted(&view, &preds);
        let rows =
            if equal.is_empty() { view.view.expected_rows(&view.db) } else { view_seek::FOUND };
        let plan =
            Plan { node: Node::View { scan: view, keep, equal }, cols, rows, ordered: false };
        self.above(plan, preds)
    }
}

/// The needed ones of the columns of a source that are numbered from `first`: their ids, and their
/// places in it.
pub(super) fn kept(first: ColId, width: usize, cx: &Context) -> (Vec<ColId>, Vec<usize>) {
    let ids = first..first + width as ColId;
    let cols: Vec<ColId> = ids.filter(|id| cx.needed.contains(id)).collect();
    let keep = cols.iter().map(|id| (id - first) as usize).collect();
    (cols, keep)
}
