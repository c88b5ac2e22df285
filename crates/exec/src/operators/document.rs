//! FOR JSON and FOR XML: all rows become one text, which goes on as one value or, as the result of
//! a statement, in pieces.

use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use expr::large::{HeldMemory, LARGE};
use plan::nodes::{Node, Plan};
use types::{SqlError, Value, units};

/// UTF-16 units of a piece.
const PIECE: usize = 2033;

/// Makes the text.
pub struct Document {
    input: Box<dyn Operator>,
    /// What is still to be given; `None` before the first row was asked for.
    rest: Option<TextRest>,
}

enum TextRest {
    /// One value, until it is given.
    Whole(Option<Value>),
    /// A text, and how much of it was given.
    Pieces(String, usize),
}

impl Document {
    /// Over an input.
    pub fn new(input: Box<dyn Operator>) -> Document {
        Document { input, rest: None }
    }

    fn text(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>) -> Result<TextRest, SqlError> {
        let Node::Document { input, document, pieces } = &plan.node else {
            return Err(other_node());
        };
        let mut writer = document.start();
        let (mut batch, mut taken) = (RowSet::default(), 0);
        while self.input.next(input, rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                // What one row adds is not known before: the most that its large values can come
                // to.
                let row = batch.row(i);
                let large = |value: &&Value| value.heap_bytes() >= LARGE;
                let most = row.iter().filter(large).map(|value| document.most_bytes(value)).sum();
                let mut held = HeldMemory::default();
                held.add(most, rt)?;
                let written = document.row(&mut writer, row, &|| rt.check_cancel());
                held.release(rt);
                written?;
                if writer.len() >= taken + LARGE {
                    rt.reserve(writer.len() - taken)?;
                    taken = writer.len();
                }
            }
        }
        let text = document.finish(writer)?;
        rt.reserve(text.as_ref().map_or(0, String::len).saturating_sub(taken))?;
        Ok(match (text, *pieces) {
            (text, true) => TextRest::Pieces(text.unwrap_or_default(), 0),
            (text, false) => {
                TextRest::Whole(Some(text.map_or(Value::Null, |text| Value::Str(text.into()))))
            }
        })
    }
}

impl TextRest {
    fn next(&mut self) -> Option<Value> {
        match self {
            TextRest::Whole(value) => value.take(),
            TextRest::Pieces(text, given) => {
                let rest = text.get(*given..).filter(|rest| !rest.is_empty())?;
                // Of what is far away nothing need be known. Characters are not cut.
                let near = &rest[..rest.floor_char_boundary(4 * PIECE)];
                let piece = &near[..units::place(near, PIECE).byte];
                *given += piece.len();
                Some(Value::str(piece))
            }
        }
    }
}

impl Operator for Document {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        out.reset(1);
        let rest = match &mut self.rest {
            Some(rest) => rest,
            None => {
                let text = self.text(plan, rt)?;
                self.rest.insert(text)
            }
        };
        while !out.is_full()
            && let Some(value) = rest.next()
        {
            out.push_row()[0] = value;
        }
        Ok(!out.is_empty())
    }
}
