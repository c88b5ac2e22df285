//! Large values: how long one may be, and what a statement must have for making one.
//! Guarantees: a value of a (max) type has at most 2^31-1 bytes as SQL Server counts them; what is
//! not large asks nobody.

use types::{CancelCheck, CodePage, DataType, SqlError, Value, msg};

use crate::Env;

/// From so many bytes on a value is charged to the statement while it is at work with it.
pub const LARGE: usize = 64 << 10;

/// Most bytes of a value: in the code page of varchar, in UTF-16 of nvarchar.
pub const LONGEST: usize = i32::MAX as usize;

/// 7119.
#[cold]
pub fn too_long() -> SqlError {
    SqlError::of(msg::LOB_TOO_LARGE, [])
}

/// 6365: a value of xml, the text of FOR XML.
#[cold]
pub(crate) fn xml_too_long() -> SqlError {
    SqlError::of(msg::XML_TOO_LONG, [])
}

/// Whether a text with so many bytes in UTF-8 fits in every (max) type without being looked at.
#[inline]
pub(crate) fn surely_fits(utf8: usize) -> bool {
    utf8 <= LONGEST / 2
}

/// Whether a text fits in a type without a length.
fn fits(text: &str, ty: DataType, page: CodePage) -> bool {
    surely_fits(text.len())
        || match ty.is_unicode() || !ty.is_string() {
            true => types::units::utf16_len(text) <= LONGEST / 2,
            // No character takes more bytes in a code page than in UTF-8.
            false => text.len() <= LONGEST || page.encoded_len(text) <= LONGEST,
        }
}

/// Refuses a value that is longer than its type.
///
/// # Errors
/// 7119; 6365 for xml.
#[inline]
pub fn check_length(value: &Value, ty: DataType, page: CodePage) -> Result<(), SqlError> {
    let fits = match value {
        Value::Str(text) => fits(text, ty, page),
        Value::Bytes(bytes) => bytes.len() <= LONGEST,
        _ => true,
    };
    match fits {
        true => Ok(()),
        false if ty == DataType::Xml => Err(xml_too_long()),
        false => Err(too_long()),
    }
}

/// Follows a text that grows, so that it is looked at once however often it is asked whether it is
/// too long.
#[derive(Clone, Copy, Debug)]
pub struct GrowingText {
    /// Most UTF-16 units.
    most: usize,
    /// Bytes that were counted, and the units that they are.
    bytes: usize,
    units: usize,
}

impl Default for GrowingText {
    fn default() -> GrowingText {
        GrowingText::up_to(LONGEST / 2)
    }
}

impl GrowingText {
    /// A text of at most so many UTF-16 units.
    pub fn up_to(most: usize) -> GrowingText {
        GrowingText { most, bytes: 0, units: 0 }
    }

    /// A text of which nothing was counted yet, with the same bound.
    pub(crate) fn recount(self) -> GrowingText {
        GrowingText::up_to(self.most)
    }

    /// Whether the text, which begins as it did when it was asked last, is still short enough.
    #[inline]
    pub fn fits(&mut self, text: &str) -> bool {
        // A unit takes one byte at least.
        text.len() <= self.most || self.counted(text)
    }

    #[cold]
    fn counted(&mut self, text: &str) -> bool {
        self.units += types::units::utf16_len(text.get(self.bytes..).unwrap_or_default());
        self.bytes = text.len();
        self.units <= self.most
    }
}

/// Whether an error says that a value cannot be converted, which TRY_CONVERT makes NULL: not that
/// the statement is to end.
pub fn is_conversion(error: &SqlError) -> bool {
    error.severity <= 16 && error.number != 3617
}

/// Counts what a loop over a large value does, and asks from time to time whether the statement is
/// to go on.
pub struct StepCounter<'l> {
    look: CancelCheck<'l>,
    left: usize,
}

impl<'l> StepCounter<'l> {
    /// About so many bytes, characters or comparisons are done between two looks: less than a
    /// millisecond.
    const LOOK: usize = 32 << 10;

    /// Asks `look`.
    pub fn new(look: CancelCheck<'l>) -> StepCounter<'l> {
        StepCounter { look, left: StepCounter::LOOK }
    }

    /// So many more are about to be done.
    ///
    /// # Errors
    /// That of the look.
    #[inline]
    pub fn step(&mut self, count: usize) -> Result<(), SqlError> {
        match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = StepCounter::LOOK;
                (self.look)()
            }
        }
    }
}

/// What an expression holds while it works with large values: goes back when
/// [`HeldMemory::release`] is called, at the end of the statement otherwise (after an error).
#[derive(Debug, Default)]
pub struct HeldMemory(usize);

impl HeldMemory {
    /// A value that is there, or about to be.
    ///
    /// # Errors
    /// 701.
    #[inline]
    pub fn add(&mut self, bytes: usize, rt: &mut dyn Env) -> Result<(), SqlError> {
        if bytes >= LARGE {
            rt.hold(bytes)?;
            self.0 += bytes;
        }
        Ok(())
    }

    /// All of it has come to so many bytes.
    ///
    /// # Errors
    /// 701.
    #[inline]
    pub(crate) fn grow_to(&mut self, bytes: usize, rt: &mut dyn Env) -> Result<(), SqlError> {
        let more = bytes.saturating_sub(self.0);
        self.add(more, rt)
    }

    /// It is held no longer.
    #[inline]
    pub fn release(&mut self, rt: &mut dyn Env) {
        if self.0 > 0 {
            rt.release(std::mem::take(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Len;

    #[test]
    fn a_growing_text_ends_at_its_units() {
        let (mut text, mut length) = (String::new(), GrowingText::up_to(100));
        for _ in 0..100 {
            assert!(length.fits(&text));
            text.push('\u{20AC}');
        }
        assert!(length.fits(&text), "100 units in 300 bytes");
        text.push('x');
        assert!(!length.fits(&text));
    }

    #[test]
    fn a_length_is_that_of_the_type() {
        let (narrow, wide) = (DataType::VarChar(Len::Max), DataType::NVarChar(Len::Max));
        let page = CodePage::Latin;
        assert!(surely_fits(LONGEST / 2) && !surely_fits(LONGEST / 2 + 1));
        for ty in [narrow, wide] {
            assert!(check_length(&Value::str("x".repeat(1000)), ty, page).is_ok());
        }
        assert_eq!((too_long().number, xml_too_long().number), (7119, 6365));
        assert_eq!((LONGEST, GrowingText::default().most), (2_147_483_647, 1_073_741_823));
    }
}
