//! How deep and how large a statement may become while it is bound: names of views and common table
//! expressions stand for queries, and some forms of expressions for more than is written, so that a
//! short text can mean more than any machine holds. Guarantees: every recursion of the binder has
//! room on the stack or ends with 8631; what is bound is bounded, beyond it is 8623; a cancel is
//! noticed at every level.

use super::Binder;
use catalog::errors;
use expr::{Expr, MOST_LEVELS, Typed};
use stack::Nested;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use types::SqlError;

/// Query blocks that may be inside of one another, those of views and common table expressions
/// included.
const MOST_BLOCKS: u32 = 4_000;
/// Most sources, query blocks and windows of a statement, those inside of its views and common
/// table expressions included.
const MOST_NODES: usize = 16_384;
/// So many may be looked at again and again by checks of builds that have them.
const SMALL: usize = 200;
/// Most columns of all of them.
const MOST_COLUMNS: u32 = 500_000;
/// Most nodes of copies of expressions.
const MOST_COPIED: usize = 500_000;

/// What has been bound so far.
#[derive(Debug, Default)]
pub(super) struct Size {
    nodes: usize,
    copied: Cell<usize>,
    /// Memory was refused once. A rewrite that stopped for it leaves its work half done and gives
    /// its memory back, so that the next question alone might be answered with yes.
    refused: Cell<bool>,
    /// Query blocks around what is bound.
    blocks: u32,
    /// Expressions and conditions around the one that is bound.
    level: u32,
    /// The level of the innermost [`Expr::Deep`] around it.
    marked: u32,
}

impl Size {
    /// A source, a block or a window more, where there are so many columns in all; false when it
    /// is too much.
    fn add_node(&mut self, columns: u32) -> bool {
        self.nodes += 1;
        self.nodes <= MOST_NODES && columns <= MOST_COLUMNS
    }

    /// A copy of an expression of so many nodes more; false when it is too much.
    fn add_copy(&self, nodes: usize) -> bool {
        self.copied.set(self.copied.get() + nodes);
        self.copied.get() <= MOST_COPIED
    }
}

impl<'a> Binder<'a> {
    /// Whether compiling may go on: the session was not told to stop, and what compiling has
    /// allocated fits in the instance's memory. Once it is no it stays no.
    ///
    /// # Errors
    /// 3617 when cancelled; 701.
    pub fn check_cancel(&self) -> Result<(), SqlError> {
        #[cfg(debug_assertions)]
        if crate::asks::ask() {
            return Err(errors::cancelled());
        }
        if self.env.cancel.load(Ordering::Relaxed) {
            return Err(errors::cancelled());
        }
        if self.size.refused.get() || memory::meter::check().is_err() {
            self.size.refused.set(true);
            return Err(errors::out_of_memory());
        }
        Ok(())
    }

    /// One level deeper in what is written.
    ///
    /// # Errors
    /// 3617 the session was told to stop; 8631.
    #[inline]
    pub(super) fn deeper<T>(
        &mut self,
        bind: impl FnOnce(&mut Binder<'a>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.check_cancel()?;
        stack::try_with_room(|| bind(self))
            .unwrap_or_else(|stack::Exhausted| Err(errors::stack_limit()))
    }

    /// As [`Binder::deeper`], for a query.
    ///
    /// # Errors
    /// 8623 and those of [`Binder::deeper`].
    pub(super) fn deeper_block<T>(
        &mut self,
        bind: impl FnOnce(&mut Binder<'a>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.count_node()?;
        if self.size.blocks >= MOST_BLOCKS {
            return Err(errors::stack_limit());
        }
        self.size.blocks += 1;
        let bound = self.deeper(bind);
        self.size.blocks -= 1;
        bound
    }

    /// As [`Binder::deeper`], for a value. One that is many levels below the last [`Expr::Deep`]
    /// becomes one.
    pub(super) fn deeper_value(
        &mut self,
        bind: impl FnOnce(&mut Binder<'a>) -> Result<Typed, SqlError>,
    ) -> Result<Typed, SqlError> {
        let around = self.size.marked;
        self.size.level += 1;
        let marks = self.size.level - around >= MOST_LEVELS;
        if marks {
            self.size.marked = self.size.level;
        }
        let bound = self.deeper(bind);
        (self.size.level, self.size.marked) = (self.size.level - 1, around);
        let mut typed = bound?;
        if marks
            && !matches!(typed.expr, Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_))
        {
            typed.expr = Expr::Deep(Nested::new(typed.expr));
        }
        Ok(typed)
    }

    /// As [`Binder::deeper`], for a condition.
    #[inline]
    pub(super) fn deeper_condition<T>(
        &mut self,
        bind: impl FnOnce(&mut Binder<'a>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.size.level += 1;
        let bound = self.deeper(bind);
        self.size.level -= 1;
        bound
    }

    /// A source, a block or a window more.
    ///
    /// # Errors
    /// 8623.
    pub(super) fn count_node(&mut self) -> Result<(), SqlError> {
        let columns = self.next_col;
        match self.size.add_node(columns) {
            true => Ok(()),
            false => Err(errors::too_complex()),
        }
    }

    /// Whether the statement is one that a person might write.
    pub fn is_small(&self) -> bool {
        self.size.nodes <= SMALL
    }

    /// A value that stands more than once in what a form of expressions means: BETWEEN, CASE,
    /// NULLIF. Nested, such copies double at each level.
    ///
    /// # Errors
    /// 8623.
    pub(super) fn copied(&self, typed: &Typed) -> Result<Typed, SqlError> {
        self.count_copy(typed)?;
        Ok(typed.clone())
    }

    /// A copy of a value has been made, or is about to be.
    ///
    /// # Errors
    /// 8623.
    pub(super) fn count_copy(&self, typed: &Typed) -> Result<(), SqlError> {
        match self.size.add_copy(typed.expr.size()) {
            true => Ok(()),
            false => Err(errors::too_complex()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_columns_and_copies_end_where_the_documents_say() {
        let mut size = Size::default();
        assert!((0..16_384).all(|_| size.add_node(0)));
        assert!(!size.add_node(0));
        let mut size = Size::default();
        assert!(size.add_node(500_000) && !size.add_node(500_001));
        let size = Size::default();
        assert!(size.add_copy(1) && size.add_copy(499_999) && !size.add_copy(1));
    }
}
