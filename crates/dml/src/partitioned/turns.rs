//! The parts of a statement over a partitioned view, one table after another.
//! Guarantee: SET ROWCOUNT counts the rows of all of them, and is what it was when they have ended,
//! also with an error.

use super::super::change::WrittenRows;
use exec::operators::context::ExecCtx;
use types::SqlError;

/// Runs the part of each table, until SET ROWCOUNT is reached.
///
/// # Errors
/// The first of a part.
pub fn in_turn<W: AsRef<WrittenRows>>(
    ctx: &mut ExecCtx<'_>,
    parts: usize,
    part: impl FnMut(usize, &mut ExecCtx<'_>) -> Result<W, SqlError>,
) -> Result<Vec<W>, SqlError> {
    let limit = ctx.session.options.rowcount;
    let written = up_to(ctx, parts, limit, part);
    ctx.session.options.rowcount = limit;
    written
}

/// `limit` rows; all for 0.
fn up_to<W: AsRef<WrittenRows>>(
    ctx: &mut ExecCtx<'_>,
    parts: usize,
    limit: u64,
    mut part: impl FnMut(usize, &mut ExecCtx<'_>) -> Result<W, SqlError>,
) -> Result<Vec<W>, SqlError> {
    let (mut all, mut count) = (Vec::with_capacity(parts), 0);
    for at in 0..parts {
        if limit > 0 {
            if count >= limit {
                break;
            }
            ctx.session.options.rowcount = limit - count;
        }
        let written = part(at, ctx)?;
        count += written.as_ref().count;
        all.push(written);
    }
    Ok(all)
}
