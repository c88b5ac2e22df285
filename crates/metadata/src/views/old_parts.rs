//! The parts of sys.syscolumns and sys.sysindexes that are about tables: made of the catalog
//! itself, as there may be very many rows. The names with parentheses are the views' own.
//! Guarantee: what has to be counted or measured for a row (pages, rows) is so only where it is
//! asked for.

use std::sync::Arc;

use types::{Collation, DataType, Len, SqlError, Value};

use super::columns::{self, Column};
use super::{Rows, SYSNAME, SystemView, View, ViewColumn, Wanted, pick, position, text};
use catalog::{Db, IndexDef, TableDef, statistics};
use session::state::SessionCore;

use DataType::{BigInt, Binary, Int, SmallInt, TinyInt, VarBinary, VarChar};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[&COLUMNS, &INDEXES];

pub(super) const SYSCOLUMN_COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, true),
    ("id", Int, false),
    ("xtype", TinyInt, false),
    ("typestat", TinyInt, false),
    ("xusertype", SmallInt, true),
    ("length", SmallInt, false),
    ("xprec", TinyInt, false),
    ("xscale", TinyInt, false),
    ("colid", SmallInt, true),
    ("xoffset", SmallInt, false),
    ("bitpos", TinyInt, false),
    ("reserved", TinyInt, false),
    ("colstat", SmallInt, true),
    ("cdefault", Int, false),
    ("domain", Int, false),
    ("number", SmallInt, true),
    ("colorder", SmallInt, true),
    ("autoval", VarBinary(Len::N(8000)), true),
    ("offset", SmallInt, true),
    ("collationid", Int, true),
    ("status", TinyInt, true),
    ("type", TinyInt, true),
    ("usertype", SmallInt, true),
    ("printfmt", VarChar(Len::N(255)), true),
    ("prec", SmallInt, true),
    ("scale", Int, true),
    ("iscomputed", Int, true),
    ("isoutparam", Int, false),
    ("isnullable", Int, true),
    ("collation", SYSNAME, true),
];

/// xtype, the old type, the old type of one that may be NULL (0: the same), usertype.
const OLD_TYPES: [(u8, u8, u8, i16); 25] = [
    (34, 34, 0, 20),
    (35, 35, 0, 19),
    (36, 37, 0, 0),
    (48, 48, 38, 5),
    (52, 52, 38, 6),
    (56, 56, 38, 7),
    (58, 58, 111, 22),
    (59, 59, 109, 23),
    (60, 60, 110, 11),
    (61, 61, 111, 12),
    (62, 62, 109, 8),
    (98, 39, 0, 0),
    (99, 35, 0, 0),
    (104, 50, 0, 16),
    (106, 55, 106, 24),
    (108, 63, 108, 10),
    (122, 122, 110, 21),
    (127, 63, 108, 0),
    (165, 37, 0, 4),
    (167, 39, 0, 2),
    (173, 45, 0, 3),
    (175, 47, 0, 1),
    (189, 45, 0, 80),
    (231, 39, 0, 0),
    (239, 47, 0, 0),
];

const ID: usize = position(SYSCOLUMN_COLUMNS, "id");
const NAME: usize = position(SYSCOLUMN_COLUMNS, "name");

/// The columns of tables and views.
static COLUMNS: View = View::seeking(
    "syscolumns of tables()",
    SYSCOLUMN_COLUMNS,
    &[ID, NAME],
    pick::per_column,
    columns_of,
);

fn columns_of(session: &mut SessionCore, db: &Arc<Db>, wanted: &Wanted<'_>) -> Rows {
    let mut rows = Vec::new();
    // Most columns have the collation of the one before.
    let mut named: Option<(Collation, Value)> = None;
    let mut add = |column: &Column<'_>| {
        let mut name_of = |collation: Collation| match &named {
            Some((known, name)) if *known == collation => name.clone(),
            _ => named.insert((collation, text(collation.name()))).1.clone(),
        };
        rows.push(wanted.row(|at| column_value(column, SYSCOLUMN_COLUMNS[at].0, &mut name_of)));
    };
    columns::each(session, db, wanted, (ID, NAME), &mut add)?;
    columns::of_itself(db, wanted, (ID, NAME), &mut add);
    Ok(rows)
}

fn small(n: i32) -> Value {
    Value::SmallInt(i16::try_from(n).unwrap_or(i16::MAX))
}

fn column_value(
    column: &Column<'_>,
    of: &str,
    name_of: &mut dyn FnMut(Collation) -> Value,
) -> Value {
    let ty = column.ty;
    let xtype = ty.system_type_id();
    let old = || OLD_TYPES.iter().find(|(known, ..)| *known == xtype);
    let precision = ty.precision();
    match of {
        "name" => text(column.name),
        "id" => Value::Int(column.object_id),
        "xtype" => Value::TinyInt(xtype),
        "xusertype" => small(column.user_type_id()),
        "length" => Value::SmallInt(ty.max_length()),
        "xprec" => Value::TinyInt(precision),
        "xscale" => Value::TinyInt(ty.scale()),
        "colid" | "colorder" => small(column.column_id),
        "colstat" => Value::SmallInt(match (column.is_identity(), column.is_computed()) {
            (true, _) => 1,
            (_, true) => 4,
            _ => 0,
        }),
        "cdefault" => Value::Int(column.default_id()),
        "collationid" => column.collation().map_or(Value::Null, |collation| {
            let [a, b, c, d, _] = collation.wire_bytes();
            Value::Int(i32::from_le_bytes([a, b, c, d]))
        }),
        "status" => Value::TinyInt(
            8 * u8::from(column.nullable)
                + 16 * u8::from(column.is_padded())
                + 128 * u8::from(column.is_identity()),
        ),
        "type" => Value::TinyInt(match old() {
            Some((_, _, variable, _)) if column.nullable && *variable != 0 => *variable,
            Some((_, usual, ..)) => *usual,
            None => xtype,
        }),
        "usertype" => Value::SmallInt(old().map_or(0, |(.., usertype)| *usertype)),
        "prec" => match (ty.max_length(), xtype) {
            (-1, _) => Value::SmallInt(-1),
            (length, 231 | 239) => Value::SmallInt(length / 2),
            (length, 165 | 167 | 173 | 175 | 189) => Value::SmallInt(length),
            _ if precision > 0 => Value::SmallInt(precision.into()),
            _ => Value::Null,
        },
        "scale" if precision > 0 && !matches!(xtype, 59 | 62) => Value::Int(ty.scale().into()),
        "iscomputed" => Value::Int(column.is_computed().into()),
        "isnullable" => Value::Int(column.nullable.into()),
        "collation" => column.collation().map_or(Value::Null, name_of),
        "typestat" | "bitpos" | "reserved" => Value::TinyInt(0),
        "xoffset" | "number" | "offset" => Value::SmallInt(0),
        "domain" | "isoutparam" => Value::Int(0),
        _ => Value::Null,
    }
}

pub(super) const SYSINDEX_COLUMNS: &[ViewColumn] = &[
    ("id", Int, false),
    ("status", Int, true),
    ("first", Binary(6), true),
    ("indid", SmallInt, true),
    ("root", Binary(6), true),
    ("minlen", SmallInt, true),
    ("keycnt", SmallInt, true),
    ("groupid", SmallInt, true),
    ("dpages", Int, true),
    ("reserved", Int, true),
    ("used", Int, true),
    ("rowcnt", BigInt, true),
    ("rowmodctr", Int, true),
    ("reserved3", Int, true),
    ("reserved4", Int, true),
    ("xmaxlen", SmallInt, true),
    ("maxirow", SmallInt, true),
    ("OrigFillFactor", TinyInt, true),
    ("StatVersion", TinyInt, true),
    ("reserved2", Int, true),
    ("FirstIAM", Binary(6), true),
    ("impid", SmallInt, true),
    ("lockflags", SmallInt, true),
    ("pgmodctr", Int, true),
    ("keys", VarBinary(Len::N(816)), true),
    ("name", SYSNAME, true),
    ("statblob", VarBinary(Len::Old), true),
    ("maxlen", Int, true),
    ("rows", Int, true),
];

const OBJECT: usize = position(SYSINDEX_COLUMNS, "id");

/// The indexes and heaps.
static INDEXES: View = View::seeking(
    "sysindexes of tables()",
    SYSINDEX_COLUMNS,
    &[OBJECT],
    pick::some_per_table,
    |session, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        let wants = |names: &[&str]| {
            SYSINDEX_COLUMNS
                .iter()
                .enumerate()
                .any(|(at, (name, ..))| names.contains(name) && wanted.has(at))
        };
        let (pages, counts) = (wants(&["dpages", "reserved", "used"]), wants(&["rowcnt", "rows"]));
        let changes = wants(&["rowmodctr"]);
        for table in pick::indexed(&catalog, wanted, OBJECT) {
            let count = match counts {
                true => super::partitions::shown_rows(session, db, table)?,
                false => Some(0),
            };
            let statistics = if changes { statistics::all(table) } else { Vec::new() };
            // The pages of the table's indexes, large values with the base.
            let mut each = Vec::new();
            if pages {
                for index in table.stored_indexes() {
                    each.push((index.index_id, pages_of(db, table, index)?));
                }
            }
            for index in table.all_indexes() {
                let base = index.index_id < 2;
                let own =
                    each.iter().find(|(id, _)| *id == index.index_id).map(|(_, pages)| *pages);
                let whole = each
                    .iter()
                    .fold((0, 0), |(r, u), (_, pages)| (r + pages.reserved, u + pages.used));
                let (reserved, used) =
                    if base { whole } else { own.map_or((0, 0), |p| (p.reserved, p.used)) };
                let measured = statistics.iter().find(|s| s.stats_id == index.index_id);
                let measured = measured.and_then(|s| s.measured.as_ref());
                rows.push(wanted.row(|at| match SYSINDEX_COLUMNS[at].0 {
                    "id" => Value::Int(table.shown_id()),
                    "status" => Value::Int(status(index)),
                    "indid" => small(index.index_id),
                    "keycnt" => small(index.key.len() as i32),
                    "groupid" => small(index.filegroup.into()),
                    "dpages" => own.map_or(Value::Null, |pages| super::int(pages.data)),
                    "reserved" if base || own.is_some() => super::int(reserved),
                    "used" if base || own.is_some() => super::int(used),
                    "rowcnt" if base => count.map_or(Value::Null, Value::BigInt),
                    "rowcnt" => Value::BigInt(0),
                    "rows" if index.is_stored() => {
                        count.map_or(Value::Null, |n| {
                            Value::Int(i32::try_from(n).unwrap_or(i32::MAX))
                        })
                    }
                    "rowmodctr" => super::int(
                        measured.map_or(0, |m| table.state.modified().saturating_sub(m.modified)),
                    ),
                    "OrigFillFactor" => Value::TinyInt(index.fill_factor),
                    "lockflags" => Value::SmallInt(
                        i16::from(index.options.no_row_locks)
                            + 2 * i16::from(index.options.no_page_locks),
                    ),
                    "name" if !index.name.is_empty() => text(&index.name),
                    "reserved3" | "reserved4" | "reserved2" | "pgmodctr" => Value::Int(0),
                    "StatVersion" => Value::TinyInt(0),
                    "impid" => Value::SmallInt(0),
                    _ => Value::Null,
                }));
            }
        }
        Ok(rows)
    },
);

fn status(index: &IndexDef) -> i32 {
    let bits = [
        (index.options.ignore_dup_key, 1),
        (index.unique, 2),
        (index.index_id == 1, 16),
        (index.options.padded, 256),
        (index.primary_key.is_some(), 2048),
        (index.unique_constraint.is_some(), 4096),
    ];
    bits.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum()
}

/// Pages of an index.
#[derive(Clone, Copy)]
struct Pages {
    data: u64,
    used: u64,
    reserved: u64,
}

fn pages_of(db: &Arc<Db>, table: &TableDef, index: &IndexDef) -> Result<Pages, SqlError> {
    let (mut reserved, mut used) = super::files::unit_pages(db, index.first_iam)?;
    let data = used.saturating_sub(1);
    for (_, _, first_iam) in table.outside().filter(|_| index.index_id < 2) {
        let (outside_reserved, outside_used) = super::files::unit_pages(db, first_iam)?;
        (reserved, used) = (reserved + outside_reserved, used + outside_used);
    }
    Ok(Pages { data, used, reserved })
}
