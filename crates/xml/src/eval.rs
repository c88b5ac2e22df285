//! Queries over documents.
//! Guarantee: what paths give is in document order, each node once.

use std::cmp::Ordering;

use crate::constructor::{Constructor, Content};
use crate::error::QueryError;
use crate::item::{Atom, Item};
use crate::path::{Arithmetic, Axis, Cast, Clause, Compare, Expr, Step, Test};
use crate::query::Query;
use crate::tree::{Attribute, Document, Element, Kind, Name, NodeRef};

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

    // ---- paths ----

    fn step(&mut self, items: Items, step: &Step) -> Result<Items, QueryError> {
        let last = items.len();
        let kept = self.focus.clone();
        let mut out = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            match step {
                Step::Each(e) => {
                    self.focus = Focus { item, position: at + 1, last };
                    out.extend(self.eval(e)?);
                }
                Step::Axis { axis, test, predicates } => {
                    let Item::Node(node) = item else { continue };
                    let found = self.axis(node, *axis, test)?;
                    out.extend(self.filtered(found.into_iter().map(Item::Node).collect(), predicates)?);
                }
            }
        }
        self.focus = kept;
        let nodes = out.iter().all(|item| matches!(item, Item::Node(_)));
        Ok(
            if nodes && last > 1
                || matches!(
                    step,
                    Step::Axis { axis: Axis::Ancestor | Axis::AncestorOrSelf | Axis::PrecedingSibling, .. }
                )
            {
                in_order(out)
            } else {
                out
            },
        )
    }

    fn filtered(&mut self, mut items: Items, predicates: &[Expr]) -> Result<Items, QueryError> {
        for predicate in predicates {
            let last = items.len();
            // The common one: a place.
            if let Expr::Literal(Atom::Number(place)) = predicate {
                let at = (*place >= 1.0 && place.fract() == 0.0).then_some(*place as usize - 1);
                items = at.and_then(|at| items.into_iter().nth(at)).into_iter().collect();
                continue;
            }
            let kept = self.focus.clone();
            let mut out = Vec::new();
            for (at, item) in items.into_iter().enumerate() {
                self.focus = Focus { item: item.clone(), position: at + 1, last };
                let found = self.eval(predicate)?;
                let keep = match &found[..] {
                    [Item::Atom(Atom::Number(place))] => *place == (at + 1) as f64,
                    found => self.truth(found)?,
                };
                if keep {
                    out.push(item);
                }
            }
            self.focus = kept;
            items = out;
        }
        Ok(items)
    }

    fn axis(&self, from: NodeRef, axis: Axis, test: &Test) -> Result<Vec<NodeRef>, QueryError> {
        let doc = self.doc(from);
        if from.made == 0 && from.attribute == 0 && doc.partial.contains(&from.node) && is_down(axis) {
            return Err(QueryError::unsupported("A way from an ancestor of a row of nodes() to other nodes"));
        }
        let mut out = Vec::new();
        let mut give = |node: NodeRef| {
            if passes(doc, node, axis, test) {
                out.push(node);
            }
        };
        let parent = |node: NodeRef| match (node.attribute, node.node) {
            (0, 0) => None,
            (0, id) => Some(node.with_node(doc.node(id).parent)),
            (_, id) => Some(node.with_node(id)),
        };
        match axis {
            Axis::Itself => give(from),
            Axis::Parent => parent(from).into_iter().for_each(give),
            Axis::Attribute if from.attribute == 0 => {
                let count = doc.element(from.node).map_or(0, |element| element.attributes.len());
                (1..=count as u32).for_each(|attribute| give(NodeRef { attribute, ..from }));
            }
            Axis::Child if from.attribute == 0 => {
                doc.node(from.node).children.iter().for_each(|child| give(from.with_node(*child)));
            }
            Axis::Ancestor | Axis::AncestorOrSelf => {
                // The nearest comes first: its place is 1.
                let mut at = if axis == Axis::Ancestor { parent(from) } else { Some(from) };
                while let Some(node) = at {
                    give(node);
                    at = parent(node);
                }
            }
            Axis::FollowingSibling | Axis::PrecedingSibling if from.attribute == 0 && from.node != 0 => {
                let above = doc.node(from.node).parent;
                if doc.partial.contains(&above) && from.made == 0 {
                    return Err(QueryError::unsupported("A way from a row of nodes() to its siblings"));
                }
                let siblings = &doc.node(above).children;
                let own = siblings.iter().position(|id| *id == from.node).unwrap_or(0);
                match axis {
                    Axis::FollowingSibling => {
                        siblings[own + 1..].iter().for_each(|id| give(from.with_node(*id)))
                    }
                    _ => siblings[..own].iter().rev().for_each(|id| give(from.with_node(*id))),
                }
            }
            Axis::Descendant | Axis::DescendantOrSelf => {
                if axis == Axis::DescendantOrSelf {
                    give(from);
                }
                let mut open: Vec<u32> = match from.attribute {
                    0 => doc.node(from.node).children.iter().rev().copied().collect(),
                    _ => Vec::new(),
                };
                while let Some(id) = open.pop() {
                    give(from.with_node(id));
                    open.extend(doc.node(id).children.iter().rev());
                }
            }
            _ => {}
        }
        Ok(out)
    }

    // ---- values ----

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

    // ---- elements ----

    fn construct(&mut self, constructor: &Constructor, under: u32) -> Result<u32, QueryError> {
        let mut attributes = Vec::with_capacity(constructor.attributes.len());
        for (name, parts) in &constructor.attributes {
            let mut value = String::new();
            for part in parts {
                match part {
                    Content::Text(text) => value.push_str(text),
                    Content::Value(e) => {
                        let items = self.eval(e)?;
                        let texts: Vec<String> = self.atoms(&items).iter().map(Atom::text).collect();
                        value.push_str(&texts.join(" "));
                    }
                    Content::Element(_) => {}
                }
            }
            attributes.push(Attribute { name: name.clone(), value });
        }
        let element =
            Element { name: constructor.name.clone(), attributes, spaces: constructor.spaces.clone() };
        let id = self.made.add(under, Kind::Element(element));
        for part in &constructor.content {
            match part {
                Content::Text(text) => self.add_text(id, text),
                Content::Element(inner) => {
                    self.construct(inner, id)?;
                }
                Content::Value(e) => {
                    let items = self.eval(e)?;
                    self.add_items(id, items);
                }
            }
        }
        if under == 0 {
            // It stands by itself, not among the others that the query has made.
            self.made.nodes[0].children.pop();
        }
        Ok(id)
    }

    fn add_text(&mut self, under: u32, text: &str) {
        if text.is_empty() {
            return;
        }
        let last = self.made.node(under).children.last().copied();
        if let Some(Kind::Text(known)) =
            last.and_then(|id| self.made.nodes.get_mut(id as usize)).map(|n| &mut n.kind)
        {
            return known.push_str(text);
        }
        self.made.add(under, Kind::Text(text.to_owned()));
    }

    fn add_items(&mut self, under: u32, items: Items) {
        let mut after_atom = false;
        for item in items {
            match item {
                Item::Atom(atom) => {
                    let text = if after_atom { format!(" {}", atom.text()) } else { atom.text() };
                    self.add_text(under, &text);
                    after_atom = true;
                    continue;
                }
                Item::Node(node) if node.attribute > 0 => {
                    let attribute = self.doc(node).attribute(node).cloned();
                    if let Kind::Element(element) = &mut self.made.nodes[under as usize].kind {
                        element.attributes.extend(attribute);
                    }
                }
                Item::Node(node) if node.made == 0 => {
                    let children = match node.node {
                        0 => self.document.node(0).children.clone(),
                        id => vec![id],
                    };
                    for id in children {
                        self.made.copy(self.document, id, under);
                    }
                }
                Item::Node(node) => {
                    let own = self.made.clone();
                    self.made.copy(&own, node.node, under);
                }
            }
            after_atom = false;
        }
    }
}

/// Whether an axis leads to what stands in a node.
fn is_down(axis: Axis) -> bool {
    matches!(axis, Axis::Child | Axis::Descendant | Axis::DescendantOrSelf)
}

fn passes(doc: &Document, node: NodeRef, axis: Axis, test: &Test) -> bool {
    // The kind of node that a name means.
    let named = if axis == Axis::Attribute {
        node.attribute > 0
    } else {
        node.attribute == 0 && doc.element(node.node).is_some()
    };
    match test {
        Test::Any => true,
        Test::Element => node.attribute == 0 && doc.element(node.node).is_some(),
        Test::Text => node.attribute == 0 && matches!(doc.node(node.node).kind, Kind::Text(_)),
        Test::Comment => node.attribute == 0 && matches!(doc.node(node.node).kind, Kind::Comment(_)),
        Test::Instruction => {
            node.attribute == 0 && matches!(doc.node(node.node).kind, Kind::Instruction { .. })
        }
        Test::Name(name) => named && name_at(doc, node).is_some_and(|own| own.is(name)),
        Test::Wild { uri, local } => {
            named
                && name_at(doc, node).is_some_and(|own| {
                    uri.as_ref().is_none_or(|uri| own.uri == uri.as_str())
                        && local.as_ref().is_none_or(|local| own.local == local.as_str())
                })
        }
    }
}

fn name_at(doc: &Document, node: NodeRef) -> Option<&Name> {
    match node.attribute {
        0 => doc.element(node.node).map(|element| &element.name),
        _ => doc.attribute(node).map(|attribute| &attribute.name),
    }
}

/// Nodes in document order, each once; a sequence with values stays as it is.
fn in_order(items: Items) -> Items {
    let mut nodes: Vec<NodeRef> = Vec::with_capacity(items.len());
    for item in &items {
        match item {
            Item::Node(node) => nodes.push(*node),
            Item::Atom(_) => return items,
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter().map(Item::Node).collect()
}

fn is_number(atom: &Atom) -> bool {
    matches!(atom, Atom::Number(_))
}

/// The order of two values: as numbers where one is a number, as truths where one is, else as texts. None where one is not
/// what the other is.
fn compared(a: &Atom, b: &Atom) -> Option<Ordering> {
    if is_number(a) || is_number(b) {
        return a.number().partial_cmp(&b.number());
    }
    match (a, b) {
        (Atom::Bool(a), b) => truth_of(b).map(|b| a.cmp(&b)),
        (a, Atom::Bool(b)) => truth_of(a).map(|a| a.cmp(b)),
        (a, b) => Some(a.text().cmp(&b.text())),
    }
}

fn truth_of(atom: &Atom) -> Option<bool> {
    match atom.text().trim() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn satisfies(op: Compare, order: Ordering) -> bool {
    match op {
        Compare::Equal => order.is_eq(),
        Compare::NotEqual => order.is_ne(),
        Compare::Less => order.is_lt(),
        Compare::LessEqual => order.is_le(),
        Compare::Greater => order.is_gt(),
        Compare::GreaterEqual => order.is_ge(),
        Compare::Is | Compare::Before | Compare::After => false,
    }
}

/// A value as another kind; none where it is no such value, as SQL Server's casts of untyped data give.
fn cast_to(cast: Cast, atom: &Atom) -> Option<Atom> {
    match cast {
        Cast::Text => Some(Atom::Text(atom.text())),
        Cast::Number => Some(atom.number()).filter(|n| !n.is_nan()).map(Atom::Number),
        Cast::Whole => {
            let whole = |n: &f64| !n.is_nan() && (n.fract() == 0.0 || is_number(atom));
            Some(atom.number()).filter(whole).map(|n| Atom::Number(n.trunc()))
        }
        Cast::Bool if is_number(atom) => Some(Atom::Bool(atom.truth())),
        Cast::Bool => truth_of(atom).map(Atom::Bool),
    }
}
