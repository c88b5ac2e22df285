//! What the bytes of a stored row tell of a condition, before values are made of them. A read of
//! many rows puts the constants and variables of its condition into the form of the cells once
//! ([`InPlace::of`]); most rows are then rejected without a text being copied.
//!
//! Guarantees: what is told of a row is what [`Pred::test`] says of its values; the parts that are
//! tested come first in the condition, so that none is passed over that would have failed before
//! them. Where the bytes do not tell, the condition is to be tested on values. What is kept of the
//! constants is bounded.

use syntax::ast::CompareOp;
use types::{CellConstant, CellOrder, Collation, DataType, RowLayout, RowParts, Value};

use crate::lookup::FEW;
use crate::{CompareExpr, Env, Expr, InListExpr, Pred, mirrored};

/// Most comparisons of a condition that are tested in place.
const MOST: usize = 32;
/// Most bytes of their constants.
const MOST_BYTES: usize = 64 << 10;

/// What a row's bytes tell of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConditionResult {
    True,
    /// False, or unknown.
    NotTrue,
    /// It is to be tested on values.
    Nothing,
}

/// True, false or unknown; nothing where a value has to be made.
type KnownTruth = Option<Option<bool>>;

/// The first parts of a condition, in the form of the cells of a table's rows.
#[derive(Debug)]
pub struct InPlace {
    tests: Vec<CellTest>,
    /// They are all of it.
    whole: bool,
}

/// A part of a condition.
#[derive(Debug)]
enum CellTest {
    Compare(CompareOp, CellConstant),
    /// The flag says NOT.
    Distinct(CellConstant, bool),
    /// The flag says NOT.
    IsNull(usize, bool),
    InList {
        column: usize,
        constants: Vec<CellConstant>,
        has_null: bool,
        negated: bool,
    },
    /// A comparison with NULL.
    Unknown,
    All(Vec<CellTest>),
    Any(Vec<CellTest>),
}

/// What the parts of a condition are made with.
struct ConditionMaker<'m> {
    layout: &'m RowLayout,
    /// The table's columns in the slots that the condition names.
    columns: &'m [u16],
    rt: &'m mut dyn Env,
    /// What may still be kept.
    tests: usize,
    bytes: usize,
}

impl InPlace {
    /// Of a condition over slots that hold these columns of a table. Its variables and outer values
    /// keep the values that they have now. Nothing where no row's bytes would tell of it.
    pub fn of(
        pred: &Pred,
        layout: &RowLayout,
        columns: &[u16],
        rt: &mut dyn Env,
    ) -> Option<InPlace> {
        let mut making = ConditionMaker { layout, columns, rt, tests: MOST, bytes: MOST_BYTES };
        let mut tests = Vec::new();
        let whole = making.first_parts(pred, &mut tests);
        (!tests.is_empty()).then_some(InPlace { tests, whole })
    }

    /// Whether a condition begins with something that may be tested in place, as far as can be said
    /// without the table.
    pub fn is_possible(pred: &Pred) -> bool {
        match pred {
            Pred::Compare(c) | Pred::Distinct(c, _) => column_and_value(c).is_some(),
            Pred::IsNull(e, _) => slot_of(e).is_some(),
            Pred::InList(l) => {
                slot_of(&l.operand).is_some()
                    && l.list.len() <= FEW
                    && l.list.iter().all(Expr::is_one_value)
            }
            Pred::And(list) => {
                list.first().is_some_and(|p| stack::with_room(|| InPlace::is_possible(p)))
            }
            Pred::Or(list) => stack::with_room(|| list.iter().all(InPlace::is_possible)),
            _ => false,
        }
    }

    /// What the bytes of a row of the table tell.
    #[inline]
    pub fn tell(&self, layout: &RowLayout, row: &[u8]) -> ConditionResult {
        let Ok(parts) = layout.parts(row) else { return ConditionResult::Nothing };
        for test in &self.tests {
            match test.truth(layout, &parts) {
                Some(Some(true)) => {}
                Some(Some(false)) => return ConditionResult::NotTrue,
                // What follows cannot make it true, nor fail.
                Some(None) if self.whole => return ConditionResult::NotTrue,
                _ => return ConditionResult::Nothing,
            }
        }
        if self.whole { ConditionResult::True } else { ConditionResult::Nothing }
    }
}

/// The slot of a column, as it is or as a wider whole number, which compares as the column itself
/// does and fails for no value.
fn slot_of(e: &Expr) -> Option<usize> {
    match e {
        Expr::Col(slot) => Some(*slot as usize),
        Expr::Convert(c) => match (&c.operand, whole_bits(c.from), whole_bits(c.to)) {
            (Expr::Col(slot), Some(from), Some(to)) if from < to => Some(*slot as usize),
            _ => None,
        },
        _ => None,
    }
}

/// Bits of a whole number's type; a type with more bits has all numbers of one with fewer.
fn whole_bits(ty: DataType) -> Option<u8> {
    match ty {
        DataType::Bit => Some(1),
        DataType::TinyInt => Some(8),
        DataType::SmallInt => Some(16),
        DataType::Int => Some(32),
        DataType::BigInt => Some(64),
        _ => None,
    }
}

/// The slot, the one value and the operator of a comparison of a column with one.
fn column_and_value(c: &CompareExpr) -> Option<(usize, &Expr, CompareOp)> {
    match (slot_of(&c.left), slot_of(&c.right)) {
        (Some(slot), None) if c.right.is_one_value() => Some((slot, &c.right, c.op)),
        (None, Some(slot)) if c.left.is_one_value() => Some((slot, &c.left, mirrored(c.op))),
        _ => None,
    }
}

impl ConditionMaker<'_> {
    /// Adds the parts that a condition begins with; whether they are all of it.
    fn first_parts(&mut self, pred: &Pred, tests: &mut Vec<CellTest>) -> bool {
        if let Pred::And(list) = pred {
            return stack::with_room(|| list.iter().all(|p| self.first_parts(p, tests)));
        }
        match self.part(pred) {
            Some(test) => {
                tests.push(test);
                true
            }
            None => false,
        }
    }

    fn part(&mut self, pred: &Pred) -> Option<CellTest> {
        match pred {
            Pred::Compare(c) => {
                let (slot, value, op) = column_and_value(c)?;
                let (column, value) = (self.column(slot)?, self.value(value)?);
                if value.is_null() {
                    return Some(CellTest::Unknown);
                }
                let ordered = !matches!(op, CompareOp::Equal | CompareOp::NotEqual);
                Some(CellTest::Compare(op, self.constant(column, &value, c.collation, ordered)?))
            }
            Pred::Distinct(c, negated) => {
                let (slot, value, _) = column_and_value(c)?;
                let (column, value) = (self.column(slot)?, self.value(value)?);
                if value.is_null() {
                    return Some(CellTest::IsNull(column, !negated));
                }
                Some(CellTest::Distinct(
                    self.constant(column, &value, c.collation, false)?,
                    *negated,
                ))
            }
            Pred::IsNull(e, negated) => {
                let column = self.column(slot_of(e)?)?;
                Some(CellTest::IsNull(column, *negated))
            }
            Pred::InList(l) => self.list(l),
            Pred::And(list) => Some(CellTest::All(self.parts(list)?)),
            Pred::Or(list) => Some(CellTest::Any(self.parts(list)?)),
            _ => None,
        }
    }

    fn parts(&mut self, list: &[Pred]) -> Option<Vec<CellTest>> {
        stack::with_room(|| list.iter().map(|p| self.part(p)).collect())
    }

    fn list(&mut self, l: &InListExpr) -> Option<CellTest> {
        if l.list.len() > FEW {
            return None;
        }
        let column = self.column(slot_of(&l.operand)?)?;
        let (mut constants, mut has_null) = (Vec::with_capacity(l.list.len()), false);
        for e in &l.list {
            let value = self.value(e)?;
            if value.is_null() {
                has_null = true;
            } else {
                constants.push(self.constant(column, &value, l.collation, false)?);
            }
        }
        Some(CellTest::InList { column, constants, has_null, negated: l.negated })
    }

    /// The table's column in a slot; none of the slot of its locator.
    fn column(&mut self, slot: usize) -> Option<usize> {
        self.tests = self.tests.checked_sub(1)?;
        let column = usize::from(*self.columns.get(slot)?);
        (column < self.layout.len()).then_some(column)
    }

    /// The value of a constant, a variable or an outer value that is not long.
    fn value(&mut self, e: &Expr) -> Option<Value> {
        let left = self.bytes;
        let fits = |value: &Value| value.heap_bytes() <= left;
        let value = match e {
            Expr::Const(value) if fits(value) => value.clone(),
            Expr::Var(slot) => match self.rt.var_ref(*slot) {
                Some(value) if fits(value) => value.clone(),
                _ => return None,
            },
            Expr::Param(slot) => self.rt.param(*slot),
            _ => return None,
        };
        self.bytes = left.checked_sub(value.heap_bytes())?;
        Some(value)
    }

    fn constant(
        &self,
        column: usize,
        value: &Value,
        collation: Collation,
        ordered: bool,
    ) -> Option<CellConstant> {
        CellConstant::of(self.layout, column, value, collation, ordered)
    }
}

impl CellTest {
    fn truth(&self, layout: &RowLayout, parts: &RowParts<'_>) -> KnownTruth {
        match self {
            CellTest::Compare(op, constant) => match layout.compare_cell(parts, constant) {
                CellOrder::Null => Some(None),
                CellOrder::Is(order) => Some(Some(op.holds(order))),
                CellOrder::Differs if *op == CompareOp::Equal => Some(Some(false)),
                CellOrder::Differs if *op == CompareOp::NotEqual => Some(Some(true)),
                CellOrder::Differs | CellOrder::Unknown => None,
            },
            CellTest::Distinct(constant, negated) => {
                let same = match layout.compare_cell(parts, constant) {
                    CellOrder::Null | CellOrder::Differs => false,
                    CellOrder::Is(order) => order.is_eq(),
                    CellOrder::Unknown => return None,
                };
                Some(Some(same == *negated))
            }
            CellTest::IsNull(column, negated) => {
                layout.is_null_cell(parts, *column).map(|is_null| Some(is_null != *negated))
            }
            CellTest::InList { column, constants, has_null, negated } => {
                if layout.is_null_cell(parts, *column)? {
                    return Some(None);
                }
                for constant in constants {
                    match layout.compare_cell(parts, constant) {
                        CellOrder::Is(order) if order.is_eq() => return Some(Some(!negated)),
                        CellOrder::Is(_) | CellOrder::Differs => {}
                        CellOrder::Null | CellOrder::Unknown => return None,
                    }
                }
                Some(if *has_null { None } else { Some(*negated) })
            }
            CellTest::Unknown => Some(None),
            CellTest::All(list) => stack::with_room(|| combined(list, false, layout, parts)),
            CellTest::Any(list) => stack::with_room(|| combined(list, true, layout, parts)),
        }
    }
}

/// AND, which one part that is false decides, or OR, which one that is true does.
fn combined(
    list: &[CellTest],
    decides: bool,
    layout: &RowLayout,
    parts: &RowParts<'_>,
) -> KnownTruth {
    let mut truth = Some(!decides);
    for test in list {
        match test.truth(layout, parts)? {
            Some(one) if one == decides => return Some(Some(decides)),
            Some(_) => {}
            None => truth = None,
        }
    }
    Some(truth)
}
