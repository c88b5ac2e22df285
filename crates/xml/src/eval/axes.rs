//! The steps of paths: which nodes stand at an axis, which of them pass the test and the predicates.
//! Guarantee: a step gives nodes in document order, each once.

use super::{Focus, Items, Run};
use crate::error::QueryError;
use crate::item::{Atom, Item};
use crate::path::{Axis, Expr, Step, Test};
use crate::tree::{Document, Kind, Name, NodeRef};

impl Run<'_> {
    pub(super) fn step(&mut self, items: Items, step: &Step) -> Result<Items, QueryError> {
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

    pub(super) fn filtered(&mut self, mut items: Items, predicates: &[Expr]) -> Result<Items, QueryError> {
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
pub(super) fn in_order(items: Items) -> Items {
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
