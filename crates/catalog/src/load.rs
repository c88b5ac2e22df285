//! From the rows of the system tables to the [`Catalog`] and back.
//! Guarantee: `load` of what `rows_of` wrote gives the same definition.

use std::collections::HashMap;
use std::sync::Arc;

use access::ReadMode;
use compact_str::CompactString;
use pages::{PageId, UnitId};
use txn::{Database, Durability};
use types::{Collation, ColumnType, DataType, RowLayout, SqlError, Value};

use super::index_row::{index_row, overflow_row, take_places};
use super::rows::{
    ObjectRow, bigint, damaged, group, int, object_row, page_id, text, text_rows, texts,
};
use super::store::{StoreError, SysTrees};
use super::systables::SysTable;
use super::temporal::Temporal;
pub use super::type_text::type_of_text;
use super::{
    Catalog, CheckDef, ColumnDef, ComputedDef, DefaultDef, ForeignKeyDef, IdentityState, IndexDef,
    IndexOptions, LockEscalation, RowFilter, TableDef, TableState,
};
use super::{alias, constraint, module, other, statistics, table_type, temporal};
use crate::object_head::Head;
use crate::security::{DATABASE_ROLES, is_fixed_role};
use crate::statistics::TableStatistics;
use crate::{LOB_INDEX_ID, OVERFLOW_INDEX_ID, OverflowUnit, fold_name};

/// Schemas that every database has.
pub(crate) const BUILT_IN_SCHEMAS: [(&str, i32); 4] =
    [("dbo", 1), ("guest", 2), ("INFORMATION_SCHEMA", 3), ("sys", 4)];
/// First schema_id of CREATE SCHEMA.
pub const FIRST_USER_SCHEMA: i32 = 5;

/// Whether a schema was made by CREATE SCHEMA.
pub fn is_user_schema(id: i32) -> bool {
    id >= FIRST_USER_SCHEMA && !is_fixed_role(id)
}

/// What an object is, as sys.objects.type shows it.
pub const TABLE: &str = "U ";
/// What is kept of a table that has the rows of a view: this and the view's object_id.
const OF_VIEW: &str = "VIEW:";
pub(crate) const PRIMARY_KEY: &str = "PK";
pub const UNIQUE: &str = "UQ";
pub const DEFAULT: &str = "D ";

/// A schema that is not there although something is in it, as DROP SCHEMA of versions before left
/// it: its id, and the name that it has from now on.
pub type LostSchema = (i32, CompactString);

/// Gives lost schemas a name again, which is the same each time.
fn find_lost(
    schemas: &mut HashMap<i32, CompactString>,
    objects: &HashMap<i32, ObjectRow>,
) -> Vec<LostSchema> {
    let ids = objects.values().map(|object| object.schema_id);
    let mut ids: Vec<i32> =
        ids.filter(|id| is_user_schema(*id) && !schemas.contains_key(id)).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut lost = Vec::with_capacity(ids.len());
    for id in ids {
        let mut name = CompactString::from(format!("lost_schema_{id}"));
        while schemas.values().any(|other| fold_name(other) == name) {
            name.push('_');
        }
        schemas.insert(id, name.clone());
        lost.push((id, name));
    }
    lost
}

/// Keeps the names that lost schemas have got.
///
/// # Errors
/// The storage's.
pub fn keep_lost(
    storage: &Arc<Database>,
    trees: &SysTrees,
    lost: &[LostSchema],
) -> Result<(), StoreError> {
    let mut txn = storage.begin(0)?;
    for (id, name) in lost {
        trees.put(&mut txn, SysTable::Schemas, &[Value::Int(*id), Value::str(name)])?;
    }
    txn.commit(Durability::Full)?;
    Ok(())
}

/// Reads the whole catalog, and which schemas were lost. No other transaction may be changing the
/// schema (the database is being opened). `spared`: damage to what a database can be without, its
/// statistics, is told there and left out; else it is an error.
pub fn load(
    trees: &SysTrees,
    spared: Option<&mut Vec<String>>,
) -> Result<(Catalog, Vec<LostSchema>), StoreError> {
    let mut schemas: HashMap<i32, CompactString> =
        BUILT_IN_SCHEMAS.iter().map(|(name, id)| (*id, CompactString::from(*name))).collect();
    for row in trees.rows(SysTable::Schemas, &[], ReadMode::Dirty)? {
        schemas.insert(int(&row, 0)?, text(&row, 1)?);
    }
    // One that a user has made under such a name is the user's.
    for (name, id, ..) in DATABASE_ROLES {
        if !schemas.values().any(|other| fold_name(other) == fold_name(name)) {
            schemas.insert(id, name.into());
        }
    }
    let mut objects = HashMap::new();
    for row in trees.rows(SysTable::Objects, &[], ReadMode::Dirty)? {
        objects.insert(int(&row, 0)?, object_row(&row)?);
    }
    let lost = find_lost(&mut schemas, &objects);
    let mut columns = group(trees.rows(SysTable::Columns, &[], ReadMode::Dirty)?)?;
    let mut indexes = group(trees.rows(SysTable::Indexes, &[], ReadMode::Dirty)?)?;
    let places = take_places(&mut indexes)?;
    let mut keys = group(trees.rows(SysTable::IndexColumns, &[], ReadMode::Dirty)?)?;
    let mut reserved = HashMap::new();
    for row in trees.rows(SysTable::Identities, &[], ReadMode::Dirty)? {
        reserved.insert(int(&row, 0)?, bigint(&row, 1)?);
    }
    let (noted, measured) = match (read_measures(trees), spared) {
        (Err(e), Some(spared)) => {
            spared.push(format!("its statistics and row counts cannot be read: {e}"));
            Default::default()
        }
        (read, _) => read?,
    };
    let texts = texts(trees.rows(SysTable::Texts, &[], ReadMode::Dirty)?);
    let mut constraints = constraint::load(&objects, &texts)?;
    let security = Arc::new(crate::security::store::load(trees)?);
    let mut catalog = Catalog { version: 1, security, ..Catalog::default() };
    for (id, name) in &schemas {
        catalog.schemas.insert_mut(fold_name(name), *id);
        catalog.schema_names.insert_mut(*id, name.clone());
    }
    for (&id, object) in objects.iter().filter(|(_, o)| o.kind == TABLE) {
        let parts = TableRows {
            columns: columns.remove(&id).unwrap_or_default(),
            indexes: indexes.remove(&id).unwrap_or_default(),
            keys: keys.remove(&id).unwrap_or_default(),
            checks: constraints.checks.remove(&id).unwrap_or_default(),
            foreign_keys: constraints.foreign_keys.remove(&id).unwrap_or_default(),
            noted: noted.get(&id).copied().unwrap_or(-1),
        };
        let schema =
            schemas.get(&object.schema_id).cloned().ok_or_else(|| damaged("schema", id))?;
        let table = Arc::new(table(
            id,
            object,
            schema,
            parts,
            (&objects, &texts),
            (reserved.get(&id).copied(), &places),
            &measured,
        )?);
        catalog.insert(table);
    }
    for (&id, object) in &objects {
        // A trigger of the database has no schema.
        let schema = match object.schema_id {
            0 => CompactString::default(),
            schema => schemas.get(&schema).cloned().ok_or_else(|| damaged("schema", id))?,
        };
        if let Some(alias) = alias::load(id, object, schema.clone())? {
            let name = (fold_name(&alias.schema), fold_name(&alias.name));
            catalog.types.insert_mut(name, Arc::new(alias));
        }
        if let Some(def) = table_type::load(id, object, schema.clone(), &texts)? {
            let name = (fold_name(&def.schema), fold_name(&def.name));
            catalog.table_types.insert_mut(name, Arc::new(def));
        }
        if other::is_kind(&object.kind) {
            let head = Head {
                object_id: id,
                schema: schema.clone(),
                name: object.name.clone(),
                create_date: object.create_date.clone(),
                modify_date: object.modify_date.clone(),
            };
            let text = object.text.as_deref().unwrap_or_default();
            let loaded = other::load(head, &object.kind, text, |id| reserved.get(&id).copied());
            catalog.insert_other(loaded.ok_or_else(|| damaged("definition", id))?);
        }
        if let Some(module) = module::load(id, object, schema, &texts)? {
            catalog.insert_module(Arc::new(module));
        }
    }
    Ok((catalog, lost))
}

/// Row counts at the last clean stop, and statistics.
type Measures = (HashMap<i32, i64>, statistics::store::StatisticsRows);

fn read_measures(trees: &SysTrees) -> Result<Measures, StoreError> {
    let mut noted = HashMap::new();
    for row in trees.rows(SysTable::RowCounts, &[], ReadMode::Dirty)? {
        noted.insert(int(&row, 0)?, bigint(&row, 1)?);
    }
    Ok((noted, statistics::store::StatisticsRows::read(trees)?))
}

struct TableRows {
    columns: Vec<Vec<Value>>,
    indexes: Vec<Vec<Value>>,
    keys: Vec<Vec<Value>>,
    checks: Vec<CheckDef>,
    foreign_keys: Vec<ForeignKeyDef>,
    noted: i64,
}

fn table(
    object_id: i32,
    object: &ObjectRow,
    schema: CompactString,
    rows: TableRows,
    (objects, texts): (&HashMap<i32, ObjectRow>, &HashMap<i32, String>),
    (reserved, places): (Option<i64>, &HashMap<UnitId, PageId>),
    measured: &statistics::store::StatisticsRows,
) -> Result<TableDef, StoreError> {
    let mut columns = Vec::with_capacity(rows.columns.len());
    for row in &rows.columns {
        columns.push(column(row, objects)?);
    }
    let mut storage = None;
    let mut indexes = Vec::new();
    let (mut lob, mut overflow) = (None, None);
    for row in &rows.indexes {
        let index = index(row, &rows.keys, &columns, objects, texts)?;
        match index.index_id {
            LOB_INDEX_ID => lob = Some((index.unit, index.first_iam)),
            OVERFLOW_INDEX_ID => {
                let noted = places.get(&index.unit).copied().unwrap_or(PageId::NONE);
                let first_iam = if index.first_iam.is_none() { noted } else { index.first_iam };
                overflow = Some(OverflowUnit::new(index.unit, first_iam, index.filegroup));
            }
            0 | 1 => storage = Some(Arc::new(index)),
            _ => indexes.push(Arc::new(index)),
        }
    }
    let storage = storage.ok_or_else(|| damaged("heap or clustered index", object_id))?;
    let state = TableState::opened(
        rows.noted,
        TableStatistics::of(measured.of(object_id, &columns, texts)),
    );
    *state.identity.lock() = IdentityState { last: reserved, reserved: reserved.unwrap_or(0) };
    Ok(TableDef {
        object_id,
        schema,
        name: object.name.clone(),
        layout: layout_of(&columns),
        columns,
        uniquifier: storage.index_id == 1 && !storage.unique,
        storage,
        indexes,
        lob,
        overflow,
        checks: rows.checks,
        foreign_keys: rows.foreign_keys,
        lock_escalation: said(object, LockEscalation::of),
        temporal: said(object, Temporal::of),
        of_view: said(object, |word| word.strip_prefix(OF_VIEW).map(|id| id.parse().ok())),
        create_date: object.create_date.clone(),
        state: Arc::new(state),
        seen: Default::default(),
    })
}

/// What one of the words says that are kept of a table beside its columns.
fn said<T: Default>(object: &ObjectRow, of: impl Fn(&str) -> Option<T>) -> T {
    object.text.iter().flat_map(|text| text.split(' ')).find_map(of).unwrap_or_default()
}

/// Those words.
fn words(table: &TableDef) -> Option<String> {
    let escalation =
        Some(table.lock_escalation).filter(|escalation| *escalation != LockEscalation::Table);
    let escalation = escalation.map(|escalation| escalation.word().to_string());
    let of_view = table.of_view.map(|view| format!("{OF_VIEW}{view}"));
    let all: Vec<String> =
        escalation.into_iter().chain(table.temporal.word()).chain(of_view).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// The row format of these columns.
pub fn layout_of(columns: &[ColumnDef]) -> Arc<RowLayout> {
    let types: Vec<ColumnType> = columns
        .iter()
        .map(|c| match c.is_virtual() {
            // A place that is always NULL.
            true => ColumnType { ty: DataType::Bit, nullable: true, collation: c.collation },
            false => ColumnType { ty: c.ty, nullable: c.nullable, collation: c.collation },
        })
        .collect();
    Arc::new(RowLayout::new(&types))
}

fn column(row: &[Value], objects: &HashMap<i32, ObjectRow>) -> Result<ColumnDef, StoreError> {
    let default = match row[8].as_i64() {
        None => None,
        Some(id) => {
            let id = i32::try_from(id).map_err(|_| damaged("default", 0))?;
            let object = objects.get(&id).ok_or_else(|| damaged("default", id))?;
            let text = object.text.clone().unwrap_or_default();
            let expr = Arc::new(parse_expression(&text)?);
            Some(DefaultDef { object_id: id, name: object.name.clone(), text, expr })
        }
    };
    // Definitions of old databases have the number in one byte.
    let number = row.get(10).and_then(Value::as_i64).map_or_else(|| bigint(row, 4), Ok)?;
    let collation = u32::try_from(number).ok().and_then(Collation::from_id);
    let collation = collation.ok_or_else(|| damaged("collation", 0))?;
    Ok(ColumnDef {
        column_id: int(row, 1)?,
        name: text(row, 2)?,
        ty: type_of_text(&text(row, 3)?)?,
        nullable: row[5].as_bool().unwrap_or(true),
        collation,
        default,
        identity: row[6].as_i64().zip(row[7].as_i64()),
        generated: row[9].as_str().and_then(temporal::generated),
        computed: computed(&row[9])?,
        alias: row[11].as_i64().and_then(|id| i32::try_from(id).ok()),
        mask: row[12].as_str().map(Into::into),
        traits: crate::ColumnTraits::of_bits(row[13].as_i64().unwrap_or(0) as i32),
    })
}

/// What the row of a computed column says of it: how it is kept, and its text.
fn computed_text(computed: &ComputedDef) -> String {
    let kept = match (computed.persisted, computed.stored) {
        (true, _) => 'P',
        (false, true) => 'S',
        (false, false) => 'V',
    };
    format!("{kept}{}", computed.text)
}

fn computed(text: &Value) -> Result<Option<Arc<ComputedDef>>, StoreError> {
    let Some(text) = text.as_str() else { return Ok(None) };
    if temporal::generated(text).is_some() {
        return Ok(None);
    }
    let (kept, text) = text.split_at_checked(1).ok_or_else(|| damaged("computed column", 0))?;
    let expr = Arc::new(parse_expression(text)?);
    let (persisted, stored) = (kept == "P", kept != "V");
    Ok(Some(Arc::new(ComputedDef { text: text.into(), expr, persisted, stored })))
}

fn index(
    row: &[Value],
    keys: &[Vec<Value>],
    columns: &[ColumnDef],
    objects: &HashMap<i32, ObjectRow>,
    texts: &HashMap<i32, String>,
) -> Result<IndexDef, StoreError> {
    let (object_id, index_id) = (int(row, 0)?, int(row, 1)?);
    let filter = match row[13].as_i64() {
        None => None,
        Some(id) => {
            let id = i32::try_from(id).map_err(|_| damaged("filter", object_id))?;
            let kept = texts.get(&id).map_or("", String::as_str);
            let filter =
                RowFilter::load(id, kept, columns).ok_or_else(|| damaged("filter", object_id))?;
            Some(Arc::new(filter))
        }
    };
    let constraint = row[9].as_i64().and_then(|id| i32::try_from(id).ok());
    let kind = constraint.and_then(|id| objects.get(&id)).map(|o| o.kind.as_str());
    let (mut key, mut included) = (Vec::new(), Vec::new());
    for part in keys.iter().filter(|part| part[1].as_i64() == Some(index_id.into())) {
        let id = int(part, 3)?;
        let at = columns
            .iter()
            .position(|c| c.column_id == id)
            .ok_or_else(|| damaged("key column", object_id))?;
        if part[5].as_bool() == Some(true) {
            included.push(at);
        } else {
            key.push((at, part[4].as_bool() == Some(true)));
        }
    }
    Ok(IndexDef {
        index_id,
        name: row[2].as_str().unwrap_or_default().into(),
        unit: UnitId(u32::try_from(bigint(row, 3)?).map_err(|_| damaged("unit", object_id))?),
        first_iam: page_id(row, 4)?,
        root: page_id(row, 6)?,
        unique: row[8].as_bool() == Some(true),
        key,
        included,
        primary_key: constraint.filter(|_| kind == Some(PRIMARY_KEY)),
        unique_constraint: constraint.filter(|_| kind == Some(UNIQUE)),
        fill_factor: u8::try_from(bigint(row, 10)?).unwrap_or(0),
        filegroup: u16::try_from(bigint(row, 11)?).unwrap_or(1),
        options: IndexOptions::of_bits(row[12].as_i64().unwrap_or(0) as i32),
        filter,
    })
}

// ---- definitions to rows ----

/// Rows of a table's own definition: (system table, values).
pub fn rows_of(table: &TableDef, schema_id: i32) -> Vec<(SysTable, Vec<Value>)> {
    let id = Value::Int(table.object_id);
    let row =
        object(table.object_id, &table.name, schema_id, TABLE, 0, table, words(table).as_deref());
    let mut rows = vec![(SysTable::Objects, row)];
    for column in &table.columns {
        let default = column.default.as_ref();
        rows.push((
            SysTable::Columns,
            vec![
                id.clone(),
                Value::Int(column.column_id),
                Value::str(&column.name),
                Value::str(column.ty.to_string()),
                Value::TinyInt(0),
                Value::Bit(column.nullable),
                column.identity.map_or(Value::Null, |(seed, _)| Value::BigInt(seed)),
                column.identity.map_or(Value::Null, |(_, step)| Value::BigInt(step)),
                default.map_or(Value::Null, |d| Value::Int(d.object_id)),
                match (&column.computed, column.generated) {
                    (Some(computed), _) => Value::str(computed_text(computed)),
                    (None, Some(generated)) => Value::str(temporal::generated_text(generated)),
                    (None, None) => Value::Null,
                },
                Value::Int(column.collation.id() as i32),
                column.alias.map_or(Value::Null, Value::Int),
                column.mask.as_ref().map_or(Value::Null, Value::str),
                Value::Int(column.traits.bits()),
            ],
        ));
        if let Some(d) = default {
            let parent = table.object_id;
            let row =
                object(d.object_id, &d.name, schema_id, DEFAULT, parent, table, Some(&d.text));
            rows.push((SysTable::Objects, row));
        }
    }
    for index in std::iter::once(&table.storage).chain(&table.indexes) {
        index_rows(table, index, schema_id, &mut rows);
    }
    if let Some((unit, first_iam)) = table.lob {
        let lob = IndexDef {
            index_id: LOB_INDEX_ID,
            ..IndexDef::heap(unit, first_iam, table.storage.filegroup)
        };
        index_rows(table, &lob, schema_id, &mut rows);
    }
    if let Some(overflow) = &table.overflow {
        let first_iam = overflow.first_iam().unwrap_or(PageId::NONE);
        rows.push((SysTable::Indexes, overflow_row(table, overflow.unit(), first_iam)));
    }
    constraint::rows_of(table, schema_id, &mut rows);
    rows
}

fn index_rows(
    table: &TableDef,
    index: &IndexDef,
    schema_id: i32,
    rows: &mut Vec<(SysTable, Vec<Value>)>,
) {
    let (id, index_id) = (Value::Int(table.object_id), Value::Int(index.index_id));
    let constraint = index.primary_key.or(index.unique_constraint);
    rows.push((SysTable::Indexes, index_row(table.object_id, index)));
    if let Some(filter) = &index.filter {
        rows.extend(text_rows(filter.object_id, &filter.kept(&table.columns)));
    }
    let key = index.key.iter().map(|&(at, descending)| (at, descending, false));
    let included = index.included.iter().map(|&at| (at, false, true));
    for (ordinal, (at, descending, included)) in key.chain(included).enumerate() {
        rows.push((
            SysTable::IndexColumns,
            vec![
                id.clone(),
                index_id.clone(),
                Value::Int(ordinal as i32 + 1),
                Value::Int(table.columns[at].column_id),
                Value::Bit(descending),
                Value::Bit(included),
            ],
        ));
    }
    if let Some(constraint) = constraint {
        let kind = if index.primary_key.is_some() { PRIMARY_KEY } else { UNIQUE };
        let row = object(constraint, &index.name, schema_id, kind, table.object_id, table, None);
        rows.push((SysTable::Objects, row));
    }
}

fn object(
    id: i32,
    name: &str,
    schema_id: i32,
    kind: &str,
    parent: i32,
    table: &TableDef,
    text: Option<&str>,
) -> Vec<Value> {
    // Of a constraint nobody asks when it was changed: its row stays the same.
    let modified = if kind == TABLE { crate::clock::now() } else { table.create_date.clone() };
    vec![
        Value::Int(id),
        Value::str(name),
        Value::Int(schema_id),
        Value::str(kind),
        Value::Int(parent),
        table.create_date.clone(),
        modified,
        text.map_or(Value::Null, Value::str),
    ]
}

// ---- single fields ----

/// An expression that the catalog keeps as text.
pub fn parse_expression(text: &str) -> Result<syntax::ast::Expr, SqlError> {
    let stmts = syntax::parse(&format!("PRINT {text}")).map_err(crate::errors::syntax_error)?;
    match stmts.into_iter().next().map(|s| s.kind) {
        Some(syntax::ast::StmtKind::Print(expr)) => Ok(expr),
        _ => Err(SqlError::internal(format!("the definition {text} is no expression"))),
    }
}
