//! The sources of a query block, found by their names and by the names of their columns.
//!
//! A block may have thousands of sources, and each of its names is looked for among all of them; so
//! there is an index of both kinds of names. It is made when the first name is looked for in a
//! block of more than a few sources, and follows what is added at the end.
//! Guarantees: what is found is what a search of all sources would find, in their order; whoever
//! may change a source makes the index start again from nothing.

use super::source::{NameClash, Source};
use compact_str::CompactString;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::{Deref, DerefMut, Range};

/// So many sources are searched faster than an index of them is made.
const FEW: usize = 8;

/// Places of sources.
pub type Places = SmallVec<[usize; 2]>;
/// Places of columns: of the source, and in it.
pub type ColumnPlaces = SmallVec<[(usize, usize); 2]>;

/// Sources in the order of FROM.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
    /// Of the first sources, as many as are in it.
    names: HashMap<CompactString, Places>,
    named: usize,
    columns: HashMap<CompactString, ColumnPlaces>,
    columned: usize,
    /// So many of the first ones differ in their names.
    distinct: usize,
    /// The columns of so many of the first ones may be NULL, all of them.
    nullable: usize,
}

impl Sources {
    /// Adds one at the end.
    pub fn push(&mut self, source: Source) {
        self.list.push(source);
    }

    /// Takes the last one away.
    pub fn pop(&mut self) -> Option<Source> {
        self.forget();
        self.list.pop()
    }

    /// Puts one in front of the one at a place.
    pub fn insert(&mut self, at: usize, source: Source) {
        self.forget();
        self.list.insert(at, source);
    }

    /// Adds those of a block that becomes a part of this one.
    pub fn append(&mut self, others: Sources) {
        self.list.extend(others.list);
    }

    /// All of them.
    pub fn into_vec(self) -> Vec<Source> {
        self.list
    }

    fn forget(&mut self) {
        self.names.clear();
        self.columns.clear();
        (self.named, self.columned, self.distinct, self.nullable) = (0, 0, 0, 0);
    }

    /// The places of the sources that go by a name in lower case.
    pub fn by_name(&mut self, name: &str) -> Places {
        if self.list.len() <= FEW {
            return (0..self.list.len()).filter(|at| self.list[*at].name == name).collect();
        }
        self.index_names();
        self.names.get(name).cloned().unwrap_or_default()
    }

    fn index_names(&mut self) {
        for (at, source) in self.list.iter().enumerate().skip(self.named) {
            self.names.entry(source.name.clone()).or_default().push(at);
        }
        self.named = self.list.len();
    }

    /// The places of the columns that have a name in lower case.
    pub fn by_column(&mut self, name: &str) -> ColumnPlaces {
        if self.list.len() <= FEW {
            let of = |(at, source): (usize, &Source)| {
                let same = source.columns.iter().enumerate().filter(|(_, c)| c.folded == name);
                same.map(|(column, _)| (at, column)).collect::<ColumnPlaces>()
            };
            return self.list.iter().enumerate().flat_map(of).collect();
        }
        for (at, source) in self.list.iter().enumerate().skip(self.columned) {
            for (column, c) in source.columns.iter().enumerate() {
                self.columns.entry(c.folded.clone()).or_default().push((at, column));
            }
        }
        self.columned = self.list.len();
        self.columns.get(name).cloned().unwrap_or_default()
    }

    /// Two sources whose names do not tell them apart.
    pub fn clash(&mut self) -> Option<NameClash> {
        if self.list.len() > 1 {
            self.index_names();
            for (at, b) in self.list.iter().enumerate().skip(self.distinct) {
                let same = self.names.get(&b.name).filter(|_| !b.name.is_empty());
                let mut before = same.into_iter().flatten().take_while(|other| **other < at);
                if let Some(clash) = before.find_map(|other| self.list[*other].clash(b)) {
                    return Some(clash);
                }
            }
        }
        self.distinct = self.list.len();
        None
    }

    /// The columns of some of them may be NULL: they are on the outer side of a join.
    pub fn make_nullable(&mut self, range: Range<usize>) {
        let from =
            if range.start <= self.nullable { self.nullable.min(range.end) } else { range.start };
        let columns = self.list[from..range.end].iter_mut().flat_map(|source| &mut source.columns);
        columns.for_each(|column| column.nullable = true);
        if range.start <= self.nullable {
            self.nullable = self.nullable.max(range.end);
        }
    }
}

impl Deref for Sources {
    type Target = [Source];

    fn deref(&self) -> &[Source] {
        &self.list
    }
}

impl DerefMut for Sources {
    fn deref_mut(&mut self) -> &mut [Source] {
        self.forget();
        &mut self.list
    }
}

impl From<Vec<Source>> for Sources {
    fn from(list: Vec<Source>) -> Sources {
        Sources { list, ..Sources::default() }
    }
}

impl Extend<Source> for Sources {
    fn extend<I: IntoIterator<Item = Source>>(&mut self, sources: I) {
        self.list.extend(sources);
    }
}

impl<'s> IntoIterator for &'s Sources {
    type Item = &'s Source;
    type IntoIter = std::slice::Iter<'s, Source>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::ScopeColumn;
    use types::{Collation, DataType};

    fn source(name: &str, columns: &[&str]) -> Source {
        let column =
            |name: &&str| ScopeColumn::new(name, 0, DataType::Int, false, Collation::DEFAULT);
        Source {
            name: name.into(),
            aliased: true,
            schema: None,
            database: None,
            columns: columns.iter().map(column).collect(),
            object_id: 0,
            db_id: 0,
        }
    }

    #[test]
    fn names_are_found_in_few_and_in_many_sources() {
        for count in [3, FEW * 3] {
            let mut all = Sources::default();
            (0..count).for_each(|i| all.push(source(&format!("t{i}"), &["a", &format!("b{i}")])));
            assert_eq!(all.by_name("t2").to_vec(), [2]);
            assert_eq!(all.by_column("a").len(), count);
            assert_eq!(all.by_column("b1").to_vec(), [(1, 1)]);
            all.push(source("late", &["c"]));
            assert_eq!(all.by_name("late").to_vec(), [count]);
            assert_eq!(all.by_column("c").to_vec(), [(count, 0)]);
            all[0].name = "other".into();
            assert_eq!((all.by_name("t0").len(), all.by_name("other").len()), (0, 1));
            all.insert(0, source("t2", &[]));
            assert_eq!(all.by_name("t2").to_vec(), [0, 3]);
            assert!(all.clash().is_some());
        }
    }

    #[test]
    fn the_outer_side_may_be_null() {
        let mut all = Sources::default();
        (0..5).for_each(|i| all.push(source(&format!("t{i}"), &["a"])));
        all.make_nullable(2..3);
        all.make_nullable(0..2);
        all.make_nullable(0..4);
        let nullable: Vec<bool> = all.iter().map(|s| s.columns[0].nullable).collect();
        assert_eq!(nullable, [true, true, true, true, false]);
    }
}
