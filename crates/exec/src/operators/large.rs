//! Large values in the rows that an operator gives at once.
//! Guarantees: a batch ends when its values come to 128 KB, so that a statement whose client does
//! not read keeps no more; a value that is larger is charged as long as its batch is at hand, and
//! goes back with the operator. Rows without long values cost a look at each value.

use expr::Expr;
use memory::{Clerk, Reservation};
use types::{SqlError, Value};

use super::rt::Rt;
use catalog::errors::out_of_memory;

/// Bytes of values after which a batch ends.
pub const MOST: usize = 128 << 10;
/// A value below is not counted: a batch of them is no more than other rows are.
const COUNTED: usize = 256;

/// The large values of a batch.
#[derive(Debug, Default)]
pub struct LargeRows {
    held: Option<Reservation>,
    bytes: usize,
}

impl LargeRows {
    /// Another batch begins: the rows of the last one are gone.
    #[inline]
    pub fn begin(&mut self) {
        if self.bytes > 0 {
            self.held = None;
            self.bytes = 0;
        }
    }

    /// Counts a row of the batch. True: it is enough for a batch.
    ///
    /// # Errors
    /// 701.
    #[inline]
    pub fn add(&mut self, row: &[Value], rt: &Rt<'_, '_>) -> Result<bool, SqlError> {
        let large = row.iter().map(Value::heap_bytes).filter(|bytes| *bytes >= COUNTED);
        let bytes: usize = large.sum();
        if bytes == 0 { Ok(false) } else { self.count(bytes, rt) }
    }

    /// Counts one value of a row that is being made, before the next one is.
    ///
    /// # Errors
    /// 701.
    #[inline]
    pub fn add_value(&mut self, value: &Value, rt: &Rt<'_, '_>) -> Result<(), SqlError> {
        let bytes = value.heap_bytes();
        if bytes >= COUNTED { self.count(bytes, rt).map(|_| ()) } else { Ok(()) }
    }

    /// Whether it is enough for a batch.
    #[inline]
    pub fn is_enough(&self) -> bool {
        self.bytes >= MOST
    }

    #[cold]
    fn count(&mut self, bytes: usize, rt: &Rt<'_, '_>) -> Result<bool, SqlError> {
        self.bytes += bytes;
        if self.bytes > MOST {
            let account = rt.ctx.session.host().memory();
            let held =
                self.held.get_or_insert_with(|| Reservation::new(account, Clerk::QueryExecution));
            held.take(self.bytes.saturating_sub(held.used())).map_err(|_| out_of_memory())?;
        }
        Ok(self.is_enough())
    }
}

/// Whether one of these expressions may give a large value that is not its input's.
pub fn may_be_large(exprs: &[Expr], rt: &Rt<'_, '_>) -> bool {
    exprs.iter().enumerate().any(|(at, e)| match e {
        // A copy of a column that is given twice.
        Expr::Col(id) => {
            exprs[..at].iter().any(|other| matches!(other, Expr::Col(same) if same == id))
        }
        e => may_make_large(e, rt),
    })
}

fn may_make_large(e: &Expr, rt: &Rt<'_, '_>) -> bool {
    match e {
        Expr::Const(value) => value.heap_bytes() >= COUNTED,
        Expr::Var(slot) => {
            rt.ctx.vars.get(*slot).is_some_and(|value| value.heap_bytes() >= COUNTED)
        }
        Expr::Col(_) | Expr::Negate(..) | Expr::BitNot(..) => false,
        Expr::Convert(c) => is_long(c.to),
        Expr::Binary(b) => is_long(b.ty),
        Expr::Call(c) => is_long(c.ty),
        Expr::Case(c) => {
            may_make_large(&c.otherwise, rt)
                || c.branches.iter().any(|(_, then)| may_make_large(then, rt))
        }
        Expr::Coalesce(list) => list.iter().any(|e| may_make_large(e, rt)),
        Expr::Deep(e) => stack::with_room(|| may_make_large(e, rt)),
        Expr::Param(_) | Expr::Routine(_) | Expr::Subquery(_) => true,
    }
}

fn is_long(ty: types::DataType) -> bool {
    // A character takes up to three bytes in UTF-8.
    let takes_much = ty.length().is_some_and(|length| length.saturating_mul(3) >= COUNTED);
    ty.is_lob() || ty == types::DataType::Xml || ty == types::DataType::SqlVariant || takes_much
}
