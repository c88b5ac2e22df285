//! The list of messages: number, severity, usual state and text of everything that Ringwood raises
//! or says, each as a constant that the code names.
//!
//! A line of the files in `list` is `number severity state NAME "text";`, in the order of the
//! numbers. The text has a specification of `printf` (`%ls`, `%s`, `%d`) where a value stands, and
//! `%%` for a per cent sign, as in sys.messages, which is made of the list. `list/further.rs` has
//! the second texts of numbers. [How errors are made](../../../docs/internals/messages.md).
//!
//! Guarantees, all of them when the crate is compiled: numbers are in order, none is there twice;
//! a text has no other per cent signs. Where a message is used, a name that is not in the list and
//! a wrong number of values do not compile:
//!
//! ```
//! let text = ringwood_messages::INVALID_COLUMN.text([&"price"]);
//! assert_eq!(text, "Invalid column name 'price'.");
//! ```
//! ```compile_fail,E0308
//! let text = ringwood_messages::INVALID_COLUMN.text([&"price", &"orders"]);
//! ```
//! ```compile_fail,E0425
//! let text = ringwood_messages::NO_SUCH_MESSAGE.text([&"price"]);
//! ```

mod list;
mod text;

use std::fmt::Display;

pub use list::all_names::*;
pub use list::{all, find, texts};
use text::{filled, fits, value_of, values};

/// A message whose text has this many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<const VALUES: usize> {
    listed: Listed,
}

/// A line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// SQL Server's message number.
    pub number: i32,
    /// 0..=25; 11..=16 are the user's to correct.
    pub severity: u8,
    /// The state of most places that raise it.
    pub state: u8,
    /// The text, with specifications where values stand.
    pub text: &'static str,
}

impl<const VALUES: usize> Message<VALUES> {
    /// Only for [`messages`], which counts the values.
    const fn new(number: i32, severity: u8, state: u8, text: &'static str) -> Self {
        Message { listed: Listed { number, severity, state, text } }
    }

    /// SQL Server's message number.
    pub const fn number(self) -> i32 {
        self.listed.number
    }

    /// 0..=25.
    pub const fn severity(self) -> u8 {
        self.listed.severity
    }

    /// The state of most places that raise it.
    pub const fn state(self) -> u8 {
        self.listed.state
    }

    /// The text with its values filled in, in their order.
    pub fn text(self, values: [&dyn Display; VALUES]) -> String {
        filled(self.listed.text, &values)
    }

    /// The single value of a text that [`Message::text`] has made; nothing of another text.
    pub fn value_in(self, said: &str) -> Option<&str> {
        const { assert!(VALUES == 1, "the text has one value") };
        value_of(self.listed.text, said)
    }

    const fn listed(self) -> Listed {
        self.listed
    }
}

impl Listed {
    /// Whether this is what the text becomes with some values.
    pub fn fits(&self, said: &str) -> bool {
        fits(self.text, said)
    }
}

/// Makes a constant of each line, in the module `names`, and `LIST` of all.
macro_rules! messages {
    ($($number:literal $severity:literal $state:literal $name:ident $text:literal;)*) => {
        pub mod names {
            $(
                #[doc = concat!("Message ", $number, ", severity ", $severity, ": `", $text, "`")]
                pub const $name: $crate::Message<{ $crate::values($text) }> =
                    $crate::Message::new($number, $severity, $state, $text);
            )*
        }

        pub(crate) const LIST: &[$crate::Listed] = &[$(names::$name.listed()),*];
    };
}
pub(crate) use messages;
