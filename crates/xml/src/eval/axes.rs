//! The steps of paths: which nodes stand at an axis, which of them pass the test and the
//! predicates. Guarantee: a step gives nodes in document order, each once.

use super::{Evaluation, Focus, Items};
use crate::error::QueryError;
use crate::item::{Atom, Item};
use crate::pace::{Pace, sorted};
use crate::path::{Axis, Expr, PathStep, Test};
use crate::tree::{Document, Kind, NodeRef};

impl Evaluation<'_> {
    pub(super) fn step(&mut self, items: Items, step: &PathStep) -> Result<Items, QueryError> {
        let last = items.len();
        let kept = self.focus.clone();
        let mut out = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            match step {
                PathStep::Each(e) => {
                    self.focus = Focus { item, position: at + 1, last };
                    out.extend(self.eval(e)?);
                }
                PathStep::Axis { axis, test, predicates } => {
                    let Item::Node(node) = item else { continue };
                    if predicates.is_empty() {
                        self.axis(node, *axis, test, &mut out)?;
                    } else {
                        let mut found = Vec::new();
                        self.axis(node, *axis, test, &mut found)?;
                        out.extend(self.filtered(found, predicates)?);
                    }
                }
            }
        }
        self.focus = kept;
        let nodes = out.iter().all(|item| matches!(item, Item::Node(_)));
        let backwards = matches!(
            step,
            PathStep::Axis {
                axis: Axis::Ancestor | Axis::AncestorOrSelf | Axis::PrecedingSibling,
                ..
            }
        );
        if nodes && last > 1 || backwards { in_order(out, self.pace) } else { Ok(out) }
    }

    pub(super) fn filtered(
        &mut self,
        mut items: Items,
        predicates: &[Expr],
    ) -> Result<Items, QueryError> {
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
                    [Item::Atom(atom)] if let Atom::Number(place) = **atom => {
                        place == (at + 1) as f64
                    }
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

    /// Appends the nodes at an axis that pass a test.
    fn axis(
        &self,
        from: NodeRef,
        axis: Axis,
        test: &Test,
        out: &mut Items,
    ) -> Result<(), QueryError> {
        let doc = self.doc(from);
        if from.made == 0 && from.attribute == 0 && from.node < doc.partial && is_down(axis) {
            return Err(QueryError::unsupported(
                "A way from an ancestor of a row of nodes() to other nodes",
            ));
        }
        let mut give = |node: NodeRef| -> Result<(), QueryError> {
            self.pace.step(size_of::<Item>())?;
            if passes(doc, node, axis, test) {
                out.push(Item::Node(node));
            }
            Ok(())
        };
        let parent = |node: NodeRef| match (node.attribute, node.node) {
            (0, 0) => None,
            (0, id) => Some(node.with_node(doc.node(id).parent)),
            (_, id) => Some(node.with_node(id)),
        };
        match axis {
            Axis::Itself => give(from),
            Axis::Parent => parent(from).into_iter().try_for_each(give),
            Axis::Attribute if from.attribute == 0 => {
                let count = doc.attributes(from.node).len() as u32;
                (1..=count).try_for_each(|attribute| give(NodeRef { attribute, ..from }))
            }
            Axis::Child if from.attribute == 0 => {
                doc.children(from.node).try_for_each(|child| give(from.with_node(child)))
            }
            Axis::Ancestor | Axis::AncestorOrSelf => {
                // The nearest comes first: its place is 1.
                let mut at = if axis == Axis::Ancestor { parent(from) } else { Some(from) };
                while let Some(node) = at {
                    give(node)?;
                    at = parent(node);
                }
                Ok(())
            }
            Axis::FollowingSibling | Axis::PrecedingSibling
                if from.attribute == 0 && from.node != 0 =>
            {
                let above = doc.node(from.node).parent;
                if above < doc.partial && from.made == 0 {
                    return Err(QueryError::unsupported(
                        "A way from a row of nodes() to its siblings",
                    ));
                }
                if axis == Axis::PrecedingSibling {
                    let before: Vec<u32> =
                        doc.children(above).take_while(|id| *id < from.node).collect();
                    return before.iter().rev().try_for_each(|id| give(from.with_node(*id)));
                }
                let mut next = doc.node(from.node).end;
                let end = doc.node(above).end;
                while next < end {
                    give(from.with_node(next))?;
                    next = doc.node(next).end.max(next + 1);
                }
                Ok(())
            }
            Axis::Descendant | Axis::DescendantOrSelf => {
                if axis == Axis::DescendantOrSelf {
                    give(from)?;
                }
                let inside = match from.attribute {
                    0 => from.node + 1..doc.node(from.node).end,
                    _ => 0..0,
                };
                inside.into_iter().try_for_each(|id| give(from.with_node(id)))
            }
            _ => Ok(()),
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
        node.attribute == 0 && doc.is_element(node.node)
    };
    match test {
        Test::Any => true,
        Test::Element => node.attribute == 0 && doc.is_element(node.node),
        Test::Text => node.attribute == 0 && doc.node(node.node).kind() == Kind::Text,
        Test::Comment => node.attribute == 0 && doc.node(node.node).kind() == Kind::Comment,
        Test::Instruction(target) => {
            node.attribute == 0
                && doc.node(node.node).kind() == Kind::Instruction
                && target
                    .as_ref()
                    .is_none_or(|t| doc.name(node).is_some_and(|own| own.local == t.as_str()))
        }
        Test::Name(name) => named && doc.name(node).is_some_and(|own| own.is(name)),
        Test::Wild { uri, local } => {
            named
                && doc.name(node).is_some_and(|own| {
                    uri.as_ref().is_none_or(|uri| own.uri == uri.as_str())
                        && local.as_ref().is_none_or(|local| own.local == local.as_str())
                })
        }
    }
}

/// Nodes in document order, each once; a sequence with values stays as it is.
pub(super) fn in_order(items: Items, pace: &Pace<'_>) -> Result<Items, QueryError> {
    let node = |item: &Item| if let Item::Node(node) = item { Some(*node) } else { None };
    let mut before = None;
    let mut is_sorted = true;
    for item in &items {
        pace.step(4)?;
        let Some(node) = node(item) else { return Ok(items) };
        is_sorted &= before.is_none_or(|before| before < node);
        before = Some(node);
    }
    if is_sorted {
        return Ok(items);
    }
    let mut items = sorted(items, 16, |a, b| node(a).cmp(&node(b)), pace)?;
    items.dedup_by(|a, b| node(a) == node(b));
    Ok(items)
}
