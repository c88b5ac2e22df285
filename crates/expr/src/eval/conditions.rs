//! LIKE and IN over one row.
//! Guarantees: a search in a long text, and a long list that is put in order, ask whether the
//! statement is to go on; a value is looked up in a list where that says what comparing it would.

use std::cmp::Ordering;

use types::like::LikePattern;
use types::{SqlError, Value};

use crate::functions::string_search::check_search_length;
use crate::large::{LARGE, StepCounter};
use crate::lookup::{ConstantPlace, KeptList, Lookup};
use crate::order::ordered;
use crate::{Env, InListExpr, LikeExpr};

/// Elements that are computed between two questions whether the statement is to go on.
const BETWEEN_QUESTIONS: usize = 1024;
/// What an element takes in a list that is kept, without its text.
const ELEMENT_BYTES: usize = 64;

impl LikeExpr {
    pub(super) fn test(&self, row: &[Value], rt: &mut dyn Env) -> Result<Option<bool>, SqlError> {
        let mut scratch = Value::Null;
        let text = self.operand.eval_ref(row, rt, &mut scratch)?;
        let Some(text) = text.as_str() else { return Ok(None) };
        if let Some(pattern) = &self.compiled {
            return self.decide(pattern, text, rt);
        }
        let mut scratch = Value::Null;
        let pattern = self.pattern.eval_ref(row, rt, &mut scratch)?;
        let Some(pattern) = pattern.as_str() else { return Ok(None) };
        let escape = match &self.escape {
            None => Value::Null,
            Some(e) => e.eval(row, rt)?,
        };
        if self.escape.is_some() && escape.is_null() {
            return Ok(None);
        }
        check_search_length(pattern, self.unicode)?;
        let pattern = LikePattern::new(pattern, escape.as_str())?;
        self.decide(&pattern, text, rt)
    }

    #[inline]
    fn decide(
        &self,
        pattern: &LikePattern,
        text: &str,
        rt: &dyn Env,
    ) -> Result<Option<bool>, SqlError> {
        let (collation, unicode) = (self.collation, self.unicode);
        let matches = if text.len() < LARGE {
            pattern.matches(text, collation, unicode)
        } else {
            let look = || rt.check_cancel();
            let mut steps = StepCounter::new(&look);
            pattern.matches_or_stop(text, collation, unicode, |count| steps.step(count))?
        };
        Ok(Some(matches != self.negated))
    }
}

impl InListExpr {
    pub(super) fn test(&self, row: &[Value], rt: &mut dyn Env) -> Result<Option<bool>, SqlError> {
        let mut scratch = Value::Null;
        let operand = self.operand.eval_ref(row, rt, &mut scratch)?;
        if operand.is_null() {
            return Ok(None);
        }
        let looked_up = match (&self.lookup, self.kept) {
            (Some(lookup), _) => self.look_up(operand, lookup),
            (None, Some(number)) => self.look_up_kept(operand, number.0, row, rt)?,
            (None, None) => None,
        };
        if let Some(answer) = looked_up {
            return Ok(answer);
        }
        let mut found = Some(false);
        for e in &self.list {
            let mut element = Value::Null;
            let element = e.eval_ref(row, rt, &mut element)?;
            match ordered(operand, element, self.collation, rt)? {
                Some(Ordering::Equal) => return Ok(Some(!self.negated)),
                None => found = None,
                Some(_) => {}
            }
        }
        Ok(found.map(|truth| truth != self.negated))
    }

    /// What the list says of a value; nothing where it has to be compared.
    #[inline]
    fn look_up(&self, operand: &Value, lookup: &Lookup) -> Option<Option<bool>> {
        match lookup.place(operand, self.collation) {
            ConstantPlace::At(_) => Some(Some(!self.negated)),
            ConstantPlace::Nowhere if lookup.has_null() => Some(None),
            ConstantPlace::Nowhere => Some(Some(self.negated)),
            ConstantPlace::Unknown => None,
        }
    }

    /// As [`InListExpr::look_up`], in the values that the run keeps, from the second time on.
    fn look_up_kept(
        &self,
        operand: &Value,
        number: usize,
        row: &[Value],
        rt: &mut dyn Env,
    ) -> Result<Option<Option<bool>>, SqlError> {
        let Some(known) = rt.list(number) else { return Ok(None) };
        match known {
            KeptList::Ordered(lookup) => return Ok(self.look_up(operand, lookup)),
            KeptList::Compared => return Ok(None),
            KeptList::New => {
                *known = KeptList::Asked;
                return Ok(None);
            }
            KeptList::Asked => {}
        }
        let lookup = self.in_order(row, rt)?;
        let answer = lookup.as_ref().and_then(|lookup| self.look_up(operand, lookup));
        if let Some(known) = rt.list(number) {
            *known = lookup.map_or(KeptList::Compared, KeptList::Ordered);
        }
        Ok(answer)
    }

    /// The values of the list in order; nothing where they are to be compared.
    ///
    /// # Errors
    /// 701; the statement was told to stop.
    #[cold]
    fn in_order(&self, row: &[Value], rt: &mut dyn Env) -> Result<Option<Lookup>, SqlError> {
        let mut values = Vec::with_capacity(self.list.len());
        for (at, e) in self.list.iter().enumerate() {
            if at % BETWEEN_QUESTIONS == 0 {
                rt.check_cancel()?;
            }
            // An error is that of the row whose value comes to this element.
            let Ok(value) = e.eval(row, rt) else { return Ok(None) };
            rt.reserve(ELEMENT_BYTES + 2 * value.heap_bytes())?;
            values.push(value);
        }
        Ok(Lookup::of(&values.iter().collect::<Vec<_>>(), self.collation))
    }
}
