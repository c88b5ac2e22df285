//! Browse mode: FOR BROWSE and SET NO_BROWSETABLE. A query tells where its columns come from, and
//! gives the columns of a key of each of its tables besides those that it asks for, so that clients
//! can find its rows again. Guarantee: what the query asks for is what it would give otherwise;
//! keys follow behind.

use std::sync::Arc;

use catalog::{Db, TableDef};
use expr::Expr;

use super::Binder;
use super::select_list::BoundItem;

/// Where the columns of a query in browse mode come from.
#[derive(Debug)]
pub struct Browse {
    /// The tables of its FROM.
    pub tables: Vec<(Arc<Db>, Arc<TableDef>)>,
    /// Of each column the table among those, and the column there; nothing for what is computed.
    pub columns: Vec<Option<(usize, usize)>>,
    /// Columns that the query asks for; behind them are those of keys.
    pub visible: usize,
}

impl Binder<'_> {
    /// Adds the columns of keys to the items of a block, and notes where all come from. A block
    /// that groups has rows of no table.
    pub(super) fn browse(&mut self, items: &mut Vec<BoundItem>) {
        let Some(scope) = self.scopes.last().filter(|scope| scope.grouping.is_none()) else {
            return;
        };
        let mut tables: Vec<(Arc<Db>, Arc<TableDef>)> = Vec::new();
        // The place of each column of the tables.
        let mut places = Vec::new();
        let mut keys = Vec::new();
        for source in scope.sources.iter().filter(|source| source.object_id != 0) {
            let used = self.tables.iter().find(|used| {
                (used.db.id(), used.table.object_id) == (source.db_id, source.object_id)
            });
            let Some(used) = used else { continue };
            let key = used.table.browse_key();
            let at = tables.len();
            tables.push((used.db.clone(), used.table.clone()));
            for (column, shown) in source.columns.iter().enumerate().take(used.table.columns.len())
            {
                places.push((shown.id, (at, column)));
                if key.is_some_and(|key| key.key.iter().any(|(part, _)| *part == column)) {
                    keys.push(shown.clone());
                }
            }
        }
        let visible = items.len();
        let has = |items: &[BoundItem], id| {
            items.iter().any(|item| matches!(item.typed.expr, Expr::Col(of) if of == id))
        };
        for column in keys {
            if !has(items, column.id) {
                self.rights.mentions(column.id);
                items.push(BoundItem { typed: column.typed(), name: column.name });
            }
        }
        let place = |item: &BoundItem| match item.typed.expr {
            Expr::Col(id) => places.iter().find(|(of, _)| *of == id).map(|(_, place)| *place),
            _ => None,
        };
        let columns = items.iter().map(place).collect();
        self.browsed = Some(Box::new(Browse { tables, columns, visible }));
    }
}
