//! Paths in the text of a query: steps, axes, tests of nodes and predicates.

use compact_str::CompactString;
use messages as msg;

use super::{Parser, anywhere};
use crate::error::{PLACE, QueryError};
use crate::path::{Axis, Expr, PathStep, Test};
use crate::tree::Name;

impl Parser<'_> {
    pub(super) fn path(&mut self) -> Result<Expr, QueryError> {
        let mut steps = Vec::new();
        let start = if self.scan.eat("//") {
            steps.push(anywhere());
            steps.push(self.step()?);
            Expr::Root
        } else if self.scan.eat("/") {
            if self.at_step() {
                steps.push(self.step()?);
            }
            Expr::Root
        } else {
            match self.step()? {
                PathStep::Each(first) => first,
                step => {
                    steps.push(step);
                    Expr::Context
                }
            }
        };
        loop {
            if self.scan.eat("//") {
                steps.push(anywhere());
            } else if !self.scan.eat("/") {
                break;
            }
            steps.push(self.step()?);
        }
        if start.is_empty() && !steps.is_empty() {
            return Err(empty("/"));
        }
        let steps = shortened(steps);
        Ok(if steps.is_empty() { start } else { Expr::Path(Box::new(start), steps) })
    }

    fn at_step(&mut self) -> bool {
        self.scan.space();
        self.scan.peek().is_some_and(|c| {
            crate::read::is_name_start(c) || matches!(c, '@' | '*' | '.' | '(' | '$')
        })
    }

    fn step(&mut self) -> Result<PathStep, QueryError> {
        let axis = |axis, test| PathStep::Axis { axis, test, predicates: Vec::new() };
        let step = if self.scan.eat("..") {
            axis(Axis::Parent, Test::Any)
        } else if self.scan.eat("@") {
            axis(Axis::Attribute, self.test(false)?)
        } else if let Some(named) = self.named_axis() {
            axis(named, self.test(named != Axis::Attribute)?)
        } else if !self.is_computed() && self.is_node_test() {
            axis(Axis::Child, self.test(true)?)
        } else {
            let primary = self.primary()?;
            let predicates = self.predicates()?;
            if primary.is_empty() && !predicates.is_empty() {
                return Err(empty("[]"));
            }
            return Ok(PathStep::Each(if predicates.is_empty() {
                primary
            } else {
                Expr::Filter(Box::new(primary), predicates)
            }));
        };
        match step {
            PathStep::Axis { axis, test, .. } => {
                Ok(PathStep::Axis { axis, test, predicates: self.predicates()? })
            }
            each => Ok(each),
        }
    }

    pub(super) fn predicates(&mut self) -> Result<Vec<Expr>, QueryError> {
        let mut list = Vec::new();
        while self.scan.eat("[") {
            self.predicates += 1;
            list.push(self.nested(Self::sequence)?);
            self.predicates -= 1;
            self.scan.expect("]")?;
        }
        Ok(list)
    }

    fn named_axis(&mut self) -> Option<Axis> {
        let axes = [
            ("child", Axis::Child),
            ("descendant-or-self", Axis::DescendantOrSelf),
            ("descendant", Axis::Descendant),
            ("self", Axis::Itself),
            ("parent", Axis::Parent),
            ("attribute", Axis::Attribute),
            ("ancestor-or-self", Axis::AncestorOrSelf),
            ("ancestor", Axis::Ancestor),
            ("following-sibling", Axis::FollowingSibling),
            ("preceding-sibling", Axis::PrecedingSibling),
        ];
        let start = self.scan.at;
        for (name, axis) in axes {
            if self.scan.eat_word(name) && self.scan.eat("::") {
                return Some(axis);
            }
            self.scan.at = start;
        }
        None
    }

    /// Whether a name or a test of kinds comes, not a call.
    fn is_node_test(&mut self) -> bool {
        let start = self.scan.at;
        self.scan.space();
        if self.scan.peek() == Some('*') {
            return true;
        }
        let named = self.scan.name();
        let Some((prefix, local)) = named else {
            self.scan.at = start;
            return false;
        };
        let wild = self.scan.rest().starts_with(":*");
        let call = self.scan.at("(");
        self.scan.at = start;
        let kind = prefix.is_empty()
            && matches!(local, "node" | "text" | "comment" | "processing-instruction" | "element");
        wild || !call || kind
    }

    /// The target that a test of instructions names, if it does.
    fn target(&mut self) -> Result<Option<String>, QueryError> {
        match self.scan.string()? {
            Some(target) => Ok(Some(target)),
            None => Ok(self.scan.bare_name().map(str::to_owned)),
        }
    }

    fn test(&mut self, element: bool) -> Result<Test, QueryError> {
        self.scan.space();
        if self.scan.eat("*:") {
            let local = self.scan.bare_name().map(str::to_owned);
            return Ok(Test::Wild { uri: None, local });
        }
        if self.scan.eat("*") {
            return Ok(Test::Wild { uri: None, local: None });
        }
        let Some((prefix, local)) = self.scan.name() else { return Err(self.scan.syntax()) };
        if prefix.is_empty() && self.scan.rest().starts_with(":*") {
            self.scan.at += 2;
            return Ok(Test::Wild { uri: Some(self.space(local)?.into()), local: None });
        }
        if prefix.is_empty() && self.scan.at("(") {
            self.scan.expect("(")?;
            let test = match local {
                "node" => Test::Any,
                "text" => Test::Text,
                "comment" => Test::Comment,
                "processing-instruction" => Test::Instruction(self.target()?),
                "element" => {
                    self.scan.eat("*");
                    Test::Element
                }
                _ => return Err(self.scan.syntax()),
            };
            self.scan.expect(")")?;
            return Ok(test);
        }
        let uri = if element || !prefix.is_empty() {
            self.space(prefix)?
        } else {
            CompactString::default()
        };
        Ok(Test::Name(Name { prefix: prefix.into(), local: local.into(), uri }))
    }
}

/// 2377: what is empty whatever the document.
fn empty(part: &str) -> QueryError {
    QueryError::of(msg::XQUERY_STATICALLY_EMPTY, [&PLACE, &part])
}

/// `//name` is two steps, of which the first gives all nodes: one gives the same where no place
/// counts.
fn shortened(steps: Vec<PathStep>) -> Vec<PathStep> {
    let mut out: Vec<PathStep> = Vec::with_capacity(steps.len());
    for mut step in steps {
        if let PathStep::Axis { axis: axis @ Axis::Child, predicates, .. } = &mut step
            && predicates.is_empty()
            && let Some(PathStep::Axis {
                axis: Axis::DescendantOrSelf,
                test: Test::Any,
                predicates: before,
            }) = out.last()
            && before.is_empty()
        {
            *axis = Axis::Descendant;
            out.pop();
        }
        out.push(step);
    }
    out
}
