//! FLWOR, SOME and EVERY, and conditions in the text of a query: the parts that bind variables or
//! choose.
//! Guarantee: a variable is in sight behind what it is bound to, to the end of its expression.

use messages as msg;

use super::Parser;
use crate::error::{PLACE, QueryError};
use crate::path::{Clause, Expr};

impl Parser<'_> {
    fn bind(&mut self) -> Result<usize, QueryError> {
        self.scan.expect("$")?;
        let Some((_, name)) = self.scan.name() else { return Err(self.scan.syntax()) };
        let number = self.variables;
        self.variables += 1;
        self.names.push((name.to_owned(), number));
        Ok(number)
    }

    /// FLWOR: each clause runs inside of the one before, so it counts as a level.
    pub(super) fn flwor(&mut self) -> Result<Expr, QueryError> {
        let depth = self.depth;
        let parsed = self.clauses();
        self.depth = depth;
        parsed
    }

    fn clauses(&mut self) -> Result<Expr, QueryError> {
        let known = self.names.len();
        let mut clauses = Vec::new();
        loop {
            if self.scan.eat_word("for") {
                loop {
                    // The variable is in sight behind what it runs over.
                    let before = self.names.len();
                    let variable = self.bind()?;
                    let place = if self.scan.eat_word("at") { Some(self.bind()?) } else { None };
                    let own = self.names.split_off(before);
                    self.scan.expect_word("in")?;
                    let of = self.single()?;
                    self.names.extend(own);
                    clauses.push(Clause::For { variable, place, of });
                    self.deepen()?;
                    if !self.scan.eat(",") {
                        break;
                    }
                }
            } else if self.scan.eat_word("let") {
                loop {
                    let before = self.names.len();
                    let variable = self.bind()?;
                    let own = self.names.split_off(before);
                    self.scan.expect(":=")?;
                    let value = self.single()?;
                    self.names.extend(own);
                    clauses.push(Clause::Let { variable, value });
                    self.deepen()?;
                    if !self.scan.eat(",") {
                        break;
                    }
                }
            } else {
                break;
            }
        }
        let filter =
            if self.scan.eat_word("where") { Some(Box::new(self.single()?)) } else { None };
        let mut order = Vec::new();
        if self.scan.eat_words(&["order", "by"]) || self.scan.eat_words(&["stable", "order", "by"])
        {
            loop {
                let key = self.single()?;
                let descending = self.scan.eat_word("descending");
                if !descending {
                    self.scan.eat_word("ascending");
                }
                order.push((key, descending));
                if !self.scan.eat(",") {
                    break;
                }
            }
        }
        self.scan.expect_word("return")?;
        let value = Box::new(self.single()?);
        self.names.truncate(known);
        Ok(Expr::Flwor { clauses, filter, order, value })
    }

    /// SOME and EVERY: each variable runs inside of the one before.
    pub(super) fn quantified(&mut self, every: bool) -> Result<Expr, QueryError> {
        let (depth, known) = (self.depth, self.names.len());
        self.scan.name();
        let mut bound = Vec::new();
        loop {
            let variable = self.bind()?;
            let own = self.names.pop();
            self.scan.expect_word("in")?;
            bound.push((variable, Box::new(self.single()?)));
            self.names.extend(own);
            self.deepen()?;
            if !self.scan.eat(",") {
                break;
            }
        }
        self.scan.expect_word("satisfies")?;
        let mut test = self.single()?;
        while let Some((variable, of)) = bound.pop() {
            test = Expr::Quantified { every, variable, of, test: Box::new(test) };
        }
        self.names.truncate(known);
        self.depth = depth;
        Ok(test)
    }

    pub(super) fn conditional(&mut self) -> Result<Expr, QueryError> {
        self.scan.expect_word("if")?;
        self.scan.expect("(")?;
        let test = self.sequence()?;
        self.scan.expect(")")?;
        self.scan.expect_word("then")?;
        let then = self.single()?;
        if !self.scan.eat_word("else") {
            return Err(QueryError::of(msg::XQUERY_ELSE_EXPECTED, [&PLACE]));
        }
        Ok(Expr::If(Box::new([test, then, self.single()?])))
    }
}
