//! Lines of scripts, as errors name them.

use std::rc::Rc;

/// Where a line comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, where errors are to name one.
    pub file: Option<Rc<str>>,
    /// 1-based line of the file or text.
    pub line: u32,
}
