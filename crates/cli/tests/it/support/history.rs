//! Histories of concurrent transactions that append to lists and read them, and what is wrong with
//! them: the phenomena of Adya's "Weak Consistency" (1999), found from lists as Kingsbury and
//! Alvaro do in "Elle" (VLDB 2020). A list shows in which order its values were appended, so the
//! order of versions is known and not guessed.

use std::collections::{HashMap, HashSet};

pub type Key = u32;
pub type Value = u64;

/// What a transaction did, in its order.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    Append(Key, Value),
    Read(Key, Vec<Value>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TxnEnd {
    Committed,
    Aborted,
    /// Nobody knows: the connection was lost.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Txn {
    /// The client that ran it; its transactions are one after the other.
    pub client: usize,
    pub ops: Vec<Op>,
    pub end: TxnEnd,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phenomenon {
    /// A commit that was acknowledged is gone, or an abort left something.
    Lost,
    /// Some of a transaction's appends are there, some are not.
    Torn,
    /// A transaction does not read what it has appended itself.
    Internal,
    /// A read is no beginning of the list as it became.
    Incompatible,
    /// A cycle of overwritten versions alone.
    G0,
    /// A read of what was never committed.
    G1a,
    /// A read of what its transaction overwrote later.
    G1b,
    /// A cycle of versions that were overwritten or read.
    G1c,
    /// A cycle with one version that was read before it was overwritten.
    GSingle,
    /// A cycle with more of them.
    G2,
}

/// Why one transaction is before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum HistoryEdge {
    Overwrites,
    Reads,
    /// The first has read a version that the second overwrites.
    ReadBefore,
    /// One client's, one after the other.
    Client,
}

/// What is wrong with a history, each phenomenon once with an example. `lists` is what there is at
/// the end.
pub fn check(txns: &[Txn], lists: &HashMap<Key, Vec<Value>>) -> Vec<(Phenomenon, String)> {
    let mut found: HashMap<Phenomenon, String> = HashMap::new();
    let mut tell = |what: Phenomenon, example: String| {
        found.entry(what).or_insert(example);
    };
    // Who appended what, and whether it is a transaction's last append to that list.
    let mut writer: HashMap<Value, usize> = HashMap::new();
    let mut last_of: HashSet<Value> = HashSet::new();
    for (at, txn) in txns.iter().enumerate() {
        let mut last: HashMap<Key, Value> = HashMap::new();
        for op in &txn.ops {
            if let Op::Append(key, value) = op {
                assert!(writer.insert(*value, at).is_none(), "{value} is appended twice");
                last.insert(*key, *value);
            }
        }
        last_of.extend(last.values());
    }
    let kept: HashSet<Value> = lists.values().flatten().copied().collect();
    let mut is_committed = vec![false; txns.len()];
    for (at, txn) in txns.iter().enumerate() {
        let appends: Vec<Value> = txn.ops.iter().filter_map(append).collect();
        let there = appends.iter().filter(|value| kept.contains(value)).count();
        if there > 0 && there < appends.len() {
            tell(Phenomenon::Torn, format!("{txn:?}: {there} of its appends are there"));
        }
        let lost = txn.end == TxnEnd::Committed && there < appends.len();
        if lost || txn.end == TxnEnd::Aborted && there > 0 {
            tell(Phenomenon::Lost, format!("{txn:?}: {there} of its appends are there"));
        }
        // A transaction that only reads and whose end nobody knows may count as committed or not:
        // it does not.
        is_committed[at] = txn.end == TxnEnd::Committed || txn.end == TxnEnd::Unknown && there > 0;
    }
    let mut edges: Vec<(usize, usize, HistoryEdge)> = Vec::new();
    let mut join = |from: Option<&usize>, to: Option<&usize>, why: HistoryEdge| {
        if let (Some(&from), Some(&to)) = (from, to)
            && from != to
            && is_committed[from]
            && is_committed[to]
        {
            edges.push((from, to, why));
        }
    };
    for list in lists.values() {
        for pair in list.windows(2) {
            join(writer.get(&pair[0]), writer.get(&pair[1]), HistoryEdge::Overwrites);
        }
    }
    let mut before: HashMap<usize, usize> = HashMap::new();
    for (at, txn) in txns.iter().enumerate() {
        if is_committed[at] {
            let earlier = before.insert(txn.client, at);
            join(earlier.as_ref(), Some(&at), HistoryEdge::Client);
        }
        let mut own: HashMap<Key, Vec<Value>> = HashMap::new();
        for op in &txn.ops {
            match op {
                Op::Append(key, value) => own.entry(*key).or_default().push(*value),
                Op::Read(key, values) => {
                    // What others have read is not known.
                    if txn.end != TxnEnd::Committed {
                        continue;
                    }
                    let mine = own.get(key).map_or(&[][..], Vec::as_slice);
                    if !values.ends_with(mine) {
                        tell(Phenomenon::Internal, format!("{txn:?}"));
                    }
                    for value in values {
                        let end = writer.get(value).map_or(TxnEnd::Aborted, |&by| txns[by].end);
                        if end == TxnEnd::Aborted || end == TxnEnd::Unknown && !kept.contains(value)
                        {
                            tell(
                                Phenomenon::G1a,
                                format!("{txn:?} reads {value}, which was never committed"),
                            );
                        }
                    }
                    let foreign = &values[..values.len() - mine.len().min(values.len())];
                    let list = lists.get(key).map_or(&[][..], Vec::as_slice);
                    if !list.starts_with(foreign) {
                        tell(Phenomenon::Incompatible, format!("{txn:?}: list {key} is {list:?}"));
                        continue;
                    }
                    if let Some(value) = foreign.last() {
                        if writer.get(value) != Some(&at) && !last_of.contains(value) {
                            tell(
                                Phenomenon::G1b,
                                format!("{txn:?} reads {value}, which was overwritten"),
                            );
                        }
                        join(writer.get(value), Some(&at), HistoryEdge::Reads);
                    }
                    join(
                        Some(&at),
                        list.get(foreign.len()).and_then(|v| writer.get(v)),
                        HistoryEdge::ReadBefore,
                    );
                }
            }
        }
    }
    for (what, allowed) in [
        (Phenomenon::G0, &[HistoryEdge::Overwrites][..]),
        (Phenomenon::G1c, &[HistoryEdge::Overwrites, HistoryEdge::Reads, HistoryEdge::Client]),
        (
            Phenomenon::G2,
            &[
                HistoryEdge::Overwrites,
                HistoryEdge::Reads,
                HistoryEdge::Client,
                HistoryEdge::ReadBefore,
            ],
        ),
    ] {
        let graph = Graph::new(txns.len(), edges.iter().filter(|(.., why)| allowed.contains(why)));
        if let Some(cycle) = graph.cycle() {
            tell(what, shown(txns, &cycle));
        }
    }
    let lower =
        Graph::new(txns.len(), edges.iter().filter(|(.., why)| *why != HistoryEdge::ReadBefore));
    for (from, to, why) in &edges {
        if *why == HistoryEdge::ReadBefore
            && let Some(path) = lower.path(*to, *from)
        {
            tell(Phenomenon::GSingle, shown(txns, &path));
            break;
        }
    }
    let mut all: Vec<_> = found.into_iter().collect();
    // A cycle of fewer kinds is one of more kinds too: only the least is told.
    let has = |what| all.iter().any(|(found, _)| *found == what);
    let (g0, g1c, single) = (has(Phenomenon::G0), has(Phenomenon::G1c), has(Phenomenon::GSingle));
    all.retain(|(what, _)| match what {
        Phenomenon::G1c => !g0,
        Phenomenon::G2 => !(g0 || g1c || single),
        _ => true,
    });
    all.sort();
    all
}

fn append(op: &Op) -> Option<Value> {
    match op {
        Op::Append(_, value) => Some(*value),
        Op::Read(..) => None,
    }
}

fn shown(txns: &[Txn], cycle: &[usize]) -> String {
    cycle.iter().map(|at| format!("{at}: {:?}", txns[*at])).collect::<Vec<_>>().join("\n")
}

struct Graph(Vec<Vec<usize>>);

impl Graph {
    fn new<'e>(
        nodes: usize,
        edges: impl Iterator<Item = &'e (usize, usize, HistoryEdge)>,
    ) -> Graph {
        let mut next = vec![Vec::new(); nodes];
        for (from, to, _) in edges {
            next[*from].push(*to);
        }
        Graph(next)
    }

    /// The shortest way from one node to another.
    fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut came_from: HashMap<usize, usize> = HashMap::new();
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for &next in &self.0[at] {
                if next == from || came_from.contains_key(&next) {
                    continue;
                }
                came_from.insert(next, at);
                if next == to {
                    let mut path = vec![to];
                    while let Some(&before) = came_from.get(path.last()?) {
                        path.push(before);
                    }
                    path.reverse();
                    return Some(path);
                }
                queue.push_back(next);
            }
        }
        None
    }

    /// A cycle, if there is one: nodes from which nothing leads on are taken away until none is
    /// left, or all that are left lead to others of them.
    fn cycle(&self) -> Option<Vec<usize>> {
        let mut out: Vec<usize> = self.0.iter().map(Vec::len).collect();
        let mut back = vec![Vec::new(); self.0.len()];
        for (from, next) in self.0.iter().enumerate() {
            next.iter().for_each(|&to| back[to].push(from));
        }
        let mut ends: Vec<usize> = (0..out.len()).filter(|&at| out[at] == 0).collect();
        let mut gone = vec![false; out.len()];
        while let Some(at) = ends.pop() {
            gone[at] = true;
            for &from in &back[at] {
                out[from] -= 1;
                if out[from] == 0 {
                    ends.push(from);
                }
            }
        }
        let start = gone.iter().position(|gone| !gone)?;
        let (mut seen, mut path, mut at) = (HashMap::new(), Vec::new(), start);
        loop {
            if let Some(&begin) = seen.get(&at) {
                return Some(path[begin..].to_vec());
            }
            seen.insert(at, path.len());
            path.push(at);
            at = *self.0[at].iter().find(|&&next| !gone[next])?;
        }
    }
}

#[cfg(test)]
mod checks {
    use super::*;
    use super::{Op::*, Phenomenon::*, TxnEnd::*};

    fn txn(client: usize, end: TxnEnd, ops: &[Op]) -> Txn {
        Txn { client, ops: ops.to_vec(), end }
    }

    fn found(txns: &[Txn], lists: &[(Key, &[Value])]) -> Vec<Phenomenon> {
        let lists = lists.iter().map(|(key, list)| (*key, list.to_vec())).collect();
        check(txns, &lists).into_iter().map(|(what, _)| what).collect()
    }

    #[test]
    fn each_phenomenon_is_found() {
        let one = |ops: &[Op]| txn(0, Committed, ops);
        let two = |ops: &[Op]| txn(1, Committed, ops);
        assert_eq!(
            found(
                &[one(&[Append(1, 1), Read(1, vec![1])]), two(&[Read(1, vec![1]), Append(1, 2)])],
                &[(1, &[1, 2])]
            ),
            []
        );
        assert_eq!(found(&[one(&[Append(1, 1)])], &[]), [Lost]);
        assert_eq!(found(&[txn(0, Aborted, &[Append(1, 1)])], &[(1, &[1])]), [Lost]);
        assert_eq!(found(&[txn(0, Unknown, &[Append(1, 1), Append(2, 2)])], &[(1, &[1])]), [Torn]);
        assert_eq!(
            found(&[txn(0, Unknown, &[Append(1, 1), Append(2, 2)])], &[(1, &[1]), (2, &[2])]),
            []
        );
        assert_eq!(found(&[one(&[Append(1, 1), Read(1, vec![])])], &[(1, &[1])]), [Internal]);
        let cross = [one(&[Append(1, 1), Append(2, 2)]), two(&[Append(1, 3), Append(2, 4)])];
        assert_eq!(found(&cross, &[(1, &[1, 3]), (2, &[4, 2])]), [G0]);
        assert_eq!(
            found(&[txn(0, Aborted, &[Append(1, 1)]), two(&[Read(1, vec![1])])], &[]),
            [Incompatible, G1a]
        );
        assert_eq!(
            found(&[one(&[Append(1, 1), Append(1, 2)]), two(&[Read(1, vec![1])])], &[(1, &[1, 2])]),
            [G1b, GSingle]
        );
        let read_each_other =
            [one(&[Append(1, 1), Read(2, vec![2])]), two(&[Append(2, 2), Read(1, vec![1])])];
        assert_eq!(found(&read_each_other, &[(1, &[1]), (2, &[2])]), [G1c]);
        let skew = [one(&[Append(1, 1), Append(2, 2)]), two(&[Read(1, vec![]), Read(2, vec![2])])];
        assert_eq!(found(&skew, &[(1, &[1]), (2, &[2])]), [GSingle]);
        let write_skew =
            [one(&[Read(1, vec![]), Append(2, 2)]), two(&[Read(2, vec![]), Append(1, 1)])];
        assert_eq!(found(&write_skew, &[(1, &[1]), (2, &[2])]), [G2]);
        // A client that does not see what it did before.
        let stale = [one(&[Append(1, 1)]), one(&[Read(1, vec![])])];
        assert_eq!(found(&stale, &[(1, &[1])]), [GSingle]);
    }
}
