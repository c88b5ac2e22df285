//! The tokens of a server's answer. Guarantees: each method appends one whole token in the layout
//! of the client's version; a row that cannot be written leaves nothing behind.

use types::{SqlError, Value};

use crate::column::{
    Column, ColumnFlags, Sender, push_b_varchar, push_us_varchar, write_user_type,
};
use crate::encode::encode_value;
use crate::error::TdsError;
use crate::text::{WireCollation, first_utf16};
use crate::token;
use crate::typeinfo::TypeInfo;
use crate::version::TdsVersion;

/// Command codes of DONE, as SQL Server names the statement that ended.
pub mod command {
    pub const OPEN_CURSOR: u16 = 0x20;
    pub const CLOSE_CURSOR: u16 = 0x2B;
    pub const DEALLOCATE: u16 = 0x2C;
    /// The error of a statement about principals, permissions and schemas.
    pub const SECURITY: u16 = 0xAA;
    pub const DROP_FUNCTION: u16 = 0xB3;
    pub const SET_IDENTITY_INSERT: u16 = 0xB7;
    pub const SET_ON: u16 = 0xB9;
    pub const SET_OFF: u16 = 0xBA;
    pub const SET_STATISTICS_ON: u16 = 0xBB;
    pub const SET_STATISTICS_OFF: u16 = 0xBC;
    pub const SET_ROWCOUNT: u16 = 0xBD;
    pub const SET_TEXTSIZE: u16 = 0xBE;
    pub const CONDITION: u16 = 0xC0;
    pub const SELECT: u16 = 0xC1;
    pub const SELECT_INTO: u16 = 0xC2;
    pub const INSERT: u16 = 0xC3;
    pub const DELETE: u16 = 0xC4;
    pub const UPDATE: u16 = 0xC5;
    pub const CREATE_TABLE: u16 = 0xC6;
    pub const DROP_TABLE: u16 = 0xC7;
    pub const CREATE_INDEX: u16 = 0xC8;
    pub const DROP_INDEX: u16 = 0xC9;
    pub const GOTO: u16 = 0xCA;
    pub const CREATE_DATABASE: u16 = 0xCB;
    pub const DROP_DATABASE: u16 = 0xCC;
    pub const CREATE_VIEW: u16 = 0xCF;
    pub const DROP_VIEW: u16 = 0xD0;
    pub const ALTER_DATABASE: u16 = 0xD7;
    pub const ALTER_TABLE: u16 = 0xD8;
    pub const RETURN: u16 = 0xDB;
    pub const RECONFIGURE: u16 = 0xDC;
    pub const CREATE_TRIGGER: u16 = 0xDD;
    pub const CREATE_PROCEDURE: u16 = 0xDE;
    pub const DROP_PROCEDURE: u16 = 0xDF;
    pub const DROP_TRIGGER: u16 = 0xE1;
    pub const DBCC: u16 = 0xE6;
    pub const CHECKPOINT: u16 = 0xE7;
    pub const TRUNCATE: u16 = 0xEA;
    pub const UPDATE_STATISTICS: u16 = 0xF1;
    pub const WAITFOR: u16 = 0xF3;
    pub const RAISERROR: u16 = 0xF6;
    pub const SET_VALUE: u16 = 0xF9;
    /// Ends an answer whose last statement has sent no DONE.
    pub const BATCH: u16 = 0xFD;
    pub const DROP_SYNONYM: u16 = 0x149;
    pub const ALTER_INDEX: u16 = 0x151;
    pub const BEGIN_TRY: u16 = 0x15D;
    pub const BEGIN_CATCH: u16 = 0x15E;
    pub const END_BLOCK: u16 = 0x15F;
    pub const DROP_SEQUENCE: u16 = 0x204;
    pub const BEGIN_TRANSACTION: u16 = 0xD4;
    pub const COMMIT: u16 = 0xD5;
    pub const ROLLBACK: u16 = 0xD2;
    pub const SAVE_TRANSACTION: u16 = 0xD6;
    pub const USE: u16 = 0xE2;
    pub const EXECUTE: u16 = 0xE0;
    pub const BULK_INSERT: u16 = 0xF0;
    pub const MERGE: u16 = 0x117;
    pub const PRINT: u16 = 0xF7;
}

/// Longest message text of ERROR and INFO in UTF-16 units; the rest is cut off, so that the token's
/// length fits.
const MAX_MESSAGE: usize = 16_000;

/// Which of the three DONE tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum DoneKind {
    /// A statement of a batch ended.
    Done,
    /// A procedure or a remote procedure call ended.
    Proc,
    /// A statement of a procedure ended.
    InProc,
}

/// Bits of a DONE token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct DoneStatus(pub u16);

impl DoneStatus {
    pub const FINAL: DoneStatus = DoneStatus(0);
    /// More of this answer follows.
    pub const MORE: DoneStatus = DoneStatus(0x0001);
    pub const ERROR: DoneStatus = DoneStatus(0x0002);
    pub const IN_TRANSACTION: DoneStatus = DoneStatus(0x0004);
    /// The row count counts. Set by [`TokenWriter::done`] itself.
    pub const COUNT: DoneStatus = DoneStatus(0x0010);
    /// Answers an attention.
    pub const ATTENTION: DoneStatus = DoneStatus(0x0020);
    /// A severe error: the result is to be thrown away.
    pub const SERVER_ERROR: DoneStatus = DoneStatus(0x0100);

    /// Both sets of bits.
    #[must_use]
    pub const fn with(self, other: DoneStatus) -> DoneStatus {
        DoneStatus(self.0 | other.0)
    }

    /// These bits and, if the condition holds, the others.
    #[must_use]
    pub const fn with_if(self, condition: bool, other: DoneStatus) -> DoneStatus {
        if condition { self.with(other) } else { self }
    }

    /// Whether all of the others are set.
    pub const fn contains(self, other: DoneStatus) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A change of the connection's or session's state that the client keeps track of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EnvChange<'a> {
    Database {
        new: &'a str,
        old: &'a str,
    },
    Language {
        new: &'a str,
        old: &'a str,
    },
    PacketSize {
        new: usize,
        old: usize,
    },
    Collation {
        new: WireCollation,
        old: Option<WireCollation>,
    },
    BeginTransaction(u64),
    CommitTransaction(u64),
    RollbackTransaction(u64),
    EnlistDtc(u64),
    DefectTransaction(u64),
    /// Another server holds a copy of the database.
    MirrorPartner(&'a str),
    /// The session was reset, as the packet's status bit asked.
    ResetAck,
    /// Names of the user instance; with 7.2 and later.
    UserInstance(&'a str),
}

/// An output parameter, or the value of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct ReturnValue<'a> {
    /// The parameter's place in the call, from 0.
    pub ordinal: u16,
    /// As the caller named it.
    pub name: &'a str,
    /// The result of a user-defined function instead of an output parameter.
    pub is_function_result: bool,
    pub user_type: u32,
    pub flags: ColumnFlags,
    pub ty: TypeInfo,
    pub value: &'a Value,
}

/// Where a column of a browse-mode or cursor result comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnSource {
    /// The column in the result, from 1.
    pub column: u8,
    /// The table in TABNAME, from 1; 0 for an expression.
    pub table: u8,
    pub expression: bool,
    pub key: bool,
    pub hidden: bool,
    /// The column's name in its table, if the result names it differently.
    pub base_name: Option<String>,
}

/// Appends tokens to a message.
#[derive(Debug)]
pub struct TokenWriter<'a> {
    out: &'a mut Vec<u8>,
    version: TdsVersion,
}

impl<'a> TokenWriter<'a> {
    /// A writer for a client's version.
    pub fn new(out: &'a mut Vec<u8>, version: TdsVersion) -> TokenWriter<'a> {
        TokenWriter { out, version }
    }

    /// For those who append other tokens.
    pub(crate) fn room(&mut self) -> (TdsVersion, &mut Vec<u8>) {
        (self.version, &mut *self.out)
    }

    /// Bytes in the message so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// COLMETADATA: the columns of the rows that follow.
    pub fn columns(&mut self, columns: &[Column]) {
        Column::write_all(columns, self.version, Sender::Server, self.out);
    }

    /// COLMETADATA of so many columns, each of which is described when it is written: their names
    /// need not be copied.
    pub fn columns_of<'c>(&mut self, count: usize, columns: impl Iterator<Item = Column<&'c str>>) {
        self.out.push(token::COLMETADATA);
        self.out.extend_from_slice(&(count as u16).to_le_bytes());
        columns.for_each(|column| column.write(self.version, Sender::Server, self.out));
    }

    /// COLMETADATA without columns.
    pub fn no_columns(&mut self) {
        self.out.extend_from_slice(&[token::COLMETADATA, 0xFF, 0xFF]);
    }

    /// ROW, or NBCROW where it is shorter and the client knows it. One value per type; on an error
    /// nothing stays.
    #[inline]
    pub fn row(&mut self, types: &[TypeInfo], values: &[Value]) -> Result<(), TdsError> {
        if types.len() != values.len() {
            return Err(TdsError::Mismatch { value: "row", ty: "row of another length" });
        }
        if self.version >= TdsVersion::V7_3B && nulls_pay(types, values) {
            return self.nbc_row(types, values);
        }
        let start = self.out.len();
        self.out.push(token::ROW);
        for (value, ty) in values.iter().zip(types) {
            if let Err(error) = encode_value(value, ty, self.out) {
                self.out.truncate(start);
                return Err(error);
            }
        }
        Ok(())
    }

    /// NBCROW: a bitmap says which values are NULL, and only the others follow.
    pub fn nbc_row(&mut self, types: &[TypeInfo], values: &[Value]) -> Result<(), TdsError> {
        let start = self.out.len();
        self.out.push(token::NBCROW);
        let bitmap = self.out.len();
        self.out.resize(bitmap + types.len().div_ceil(8), 0);
        for (i, (value, ty)) in values.iter().zip(types).enumerate() {
            if value.is_null() {
                self.out[bitmap + i / 8] |= 1 << (i % 8);
            } else if let Err(error) = encode_value(value, ty, self.out) {
                self.out.truncate(start);
                return Err(error);
            }
        }
        Ok(())
    }

    /// DONE, DONEPROC or DONEINPROC. A count sets its bit.
    pub fn done(&mut self, kind: DoneKind, status: DoneStatus, command: u16, rows: Option<u64>) {
        self.out.push(match kind {
            DoneKind::Done => token::DONE,
            DoneKind::Proc => token::DONE_PROC,
            DoneKind::InProc => token::DONE_IN_PROC,
        });
        let status = status.with_if(rows.is_some(), DoneStatus::COUNT);
        self.out.extend_from_slice(&status.0.to_le_bytes());
        self.out.extend_from_slice(&command.to_le_bytes());
        let rows = rows.unwrap_or(0);
        if self.version >= TdsVersion::V7_2 {
            self.out.extend_from_slice(&rows.to_le_bytes());
        } else {
            self.out.extend_from_slice(&u32::try_from(rows).unwrap_or(u32::MAX).to_le_bytes());
        }
    }

    /// ERROR: severity 11 and more. Names are cut at 255 units.
    pub fn error(&mut self, error: &SqlError, server: &str, procedure: &str) {
        self.message(token::ERROR, error, server, procedure);
    }

    /// INFO: severity up to 10.
    pub fn info(&mut self, message: &SqlError, server: &str, procedure: &str) {
        self.message(token::INFO, message, server, procedure);
    }

    fn message(&mut self, token: u8, message: &SqlError, server: &str, procedure: &str) {
        let version = self.version;
        // Severity 10 goes to clients as 0: drivers take more than 0 for a failure.
        let class = if message.severity == 10 { 0 } else { message.severity };
        self.counted(token, |out| {
            out.extend_from_slice(&message.number.to_le_bytes());
            out.extend_from_slice(&[message.state, class]);
            push_us_varchar(first_utf16(&message.message, MAX_MESSAGE), out);
            push_b_varchar(server, out);
            push_b_varchar(procedure, out);
            if version >= TdsVersion::V7_2 {
                out.extend_from_slice(&message.line.to_le_bytes());
            } else {
                out.extend_from_slice(
                    &u16::try_from(message.line).unwrap_or(u16::MAX).to_le_bytes(),
                );
            }
        });
    }

    /// ENVCHANGE. Changes of transactions exist from 7.2 on, and are left out before.
    pub fn env_change(&mut self, change: EnvChange<'_>) {
        if self.version < TdsVersion::V7_2 && change.byte() >= 8 && change != EnvChange::ResetAck {
            return;
        }
        self.counted(token::ENV_CHANGE, |out| {
            out.push(change.byte());
            change.write(out);
        });
    }

    /// LOGINACK: `version` is the number from
    /// [`Login7::ack_number`](crate::login::Login7::ack_number), `product` the server's major,
    /// minor and build number. Clients want the name `Microsoft SQL Server`.
    pub fn login_ack(&mut self, version: u32, name: &str, product: (u8, u8, u16)) {
        self.counted(token::LOGIN_ACK, |out| {
            out.push(1);
            out.extend_from_slice(&version.to_be_bytes());
            push_b_varchar(name, out);
            let [high, low] = product.2.to_be_bytes();
            out.extend_from_slice(&[product.0, product.1, high, low]);
        });
    }

    /// FEATUREEXTACK: features that the client asked for and the server has, with their data.
    pub fn feature_ext_ack(&mut self, features: &[(u8, &[u8])]) {
        self.out.push(token::FEATURE_EXT_ACK);
        for (id, data) in features {
            self.out.push(*id);
            self.out.extend_from_slice(&(data.len() as u32).to_le_bytes());
            self.out.extend_from_slice(data);
        }
        self.out.push(0xFF);
    }

    /// RETURNSTATUS of a procedure.
    pub fn return_status(&mut self, status: i32) {
        self.out.push(token::RETURN_STATUS);
        self.out.extend_from_slice(&status.to_le_bytes());
    }

    /// RETURNVALUE. On an error nothing stays.
    pub fn return_value(&mut self, value: &ReturnValue<'_>) -> Result<(), TdsError> {
        let start = self.out.len();
        self.out.push(token::RETURN_VALUE);
        self.out.extend_from_slice(&value.ordinal.to_le_bytes());
        push_b_varchar(value.name, self.out);
        self.out.push(if value.is_function_result { 2 } else { 1 });
        write_user_type(value.user_type, self.version, self.out);
        self.out.extend_from_slice(&value.flags.0.to_le_bytes());
        value.ty.write(self.out);
        let done = crate::encode::encode_at(
            value.value,
            &value.ty,
            crate::ValuePlace::Parameter,
            self.out,
        );
        if done.is_err() {
            self.out.truncate(start);
        }
        done
    }

    /// ORDER: numbers, from 1, of the columns that the rows are sorted by.
    pub fn order(&mut self, columns: &[u16]) {
        self.counted(token::ORDER, |out| {
            columns.iter().for_each(|c| out.extend_from_slice(&c.to_le_bytes()))
        });
    }

    /// TABNAME: the tables of a browse-mode or cursor result, each by the parts of its name.
    pub fn table_names(&mut self, tables: &[Vec<String>]) {
        self.counted(token::TABNAME, |out| {
            for parts in tables {
                out.push(parts.len().min(4) as u8);
                parts.iter().take(4).for_each(|part| push_us_varchar(part, out));
            }
        });
    }

    /// COLINFO: where the columns come from.
    pub fn column_sources(&mut self, columns: &[ColumnSource]) {
        self.counted(token::COLINFO, |out| {
            for source in columns {
                let bits = [
                    (source.expression, 0x04),
                    (source.key, 0x08),
                    (source.hidden, 0x10),
                    (source.base_name.is_some(), 0x20),
                ];
                let status = bits.iter().filter(|(on, _)| *on).fold(0, |all, (_, bit)| all | bit);
                out.extend_from_slice(&[source.column, source.table, status]);
                if let Some(name) = &source.base_name {
                    push_b_varchar(name, out);
                }
            }
        });
    }

    /// A token with its length in two bytes.
    fn counted(&mut self, token: u8, content: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(token);
        let at = self.out.len();
        self.out.extend_from_slice(&[0, 0]);
        content(self.out);
        let len = self.out.len() - at - 2;
        debug_assert!(len <= usize::from(u16::MAX), "token 0x{token:02X} is too long");
        self.out[at..at + 2].copy_from_slice(&(len as u16).to_le_bytes());
    }
}

impl EnvChange<'_> {
    /// The number of the kind of change.
    pub fn byte(&self) -> u8 {
        match self {
            EnvChange::Database { .. } => 1,
            EnvChange::Language { .. } => 2,
            EnvChange::PacketSize { .. } => 4,
            EnvChange::Collation { .. } => 7,
            EnvChange::BeginTransaction(_) => 8,
            EnvChange::CommitTransaction(_) => 9,
            EnvChange::RollbackTransaction(_) => 10,
            EnvChange::EnlistDtc(_) => 11,
            EnvChange::DefectTransaction(_) => 12,
            EnvChange::MirrorPartner(_) => 13,
            EnvChange::ResetAck => 18,
            EnvChange::UserInstance(_) => 19,
        }
    }

    /// New value, then old value.
    fn write(&self, out: &mut Vec<u8>) {
        let descriptor = |id: &u64, out: &mut Vec<u8>| {
            out.push(8);
            out.extend_from_slice(&id.to_le_bytes());
        };
        match self {
            EnvChange::Database { new, old } | EnvChange::Language { new, old } => {
                push_b_varchar(new, out);
                push_b_varchar(old, out);
            }
            EnvChange::PacketSize { new, old } => {
                push_b_varchar(&new.to_string(), out);
                push_b_varchar(&old.to_string(), out);
            }
            EnvChange::Collation { new, old } => {
                out.push(5);
                out.extend_from_slice(&new.0);
                match old {
                    Some(old) => {
                        out.push(5);
                        out.extend_from_slice(&old.0);
                    }
                    None => out.push(0),
                }
            }
            EnvChange::BeginTransaction(id) => {
                descriptor(id, out);
                out.push(0);
            }
            EnvChange::CommitTransaction(id)
            | EnvChange::RollbackTransaction(id)
            | EnvChange::EnlistDtc(id)
            | EnvChange::DefectTransaction(id) => {
                out.push(0);
                descriptor(id, out);
            }
            EnvChange::MirrorPartner(name) | EnvChange::UserInstance(name) => {
                push_b_varchar(name, out);
                out.push(0);
            }
            EnvChange::ResetAck => out.extend_from_slice(&[0, 0]),
        }
    }
}

/// Whether a bitmap takes less than the NULLs' own marks.
#[inline]
fn nulls_pay(types: &[TypeInfo], values: &[Value]) -> bool {
    let marks: usize =
        values.iter().zip(types).filter(|(v, _)| v.is_null()).map(|(_, ty)| ty.null_len()).sum();
    marks > types.len().div_ceil(8)
}
