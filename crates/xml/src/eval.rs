//! Queries over documents.
//! Guarantee: what paths give is in document order, each node once.

mod axes;
mod construct;
mod values;

use std::cmp::Ordering;

use crate::error::QueryError;
use crate::item::{Atom, Item};
use crate::path::{Arithmetic, Clause, Compare, Expr};
use crate::query::Query;
use crate::tree::{Document, Name, NodeRef};

use axes::in_order;
use values::{cast_to, compared, is_number, satisfies};

type Items = Vec<Item>;

/// Most items that a query may make of a FOR over others.
const MOST: usize = 10_000_000;

/// What a query has given.
pub struct Answer<'d> {
    run: Run<'d>,
    items: Items,
}

/// The item at hand.
#[derive(Clone, Debug)]
pub(crate) struct Focus {
    pub item: Item,
    pub position: usize,
    pub last: usize,
}

/// A run of a query.
pub(crate) struct Run<'d> {
    pub document: &'d Document,
    /// The elements that the query has made.
    pub made: Document,
    externals: &'d [Option<Atom>],
    variables: Vec<Items>,
    focus: Focus,
}

impl Query {
    /// Runs it over a document from a node on. `externals`: a value for each of [`Query::externals`], none for NULL.
    ///
    /// # Errors
    /// 40517 what is not there; a sequence where one item must be.
    pub fn run<'d>(
        &self,
        document: &'d Document,
        from: NodeRef,
        externals: &'d [Option<Atom>],
    ) -> Result<Answer<'d>, QueryError> {
        let mut run = Run::new(document, from, externals, self.variables);
        let items = run.eval(&self.expr)?;
        Ok(Answer { run, items })
    }
}

impl Answer<'_> {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The first item as a value.
    pub fn value(&self) -> Option<Atom> {
        self.run.atoms(&self.items).into_iter().next()
    }

    /// The nodes of the document itself, for nodes().
    pub fn nodes(&self) -> Vec<NodeRef> {
        let own = |item: &Item| match item {
            Item::Node(node) if node.made == 0 => Some(*node),
            _ => None,
        };
        self.items.iter().filter_map(own).collect()
    }

    /// All items as XML: nodes as they are, values as text with a blank between two of them.
    ///
    /// # Errors
    /// 2396 an attribute by itself.
    pub fn text(&self) -> Result<String, QueryError> {
        let mut out = String::new();
        let mut after_atom = false;
        for item in &self.items {
            match item {
                Item::Node(node) if node.attribute > 0 => {
                    return Err(QueryError::new(2396, "Attribute may not appear outside of an element"));
                }
                Item::Node(node) => {
                    out.push_str(&self.run.doc(*node).text_of(*node));
                    after_atom = false;
                }
                Item::Atom(atom) => {
                    if after_atom {
                        out.push(' ');
                    }
                    crate::write::escape_text(&atom.text(), &mut out);
                    after_atom = true;
                }
            }
        }
        Ok(out)
    }
}

impl<'d> Run<'d> {
    pub fn new(
        document: &'d Document,
        from: NodeRef,
        externals: &'d [Option<Atom>],
        variables: usize,
    ) -> Run<'d> {
        let focus = Focus { item: Item::Node(from), position: 1, last: 1 };
        Run { document, made: Document::default(), externals, variables: vec![Vec::new(); variables], focus }
    }

    pub fn focus(&self) -> &Focus {
        &self.focus
    }

    pub fn doc(&self, node: NodeRef) -> &Document {
        if node.made == 0 { self.document } else { &self.made }
    }

    /// The values of items.
    pub fn atoms(&self, items: &[Item]) -> Vec<Atom> {
        let atom = |item: &Item| match item {
            Item::Atom(atom) => atom.clone(),
            Item::Node(node) => Atom::Untyped(self.doc(*node).string_value(*node)),
        };
        items.iter().map(atom).collect()
    }

    pub fn name_of(&self, items: &[Item]) -> Option<Name> {
        match items.first()? {
            Item::Node(node) => self.doc(*node).name(*node),
            Item::Atom(_) => None,
        }
    }

    /// The effective boolean value.
    pub fn truth(&self, items: &[Item]) -> Result<bool, QueryError> {
        match items {
            [] => Ok(false),
            [Item::Node(_), ..] => Ok(true),
            [Item::Atom(atom)] => Ok(atom.truth()),
            _ => Err(QueryError::new(
                2389,
                "'boolean()' requires a singleton (or empty sequence), found operand of type 'xdt:anyAtomicType *'",
            )),
        }
    }

    pub fn eval(&mut self, expr: &Expr) -> Result<Items, QueryError> {
        let atom = |atom: Atom| Ok(vec![Item::Atom(atom)]);
        match expr {
            Expr::Literal(value) => atom(value.clone()),
            Expr::Sequence(list) => {
                let mut out = Vec::new();
                for e in list {
                    out.extend(self.eval(e)?);
                }
                Ok(out)
            }
            Expr::Root => match &self.focus.item {
                Item::Node(node) => Ok(vec![Item::Node(node.with_node(0))]),
                Item::Atom(_) => Ok(Vec::new()),
            },
            Expr::Context => Ok(vec![self.focus.item.clone()]),
            Expr::Path(start, steps) => {
                let mut items = self.eval(start)?;
                for step in steps {
                    items = self.step(items, step)?;
                }
                Ok(items)
            }
            Expr::Filter(of, predicates) => {
                let items = self.eval(of)?;
                self.filtered(items, predicates)
            }
            Expr::Union(left, right) => {
                let mut items = self.eval(left)?;
                items.extend(self.eval(right)?);
                Ok(in_order(items))
            }
            Expr::Or(list) => {
                for e in list {
                    let items = self.eval(e)?;
                    if self.truth(&items)? {
                        return atom(Atom::Bool(true));
                    }
                }
                atom(Atom::Bool(false))
            }
            Expr::And(list) => {
                for e in list {
                    let items = self.eval(e)?;
                    if !self.truth(&items)? {
                        return atom(Atom::Bool(false));
                    }
                }
                atom(Atom::Bool(true))
            }
            Expr::Compare(op, left, right) => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                self.compare(*op, &left, &right)
            }
            Expr::Arithmetic(op, left, right) => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                self.arithmetic(*op, &left, &right)
            }
            Expr::Negate(e) => {
                let items = self.eval(e)?;
                let negated = self.atoms(&items).first().map(|a| Item::Atom(Atom::Number(-a.number())));
                Ok(negated.into_iter().collect())
            }
            Expr::If(parts) => {
                let [test, then, otherwise] = &**parts;
                let test = self.eval(test)?;
                if self.truth(&test)? { self.eval(then) } else { self.eval(otherwise) }
            }
            Expr::Call(function, args) => function.run(self, args),
            Expr::Cast(cast, e) => {
                let items = self.eval(e)?;
                Ok(self
                    .atoms(&items)
                    .first()
                    .and_then(|a| cast_to(*cast, a))
                    .map(Item::Atom)
                    .into_iter()
                    .collect())
            }
            Expr::Variable(number) => Ok(self.variables.get(*number).cloned().unwrap_or_default()),
            Expr::External(number) => {
                Ok(self.externals.get(*number).cloned().flatten().map(Item::Atom).into_iter().collect())
            }
            Expr::Flwor { .. } => self.flwor(expr),
            Expr::Quantified { every, variable, of, test } => {
                for item in self.eval(of)? {
                    self.set(*variable, vec![item]);
                    let test = self.eval(test)?;
                    if self.truth(&test)? != *every {
                        return atom(Atom::Bool(!every));
                    }
                }
                atom(Atom::Bool(*every))
            }
            Expr::Element(constructor) => {
                let node = self.construct(constructor, 0)?;
                Ok(vec![Item::Node(NodeRef { made: 1, node, attribute: 0 })])
            }
        }
    }

    fn set(&mut self, variable: usize, value: Items) {
        if let Some(place) = self.variables.get_mut(variable) {
            *place = value;
        }
    }

    fn compare(&self, op: Compare, left: &Items, right: &Items) -> Result<Items, QueryError> {
        if matches!(op, Compare::Is | Compare::Before | Compare::After) {
            let (Some(Item::Node(a)), Some(Item::Node(b))) = (left.first(), right.first()) else {
                return Ok(Vec::new());
            };
            let holds = match op {
                Compare::Is => a == b,
                Compare::Before => a < b,
                _ => a > b,
            };
            return Ok(vec![Item::Atom(Atom::Bool(holds))]);
        }
        let (left, right) = (self.atoms(left), self.atoms(right));
        let holds = left.iter().any(|a| {
            right.iter().any(|b| {
                compared(a, b).is_some_and(|order| satisfies(op, order))
                    || (op == Compare::NotEqual && compared(a, b).is_none() && !is_number(a) && !is_number(b))
            })
        });
        Ok(vec![Item::Atom(Atom::Bool(holds))])
    }

    fn arithmetic(&self, op: Arithmetic, left: &Items, right: &Items) -> Result<Items, QueryError> {
        let (left, right) = (self.atoms(left), self.atoms(right));
        let (Some(a), Some(b)) = (left.first(), right.first()) else { return Ok(Vec::new()) };
        let (a, b) = (a.number(), b.number());
        let n = match op {
            Arithmetic::Add => a + b,
            Arithmetic::Subtract => a - b,
            Arithmetic::Multiply => a * b,
            Arithmetic::Divide => a / b,
            Arithmetic::IntegerDivide => (a / b).trunc(),
            Arithmetic::Modulo => a % b,
        };
        Ok(vec![Item::Atom(Atom::Number(n))])
    }

    // ---- FLWOR ----

    fn flwor(&mut self, expr: &Expr) -> Result<Items, QueryError> {
        let Expr::Flwor { clauses, filter, order, value } = expr else { return Ok(Vec::new()) };
        let mut rows: Vec<(Vec<Option<Atom>>, Items)> = Vec::new();
        self.tuples(clauses, filter.as_deref(), &mut |run| {
            let mut keys = Vec::with_capacity(order.len());
            for (key, _) in order {
                let items = run.eval(key)?;
                keys.push(run.atoms(&items).into_iter().next());
            }
            if rows.len() >= MOST {
                return Err(QueryError::unsupported("A FLWOR expression of so many items"));
            }
            let items = run.eval(value)?;
            rows.push((keys, items));
            Ok(())
        })?;
        rows.sort_by(|(a, _), (b, _)| {
            let parts = a.iter().zip(b).zip(order).map(|((a, b), (_, descending))| {
                let order = match (a, b) {
                    (None, None) => Ordering::Equal,
                    (None, _) => Ordering::Less,
                    (_, None) => Ordering::Greater,
                    (Some(a), Some(b)) => compared(a, b).unwrap_or(Ordering::Equal),
                };
                if *descending { order.reverse() } else { order }
            });
            parts.fold(Ordering::Equal, Ordering::then)
        });
        Ok(rows.into_iter().flat_map(|(_, items)| items).collect())
    }

    fn tuples(
        &mut self,
        clauses: &[Clause],
        filter: Option<&Expr>,
        give: &mut dyn FnMut(&mut Self) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        match clauses.split_first() {
            None => {
                if let Some(filter) = filter {
                    let test = self.eval(filter)?;
                    if !self.truth(&test)? {
                        return Ok(());
                    }
                }
                give(self)
            }
            Some((Clause::Let { variable, value }, rest)) => {
                let value = self.eval(value)?;
                self.set(*variable, value);
                self.tuples(rest, filter, give)
            }
            Some((Clause::For { variable, place, of }, rest)) => {
                for (at, item) in self.eval(of)?.into_iter().enumerate() {
                    self.set(*variable, vec![item]);
                    if let Some(place) = place {
                        self.set(*place, vec![Item::Atom(Atom::Number((at + 1) as f64))]);
                    }
                    self.tuples(rest, filter, give)?;
                }
                Ok(())
            }
        }
    }
}
