//! The columns of sys.fn_dblog: SQL Server's names and types, in its order. Those that say
//! something of Ringwood's log are filled, the others are NULL.

use types::{DataType, Len};

use crate::views::{ViewColumn, position};

use DataType::{BigInt, Binary, Int, SmallInt};

const fn text(len: u16) -> DataType {
    DataType::NVarChar(Len::N(len))
}

const fn bytes(len: u16) -> DataType {
    DataType::VarBinary(Len::N(len))
}

/// All columns.
pub(crate) const COLUMNS: &[ViewColumn] = &[
    ("Current LSN", text(23), false),
    ("Operation", text(31), false),
    ("Context", text(31), false),
    ("Transaction ID", text(14), false),
    ("LogBlockGeneration", BigInt, true),
    ("Tag Bits", Binary(2), true),
    ("Log Record Fixed Length", SmallInt, true),
    // An int, because a record may have 48 KB here.
    ("Log Record Length", Int, false),
    ("Previous LSN", text(23), true),
    ("Flag Bits", Binary(2), true),
    ("Log Reserve", Int, true),
    ("AllocUnitId", BigInt, true),
    ("AllocUnitName", text(387), true),
    ("Page ID", text(14), true),
    ("Slot ID", Int, true),
    ("Previous Page LSN", text(23), true),
    ("PartitionId", BigInt, true),
    ("RowFlags", SmallInt, true),
    ("Num Elements", SmallInt, true),
    ("Offset in Row", SmallInt, true),
    ("Modify Size", SmallInt, true),
    ("Checkpoint Begin", text(24), true),
    ("CHKPT Begin DB Version", SmallInt, true),
    ("Max XDESID", text(14), true),
    ("Num Transactions", SmallInt, true),
    ("Checkpoint End", text(24), true),
    ("CHKPT End DB Version", SmallInt, true),
    ("Minimum LSN", text(23), true),
    ("Dirty Pages", Int, true),
    ("Oldest Replicated Begin LSN", text(23), true),
    ("Next Replicated End LSN", text(23), true),
    ("Last Distributed Backup End LSN", text(23), true),
    ("Last Distributed End LSN", text(23), true),
    ("Repl Min Hold LSN", text(23), true),
    ("Server UID", Int, true),
    ("SPID", Int, true),
    ("Beginlog Status", Binary(4), true),
    ("Xact Type", Int, true),
    ("Begin Time", text(24), true),
    ("Transaction Name", text(33), true),
    ("Transaction SID", bytes(85), true),
    ("Parent Transaction ID", text(14), true),
    ("Oldest Active Transaction ID", text(14), true),
    ("Xact ID", BigInt, true),
    ("Xact Node ID", Int, true),
    ("Xact Node Local ID", Int, true),
    ("End AGE", BigInt, true),
    ("End Time", text(24), true),
    ("Transaction Begin", text(23), true),
    ("Replicated Records", BigInt, true),
    ("Oldest Active LSN", text(23), true),
    ("Server Name", text(129), true),
    ("Database Name", text(129), true),
    ("Mark Name", text(33), true),
    ("Repl Partition ID", Int, true),
    ("Repl Epoch", Int, true),
    ("Repl CSN", BigInt, true),
    ("Repl Flags", Int, true),
    ("Repl Msg", bytes(8000), true),
    ("Repl Source Commit Time", text(24), true),
    ("Master XDESID", text(14), true),
    ("Master DBID", Int, true),
    ("Preplog Begin LSN", text(23), true),
    ("Prepare Time", text(24), true),
    ("Virtual Clock", BigInt, true),
    ("Previous Savepoint", text(23), true),
    ("Savepoint Name", text(33), true),
    ("Rowbits First Bit", SmallInt, true),
    ("Rowbits Bit Count", SmallInt, true),
    ("Rowbits Bit Value", Binary(1), true),
    ("Number of Locks", SmallInt, true),
    ("Lock Information", text(256), true),
    ("LSN before writes", text(23), true),
    ("Pages Written", SmallInt, true),
    ("Command Type", Int, true),
    ("Publication ID", Int, true),
    ("Article ID", Int, true),
    ("Partial Status", Int, true),
    ("Command", text(26), true),
    ("Byte Offset", SmallInt, true),
    ("New Value", Binary(1), true),
    ("Old Value", Binary(1), true),
    ("New Split Page", text(14), true),
    ("Rows Deleted", SmallInt, true),
    ("Bytes Freed", SmallInt, true),
    ("CI Table Id", Int, true),
    ("CI Index Id", SmallInt, true),
    ("NewAllocUnitId", BigInt, true),
    ("FileGroup ID", SmallInt, true),
    ("Meta Status", Binary(4), true),
    ("File Status", Binary(4), true),
    ("File ID", SmallInt, true),
    ("Physical Name", text(261), true),
    ("Logical Name", text(129), true),
    ("Format LSN", text(23), true),
    ("RowsetId", BigInt, true),
    ("TextPtr", Binary(16), true),
    ("Column Offset", Int, true),
    ("Flags", Int, true),
    ("Text Size", BigInt, true),
    ("Offset", BigInt, true),
    ("Old Size", BigInt, true),
    ("New Size", BigInt, true),
    ("Description", text(256), true),
    ("Bulk allocated extent count", Int, true),
    ("Bulk RowsetId", BigInt, true),
    ("Bulk AllocUnitId", BigInt, true),
    ("Bulk allocation first IAM Page ID", text(14), true),
    ("Bulk allocated extent ids", text(961), true),
    ("VLFs added", text(688), true),
    ("InvalidateCache Id", Int, true),
    ("InvalidateCache keys", text(256), true),
    ("CopyVerionInfo Source Page Id", text(14), true),
    ("CopyVerionInfo Source Page LSN", text(23), true),
    ("CopyVerionInfo Source Slot Id", Int, true),
    ("CopyVerionInfo Source Slot Count", Int, true),
    ("RowLog Contents 0", bytes(8000), true),
    ("RowLog Contents 1", bytes(8000), true),
    ("RowLog Contents 2", bytes(8000), true),
    ("RowLog Contents 3", bytes(8000), true),
    ("RowLog Contents 4", bytes(8000), true),
    ("RowLog Contents 5", bytes(8000), true),
    ("Compression Log Type", SmallInt, true),
    ("Compression Info", bytes(8000), true),
    ("PageFormat PageType", SmallInt, true),
    ("PageFormat PageFlags", SmallInt, true),
    ("PageFormat PageLevel", SmallInt, true),
    ("PageFormat PageStat", SmallInt, true),
    ("PageFormat FormatOption", SmallInt, true),
    ("Log Record", bytes(8000), true),
];

const fn at(name: &str) -> usize {
    position(COLUMNS, name)
}

pub(crate) const CURRENT_LSN: usize = at("Current LSN");
pub(crate) const OPERATION: usize = at("Operation");
pub(crate) const CONTEXT: usize = at("Context");
pub(crate) const TRANSACTION_ID: usize = at("Transaction ID");
pub(crate) const LOG_RECORD_LENGTH: usize = at("Log Record Length");
pub(crate) const PREVIOUS_LSN: usize = at("Previous LSN");
pub(crate) const ALLOCUNITID: usize = at("AllocUnitId");
pub(crate) const ALLOCUNITNAME: usize = at("AllocUnitName");
pub(crate) const PAGE_ID: usize = at("Page ID");
pub(crate) const SLOT_ID: usize = at("Slot ID");
pub(crate) const PARTITIONID: usize = at("PartitionId");
pub(crate) const NUM_ELEMENTS: usize = at("Num Elements");
pub(crate) const OFFSET_IN_ROW: usize = at("Offset in Row");
pub(crate) const MODIFY_SIZE: usize = at("Modify Size");
pub(crate) const CHECKPOINT_BEGIN: usize = at("Checkpoint Begin");
pub(crate) const BEGIN_TIME: usize = at("Begin Time");
pub(crate) const XACT_ID: usize = at("Xact ID");
pub(crate) const END_TIME: usize = at("End Time");
pub(crate) const DESCRIPTION: usize = at("Description");
pub(crate) const ROWLOG_CONTENTS_0: usize = at("RowLog Contents 0");
pub(crate) const ROWLOG_CONTENTS_1: usize = at("RowLog Contents 1");
pub(crate) const ROWLOG_CONTENTS_2: usize = at("RowLog Contents 2");
pub(crate) const PAGEFORMAT_PAGETYPE: usize = at("PageFormat PageType");
pub(crate) const PAGEFORMAT_PAGELEVEL: usize = at("PageFormat PageLevel");
pub(crate) const LOG_RECORD: usize = at("Log Record");
