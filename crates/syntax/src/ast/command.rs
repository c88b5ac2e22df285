//! Commands: statements that nothing looks into between the parser and the code that runs them, so
//! that a new one changes neither the syntax tree nor the interpreter. `parser/commands.rs` has
//! their parts and grammars.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A command.
#[derive(Clone)]
pub struct Command {
    /// Its first words.
    pub words: &'static str,
    parts: Arc<dyn CommandParts>,
}

/// What a command consists of.
trait CommandParts: Any + fmt::Debug + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<T: Any + fmt::Debug + PartialEq + Send + Sync> CommandParts for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }
}

impl Command {
    /// A command of such parts.
    pub fn new<T: Any + fmt::Debug + PartialEq + Send + Sync>(
        words: &'static str,
        parts: T,
    ) -> Command {
        Command { words, parts: Arc::new(parts) }
    }

    /// Its parts, if it is of this kind.
    pub fn parts<T: Any>(&self) -> Option<&T> {
        (&*self.parts as &dyn Any).downcast_ref()
    }
}

impl PartialEq for Command {
    fn eq(&self, other: &Command) -> bool {
        self.words == other.words && self.parts.equals(&*other.parts)
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.fmt(f)
    }
}
