//! The namespaces in force at a place of a document, while it is read or written.
//! Guarantee: looking up a prefix costs the same however many are declared.

use std::collections::HashMap;

use compact_str::CompactString;

/// Prefixes and what they stand for; inner declarations hide outer ones.
#[derive(Debug, Default)]
pub(crate) struct Spaces {
    uris: HashMap<CompactString, Vec<CompactString>>,
    /// Prefixes in the order of their declarations, the innermost last.
    order: Vec<CompactString>,
}

impl Spaces {
    /// The namespace of a prefix, as far as anybody has declared it.
    pub fn find(&self, prefix: &str) -> Option<&CompactString> {
        if self.order.is_empty() { None } else { self.uris.get(prefix)?.last() }
    }

    pub fn declare(&mut self, prefix: &CompactString, uri: &CompactString) {
        self.uris.entry(prefix.clone()).or_default().push(uri.clone());
        self.order.push(prefix.clone());
    }

    /// A place to go [`Spaces::back_to`].
    pub fn mark(&self) -> usize {
        self.order.len()
    }

    /// Forgets what was declared since.
    pub fn back_to(&mut self, mark: usize) {
        for prefix in self.order.drain(mark.min(self.order.len())..) {
            if let Some(uris) = self.uris.get_mut(&prefix) {
                uris.pop();
            }
        }
    }
}
