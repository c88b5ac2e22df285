//! Where the columns of a result come from, as clients are told of cursors and of queries in browse
//! mode. Guarantee: names are those of the tables and columns themselves, not of aliases.

use std::sync::Arc;

use bind::browse::Browse;
use catalog::{Db, TableDef};
use session::output::{ColumnInfo, Origin, Origins};

/// Of tables, and of columns that are some of theirs, for a session in the database `here`.
pub(super) fn of(
    tables: &[(Arc<Db>, Arc<TableDef>)],
    columns: &[ColumnInfo],
    places: &[Option<(usize, usize)>],
    here: i32,
) -> Origins {
    let name = |(db, table): &(Arc<Db>, Arc<TableDef>)| {
        let mut parts = Vec::with_capacity(3);
        if !table.name.starts_with('#') {
            parts.extend((db.id() != here).then(|| db.name()));
            parts.push(table.schema.clone());
        }
        parts.push(table.name.clone());
        parts
    };
    let column = |(info, place): (&ColumnInfo, &Option<(usize, usize)>)| {
        let Some((at, column)) = *place else { return Origin::default() };
        let table = &tables[at].1;
        let base = &table.columns[column].name;
        let key = table.browse_key();
        Origin {
            table: Some(at),
            name: (*base != info.name).then(|| base.clone()),
            key: key.is_some_and(|index| index.key.iter().any(|(part, _)| *part == column)),
            hidden: false,
        }
    };
    Origins {
        tables: tables.iter().map(name).collect(),
        columns: columns.iter().zip(places).map(column).collect(),
    }
}

/// Of a query in browse mode.
pub(super) fn of_query(browse: &Browse, columns: &[ColumnInfo], here: i32) -> Origins {
    let mut origins = of(&browse.tables, columns, &browse.columns, here);
    origins.columns.iter_mut().skip(browse.visible).for_each(|column| column.hidden = true);
    origins
}
