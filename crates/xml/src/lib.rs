//! XML as SQL Server's type `xml` has it: documents and fragments as trees ([`Document`]), their
//! text in one normal form, queries ([`Query`]) in the part of XQuery that the methods of the type
//! speak, and changes ([`Change`]) in its data manipulation language. It knows neither SQL's types
//! nor values: what a query asks of its surroundings comes as [`Atom`]s. Guarantees: a tree that
//! was read is well-formed; no text makes anything here panic, nor takes more than [`MAX_DEPTH`]
//! nested calls; work on a long text asks its [`Pace`] whether to go on.

mod binary;
mod build;
mod change;
mod error;
mod eval;
mod item;
mod pace;
mod path;
mod query;
mod read;
mod scan;
mod spaces;
mod tree;
mod write;

pub use binary::Encoding;
pub use change::Change;
pub use error::{QueryError, ReadError};
pub use eval::QueryAnswer;
pub use item::Atom;
pub use pace::{Pace, watched};
pub use query::{External, Query};
pub use read::{TextSource, Whitespace, is_xml, read};
pub use tree::{Document, NodeRef};

/// Most elements in one another, and most nested parts of a query.
pub const MAX_DEPTH: usize = 128;
