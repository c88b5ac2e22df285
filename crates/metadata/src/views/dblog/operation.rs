//! A log record in SQL Server's words: operation (LOP_*), context (LCX_*), and a description of all
//! that it does.

use pages::{Link, PageId, PageOp, PageType, RecordKind, RecordOp, RecordView};
use types::Value;

use super::columns;
use super::cut;
use super::units::{Header, Place};
use crate::views::values::text;

/// Longest description.
const MAX_DESCRIPTION: usize = 256;

/// The operations of a record in short.
pub struct Summary<'a> {
    /// The operation that the record is named after.
    pub first: Option<RecordOp<'a>>,
    ops: Vec<RecordOp<'a>>,
    /// The record cannot be read to its end.
    damaged: bool,
}

/// Which operation of a record names it: rows before pages before allocation.
fn rank(op: &PageOp<'_>) -> u8 {
    match op {
        PageOp::Insert { .. }
        | PageOp::Ghost { .. }
        | PageOp::Update { .. }
        | PageOp::Replace { .. } => 6,
        PageOp::Restore { .. } => 6,
        PageOp::Remove { .. } => 5,
        PageOp::InsertRaw { .. } | PageOp::ReplaceRaw { .. } => 4,
        PageOp::Format { .. } | PageOp::Image { .. } => 3,
        PageOp::SetLink { .. } => 2,
        PageOp::SetBits { .. } | PageOp::PutBytes { .. } => 1,
    }
}

/// What an operation is called in a description.
fn word(op: &PageOp<'_>) -> &'static str {
    match op {
        PageOp::Insert { .. } => "insert",
        PageOp::Ghost { .. } => "ghost",
        PageOp::Update { .. } => "update",
        PageOp::Replace { .. } => "insert over ghost",
        PageOp::Restore { .. } => "restore",
        PageOp::Remove { .. } => "remove",
        PageOp::InsertRaw { .. } => "copy",
        PageOp::ReplaceRaw { .. } => "replace",
        PageOp::Format { .. } => "format",
        PageOp::Image { .. } => "image",
        PageOp::SetLink { link: Link::Prev, .. } => "previous page",
        PageOp::SetLink { link: Link::Next, .. } => "next page",
        PageOp::SetBits { .. } => "bits",
        PageOp::PutBytes { .. } => "bytes",
    }
}

fn slot_of(op: &PageOp<'_>) -> Option<u16> {
    match *op {
        PageOp::Insert { slot, .. }
        | PageOp::Ghost { slot, .. }
        | PageOp::Update { slot, .. }
        | PageOp::Replace { slot, .. }
        | PageOp::Restore { slot, .. }
        | PageOp::Remove { slot, .. }
        | PageOp::InsertRaw { slot, .. }
        | PageOp::ReplaceRaw { slot, .. } => Some(slot),
        _ => None,
    }
}

impl<'a> Summary<'a> {
    /// Reads all operations.
    pub fn of(view: &RecordView<'a>) -> Summary<'a> {
        let mut summary = Summary { first: None, ops: Vec::new(), damaged: false };
        for op in view.ops() {
            let Ok(op) = op else {
                summary.damaged = true;
                break;
            };
            if summary.first.is_none_or(|first| rank(&first.op) < rank(&op.op)) {
                summary.first = Some(op);
            }
            summary.ops.push(op);
        }
        summary
    }

    /// The page of the naming operation; none when there is no operation.
    pub fn page(&self) -> PageId {
        self.first.map_or(PageId::NONE, |first| first.page)
    }

    /// What a formatted page became.
    pub fn formatted(&self) -> Option<Header> {
        let page = self.page();
        self.ops.iter().find_map(|op| match op.op {
            PageOp::Format { kind, level, unit, .. } if op.page == page => {
                Some((unit, Some(kind), level))
            }
            _ => None,
        })
    }

    /// Rows move from one page to another.
    fn is_split(&self, view: &RecordView<'_>) -> bool {
        let has = |test: fn(&PageOp<'_>) -> bool| self.ops.iter().any(|op| test(&op.op));
        view.is_system()
            && has(|op| matches!(op, PageOp::Format { .. }))
            && has(|op| {
                matches!(
                    op,
                    PageOp::Remove { .. } | PageOp::Image { .. } | PageOp::ReplaceRaw { .. }
                )
            })
    }

    /// LOP_*.
    pub fn operation(&self, view: &RecordView<'_>) -> &'static str {
        match view.kind() {
            RecordKind::Begin => return "LOP_BEGIN_XACT",
            RecordKind::Commit => return "LOP_COMMIT_XACT",
            RecordKind::Abort => return "LOP_ABORT_XACT",
            RecordKind::Prepare => return "LOP_PREP_XACT",
            RecordKind::Savepoint => return "LOP_MARK_SAVEPOINT",
            RecordKind::CkptBegin => return "LOP_BEGIN_CKPT",
            RecordKind::CkptEnd => return "LOP_END_CKPT",
            txn::ACTIVE_LIST => return "LOP_XACT_CKPT",
            RecordKind::Misc(_) => return "LOP_NULL",
            RecordKind::Change | RecordKind::Compensation => {}
        }
        let Some(first) = self.first else { return "LOP_NULL" };
        if self.is_split(view) {
            return "LOP_DELETE_SPLIT";
        }
        match first.op {
            PageOp::Insert { .. } | PageOp::Replace { .. } | PageOp::InsertRaw { .. } => {
                "LOP_INSERT_ROWS"
            }
            PageOp::Ghost { .. } => "LOP_DELETE_ROWS",
            PageOp::Update { .. } | PageOp::Restore { .. } | PageOp::ReplaceRaw { .. } => {
                "LOP_MODIFY_ROW"
            }
            PageOp::Remove { .. } if view.is_system() => "LOP_EXPUNGE_ROWS",
            PageOp::Remove { .. } => "LOP_DELETE_ROWS",
            PageOp::Format { .. } | PageOp::Image { .. } => "LOP_FORMAT_PAGE",
            PageOp::SetLink { .. } => "LOP_MODIFY_HEADER",
            PageOp::SetBits { .. } => "LOP_SET_BITS",
            PageOp::PutBytes { .. } if first.page.is_pfs() => "LOP_SET_FREE_SPACE",
            PageOp::PutBytes { .. } if first.page.page == 0 => "LOP_FILE_HDR_MODIFY",
            PageOp::PutBytes { .. } => "LOP_MODIFY_ROW",
        }
    }

    /// LCX_*.
    pub fn context(&self, place: Option<&Place>) -> &'static str {
        let Some(first) = self.first else { return "LCX_NULL" };
        if first.page.is_pfs() {
            return "LCX_PFS";
        }
        if first.page.is_gam() {
            return "LCX_GAM";
        }
        if first.page == pages::BOOT_PAGE {
            return "LCX_BOOT_PAGE";
        }
        if matches!(first.op, PageOp::Ghost { .. }) {
            return "LCX_MARK_AS_GHOST";
        }
        let Some(place) = place else { return "LCX_NULL" };
        match place.kind {
            Some(PageType::Data) => "LCX_HEAP",
            Some(PageType::Index) if place.level > 0 => "LCX_INDEX_INTERIOR",
            Some(PageType::Index) if place.clustered => "LCX_CLUSTERED",
            Some(PageType::Index) => "LCX_INDEX_LEAF",
            Some(PageType::Lob) => "LCX_TEXT_MIX",
            Some(PageType::Iam) => "LCX_IAM",
            Some(PageType::FileHeader) => "LCX_FILE_HEADER",
            _ => "LCX_NULL",
        }
    }

    /// Everything that the record does: `insert 1:304 slots 0-72 (73), format 1:304`.
    pub fn description(&self, view: &RecordView<'_>) -> String {
        let mut out = String::new();
        match view.kind() {
            RecordKind::Compensation => out.push_str("COMPENSATION; "),
            RecordKind::Change if view.is_system() => out.push_str("SYSTEM; "),
            _ => {}
        }
        let mut at = 0;
        while let Some(op) = self.ops.get(at) {
            let same = |o: &&RecordOp<'_>| o.page == op.page && word(&o.op) == word(&op.op);
            let count = self.ops[at..].iter().take_while(same).count();
            let last = &self.ops[at + count - 1];
            if at > 0 {
                out.push_str(", ");
            }
            out.push_str(&format!("{} {}", word(&op.op), op.page));
            match (slot_of(&op.op), slot_of(&last.op)) {
                (Some(from), Some(to)) if count > 1 => {
                    out.push_str(&format!(" slots {from}-{to} ({count})"))
                }
                (Some(slot), _) => out.push_str(&format!(" slot {slot}")),
                _ if count > 1 => out.push_str(&format!(" ({count})")),
                _ => {}
            }
            at += count;
            if out.len() > MAX_DESCRIPTION {
                out.truncate(MAX_DESCRIPTION - 3);
                out.push_str("...");
                return out;
            }
        }
        if self.damaged {
            out.push_str(" (the rest cannot be read)");
        }
        out
    }

    /// Columns about the naming operation.
    pub fn fill(&self, row: &mut [Value]) {
        let Some(first) = self.first else { return };
        row[columns::PAGE_ID] = text(format!("{:04x}:{:08x}", first.page.file, first.page.page));
        row[columns::NUM_ELEMENTS] =
            Value::SmallInt(i16::try_from(self.ops.len()).unwrap_or(i16::MAX));
        row[columns::SLOT_ID] =
            slot_of(&first.op).map_or(Value::Null, |slot| Value::Int(slot.into()));
        let small = |n: usize| Value::SmallInt(i16::try_from(n).unwrap_or(i16::MAX));
        match first.op {
            PageOp::Update { at, before, new_bytes, .. } => {
                row[columns::OFFSET_IN_ROW] = small(at.into());
                row[columns::MODIFY_SIZE] = small(before.len().max(new_bytes.len()));
            }
            PageOp::Restore { at, bytes, .. } => {
                row[columns::OFFSET_IN_ROW] = small(at.into());
                row[columns::MODIFY_SIZE] = small(bytes.len());
            }
            PageOp::Format { kind, level, .. } => {
                row[columns::PAGEFORMAT_PAGETYPE] = Value::SmallInt(kind as i16);
                row[columns::PAGEFORMAT_PAGELEVEL] = Value::SmallInt(level.into());
            }
            _ => {}
        }
    }

    /// [RowLog Contents 0] to 2: bytes before or inserted, bytes after, key. Of the bytes before
    /// only those at the beginning that no earlier record of the transaction has.
    pub(crate) fn fill_contents(&self, row: &mut [Value]) {
        let Some(first) = self.first else { return };
        let (before, after, key): (&[u8], &[u8], Option<&[u8]>) = match first.op {
            PageOp::Insert { key, value, .. } => (value, &[], key),
            PageOp::Ghost { key, .. } => (&[], &[], key),
            PageOp::Update { key, before, new_bytes, .. } => (before.head, new_bytes, key),
            PageOp::Replace { key, old_value, new_value, .. } => (old_value, new_value, key),
            PageOp::Restore { bytes, .. } => (&[], bytes, None),
            PageOp::InsertRaw { content, .. } | PageOp::ReplaceRaw { content, .. } => {
                (content, &[], None)
            }
            _ => return,
        };
        row[columns::ROWLOG_CONTENTS_0] = cut(before);
        row[columns::ROWLOG_CONTENTS_1] = cut(after);
        row[columns::ROWLOG_CONTENTS_2] = cut(key.unwrap_or_default());
    }
}
