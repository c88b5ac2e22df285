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

use std::sync::Arc;

use types::{SqlError, Value};

use super::cache::{BatchCache, CachedText, TextPlace};
use super::compiled::CompiledBatch;
use super::shape::shape;
use bind::set_options::SessionOptions;
use session::state::SessionCore;
use session::state::phases::{self, Phase};

/// What runs for a text.
pub struct ToRun {
    pub batch: Arc<CompiledBatch>,
    /// Values of its first variables.
    pub vars: Vec<Value>,
    /// The batch is the text's shape.
    pub shaped: bool,
}

impl ToRun {
    fn own(batch: Arc<CompiledBatch>) -> ToRun {
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
    if let Some(CachedText::Own(batch)) = cache.find(&place) {
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
    place: &TextPlace<'_>,
    key: &mut String,
) -> Option<ToRun> {
    let literals = shape(place.text, key)?;
    let of_shape = cache.place_of_shape(place, key);
    let shape = match cache.find(&of_shape) {
        Some(CachedText::Shape(shape)) => shape,
        _ if cache.was_seen(&of_shape) => cache.compile_shape(core, &of_shape, &literals).ok()?,
        _ => return None,
    };
    if !shape.may_run(core) || cache.was_seen(place) {
        return None;
    }
    Some(ToRun { batch: shape.batch.clone(), vars: literals.values, shaped: true })
}
