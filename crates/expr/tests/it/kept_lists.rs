//! IN lists with variables: a run computes their values once, and says of each value what comparing
//! it with one element after another says.

use std::any::Any;
use std::cell::Cell;

use ringwood_expr as expr;

use expr::random::Random;
use expr::{Env, Expr, InListExpr, KeptList, Pred, QuantifiedExpr, Routine, SubRef};
use types::{Collation, Dialect, SqlError, Value};

/// A run with variables that counts how often they are read.
#[derive(Default)]
struct CountingRun {
    variables: Vec<Value>,
    reads: Cell<usize>,
    lists: Vec<KeptList>,
}

impl CountingRun {
    fn of(variables: Vec<Value>) -> CountingRun {
        CountingRun { variables, lists: vec![KeptList::default()], ..CountingRun::default() }
    }
}

fn nothing<T>() -> Result<T, SqlError> {
    Err(SqlError::internal("a list asked for what no statement has here"))
}

impl Env for CountingRun {
    fn var(&self, slot: usize) -> Value {
        self.var_ref(slot).cloned().unwrap_or(Value::Null)
    }
    fn var_ref(&self, slot: usize) -> Option<&Value> {
        self.reads.set(self.reads.get() + 1);
        self.variables.get(slot)
    }
    fn param(&self, _: usize) -> Value {
        Value::Null
    }
    fn clock(&mut self) -> i128 {
        0
    }
    fn once(&mut self, _: usize) -> Result<f64, SqlError> {
        nothing()
    }
    fn random(&mut self) -> Result<&mut Random, SqlError> {
        nothing()
    }
    fn datefirst(&mut self) -> Result<u8, SqlError> {
        Ok(7)
    }
    fn dialect(&mut self) -> Result<Dialect, SqlError> {
        Ok(Dialect::DEFAULT)
    }
    fn warn(&mut self, _: SqlError) -> Result<(), SqlError> {
        Ok(())
    }
    fn check_cancel(&self) -> Result<(), SqlError> {
        Ok(())
    }
    fn reserve(&mut self, _: usize) -> Result<(), SqlError> {
        Ok(())
    }
    fn hold(&mut self, _: usize) -> Result<(), SqlError> {
        Ok(())
    }
    fn release(&mut self, _: usize) {}
    fn list(&mut self, number: usize) -> Option<&mut KeptList> {
        self.lists.get_mut(number)
    }
    fn host(&mut self) -> Option<&mut dyn Any> {
        None
    }
    fn call(&mut self, _: &dyn Routine, _: Vec<Value>) -> Result<Value, SqlError> {
        nothing()
    }
    fn scalar(&mut self, _: &SubRef, _: &[Value]) -> Result<Value, SqlError> {
        nothing()
    }
    fn exists(&mut self, _: &SubRef, _: &[Value]) -> Result<bool, SqlError> {
        nothing()
    }
    fn quantified(&mut self, _: &QuantifiedExpr, _: &[Value]) -> Result<Option<bool>, SqlError> {
        nothing()
    }
}

/// `column IN (all variables, other)`, kept by the run or not.
fn list(count: usize, other: Value, negated: bool, kept: bool) -> Pred {
    let elements = (0..count).map(Expr::Var).chain([Expr::Const(other)]).collect();
    let mut list = InListExpr::new(Expr::Col(0), elements, negated, Collation::DEFAULT);
    assert!(list.can_be_kept(&|_| true) && !list.can_be_kept(&|slot| slot != 3));
    if kept {
        list.keep_as(0);
    }
    Pred::InList(Box::new(list))
}

#[test]
fn the_variables_are_read_once_and_the_answers_are_those_of_comparing() {
    let whole: Vec<Value> = (0..50).map(|n| Value::Int(n * 3)).collect();
    let mut with_null = whole.clone();
    with_null[7] = Value::Null;
    let texts: Vec<Value> = (0..50).map(|n| Value::str(format!("Text {} ", n * 3))).collect();
    // One is of another kind: it is compared.
    let mut mixed = whole.clone();
    mixed[9] = Value::Float(27.0);
    let numbers: Vec<Value> = (0..200).map(Value::Int).chain([Value::Null]).collect();
    let words: Vec<Value> =
        (0..200).map(|n| Value::str(format!("tEXT {n}"))).chain([Value::Null]).collect();
    for (variables, rows, is_kept) in [
        (whole, &numbers, true),
        (with_null, &numbers, true),
        (texts, &words, true),
        (mixed, &numbers, false),
    ] {
        for negated in [false, true] {
            let count = variables.len();
            let other = variables[1].clone();
            let (mut kept, mut compared) =
                (CountingRun::of(variables.clone()), CountingRun::of(variables.clone()));
            let looked_up = list(count, other.clone(), negated, true);
            let one_by_one = list(count, other, negated, false);
            for value in rows {
                let row = std::slice::from_ref(value);
                let answer = looked_up.test(row, &mut kept).unwrap();
                assert_eq!(
                    answer,
                    one_by_one.test(row, &mut compared).unwrap(),
                    "{value:?} {negated}"
                );
            }
            assert!(compared.reads.get() > 50 * count, "{}", compared.reads.get());
            assert_eq!(kept.reads.get() <= 3 * count, is_kept, "{}", kept.reads.get());
        }
    }
}

#[test]
fn only_long_lists_with_variables_that_stay_are_kept() {
    let of =
        |elements: Vec<Expr>| InListExpr::new(Expr::Col(0), elements, false, Collation::DEFAULT);
    let variables = |count: usize| (0..count).map(Expr::Var).collect::<Vec<_>>();
    let with = |e: Expr| variables(20).into_iter().chain([e]).collect::<Vec<_>>();
    let stays = |_: usize| true;
    assert!(of(with(Expr::Const(Value::Null))).can_be_kept(&stays));
    assert!(!of(variables(8)).can_be_kept(&stays));
    assert!(!of(with(Expr::Col(1))).can_be_kept(&stays));
    assert!(!of(with(Expr::Param(0))).can_be_kept(&stays));
    assert!(!of((0..20).map(|n| Expr::Const(Value::Int(n))).collect()).can_be_kept(&stays));
    let mut one = of(variables(20));
    let mut other = of(variables(20));
    one.keep_as(1);
    other.keep_as(2);
    // Rewrites look for conditions that are written alike.
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
    assert!(one.is_kept() && one.is_compared());
}
