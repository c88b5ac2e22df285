//! Pairs of a crate's outermost modules that use each other, and the list of those that may. Each
//! of that list has its reason; a pair that is not listed fails the check, as does an entry whose
//! pair is gone.

use crate::Uses;
use std::collections::BTreeSet;

/// What may be: `crate: module, module: reason`, one in each line.
const ALLOWED: &str = include_str!("../pairs.txt");
/// So many may be listed.
const MOST: usize = 9;

/// The pairs of outermost modules that use each other, each with the first by name before the
/// second.
pub fn of(uses: &Uses) -> Vec<(String, String)> {
    let outermost = |module: &str| module.split("::").next().unwrap_or(module).to_owned();
    let arrows: BTreeSet<(String, String)> = uses
        .iter()
        .flat_map(|(user, used)| used.iter().map(move |used| (outermost(user), outermost(used))))
        .collect();
    arrows
        .iter()
        .filter(|(a, b)| a < b && arrows.contains(&(b.clone(), a.clone())))
        .cloned()
        .collect()
}

/// What is wrong with the pairs of all crates, given as crate, first and second module.
pub fn wrong(found: &[(String, String, String)]) -> Vec<String> {
    wrong_of(found, ALLOWED)
}

fn wrong_of(found: &[(String, String, String)], allowed: &str) -> Vec<String> {
    let (mut wrong, mut listed) = (Vec::new(), BTreeSet::new());
    for line in allowed.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut parts = line.splitn(3, ':').map(str::trim);
        let (of, pair) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        match (pair.split_once(','), parts.next()) {
            (Some((a, b)), Some(reason)) if !reason.is_empty() => {
                listed.insert((of.to_owned(), a.trim().to_owned(), b.trim().to_owned()));
            }
            _ => wrong.push(format!("pairs.txt: not `crate: module, module: reason`: {line}")),
        }
    }
    for (of, a, b) in found.iter().filter(|pair| !listed.contains(*pair)) {
        wrong.push(format!("{of}: {a} and {b} use each other"));
    }
    for (of, a, b) in listed.iter().filter(|pair| !found.contains(pair)) {
        wrong.push(format!("pairs.txt: {a} and {b} of {of} do not use each other any more"));
    }
    if listed.len() > MOST {
        wrong.push(format!("pairs.txt: {} pairs, at most {MOST} may be", listed.len()));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(arrows: &[(&str, &str)]) -> Uses {
        let mut uses = Uses::new();
        for (user, used) in arrows {
            uses.entry((*user).into()).or_default().insert((*used).into());
        }
        uses
    }

    #[test]
    fn a_pair_is_found_below_its_outermost_modules() {
        let uses = uses(&[("b::x", "a::y"), ("a", "b"), ("a", "c"), ("b::x", "b::z")]);
        assert_eq!(of(&uses), [("a".to_owned(), "b".to_owned())]);
    }

    #[test]
    fn what_is_not_listed_is_told_and_what_is_gone_too() {
        let pair = |a: &str, b: &str| ("k".to_owned(), a.to_owned(), b.to_owned());
        let list = "# what may be\nk: a, b: they are two halves of one thing\n";
        assert!(wrong_of(&[pair("a", "b")], list).is_empty());
        assert_eq!(
            wrong_of(&[pair("a", "b"), pair("a", "c")], list),
            ["k: a and c use each other"]
        );
        assert_eq!(wrong_of(&[], list), ["pairs.txt: a and b of k do not use each other any more"]);
        assert_eq!(wrong_of(&[], "k: a, b\n").len(), 1);
    }
}
