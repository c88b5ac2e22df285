//! Prepared statements, and those of them that a session keeps ready to run.

use crate::batch::short::Short;
use dml::ExpectedRow;
use programs::cache::Found;
use programs::program::BatchParam;
use session::state::core::SessionCore;
use types::Value;

/// A batch with parameters, compiled once.
pub struct Prepared {
    pub(super) text: String,
    pub(super) params: Vec<BatchParam>,
    /// No other one of the process has it.
    pub(super) number: u64,
}

/// Prepared batches that a session has ready.
const READY: usize = 8;

/// What was found for a prepared batch.
pub(super) struct Ready {
    pub(super) number: u64,
    /// The options that it was found under, by their number.
    pub(super) options: u64,
    pub(super) found: Found,
    /// The batch as one statement on one row, if it is one.
    pub(super) short: Known,
}

/// Whether a prepared batch is one statement on one row that is kept ready.
#[derive(Default)]
pub(super) enum Known {
    /// It has not run since this was asked last.
    #[default]
    Unknown,
    Short(Box<Short>),
    /// It is not, under the options of this number and this version of the schema.
    Not(u64, u64),
}

impl Ready {
    pub(super) fn new(number: u64, options: u64, found: Found) -> Ready {
        Ready { number, options, found, short: Known::Unknown }
    }

    /// The row of the batch that is about to run, as far as it is known where it is.
    #[inline]
    pub(super) fn look_ahead(&self, core: &mut SessionCore, vars: &[Value]) -> Option<ExpectedRow> {
        match &self.short {
            Known::Short(short) => short.look_ahead(core, vars),
            Known::Unknown | Known::Not(..) => None,
        }
    }

    /// The batch as one statement, if it is one and all is as it was when that was found.
    #[inline]
    pub(super) fn ready_statement(&self, core: &SessionCore) -> Option<&Short> {
        match &self.short {
            Known::Short(short) if short.holds(core) => Some(short),
            _ => None,
        }
    }

    /// The batch has run: what is it?
    #[inline]
    pub(super) fn look(&mut self, core: &mut SessionCore) {
        let now = (core.options.changes(), core.db().schema_version());
        match &self.short {
            Known::Not(options, version) if (*options, *version) == now => {}
            // The interpreter has run it again.
            Known::Short(short) if short.holds(core) => {}
            _ => {
                self.short = match Short::of(core, &self.found.batch) {
                    Some(short) => Known::Short(Box::new(short)),
                    None => Known::Not(now.0, now.1),
                }
            }
        }
    }
}

/// Puts what was found where the same batch's was, else in the place of the oldest. Returns its
/// place.
pub(super) fn put_ready(list: &mut Vec<Ready>, old: Option<usize>, new: Ready) -> usize {
    if let Some(at) = old {
        list[at] = new;
        return at;
    }
    if list.len() >= READY {
        list.remove(0);
    }
    list.push(new);
    list.len() - 1
}
