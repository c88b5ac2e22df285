//! What the words of DECLARE CURSOR come to: kind, concurrency, scope, and which of them contradict
//! each other.

use plan::cursor::Model;
use syntax::ast::CursorDef;
use types::{SqlError, msg};

use session::state::cursors::Concurrency;

/// What a declaration asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub wish: Model,
    pub concurrency: Concurrency,
    pub scroll: bool,
    /// None: as the database has it.
    pub global: Option<bool>,
    pub type_warning: bool,
}

/// Words of which one alone may stand.
const KINDS: [&str; 5] = ["INSENSITIVE", "STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD"];
const ACCESS: [&str; 3] = ["READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC"];
/// Pairs that contradict each other beyond those.
const CONFLICTS: [(&str, &str); 8] = [
    ("LOCAL", "GLOBAL"),
    ("FORWARD_ONLY", "SCROLL"),
    ("FAST_FORWARD", "SCROLL"),
    ("FAST_FORWARD", "SCROLL_LOCKS"),
    ("FAST_FORWARD", "OPTIMISTIC"),
    ("STATIC", "SCROLL_LOCKS"),
    ("INSENSITIVE", "SCROLL_LOCKS"),
    ("INSENSITIVE", "OPTIMISTIC"),
];

fn conflict(a: &str, b: &str) -> SqlError {
    SqlError::of(msg::CONFLICTING_CURSOR_OPTIONS, [&a, &b])
}

/// 16957.
pub fn read_only() -> SqlError {
    SqlError::of(msg::FOR_UPDATE_READ_ONLY, [])
}

impl Options {
    /// Reads the options.
    ///
    /// # Errors
    /// 1048 words that contradict each other, 16957 FOR UPDATE of a cursor that is read only.
    pub fn of(def: &CursorDef) -> Result<Options, SqlError> {
        let has = |word: &str| def.options.iter().any(|option| option == word);
        for list in [&KINDS[..], &ACCESS[..]] {
            let mut given = list.iter().filter(|word| has(word));
            if let (Some(a), Some(b)) = (given.next(), given.next()) {
                return Err(conflict(a, b));
            }
        }
        if let Some((a, b)) = CONFLICTS.iter().find(|(a, b)| has(a) && has(b)) {
            return Err(conflict(a, b));
        }
        let kind = KINDS.into_iter().find(|word| has(word));
        let wish = match kind {
            Some("INSENSITIVE" | "STATIC") => Model::Static,
            Some("KEYSET") => Model::Keyset,
            Some("FAST_FORWARD") => Model::FastForward,
            Some(_) => Model::Dynamic,
            // Every FETCH is possible on a keyset; a dynamic cursor has no ABSOLUTE.
            None if has("SCROLL") => Model::Keyset,
            None => Model::Dynamic,
        };
        let fixed = matches!(wish, Model::Static | Model::FastForward);
        let read_only_words = def.read_only || has("READ_ONLY");
        if def.for_update.is_some() && (fixed || read_only_words) {
            return Err(read_only());
        }
        let concurrency = match () {
            () if fixed || read_only_words => Concurrency::ReadOnly,
            () if has("SCROLL_LOCKS") => Concurrency::ScrollLocks,
            () => Concurrency::Optimistic,
        };
        // INSENSITIVE is of the ISO form, which scrolls where it says so.
        let scrolls = matches!(kind, Some("STATIC" | "KEYSET" | "DYNAMIC"));
        let global = if has("LOCAL") { Some(false) } else { has("GLOBAL").then_some(true) };
        Ok(Options {
            wish,
            concurrency,
            scroll: has("SCROLL") || (scrolls && !has("FORWARD_ONLY")),
            global,
            type_warning: has("TYPE_WARNING"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syntax::ast::StmtKind;

    fn of(text: &str) -> Result<Options, i32> {
        let stmts = syntax::parse(text).unwrap();
        let StmtKind::DeclareCursor(declare) = &stmts[0].kind else { panic!("{text}") };
        Options::of(&declare.cursor).map_err(|e| e.number)
    }

    #[test]
    fn kinds_and_defaults() {
        let check = |text: &str, wish, concurrency, scroll| {
            let o = of(text).unwrap();
            assert_eq!((o.wish, o.concurrency, o.scroll), (wish, concurrency, scroll), "{text}");
        };
        use Concurrency::{Optimistic, ReadOnly, ScrollLocks};
        check("declare c cursor for select 1", Model::Dynamic, Optimistic, false);
        check("declare c insensitive cursor for select 1", Model::Static, ReadOnly, false);
        check("declare c insensitive scroll cursor for select 1", Model::Static, ReadOnly, true);
        check("declare c scroll cursor for select 1", Model::Keyset, Optimistic, true);
        check("declare c cursor static for select 1", Model::Static, ReadOnly, true);
        check("declare c cursor forward_only static for select 1", Model::Static, ReadOnly, false);
        check(
            "declare c cursor keyset scroll_locks for select 1",
            Model::Keyset,
            ScrollLocks,
            true,
        );
        check("declare c cursor dynamic read_only for select 1", Model::Dynamic, ReadOnly, true);
        check("declare c cursor fast_forward for select 1", Model::FastForward, ReadOnly, false);
        check(
            "declare c cursor fast_forward forward_only for select 1",
            Model::FastForward,
            ReadOnly,
            false,
        );
        check(
            "declare c cursor for select a from t for read only",
            Model::Dynamic,
            ReadOnly,
            false,
        );
    }

    #[test]
    fn contradictions() {
        for text in [
            "local global",
            "forward_only scroll",
            "static keyset",
            "fast_forward scroll",
            "fast_forward optimistic",
            "static scroll_locks",
            "read_only optimistic",
        ] {
            assert_eq!(of(&format!("declare c cursor {text} for select 1")), Err(1048), "{text}");
        }
        for text in ["static", "fast_forward", "read_only"] {
            assert_eq!(
                of(&format!("declare c cursor {text} for select a from t for update")),
                Err(16957)
            );
        }
    }
}
