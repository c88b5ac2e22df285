//! Queries over documents.
//! Guarantee: what paths give is in document order, each node once.

mod axes;
mod construct;
pub(crate) mod functions;
mod values;

use std::cmp::Ordering;

use messages as msg;

use crate::error::{PLACE, QueryError};
use crate::item::{Atom, Item};
use crate::pace::{Pace, sorted};
use crate::path::{Arithmetic, Clause, Compare, Expr};
use crate::tree::{Document, Name, NodeRef};

use axes::in_order;
pub(crate) use values::cast_to;
use values::{compared, is_number, satisfies};

type Items = Vec<Item>;

/// Most items that a query may make of a FOR over others.
const MOST: usize = 10_000_000;

/// What a query has given.
pub struct QueryAnswer<'d> {
    run: Evaluation<'d>,
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
pub(crate) struct Evaluation<'d> {
    pub document: &'d Document,
    /// The elements that the query has made, each with what stands in it.
    pub made: Vec<Document>,
    pub pace: &'d Pace<'d>,
    externals: &'d [Option<Atom>],
    variables: Vec<Items>,
    focus: Focus,
}

impl QueryAnswer<'_> {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The first item as a value.
    ///
    /// # Errors
    /// Only that the work was told to stop.
    pub fn value(&self) -> Result<Option<Atom>, QueryError> {
        self.run.first(&self.items)
    }

    /// The nodes of the document itself, for nodes().
    pub fn nodes(self) -> Vec<NodeRef> {
        let own = |item: Item| match item {
            Item::Node(node) if node.made == 0 => Some(node),
            _ => None,
        };
        self.items.into_iter().filter_map(own).collect()
    }

    /// All items as XML: nodes as they are, values as text with a blank between two of them.
    ///
    /// # Errors
    /// 2396 attributes by themselves, 6307 one beside other items.
    pub fn text(&self) -> Result<String, QueryError> {
        let mut out = String::new();
        let mut after_atom = false;
        for item in &self.items {
            match item {
                Item::Node(node) if node.attribute > 0 => {
                    let alone =
                        |item: &Item| matches!(item, Item::Node(node) if node.attribute > 0);
                    return Err(match self.items.iter().all(alone) {
                        true => QueryError::of(msg::XQUERY_ATTRIBUTE_ALONE, [&PLACE]),
                        false => QueryError::attribute_outside(),
                    });
                }
                Item::Node(node) => {
                    self.run.doc(*node).write(node.node, &mut out, self.run.pace)?;
                    after_atom = false;
                }
                Item::Atom(atom) => {
                    if after_atom {
                        out.push(' ');
                    }
                    crate::write::escape_text(&atom.text(), &mut out, self.run.pace)?;
                    after_atom = true;
                }
            }
        }
        Ok(out)
    }
}

impl<'d> Evaluation<'d> {
    pub fn new(
        document: &'d Document,
        from: NodeRef,
        externals: &'d [Option<Atom>],
        variables: usize,
        pace: &'d Pace<'d>,
    ) -> Evaluation<'d> {
        let focus = Focus { item: Item::Node(from), position: 1, last: 1 };
        Evaluation {
            document,
            made: Vec::new(),
            pace,
            externals,
            variables: vec![Vec::new(); variables],
            focus,
        }
    }

    /// What an expression gives.
    pub fn answer(mut self, expr: &Expr) -> Result<QueryAnswer<'d>, QueryError> {
        let items = self.eval(expr)?;
        Ok(QueryAnswer { run: self, items })
    }

    pub fn focus(&self) -> &Focus {
        &self.focus
    }

    pub fn doc(&self, node: NodeRef) -> &Document {
        match node.made {
            0 => self.document,
            made => self.made.get(made as usize - 1).unwrap_or(self.document),
        }
    }

    /// The value of an item.
    pub fn atom(&self, item: &Item) -> Result<Atom, QueryError> {
        let atom = match item {
            Item::Atom(atom) => (**atom).clone(),
            Item::Node(node) => {
                Atom::Untyped(self.doc(*node).string_value(*node, self.pace)?.into_owned())
            }
        };
        self.pace.step(atom.bytes())?;
        Ok(atom)
    }

    /// The values of items.
    pub fn atoms(&self, items: &[Item]) -> Result<Vec<Atom>, QueryError> {
        items.iter().map(|item| self.atom(item)).collect()
    }

    /// The value of the first item.
    pub fn first(&self, items: &[Item]) -> Result<Option<Atom>, QueryError> {
        items.first().map(|item| self.atom(item)).transpose()
    }

    /// The values of items as one text, with blanks between them.
    pub fn joined_texts(&self, items: &[Item]) -> Result<String, QueryError> {
        let mut out = String::new();
        for (at, atom) in self.atoms(items)?.into_iter().enumerate() {
            if at > 0 {
                out.push(' ');
            }
            self.pace.step(atom.bytes())?;
            out.push_str(&atom.text());
        }
        Ok(out)
    }

    pub fn name_of(&self, items: &[Item]) -> Option<&Name> {
        match items.first()? {
            Item::Node(node) => self.doc(*node).name(*node),
            Item::Atom(_) => None,
        }
    }

    /// A copy of items.
    fn copied(&self, items: &[Item]) -> Result<Items, QueryError> {
        let mut out = Vec::new();
        for item in items {
            let text = if let Item::Atom(atom) = item { atom.bytes() } else { 0 };
            self.pace.step(size_of::<Item>() + text)?;
            out.push(item.clone());
        }
        Ok(out)
    }

    /// The effective boolean value.
    pub fn truth(&self, items: &[Item]) -> Result<bool, QueryError> {
        match items {
            [] => Ok(false),
            [Item::Node(_), ..] => Ok(true),
            [Item::Atom(atom)] => Ok(atom.truth()),
            _ => Err(QueryError::of(
                msg::XQUERY_SINGLETON_REQUIRED,
                [&PLACE, &"boolean()", &"xdt:anyAtomicType *"],
            )),
        }
    }

    pub fn eval(&mut self, expr: &Expr) -> Result<Items, QueryError> {
        let atom = |atom: Atom| Ok(vec![Item::from(atom)]);
        self.pace.step(size_of::<Item>())?;
        match expr {
            Expr::Literal(value) => {
                self.pace.step(value.bytes())?;
                atom(value.clone())
            }
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
                in_order(items, self.pace)
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
                let negated = self.first(&items)?.map(|a| Item::from(Atom::Number(-a.number())));
                Ok(negated.into_iter().collect())
            }
            Expr::If(parts) => {
                let [test, then, otherwise] = &**parts;
                let test = self.eval(test)?;
                if self.truth(&test)? { self.eval(then) } else { self.eval(otherwise) }
            }
            Expr::Call(function, args) => functions::call(self, *function, args),
            Expr::Cast(cast, e) => {
                let items = self.eval(e)?;
                let value = self.first(&items)?.and_then(|a| cast_to(*cast, &a));
                Ok(value.map(Item::from).into_iter().collect())
            }
            Expr::Variable(number) => {
                self.copied(self.variables.get(*number).map_or(&[], Vec::as_slice))
            }
            Expr::External(number) => self.external(*number),
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
                let made = self.made_of(constructor)?;
                Ok(vec![Item::Node(NodeRef { made, node: 1, attribute: 0 })])
            }
            Expr::Leaf(leaf) => self.made_leaf(leaf),
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
            return Ok(vec![Atom::Bool(holds).into()]);
        }
        let (left, right) = (self.atoms(left)?, self.atoms(right)?);
        for a in &left {
            for b in &right {
                self.pace.step(a.bytes().min(b.bytes()))?;
                let order = compared(a, b);
                let other =
                    op == Compare::NotEqual && order.is_none() && !is_number(a) && !is_number(b);
                if other || order.is_some_and(|order| satisfies(op, order)) {
                    return Ok(vec![Atom::Bool(true).into()]);
                }
            }
        }
        Ok(vec![Atom::Bool(false).into()])
    }

    fn arithmetic(&self, op: Arithmetic, left: &Items, right: &Items) -> Result<Items, QueryError> {
        let (Some(a), Some(b)) = (self.first(left)?, self.first(right)?) else {
            return Ok(Vec::new());
        };
        let (a, b) = (a.number(), b.number());
        let n = match op {
            Arithmetic::Add => a + b,
            Arithmetic::Subtract => a - b,
            Arithmetic::Multiply => a * b,
            Arithmetic::Divide => a / b,
            Arithmetic::IntegerDivide => (a / b).trunc(),
            Arithmetic::Modulo => a % b,
        };
        Ok(vec![Atom::Number(n).into()])
    }

    // ---- FLWOR ----

    fn flwor(&mut self, expr: &Expr) -> Result<Items, QueryError> {
        let Expr::Flwor { clauses, filter, order, value } = expr else { return Ok(Vec::new()) };
        let mut rows: Vec<(Vec<Option<Atom>>, Items)> = Vec::new();
        self.tuples(clauses, filter.as_deref(), &mut |run| {
            let mut keys = Vec::with_capacity(order.len());
            for (key, _) in order {
                let items = run.eval(key)?;
                keys.push(run.first(&items)?);
            }
            if rows.len() >= MOST {
                return Err(QueryError::unsupported("A FLWOR expression of so many items"));
            }
            let items = run.eval(value)?;
            run.pace.step(64 + keys.len() * size_of::<Option<Atom>>())?;
            rows.push((keys, items));
            Ok(())
        })?;
        if !order.is_empty() {
            let compare = |(a, _): &(Vec<Option<Atom>>, Items),
                           (b, _): &(Vec<Option<Atom>>, Items)| {
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
            };
            rows = sorted(rows, 64, compare, self.pace)?;
        }
        let mut out = Vec::new();
        for (_, items) in rows {
            self.pace.step(items.len() * size_of::<Item>())?;
            out.extend(items);
        }
        Ok(out)
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
                        self.set(*place, vec![Atom::Number((at + 1) as f64).into()]);
                    }
                    self.tuples(rest, filter, give)?;
                }
                Ok(())
            }
        }
    }
}
