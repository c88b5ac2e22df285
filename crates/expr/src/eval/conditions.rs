//! LIKE and IN over one row.
//! Guarantee: a search in a long text asks whether the statement is to go on.

use std::cmp::Ordering;

use types::like::LikePattern;
use types::{SqlError, Value};

use super::ordered;
use crate::functions::string_search::check_search_length;
use crate::large::{LARGE, Steps};
use crate::lookup::Place;
use crate::{Env, InListExpr, LikeExpr};

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
    fn decide(&self, pattern: &LikePattern, text: &str, rt: &dyn Env) -> Result<Option<bool>, SqlError> {
        let (collation, unicode) = (self.collation, self.unicode);
        let matches = if text.len() < LARGE {
            pattern.matches(text, collation, unicode)
        } else {
            let look = || rt.check_cancel();
            let mut steps = Steps::new(&look);
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
        if let Some(lookup) = &self.lookup {
            match lookup.place(operand, self.collation) {
                Place::At(_) => return Ok(Some(!self.negated)),
                Place::Nowhere if lookup.has_null() => return Ok(None),
                Place::Nowhere => return Ok(Some(self.negated)),
                Place::Unknown => {}
            }
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
}
