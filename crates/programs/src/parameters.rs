//! Which batch runs for a text: the one of its shape, with its literals as values of variables, or
//! its own.
//!
//! Guarantees:
//! - A shape runs only where its one statement is bound, under the schema and options of this
//!   moment, to a plan that no other value would make better: rows of VALUES, or reads by whole
//!   keys of unique indexes alone. Any other text is compiled by itself, with the plan that its
//!   literals deserve.
//! - What cannot be compiled or bound as a shape is compiled by its own text, which then says what
//!   is wrong with it.
//! - Texts of a shape are kept only when they come again soon: then the very text is what is worth
//!   keeping. A shape is compiled when it comes the second time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use syntax::ast::{Stmt, StmtKind};
use types::{SqlError, Value};

use super::cache::{BatchCache, Kept, Place};
use super::compiled::{Bound, Compiled, Stamp};
use super::program::Op;
use super::shape::shape;
use bind::set_options::SessionOptions;
use dml::compile_dml;
use plan::compile_query;
use session::state::SessionCore;
use session::state::phases::{self, Phase};

/// The batch of all texts of one shape.
pub struct Shape {
    pub batch: Arc<Compiled>,
    verdict: Mutex<Option<Verdict>>,
}

/// Whether a shape may run.
#[derive(Clone, Copy)]
struct Verdict {
    /// For what schema and options that was found.
    of: Stamp,
    may_run: bool,
    /// How often it might not.
    refused: u32,
}

impl Verdict {
    /// A small table is scanned and may have grown: a refusal is thought over after 64 texts, 128,
    /// 256 and so on.
    fn ask(&mut self, now: Stamp) -> Option<bool> {
        if self.of != now {
            self.refused = 0;
            return None;
        }
        self.refused = self.refused.saturating_add(u32::from(!self.may_run));
        let again = self.refused >= 64 && self.refused.is_power_of_two();
        (self.may_run || !again).then_some(self.may_run)
    }
}

/// What runs for a text.
pub struct ToRun {
    pub batch: Arc<Compiled>,
    /// Values of its first variables.
    pub vars: Vec<Value>,
    /// The batch is the text's shape.
    pub shaped: bool,
}

impl ToRun {
    fn own(batch: Arc<Compiled>) -> ToRun {
        ToRun { batch, vars: Vec::new(), shaped: false }
    }
}

/// Finds or compiles what runs for a text that has no parameters. `key` is room for the key of its
/// shape.
///
/// # Errors
/// Those of compiling the text.
pub fn find(
    core: &SessionCore,
    cache: &BatchCache,
    text: &str,
    key: &mut String,
) -> Result<ToRun, SqlError> {
    let _plan = phases::enter(Phase::Plan);
    let place = cache.place(core.db(), &core.options, text, &[]);
    if let Some(Kept::Own(batch)) = cache.find(&place) {
        return Ok(ToRun::own(batch));
    }
    if allowed(&core.options)
        && let Some(found) = by_shape(core, cache, &place, key)
    {
        return Ok(found);
    }
    cache.compile(core, &place).map(ToRun::own)
}

/// Under these options a variable means what a literal does, `"x"` is a name, and plans are not
/// shown.
fn allowed(options: &SessionOptions) -> bool {
    options.quoted_identifier
        && options.ansi_nulls
        && !options.parse_only
        && options.runs()
        && !options.profiles()
}

fn by_shape(
    core: &SessionCore,
    cache: &BatchCache,
    place: &Place<'_>,
    key: &mut String,
) -> Option<ToRun> {
    let literals = shape(place.text, key)?;
    let of_shape = cache.place_of_shape(place, key);
    let shape = match cache.find(&of_shape) {
        Some(Kept::Shape(shape)) => shape,
        _ if cache.was_seen(&of_shape) => cache.compile_shape(core, &of_shape, &literals).ok()?,
        _ => return None,
    };
    if !shape.may_run(core) || cache.was_seen(place) {
        return None;
    }
    Some(ToRun { batch: shape.batch.clone(), vars: literals.values, shaped: true })
}

impl Shape {
    /// A shape of which nothing is known yet.
    pub fn new(batch: Arc<Compiled>) -> Shape {
        Shape { batch, verdict: Mutex::new(None) }
    }

    fn may_run(&self, core: &SessionCore) -> bool {
        let now = Stamp::now(core);
        let refused = match &mut *self.verdict.lock() {
            Some(verdict) => match verdict.ask(now) {
                Some(may_run) => return may_run,
                None => verdict.refused,
            },
            None => 0,
        };
        // A panic of the binder is reported by the text itself, which is bound again where panics
        // are caught.
        let may_run = catch_unwind(AssertUnwindSafe(|| self.bind(core))).unwrap_or(false);
        *self.verdict.lock() = Some(Verdict { of: now, may_run, refused });
        may_run
    }

    /// Binds its statement; whether that is one that may run.
    fn bind(&self, core: &SessionCore) -> bool {
        let program = &self.batch.program;
        let ([Op::Stmt(0)], [stmt]) = (program.ops.as_slice(), program.stmts.as_slice()) else {
            return false;
        };
        let bound = Bound::make(core, &program.vars, &[], |env| bind_statement(stmt, env));
        let Ok((stamp, bound)) = bound else { return false };
        let may_run = stamp.temps.is_none() && bound.reads_points();
        if may_run && let Some(first) = self.batch.bound.lock().first_mut() {
            *first = Some((stamp, bound));
        }
        may_run
    }
}

fn bind_statement(stmt: &Stmt, env: &bind::env::CompileEnv<'_>) -> Result<Bound, SqlError> {
    match &stmt.kind {
        StmtKind::Select(query) if query.body.first_select().into.is_none() => {
            compile_query(query, env).map(Bound::Query)
        }
        StmtKind::Insert(_) | StmtKind::Update(_) | StmtKind::Delete(_) => {
            compile_dml(stmt, env).map(Bound::Dml)
        }
        _ => Err(SqlError::internal("a shape is of one of four statements")),
    }
}
