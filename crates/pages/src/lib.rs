//! Data files, 8 KB pages, page operations, log records, allocation maps, the buffer pool,
//! checkpoint writes.
//!
//! A page changes in exactly one way: an operation is put into a log record, the record is
//! appended, the operation is applied to the latched page with the record's LSN. Redo applies the
//! same function.

mod around;
mod codec;
mod copy;
mod dwb;
pub mod error;
mod files;
pub mod home;
pub mod id;
mod lists;
mod log;
mod manage;
mod mend;
pub mod op;
mod open;
pub mod page;
mod pool;
pub mod record;
mod redo;
mod row_header;
mod store;
mod sync;
mod waits;
mod writer;

pub use around::ReadAround;
pub use copy::{CopySink, FileRestore, check_images};
pub use error::PageError;
pub use files::{CleanEnd, FileGrowth, FileSpec};
pub use home::{InstanceHome, InstanceId};
pub use id::{BOOT_PAGE, EXTENT_PAGES, ExtentId, PAGE_SIZE, PageId, TxnId, UnitId};
pub use log::{BeyondLimits, LogHandle, SystemSink, UndoingThread};
pub use manage::{FILE_LIST, FileEvent};
pub use mend::{FileState, MendedPage, PageState, PageVisit, mend, mend_file, read_boot_of, walk};
pub use op::{ApplyCtx, Link, PageOp, RowPatch, apply, split_keyed, value_offset};
pub use op::{BeforeImage, LargeUpdate, LatestUpdates, WORTH};
pub use open::{
    DataFileIdentity, DataFiles, NOT_PRIMARY, OTHER_DATABASE, OTHER_TIME, check_format, identify,
};
pub use page::{HEADER_SIZE, MAX_SLOT_LEN, MAX_SLOTS, Page, PageType, SLOT_SIZE};
pub use pool::{
    BufferPool, PageMut, PageReads, PageRef, PageTrace, PendingReads, PoolCounters, PoolOptions,
    UnitReads, note_run_file,
};
pub use record::{
    MAX_RECORD, OpIter, RecordBuilder, RecordKind, RecordOp, RecordSink, RecordView, RowUpdate,
    boundary_record, needs_earlier, previous_version, row_key, row_op,
};
pub use row_header::{FORWARD, FORWARDED, GHOST, ROW_HEADER, RowHeader};
pub use store::alloc::{
    FileUsage, FreeingPaused, LEVEL_FULL, Maps, PFS_ALLOCATED, PFS_IAM, PFS_LEVEL, ReservedPage,
    ReservedUnit, Unit, UnitSpace, pfs_level,
};
pub use store::{FileInfo, MAX_BOOT, Store};
pub use waits::{PageWait, PageWaits, WaitCount};
pub use wal::Lsn;
pub use writer::WriteReport;
