//! The cursors of a session: their names, scopes and variables, what each is, and where it stands.
//! How a cursor gets its rows is a [`CursorBody`], which is made where queries run. Guarantees: a
//! cursor lives as long as a name, a variable or a handle refers to it; names and variables of a
//! frame end with the frame; the end of a transaction closes what it must, whatever the cursor is
//! doing.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use compact_str::CompactString;
use memory::Reservation;
use parking_lot::Mutex;
use syntax::ast::{CursorName, NameOrVariable};
use types::{SqlError, Value, msg};

use catalog::fold_name;
pub use plan::cursor::Model;

/// With what the names begin by which the engine's own statements find a client's cursor.
pub const HIDDEN: &str = "sp_cursor ";

/// First handle of a session's cursors: far from the numbers of prepared statements, so that no log
/// confuses them.
const FIRST_HANDLE: i32 = 180_150_001;

/// What keeps a row from being changed between its fetch and a positioned change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// There are no positioned changes.
    ReadOnly,
    /// The row is locked when it is fetched.
    ScrollLocks,
    /// The row is compared with what was fetched.
    Optimistic,
}

/// What a cursor is, as it was declared and after conversions of its kind.
#[derive(Clone, Debug)]
pub struct DeclaredCursor {
    pub model: Model,
    pub concurrency: Concurrency,
    /// Every FETCH; else NEXT alone.
    pub scroll: bool,
    pub global: bool,
    /// Opened by sp_cursoropen, sp_cursorexecute or sp_cursorprepexec.
    pub api: bool,
    /// The text of its query.
    pub text: Arc<str>,
    /// When it was declared, as datetime.
    pub created: Value,
    /// FOR UPDATE OF: database, object_id and column of each; none for every column.
    pub update_of: Option<Vec<(i32, i32, usize)>>,
}

/// What others see of a cursor.
#[derive(Debug)]
pub struct CursorInfo {
    pub handle: i32,
    pub name: Mutex<CompactString>,
    pub declared: DeclaredCursor,
    pub open: AtomicBool,
    /// @@FETCH_STATUS of its last fetch; -9 before the first.
    pub fetch_status: AtomicI32,
    /// Rows of a static or keyset cursor, -1 where nobody counts them.
    pub rows: AtomicI64,
    /// Row that it stands on, from 1; 0 before the first, -1 where nobody counts them.
    pub position: AtomicI64,
    /// Columns of its rows.
    pub columns: i32,
    /// Fetches, in all.
    pub reads: AtomicI64,
    /// What was done last, as sp_describe_cursor tells it.
    pub last: AtomicU8,
}

/// Values of [`CursorInfo::last`].
pub mod last {
    pub const OPENED: u8 = 1;
    pub const FETCHED: u8 = 2;
    pub const CLOSED: u8 = 6;
}

/// A cursor by a name or variable of a frame.
pub struct CursorReference {
    /// A variable with its `@`.
    pub name: CompactString,
    pub global: bool,
    pub cursor: Arc<Cursor>,
}

/// A row of a table that a cursor stands on.
#[derive(Clone, Debug)]
pub struct CurrentRow {
    /// database_id and object_id.
    pub db: i32,
    pub table: i32,
    pub locator: Value,
    /// Its bytes when it was fetched: what they are not any more, somebody has changed.
    pub image: Vec<u8>,
    /// Its bytes after a change through the cursor itself.
    pub written: Option<Vec<u8>>,
}

/// Where positioned changes go.
#[derive(Clone, Debug, Default)]
pub enum PositionedRows {
    /// Before the first row, after the last, or nothing was fetched yet.
    #[default]
    None,
    /// A row that has been deleted since.
    Missing,
    Row(Vec<CurrentRow>),
}

/// How a cursor gets its rows.
pub trait CursorBody: Any + Send {
    /// Gives back what it keeps.
    fn close(&mut self);
    /// For whoever made it.
    fn as_any(&mut self) -> &mut dyn Any;
}

/// A cursor.
pub struct Cursor {
    pub info: Arc<CursorInfo>,
    pub current: Mutex<PositionedRows>,
    pub body: Mutex<Box<dyn CursorBody>>,
    /// Charged for the cursor itself; its rows are charged to the memory of queries.
    pub memory: Reservation,
}

impl Cursor {
    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.info.open.load(Relaxed)
    }

    /// 16917 when it is closed.
    pub fn check_open(&self) -> Result<(), SqlError> {
        if self.is_open() { Ok(()) } else { Err(not_open()) }
    }

    /// Closes it; what it keeps is given back at once, or, when a statement is using it, at that
    /// statement's end.
    pub fn close(&self) {
        self.info.open.store(false, Relaxed);
        self.info.last.store(last::CLOSED, Relaxed);
        *self.current.lock() = PositionedRows::None;
        self.info.position.store(0, Relaxed);
        if let Some(mut body) = self.body.try_lock() {
            body.close();
        }
    }

    /// What CURSOR_STATUS says of it: 1 open with rows, 0 open without, -1 closed.
    pub fn status(&self) -> i16 {
        match (self.is_open(), self.info.rows.load(Relaxed)) {
            (false, _) => -1,
            (true, 0) => 0,
            (true, _) => 1,
        }
    }
}

/// 16917.
pub fn not_open() -> SqlError {
    SqlError::of(msg::CURSOR_NOT_OPEN, [])
}

fn no_cursor(name: &str) -> SqlError {
    SqlError::of(msg::CURSOR_NOT_FOUND, [&name])
}

/// A name, or a variable with its `@`.
struct NamedCursor {
    /// Folded.
    name: CompactString,
    /// The frame that it ends with; none for a global name.
    level: Option<u32>,
    /// None for a variable that was not set.
    cursor: Option<Arc<Cursor>>,
    /// The request in which it was declared.
    request: u64,
}

/// A cursor variable that a procedure gives back, by its name there.
pub type ReturnedCursor = (CompactString, Option<Arc<Cursor>>);

/// The cursors of a session.
#[derive(Default)]
pub struct Cursors {
    /// Frames that are running: batches, texts, procedures, triggers.
    level: u32,
    named: Vec<NamedCursor>,
    handles: HashMap<i32, Arc<Cursor>>,
    last: i32,
    /// @@FETCH_STATUS.
    pub fetch_status: i32,
    /// @@CURSOR_ROWS.
    pub opened_rows: i32,
    /// Number of the request that runs.
    request: u64,
    /// Variables that the frame which begins next gives back.
    wanted: Vec<CompactString>,
    /// What they held when it ended.
    returned: Vec<ReturnedCursor>,
}

/// Every cursor of a session, for other sessions to see.
pub type SharedCursors = Mutex<Vec<Weak<CursorInfo>>>;

impl Cursors {
    /// A request of the client begins.
    #[inline]
    pub fn begin_request(&mut self) {
        self.request += 1;
        self.level = 0;
        self.named.retain(|named| named.level.is_none());
    }

    /// The next frame gives these of its variables back: OUTPUT parameters of a procedure.
    pub fn want(&mut self, variables: Vec<CompactString>) {
        self.wanted = variables;
    }

    /// What the last frame has given back.
    pub fn take_returned(&mut self) -> Vec<ReturnedCursor> {
        std::mem::take(&mut self.returned)
    }

    /// A frame begins; gives the variables that it is to give back.
    #[inline]
    pub fn enter(&mut self) -> Vec<CompactString> {
        self.level += 1;
        std::mem::take(&mut self.wanted)
    }

    /// The frame ends, and with it its names and variables.
    #[inline]
    pub fn leave(&mut self, wanted: Vec<CompactString>) {
        // Mostly none: taking an empty list apart costs more than the question.
        if !wanted.is_empty() {
            self.give_back(wanted);
        }
        if !self.named.is_empty() {
            let level = Some(self.level);
            self.named.retain(|named| named.level != level);
        }
        self.level = self.level.saturating_sub(1);
    }

    #[cold]
    fn give_back(&mut self, wanted: Vec<CompactString>) {
        for name in wanted {
            let cursor = self.take_variable(&name);
            self.returned.push((name, cursor));
        }
    }

    /// A handle for a new cursor.
    pub fn next_handle(&mut self) -> i32 {
        self.last = if self.last == 0 {
            FIRST_HANDLE
        } else {
            self.last.checked_add(2).unwrap_or(FIRST_HANDLE)
        };
        self.last
    }

    fn place(&self, name: &str, level: Option<u32>) -> Option<usize> {
        let folded = fold_name(name);
        self.named.iter().position(|named| named.level == level && named.name == folded)
    }

    fn get(&self, name: &str, level: Option<u32>) -> Option<&Arc<Cursor>> {
        self.named[self.place(name, level)?].cursor.as_ref()
    }

    /// The cursor of a name or variable, as the running frame sees it.
    ///
    /// # Errors
    /// 16916 there is none, 16950 the variable holds none.
    pub fn find(&self, name: &CursorName) -> Result<Arc<Cursor>, SqlError> {
        match &name.name {
            NameOrVariable::Variable(variable) => self
                .variable(variable)
                .cloned()
                .ok_or_else(|| SqlError::of(msg::CURSOR_VARIABLE_EMPTY, [&variable])),
            NameOrVariable::Name(ident) => {
                let local =
                    if name.global { None } else { self.get(&ident.value, Some(self.level)) };
                let found = local.or_else(|| self.get(&ident.value, None));
                found.cloned().ok_or_else(|| no_cursor(&ident.value))
            }
        }
    }

    /// The cursor of a name in one scope.
    pub fn named(&self, name: &str, global: bool) -> Option<&Arc<Cursor>> {
        self.get(name, if global { None } else { Some(self.level) })
    }

    /// The cursor that a variable of the running frame holds.
    pub fn variable(&self, name: &str) -> Option<&Arc<Cursor>> {
        self.get(name, Some(self.level))
    }

    /// Sets a variable of the running frame.
    pub fn set_variable(&mut self, name: &str, cursor: Option<Arc<Cursor>>) {
        let level = Some(self.level);
        match self.place(name, level) {
            Some(at) => self.named[at].cursor = cursor,
            None if cursor.is_none() => {}
            None => {
                let named =
                    NamedCursor { name: fold_name(name), level, cursor, request: self.request };
                self.named.push(named);
            }
        }
    }

    /// Takes what a variable of the running frame holds.
    pub fn take_variable(&mut self, name: &str) -> Option<Arc<Cursor>> {
        let at = self.place(name, Some(self.level))?;
        self.named.swap_remove(at).cursor
    }

    /// 16915 when a name is taken in a scope.
    pub fn check_free(&self, name: &str, global: bool) -> Result<(), SqlError> {
        match self.named(name, global) {
            None => Ok(()),
            Some(_) => Err(SqlError::of(msg::CURSOR_EXISTS, [&name])),
        }
    }

    /// Gives a cursor a name in the running frame or in the session.
    ///
    /// # Errors
    /// 16915.
    pub fn declare(
        &mut self,
        name: &str,
        global: bool,
        cursor: Arc<Cursor>,
    ) -> Result<(), SqlError> {
        self.check_free(name, global)?;
        let level = if global { None } else { Some(self.level) };
        let named = NamedCursor {
            name: fold_name(name),
            level,
            cursor: Some(cursor),
            request: self.request,
        };
        self.named.push(named);
        Ok(())
    }

    /// DEALLOCATE: the name or variable no longer refers to its cursor.
    ///
    /// # Errors
    /// As [`Cursors::find`].
    pub fn deallocate(&mut self, name: &CursorName) -> Result<(), SqlError> {
        self.find(name)?;
        let at = match &name.name {
            NameOrVariable::Variable(variable) => self.place(variable, Some(self.level)),
            NameOrVariable::Name(ident) => {
                let local =
                    if name.global { None } else { self.place(&ident.value, Some(self.level)) };
                local.or_else(|| self.place(&ident.value, None))
            }
        };
        if let Some(at) = at {
            self.named.swap_remove(at);
        }
        Ok(())
    }

    /// Keeps a cursor under its handle.
    pub fn keep(&mut self, cursor: Arc<Cursor>) {
        self.handles.insert(cursor.info.handle, cursor);
    }

    /// The cursor of a handle.
    pub fn by_handle(&self, handle: i32) -> Option<Arc<Cursor>> {
        self.handles.get(&handle).cloned()
    }

    /// Gives a handle back; the names that sp_cursoroption has given its cursor go too.
    pub fn release(&mut self, handle: i32) -> Option<Arc<Cursor>> {
        let cursor = self.handles.remove(&handle)?;
        self.named.retain(|named| {
            !(named.level.is_none()
                && named.cursor.as_ref().is_some_and(|c| Arc::ptr_eq(c, &cursor)))
        });
        Some(cursor)
    }

    /// Gives all handles back.
    pub fn release_all(&mut self) {
        let handles: Vec<i32> = self.handles.keys().copied().collect();
        for handle in handles {
            self.release(handle);
        }
    }

    /// Cursors that the running frame can name: (name, whether it is global, cursor). Variables are
    /// not among them.
    pub fn visible(&self) -> Vec<(CompactString, bool, Arc<Cursor>)> {
        let seen = self.named.iter().filter(|named| {
            let hidden = named.name.starts_with('@') || named.name.starts_with(HIDDEN);
            !hidden && (named.level.is_none() || named.level == Some(self.level))
        });
        let listed = seen.filter_map(|named| {
            let cursor = named.cursor.clone()?;
            Some((named.name.clone(), named.level.is_none(), cursor))
        });
        listed.collect()
    }

    /// What the frame around the running one can name, its variables among it.
    pub fn of_caller(&self) -> Vec<CursorReference> {
        let around = Some(self.level.saturating_sub(1));
        let seen = self.named.iter().filter(|named| {
            !named.name.starts_with(HIDDEN) && (named.level.is_none() || named.level == around)
        });
        let reference = |named: &NamedCursor| {
            let cursor = named.cursor.clone()?;
            Some(CursorReference {
                name: named.name.clone(),
                global: named.level.is_none(),
                cursor,
            })
        };
        seen.filter_map(reference).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Cursor>> {
        self.named.iter().filter_map(|named| named.cursor.as_ref()).chain(self.handles.values())
    }

    /// A transaction has ended. Filled static cursors stay open, unless `close_all`
    /// (CURSOR_CLOSE_ON_COMMIT); the others are closed by a rollback alone.
    pub fn transaction_ended(&mut self, committed: bool, close_all: bool) {
        if self.named.is_empty() && self.handles.is_empty() {
            return;
        }
        for cursor in self.all() {
            let stays = !close_all && (committed || cursor.info.declared.model == Model::Static);
            if !stays && cursor.is_open() {
                cursor.close();
            }
        }
    }

    /// An error has ended the batch and rolled back: the cursors that were declared in this request
    /// go.
    pub fn request_failed(&mut self) {
        let request = self.request;
        self.named.retain(|named| named.level.is_some() || named.request != request);
        for named in &mut self.named {
            if named.request == request {
                named.cursor = None;
            }
        }
    }

    /// The client's session begins again.
    pub fn clear(&mut self) {
        *self = Cursors { last: self.last, request: self.request, ..Cursors::default() };
    }
}
