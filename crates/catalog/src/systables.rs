//! The system tables: what columns they have and how rows become keys and bytes. They are ordinary
//! B+trees of the database, written in the transaction of the statement that changes the schema.
//! Guarantee: the numbers of tables and the order of columns never change; new columns are only
//! added at the end.

use std::sync::OnceLock;

use types::{
    Collation, ColumnType, DataType, KeyPart, Len, RowLayout, SqlError, Value, encode_key_part,
};

/// A system table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SysTable {
    /// object_id | name, schema_id, type, parent, created, modified, text
    Objects = 0,
    /// object_id, column_id | name, type, collation, nullable, seed, increment, default's
    /// object_id, how a computed column is kept and its text, or which end of the period the column
    /// is, alias type, mask, traits
    Columns = 1,
    /// object_id, index_id | name, unit, IAM page, root page, unique, constraint, fill factor,
    /// filegroup, options, number of the filter's text
    Indexes = 2,
    /// object_id, index_id, ordinal | column_id, descending, included
    IndexColumns = 3,
    /// schema_id | name
    Schemas = 4,
    /// unit | first IAM page, filegroup
    PendingDrops = 5,
    /// object_id | last value that was reserved
    Identities = 6,
    /// id | next value that was not reserved
    Counters = 7,
    /// object_id, part | text: definitions of modules and CHECK constraints, in pieces
    Texts = 8,
    /// object_id | rows at the last clean stop
    RowCounts = 9,
    /// object_id, stats_id | name, columns, flags, when measured, rows, rows of the sample,
    /// densities, lengths, number of the filter's text, rows of the table
    Statistics = 10,
    /// object_id, stats_id, ordinal | value, rows of the range, rows of the value, values of the
    /// range
    Steps = 11,
    /// scope, principal_id | name, type, flags, sid, owner, created, modified, default database or
    /// schema, hash of the password
    Principals = 12,
    /// scope, role's principal_id, member's principal_id
    Members = 13,
    /// scope, class, major_id, minor_id, grantee, grantor, permission | state
    Permissions = 14,
    /// class, major_id | owner's principal_id: objects that belong to another than the default
    /// owner
    Owners = 15,
    /// class, major_id, minor_id, number | name, type and bytes of the value: extended properties
    Properties = 16,
    /// message_id, language_id | severity, whether it is logged, text: messages of sp_addmessage,
    /// in master
    Messages = 17,
}

/// All of them, in the order of their numbers.
pub const ALL: [SysTable; 18] = [
    SysTable::Objects,
    SysTable::Columns,
    SysTable::Indexes,
    SysTable::IndexColumns,
    SysTable::Schemas,
    SysTable::PendingDrops,
    SysTable::Identities,
    SysTable::Counters,
    SysTable::Texts,
    SysTable::RowCounts,
    SysTable::Statistics,
    SysTable::Steps,
    SysTable::Principals,
    SysTable::Members,
    SysTable::Permissions,
    SysTable::Owners,
    SysTable::Properties,
    SysTable::Messages,
];

/// Counter of allocation units.
pub(crate) const COUNTER_UNITS: i32 = 1;
/// Counter of object ids.
pub(crate) const COUNTER_OBJECTS: i32 = 2;
/// Counter of row versions.
pub(crate) const COUNTER_ROW_VERSIONS: i32 = 3;
/// Counter of alias types.
pub(crate) const COUNTER_TYPES: i32 = 4;
/// The unit of the list of discarded large values: a tree of the storage engine, without columns.
pub const DISCARDED_UNIT: u32 = 99;
/// First unit id of user objects; the system tables' units are below.
pub const FIRST_USER_UNIT: i64 = 100;

const NAME: DataType = DataType::NVarChar(Len::N(128));
const TYPE_TEXT: DataType = DataType::VarChar(Len::N(60));
const TEXT: DataType = DataType::NVarChar(Len::N(3900));
/// Numbers of up to 32 columns.
const LIST: DataType = DataType::VarChar(Len::N(900));
const BYTES: DataType = DataType::VarBinary(Len::N(2000));
const SID: DataType = DataType::VarBinary(Len::N(85));
/// Value of an extended property.
const PROPERTY: DataType = DataType::VarBinary(Len::N(7500));
const MESSAGE: DataType = DataType::NVarChar(Len::N(255));
/// A hash with its parameters, as text.
const HASH: DataType = DataType::VarChar(Len::N(400));

/// (type, nullable) of each column.
type Columns = &'static [(DataType, bool)];

impl SysTable {
    /// Number, also the position of its root in the boot page.
    pub fn number(self) -> usize {
        self as usize
    }

    /// How many leading columns are the key.
    pub fn key_columns(self) -> usize {
        match self {
            SysTable::Columns
            | SysTable::Indexes
            | SysTable::Texts
            | SysTable::Statistics
            | SysTable::Principals
            | SysTable::Owners
            | SysTable::Messages => 2,
            SysTable::IndexColumns | SysTable::Steps | SysTable::Members => 3,
            SysTable::Properties => 4,
            SysTable::Permissions => 7,
            _ => 1,
        }
    }

    fn columns(self) -> Columns {
        use DataType::{BigInt, Bit, Char, DateTime, Float, Int, SmallInt, TinyInt};
        match self {
            SysTable::Objects => &[
                (Int, false),
                (NAME, false),
                (Int, false),
                (Char(2), false),
                (Int, false),
                (DateTime, false),
                (DateTime, false),
                (TEXT, true),
            ],
            SysTable::Columns => &[
                (Int, false),
                (Int, false),
                (NAME, false),
                (TYPE_TEXT, false),
                (TinyInt, false),
                (Bit, false),
                (BigInt, true),
                (BigInt, true),
                (Int, true),
                (TEXT, true),
                // Of the collation; the byte above has it in old rows.
                (Int, true),
                // Of the alias type; old rows end before it.
                (Int, true),
                // The mask; old rows end before it.
                (TEXT, true),
                // What else is said of it; old rows end before it.
                (Int, true),
            ],
            SysTable::Indexes => &[
                (Int, false),
                (Int, false),
                (NAME, true),
                (BigInt, false),
                (Int, false),
                (BigInt, false),
                (Int, false),
                (BigInt, false),
                (Bit, false),
                (Int, true),
                (TinyInt, false),
                (SmallInt, false),
                (Int, true),
                (Int, true),
            ],
            SysTable::IndexColumns => &[
                (Int, false),
                (Int, false),
                (Int, false),
                (Int, false),
                (Bit, false),
                (Bit, false),
            ],
            SysTable::Schemas => &[(Int, false), (NAME, false)],
            SysTable::PendingDrops => {
                &[(BigInt, false), (Int, false), (BigInt, false), (SmallInt, false)]
            }
            SysTable::Identities => &[(Int, false), (BigInt, false)],
            SysTable::Counters => &[(Int, false), (BigInt, false)],
            SysTable::Texts => &[(Int, false), (Int, false), (TEXT, false)],
            SysTable::RowCounts => &[(Int, false), (BigInt, false)],
            SysTable::Statistics => &[
                (Int, false),
                (Int, false),
                (NAME, false),
                (LIST, false),
                (Int, false),
                (DateTime, true),
                (Float, true),
                (Float, true),
                (LIST, true),
                (LIST, true),
                (Int, true),
                (Float, true),
            ],
            SysTable::Steps => &[
                (Int, false),
                (Int, false),
                (Int, false),
                (BYTES, false),
                (Float, false),
                (Float, false),
                (Float, false),
            ],
            SysTable::Principals => &[
                (TinyInt, false),
                (Int, false),
                (NAME, false),
                (Char(1), false),
                (Int, false),
                (SID, false),
                (Int, false),
                (DateTime, false),
                (DateTime, false),
                (NAME, true),
                (HASH, true),
            ],
            SysTable::Members => &[(TinyInt, false), (Int, false), (Int, false)],
            SysTable::Permissions => &[
                (TinyInt, false),
                (TinyInt, false),
                (Int, false),
                (Int, false),
                (Int, false),
                (Int, false),
                (Char(4), false),
                (Char(1), false),
            ],
            SysTable::Owners => &[(TinyInt, false), (Int, false), (Int, false)],
            SysTable::Properties => &[
                (TinyInt, false),
                (Int, false),
                (Int, false),
                (Int, false),
                (NAME, false),
                (TYPE_TEXT, true),
                (PROPERTY, true),
            ],
            SysTable::Messages => {
                &[(Int, false), (SmallInt, false), (TinyInt, false), (Bit, false), (MESSAGE, false)]
            }
        }
    }

    /// The row format.
    pub fn layout(self) -> &'static RowLayout {
        static LAYOUTS: OnceLock<Vec<RowLayout>> = OnceLock::new();
        let all = LAYOUTS.get_or_init(|| {
            ALL.iter()
                .map(|table| {
                    let columns: Vec<ColumnType> = table
                        .columns()
                        .iter()
                        .map(|&(ty, nullable)| ColumnType {
                            ty,
                            nullable,
                            collation: Collation::BIN2,
                        })
                        .collect();
                    RowLayout::new(&columns)
                })
                .collect()
        });
        &all[self.number()]
    }

    /// Normalised key of a row, or of a prefix of its key columns.
    pub fn key(self, values: &[Value]) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        for (value, &(ty, _)) in values.iter().zip(self.columns()).take(self.key_columns()) {
            encode_key_part(
                value,
                &KeyPart { ty, descending: false, collation: Collation::BIN2 },
                &mut out,
            );
        }
        out
    }

    /// Bytes of a row. Errors: 511 when a definition is too long.
    pub fn encode(self, values: &[Value]) -> Result<Vec<u8>, SqlError> {
        debug_assert_eq!(values.len(), self.columns().len());
        let mut out = Vec::with_capacity(64);
        self.layout().encode(values, &mut out)?;
        Ok(out)
    }

    /// Values of a row. Errors: 3624-like when the bytes are no row of this table.
    pub fn decode(self, row: &[u8]) -> Result<Vec<Value>, SqlError> {
        let mut out = vec![Value::Null; self.columns().len()];
        self.layout().decode_all(row, &mut out).map_err(|e| {
            SqlError::internal(format!("system table {} is damaged: {e}", self.number()))
        })?;
        Ok(out)
    }
}

/// The smallest byte string above every string that begins with `prefix`; `None` when there is
/// none.
pub(crate) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive() {
        let row = vec![Value::Int(5), Value::str("dbo")];
        let bytes = SysTable::Schemas.encode(&row).unwrap();
        assert_eq!(SysTable::Schemas.decode(&bytes).unwrap(), row);
        assert!(SysTable::Schemas.decode(&bytes[..3]).is_err());
        for table in ALL {
            assert!(table.key_columns() <= table.columns().len());
        }
    }

    /// A column's row from before alias types, masks and traits were kept.
    #[test]
    fn rows_of_old_databases_are_read() {
        let columns = SysTable::Columns.columns();
        let of = |&(ty, nullable): &(DataType, bool)| ColumnType {
            ty,
            nullable,
            collation: Collation::BIN2,
        };
        let old: Vec<ColumnType> = columns[..11].iter().map(of).collect();
        let mut row = vec![
            Value::Int(7),
            Value::Int(1),
            Value::str("a"),
            Value::str("int"),
            Value::TinyInt(0),
        ];
        row.extend([
            Value::Bit(false),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Int(3),
        ]);
        let mut bytes = Vec::new();
        RowLayout::new(&old).encode(&row, &mut bytes).unwrap();
        row.extend([Value::Null, Value::Null, Value::Null]);
        assert_eq!(SysTable::Columns.decode(&bytes).unwrap(), row);
    }

    #[test]
    fn keys_order_and_end() {
        let key = |a, b| SysTable::Columns.key(&[Value::Int(a), Value::Int(b)]);
        assert!(key(1, 2) < key(1, 3) && key(1, 300) < key(2, 1) && key(-1, 5) < key(0, 0));
        let prefix = SysTable::Columns.key(&[Value::Int(7)]);
        let end = prefix_end(&prefix).unwrap();
        assert!(key(7, i32::MAX) < end && end <= key(8, i32::MIN));
        assert_eq!(prefix_end(&[0xff, 0xff]), None);
    }
}
