//! How names are compared and written.

use compact_str::CompactString;

/// A name in the form in which names are compared: the catalog's collation ignores case.
pub fn fold_name(name: &str) -> CompactString {
    if name.is_ascii() {
        let mut folded = CompactString::from(name);
        folded.as_mut_str().make_ascii_lowercase();
        return folded;
    }
    CompactString::from(name.to_lowercase())
}

/// A name in brackets.
pub fn quote(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}
