//! Whether a compilation, or the making of a plan that is shown, is to go on: each of their loops
//! asks again and again.
//! Guarantee: the first error is kept, and given by whoever asks after it.

use std::cell::{Cell, RefCell};

use types::SqlError;

/// Says whether to go on: error 3617 when the session was told to stop, 701 when there is no
/// memory.
pub type GoOn<'a> = &'a dyn Fn() -> Result<(), SqlError>;

/// Steps between two questions: each is a statement, a token, a variable or an operator.
const BETWEEN: u32 = 512;

/// Nobody is asked: what is short, or of no statement.
///
/// # Errors
/// None.
pub fn always() -> Result<(), SqlError> {
    Ok(())
}

/// Whoever asks for each of its steps; one of many is passed on.
pub struct Asking<'a> {
    go_on: GoOn<'a>,
    steps: Cell<u32>,
    failed: RefCell<Option<SqlError>>,
}

impl<'a> Asking<'a> {
    /// Nobody has asked yet.
    pub fn new(go_on: GoOn<'a>) -> Asking<'a> {
        Asking { go_on, steps: Cell::new(0), failed: RefCell::new(None) }
    }

    /// Another step.
    ///
    /// # Errors
    /// Those of the question.
    #[inline]
    pub fn step(&self) -> Result<(), SqlError> {
        self.steps.set(self.steps.get().wrapping_add(1));
        match self.steps.get() % BETWEEN {
            0 => self.ask(),
            _ => Ok(()),
        }
    }

    fn ask(&self) -> Result<(), SqlError> {
        match &*self.failed.borrow() {
            Some(error) => Err(error.clone()),
            None => (self.go_on)(),
        }
    }

    /// Whether to go on, for those who stop without an error of their own; it is had by
    /// [`Asking::failed`].
    pub fn wanted(&self) -> bool {
        match self.ask() {
            Ok(()) => true,
            Err(error) => {
                *self.failed.borrow_mut() = Some(error);
                false
            }
        }
    }

    /// Why it does not go on.
    pub fn failed(&self) -> SqlError {
        self.failed.borrow().clone().unwrap_or_else(catalog::errors::cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_of_many_is_a_question_and_the_first_error_stays() {
        let asked = Cell::new(0);
        let go_on = || {
            asked.set(asked.get() + 1);
            if asked.get() == 3 { Err(catalog::errors::out_of_memory()) } else { Ok(()) }
        };
        let asking = Asking::new(&go_on);
        let steps = (0..BETWEEN * 2 + 7).filter(|_| asking.step().is_ok()).count();
        assert_eq!((steps, asked.get()), (BETWEEN as usize * 2 + 7, 2));
        assert!(!asking.wanted());
        assert!(!asking.wanted());
        assert_eq!((asking.failed().number, asked.get()), (701, 3));
        let failed = (0..BETWEEN).filter_map(|_| asking.step().err()).map(|e| e.number);
        assert_eq!(failed.collect::<Vec<_>>(), [701]);
    }
}
