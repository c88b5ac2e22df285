//! FOR JSON and FOR XML: all rows become one text, which goes on as one value or, as the result of a statement, in pieces.

use std::collections::VecDeque;

use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use compact_str::CompactString;
use plan::nodes::{Node, Plan};
use types::convert::first_units;
use types::{CodePage, DataType, Len, SqlError, Value};

/// UTF-16 units of a piece.
const PIECE: usize = 2033;

/// Makes the text.
pub struct Document {
    input: Box<dyn Operator>,
    /// What is still to be given; `None` before the first row was asked for.
    rest: Option<VecDeque<Value>>,
}

impl Document {
    /// Over an input.
    pub fn new(input: Box<dyn Operator>) -> Document {
        Document { input, rest: None }
    }

    fn text(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>) -> Result<VecDeque<Value>, SqlError> {
        let Node::Document { input, document, pieces } = &plan.node else { return Err(other_node()) };
        let mut writer = document.start();
        let (mut batch, mut taken) = (RowSet::default(), 0);
        while self.input.next(input, rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                document.row(&mut writer, batch.row(i))?;
            }
            if writer.len() > taken {
                rt.reserve(writer.len() - taken)?;
                taken = writer.len();
            }
        }
        Ok(match (document.finish(writer), *pieces) {
            (Some(text), true) => split(&text),
            (None, true) => VecDeque::new(),
            (text, false) => VecDeque::from([text.map_or(Value::Null, |text| Value::Str(text.into()))]),
        })
    }
}

fn split(text: &str) -> VecDeque<Value> {
    let (mut rest, mut out) = (text, VecDeque::new());
    while !rest.is_empty() {
        let piece = first_units(rest, PIECE, DataType::NVarChar(Len::Max), CodePage::Latin);
        out.push_back(Value::Str(CompactString::from(piece)));
        rest = &rest[piece.len()..];
    }
    out
}

impl Operator for Document {
    fn next(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(1);
        let rest = match &mut self.rest {
            Some(rest) => rest,
            None => {
                let text = self.text(plan, rt)?;
                self.rest.insert(text)
            }
        };
        while out.len() < super::BATCH
            && let Some(value) = rest.pop_front()
        {
            out.push_row()[0] = value;
        }
        Ok(!out.is_empty())
    }
}
