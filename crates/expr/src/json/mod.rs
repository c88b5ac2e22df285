//! JSON texts as T-SQL sees them: they are ordinary strings, read where a function asks for them.
//! Guarantees: values are parts of the text they stand in, so what is not looked at stays as it was
//! written (blanks, the digits of numbers, doubled keys); a text is checked to the end before
//! anything of it is used; nesting is at most 128 deep, as in SQL Server.

mod modify;
mod path;
mod scan;
mod unescape;
mod write;

pub use modify::{NewValue, modify};
pub use path::{JsonStep, Path};
pub use scan::{JsonWalk, Kind, MALFORMED, Member, Node, parse, parse_any};
pub use unescape::unescaped;
pub use write::{base64, from_base64, most_bytes, value_text, write_string};

use types::{CancelCheck, SqlError, msg};

/// 13608: a strict path that leads nowhere.
pub fn no_property() -> SqlError {
    SqlError::of(msg::JSON_PROPERTY_NOT_FOUND, [])
}

impl<'t> Node<'t> {
    /// What a path leads to; `None` when a step of it is not there. Of two members with one name
    /// the first counts.
    ///
    /// # Errors
    /// Only that the statement is to stop.
    pub fn at(
        self,
        steps: &[JsonStep],
        look: CancelCheck<'_>,
    ) -> Result<Option<Node<'t>>, SqlError> {
        let mut node = self;
        for step in steps {
            let found = match step {
                JsonStep::Key(key) => node.member(key, look)?.map(|member| member.value),
                JsonStep::Index(at) => node.elements(look).nth(*at).transpose()?,
            };
            let Some(found) = found else { return Ok(None) };
            node = found;
        }
        Ok(Some(node))
    }

    /// The first member of a name.
    fn member(self, key: &str, look: CancelCheck<'_>) -> Result<Option<Member<'t>>, SqlError> {
        for member in self.members(look) {
            let member = member?;
            if unescaped(member.name, look)? == key {
                return Ok(Some(member));
            }
        }
        Ok(None)
    }
}
