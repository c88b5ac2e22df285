//! Work on long values that may be told to stop.
//! Guarantees: short values ask nobody; of a long one there is a question for each 64 KB that is
//! read.

use crate::error::SqlError;
use crate::units;

/// Asks whether the statement is to go on.
pub type CancelCheck<'l> = &'l dyn Fn() -> Result<(), SqlError>;

/// For work that nobody can stop.
pub const GO_ON: CancelCheck<'static> = &|| Ok(());

/// Bytes between two looks.
const PIECE: usize = 64 << 10;

/// The parts of a text, with a look before each but the first. A character that is held as its
/// halves is in one of them.
pub fn pieces<'t>(
    text: &'t str,
    look: CancelCheck<'t>,
) -> impl Iterator<Item = Result<&'t str, SqlError>> {
    let mut rest = text;
    let mut first = true;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if !std::mem::take(&mut first)
            && let Err(error) = look()
        {
            return Some(Err(error));
        }
        let end = rest.floor_char_boundary(PIECE);
        let (piece, after) = rest.split_at(units::half_before(rest, end).unwrap_or(end));
        rest = after;
        Some(Ok(piece))
    })
}

/// The parts of bytes, an even number in each but the last one, with a look before each but the
/// first.
pub fn byte_pieces<'b>(
    bytes: &'b [u8],
    look: CancelCheck<'b>,
) -> impl Iterator<Item = Result<&'b [u8], SqlError>> {
    let looked = move |at| if at > 0 { look() } else { Ok(()) };
    bytes.chunks(PIECE).enumerate().map(move |(at, piece)| looked(at).map(|()| piece))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn pieces_make_the_whole() {
        let looks = Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            Ok(())
        };
        let text = "\u{20AC}xy".repeat(100_000);
        let whole: Result<String, SqlError> = pieces(&text, &look).collect();
        assert_eq!((whole.as_deref(), looks.replace(0)), (Ok(text.as_str()), 7));
        assert_eq!((pieces("short", &look).count(), looks.get()), (1, 0));
        let halves = "\u{10FBFF}\u{10FFFF}".repeat(20_000);
        for text in [halves.clone(), format!("x{halves}"), format!("xyz\u{20AC}{halves}")] {
            let parts: Result<Vec<&str>, SqlError> = pieces(&text, &look).collect();
            let parts = parts.expect("nobody stops");
            assert!(
                parts.len() > 1 && parts.iter().all(|part| units::first_unpaired(part).is_none())
            );
            assert_eq!(parts.concat(), text);
        }
        looks.set(0);
        let bytes: Result<Vec<&[u8]>, SqlError> = byte_pieces(text.as_bytes(), &look).collect();
        assert_eq!((bytes.expect("nobody stops").concat(), looks.get()), (text.into_bytes(), 7));
    }
}
