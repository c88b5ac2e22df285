//! Columns: sys.columns, all_columns, system_columns, identity_columns, masked_columns,
//! computed_columns.

use std::sync::Arc;

use types::{CancelCheck, Collation, DataType, Len, SqlError, Value};

use super::{
    NVARCHAR60, SYSNAME, View, ViewColumn, WantedRows, all, bit, every, is_of_master, modules,
    pick, system_tables, text,
};
use catalog::{ColumnDef, Db, MASTER, ModuleKind, TableDef};
use ddl::system_functions::SystemFunctions;
use ddl::table_def::from_type;
use logical::view::{PIECE, RowSource, ViewRows};
use session::state::SessionCore;

use DataType::{Bit, Int, NVarChar, SmallInt, SqlVariant, TinyInt};

macro_rules! column_columns {
    ($($more:expr),*) => {
        &[
            ("object_id", Int, false),
            ("name", SYSNAME, true),
            ("column_id", Int, false),
            ("system_type_id", TinyInt, false),
            ("user_type_id", Int, false),
            ("max_length", SmallInt, false),
            ("precision", TinyInt, false),
            ("scale", TinyInt, false),
            ("collation_name", SYSNAME, true),
            ("is_nullable", Bit, true),
            ("is_ansi_padded", Bit, false),
            ("is_rowguidcol", Bit, false),
            ("is_identity", Bit, false),
            ("is_computed", Bit, false),
            ("is_filestream", Bit, false),
            ("is_replicated", Bit, true),
            ("is_non_sql_subscribed", Bit, true),
            ("is_merge_published", Bit, true),
            ("is_dts_replicated", Bit, true),
            ("is_xml_document", Bit, false),
            ("xml_collection_id", Int, false),
            ("default_object_id", Int, false),
            ("rule_object_id", Int, false),
            ("is_sparse", Bit, true),
            ("is_column_set", Bit, true),
            $($more,)*
            ("generated_always_type", TinyInt, true),
            ("generated_always_type_desc", NVARCHAR60, true),
            ("encryption_type", Int, true),
            ("encryption_type_desc", NVarChar(Len::N(64)), true),
            ("encryption_algorithm_name", SYSNAME, true),
            ("column_encryption_key_id", Int, true),
            ("column_encryption_key_database_name", SYSNAME, true),
            ("is_hidden", Bit, false),
            ("is_masked", Bit, false),
            ("graph_type", Int, true),
            ("graph_type_desc", NVARCHAR60, true),
            ("is_data_deletion_filter_column", Bit, false),
            ("ledger_view_column_type", TinyInt, true),
            ("ledger_view_column_type_desc", NVARCHAR60, true),
            ("is_dropped_ledger_column", Bit, true),
        ]
    };
}

/// Columns before those that a view of its own kind adds.
const BEFORE: usize = 25;

/// A column as the views show it.
pub(super) struct Column<'a> {
    pub object_id: i32,
    pub column_id: i32,
    pub name: &'a str,
    pub ty: DataType,
    pub nullable: bool,
    /// Of a table's.
    pub def: Option<&'a ColumnDef>,
}

impl Column<'_> {
    /// The collation of its strings.
    pub fn collation(&self) -> Option<Collation> {
        self.ty.is_string().then(|| self.def.map_or(Collation::DEFAULT, |c| c.collation))
    }

    pub fn user_type_id(&self) -> i32 {
        self.def.map_or_else(|| self.ty.user_type_id(), ColumnDef::user_type_id)
    }

    pub fn is_padded(&self) -> bool {
        (self.ty.is_string() || self.ty.is_binary()) && self.ty != DataType::RowVersion
    }

    pub fn is_identity(&self) -> bool {
        self.def.is_some_and(|c| c.identity.is_some())
    }

    pub fn is_computed(&self) -> bool {
        self.def.is_some_and(|c| c.computed.is_some())
    }

    pub(crate) fn default_id(&self) -> i32 {
        self.def.and_then(|c| c.default.as_ref()).map_or(0, |d| d.object_id)
    }

    /// generated_always_type with its name.
    fn generated(&self) -> (u8, &'static str) {
        match self.def.and_then(|c| c.generated) {
            None => (0, "NOT_APPLICABLE"),
            Some(generated) if generated.end => (2, "AS_ROW_END"),
            Some(_) => (1, "AS_ROW_START"),
        }
    }

    /// The value of the view's column at a position; `more`: how many columns the view adds, which
    /// the caller fills in.
    fn value(&self, at: usize, more: usize) -> Value {
        let ty = self.ty;
        if at >= BEFORE + more {
            return match at - more {
                25 => Value::TinyInt(self.generated().0),
                26 => text(self.generated().1),
                32 => bit(self.def.is_some_and(ColumnDef::is_hidden)),
                33 => bit(self.def.is_some_and(|c| c.mask.is_some())),
                36 | 39 => bit(false),
                _ => Value::Null,
            };
        }
        match at {
            0 => Value::Int(self.object_id),
            1 => text(self.name),
            2 => Value::Int(self.column_id),
            3 => Value::TinyInt(ty.system_type_id()),
            4 => Value::Int(self.user_type_id()),
            5 => Value::SmallInt(ty.max_length()),
            6 => Value::TinyInt(ty.precision()),
            7 => Value::TinyInt(ty.scale()),
            8 => self.collation().map_or(Value::Null, |collation| text(collation.name())),
            9 => bit(self.nullable),
            10 => bit(self.is_padded()),
            12 => bit(self.is_identity()),
            13 => bit(self.is_computed()),
            11 => bit(self.def.is_some_and(|c| c.traits.rowguid)),
            23 => bit(self.def.is_some_and(|c| c.traits.sparse)),
            14..=19 | 24 => bit(false),
            21 => Value::Int(self.default_id()),
            20 | 22 => Value::Int(0),
            _ => Value::Null,
        }
    }
}

const COLUMN_COLUMNS: &[ViewColumn] = column_columns!();
/// object_id and name.
const SOUGHT: &[usize] = &[0, 1];

/// Columns of tables and views of users.
fn user_columns(
    session: &SessionCore,
    db: &Arc<Db>,
    wanted: &WantedRows<'_>,
    rows: &mut Vec<Vec<Value>>,
) -> Result<(), SqlError> {
    let mut add = |column: &Column<'_>| rows.push(wanted.row(|at| column.value(at, 0)));
    each(session, db, wanted, (0, 1), &mut add)?;
    of_itself(db, wanted, (0, 1), &mut add);
    Ok(())
}

/// Gives the wanted columns of what a database has of itself.
pub(super) fn of_itself(
    db: &Db,
    wanted: &WantedRows<'_>,
    (id, named): (usize, usize),
    give: &mut dyn FnMut(&Column<'_>),
) {
    let mut add = |object_id: i32, columns: &[ViewColumn]| {
        if wanted.id(id).is_some_and(|id| id != object_id) {
            return;
        }
        for (column_id, (name, ty, nullable)) in (1..).zip(columns) {
            if wanted.may_be(named, name) {
                give(&Column {
                    object_id,
                    column_id,
                    name,
                    ty: *ty,
                    nullable: *nullable,
                    def: None,
                });
            }
        }
    };
    system_tables::all().iter().for_each(|table| add(table.id, table.columns.as_slice()));
    if db.id() == MASTER {
        every()
            .filter(|view| is_of_master(*view))
            .for_each(|view| add(view.object_id(), view.columns()));
    }
}

fn expected(db: &Db) -> f64 {
    pick::per_column(db) + system_tables::COLUMNS
}

/// Columns of tables, piece by piece, and after them those of types, views and the database itself.
struct UserColumns {
    keep: Vec<usize>,
    equal: Vec<(usize, Value)>,
    tables: std::vec::IntoIter<Arc<TableDef>>,
    others: std::vec::IntoIter<Vec<Value>>,
}

impl UserColumns {
    fn start(
        session: &SessionCore,
        db: &Arc<Db>,
        wanted: &WantedRows<'_>,
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let mut others = Vec::new();
        let mut add = |column: &Column<'_>| others.push(wanted.row(|at| column.value(at, 0)));
        each_other(session, db, wanted, (0, 1), &mut add)?;
        of_itself(db, wanted, (0, 1), &mut add);
        let tables: Vec<_> =
            pick::tables(&db.catalog(), wanted, 0, None).into_iter().cloned().collect();
        let (keep, equal) = wanted.owned();
        let others = others.into_iter();
        Ok(Box::new(UserColumns { keep, equal, tables: tables.into_iter(), others }))
    }
}

impl RowSource for UserColumns {
    fn next(&mut self, out: &mut ViewRows, _: CancelCheck<'_>) -> Result<bool, SqlError> {
        out.clear();
        let wanted = WantedRows::new(&self.keep, &self.equal);
        while out.len() < PIECE
            && let Some(table) = self.tables.next()
        {
            each_of_table(&table, &wanted, 1, &mut |column| {
                out.push(wanted.values(|at| column.value(at, 0)));
            });
        }
        if out.is_empty() {
            self.others.by_ref().take(PIECE).for_each(|row| out.push(row));
        }
        Ok(!out.is_empty())
    }
}

/// Gives the wanted ones of them; `id` and `named`: positions of the view's columns.
pub(super) fn each(
    session: &SessionCore,
    db: &Arc<Db>,
    wanted: &WantedRows<'_>,
    (id, named): (usize, usize),
    give: &mut dyn FnMut(&Column<'_>),
) -> Result<(), SqlError> {
    for table in pick::tables(&db.catalog(), wanted, id, None) {
        each_of_table(table, wanted, named, give);
    }
    each_other(session, db, wanted, (id, named), give)
}

/// Gives the wanted columns of a table.
fn each_of_table(
    table: &TableDef,
    wanted: &WantedRows<'_>,
    named: usize,
    give: &mut dyn FnMut(&Column<'_>),
) {
    for c in table.columns.iter().filter(|c| wanted.may_be(named, &c.name)) {
        let (object_id, column_id, ty) = (table.object_id, c.column_id, c.ty);
        give(&Column {
            object_id,
            column_id,
            name: &c.name,
            ty,
            nullable: c.nullable,
            def: Some(c),
        });
    }
}

/// Gives the wanted columns of table types and views.
fn each_other(
    session: &SessionCore,
    db: &Arc<Db>,
    wanted: &WantedRows<'_>,
    (id, named): (usize, usize),
    give: &mut dyn FnMut(&Column<'_>),
) -> Result<(), SqlError> {
    let catalog = db.catalog();
    let mut add = |column: Column<'_>| {
        if wanted.may_be(named, column.name) {
            give(&column);
        }
    };
    for def in catalog.table_types.values() {
        if wanted.id(id).is_some_and(|id| id != def.type_id) {
            continue;
        }
        let table = from_type(SystemFunctions::of(session), def, &def.name, db)?;
        for (i, c) in table.columns.iter().enumerate() {
            let column = ColumnDef {
                column_id: i as i32 + 1,
                name: c.name.clone(),
                ty: c.ty,
                nullable: c.nullable,
                collation: c.collation,
                default: None,
                identity: c.identity,
                computed: c.computed.clone(),
                generated: None,
                alias: c.alias,
                mask: c.mask.clone(),
                traits: c.traits,
            };
            let (object_id, column_id, ty) = (def.type_id, column.column_id, c.ty);
            add(Column {
                object_id,
                column_id,
                name: &c.name,
                ty,
                nullable: c.nullable,
                def: Some(&column),
            });
        }
    }
    let kinds = [ModuleKind::View, ModuleKind::InlineFunction, ModuleKind::TableFunction];
    for view in pick::modules_of(&catalog, &kinds, wanted, id, None) {
        for (i, c) in
            modules::columns_of_view(session, db, &view).unwrap_or_default().iter().enumerate()
        {
            let (object_id, column_id, ty) = (view.object_id, i as i32 + 1, c.ty);
            add(Column {
                object_id,
                column_id,
                name: &c.name,
                ty,
                nullable: c.nullable,
                def: None,
            });
        }
    }
    Ok(())
}

/// Columns of the system's views.
fn system_columns(wanted: &WantedRows<'_>, rows: &mut Vec<Vec<Value>>) {
    for view in all() {
        let object_id = view.object_id();
        if wanted.id(0).is_some_and(|id| id != object_id) {
            continue;
        }
        for (i, (name, ty, nullable)) in view.columns().iter().enumerate() {
            if wanted.may_be(1, name) {
                let column_id = i as i32 + 1;
                let column =
                    Column { object_id, column_id, name, ty: *ty, nullable: *nullable, def: None };
                rows.push(wanted.row(|at| column.value(at, 0)));
            }
        }
    }
}

/// sys.columns.
pub static COLUMNS: View =
    View::seeking("columns", COLUMN_COLUMNS, SOUGHT, expected, |session, db, wanted| {
        let mut rows = Vec::new();
        user_columns(session, db, wanted, &mut rows)?;
        Ok(rows)
    })
    .in_pieces(UserColumns::start);

/// sys.all_columns: also those of the system's views.
pub(crate) static ALL_COLUMNS: View =
    View::seeking("all_columns", COLUMN_COLUMNS, SOUGHT, expected, |session, db, wanted| {
        let mut rows = Vec::new();
        user_columns(session, db, wanted, &mut rows)?;
        system_columns(wanted, &mut rows);
        Ok(rows)
    });

/// sys.system_columns.
pub(crate) static SYSTEM_COLUMNS: View = View::seeking(
    "system_columns",
    COLUMN_COLUMNS,
    SOUGHT,
    |_| 2000.0,
    |_, _, wanted| {
        let mut rows = Vec::new();
        system_columns(wanted, &mut rows);
        Ok(rows)
    },
);

const IDENTITY_COLUMN_COLUMNS: &[ViewColumn] = column_columns!(
    ("seed_value", SqlVariant, true),
    ("increment_value", SqlVariant, true),
    ("last_value", SqlVariant, true),
    ("is_not_for_replication", Bit, true)
);

/// A value of an identity column in the column's type.
fn in_type(value: i64, ty: DataType) -> Value {
    let wide = Value::BigInt(value);
    types::convert(&wide, DataType::BigInt, ty, 0, types::Mode::Implicit).unwrap_or(wide)
}

/// sys.identity_columns.
pub(crate) static IDENTITY_COLUMNS: View = View::seeking(
    "identity_columns",
    IDENTITY_COLUMN_COLUMNS,
    &[0],
    pick::per_table,
    |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::tables(&catalog, wanted, 0, None) {
            for c in &table.columns {
                let Some((seed, step)) = c.identity else { continue };
                let (object_id, column_id, ty) = (table.object_id, c.column_id, c.ty);
                let column = Column {
                    object_id,
                    column_id,
                    name: &c.name,
                    ty,
                    nullable: c.nullable,
                    def: Some(c),
                };
                let last = table.state.identity.lock().last;
                rows.push(wanted.row(|at| match at {
                    25 => in_type(seed, ty),
                    26 => in_type(step, ty),
                    27 => last.map_or(Value::Null, |last| in_type(last, ty)),
                    28 => bit(c.traits.not_for_replication),
                    _ => column.value(at, 4),
                }));
            }
        }
        Ok(rows)
    },
);

/// sys.masked_columns.
pub(crate) static MASKED_COLUMNS: View = View::seeking(
    "masked_columns",
    column_columns!(("masking_function", NVarChar(Len::N(4000)), true)),
    SOUGHT,
    pick::per_table,
    |session, db, wanted| {
        let mut rows = Vec::new();
        each(session, db, wanted, (0, 1), &mut |column| {
            let Some(mask) = column.def.and_then(|c| c.mask.as_ref()) else { return };
            rows.push(wanted.row(|at| match at {
                BEFORE => text(mask),
                _ => column.value(at, 1),
            }));
        })?;
        Ok(rows)
    },
);

/// sys.computed_columns.
pub(crate) static COMPUTED_COLUMNS: View = View::seeking(
    "computed_columns",
    column_columns!(
        ("definition", NVarChar(Len::Max), true),
        ("uses_database_collation", Bit, false),
        ("is_persisted", Bit, false)
    ),
    SOUGHT,
    pick::per_table,
    |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::tables(&catalog, wanted, 0, None) {
            for c in &table.columns {
                let Some(computed) = c.computed.as_ref().filter(|_| wanted.may_be(1, &c.name))
                else {
                    continue;
                };
                let (object_id, column_id, ty) = (table.object_id, c.column_id, c.ty);
                let column = Column {
                    object_id,
                    column_id,
                    name: &c.name,
                    ty,
                    nullable: c.nullable,
                    def: Some(c),
                };
                rows.push(wanted.row(|at| match at.checked_sub(BEFORE) {
                    Some(0) => text(&computed.text),
                    Some(1) => bit(ty.is_string()),
                    Some(2) => bit(computed.persisted),
                    _ => column.value(at, 3),
                }));
            }
        }
        Ok(rows)
    },
);
