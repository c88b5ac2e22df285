//! Circles among modules: strongly connected components (Tarjan, "Depth-First Search and Linear
//! Graph Algorithms", 1972).

use crate::Uses;
use std::collections::BTreeMap;

/// The circles of more than one module, the largest first, each sorted by name.
pub fn of(uses: &Uses) -> Vec<Vec<String>> {
    let mut search = Search { uses, seen: BTreeMap::new(), stack: Vec::new(), found: Vec::new() };
    for module in uses.keys() {
        if !search.seen.contains_key(module.as_str()) {
            search.visit(module);
        }
    }
    let mut found = search.found;
    found.iter_mut().for_each(|circle| circle.sort());
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

struct Search<'u> {
    uses: &'u Uses,
    /// Number of each module in the order of the search, and the lowest number that it reaches.
    seen: BTreeMap<&'u str, (usize, usize)>,
    stack: Vec<&'u str>,
    found: Vec<Vec<String>>,
}

impl<'u> Search<'u> {
    fn visit(&mut self, module: &'u str) -> usize {
        let number = self.seen.len();
        self.seen.insert(module, (number, number));
        self.stack.push(module);
        let mut lowest = number;
        for used in self.uses.get(module).into_iter().flatten() {
            let reached = match self.seen.get(used.as_str()) {
                None => self.visit(used),
                Some((number, _)) if self.stack.contains(&used.as_str()) => *number,
                Some(_) => continue,
            };
            lowest = lowest.min(reached);
        }
        self.seen.insert(module, (number, lowest));
        if lowest == number {
            let at = self.stack.iter().rposition(|m| *m == module).unwrap_or(0);
            let circle = self.stack.split_off(at);
            if circle.len() > 1 {
                self.found.push(circle.into_iter().map(str::to_owned).collect());
            }
        }
        lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found() {
        let uses = |list: &[(&str, &[&str])]| -> Uses {
            list.iter()
                .map(|(m, u)| ((*m).into(), u.iter().map(|u| (*u).into()).collect()))
                .collect()
        };
        let graph = uses(&[
            ("a", &["b"]),
            ("b", &["c"]),
            ("c", &["a", "d"]),
            ("d", &["e"]),
            ("e", &["d"]),
            ("f", &["a"]),
        ]);
        assert_eq!(of(&graph), [vec!["a", "b", "c"], vec!["d", "e"]]);
        assert!(of(&uses(&[("a", &["b"]), ("b", &[])])).is_empty());
    }
}
