//! How many significant digits of a float a format shows: .NET has the usual ones of its type, and
//! all where more are wanted.

/// Significant digits of a type of floats.
#[derive(Clone, Copy, Debug)]
pub struct FloatDigits {
    /// Those that a value shows by itself.
    usual: usize,
    /// Those that tell it from every other value.
    all: usize,
}

/// Of float.
pub const FLOAT_DIGITS: FloatDigits = FloatDigits { usual: 15, all: 17 };
/// Of real.
pub const REAL_DIGITS: FloatDigits = FloatDigits { usual: 7, all: 9 };

impl FloatDigits {
    /// All digits are shown where `G` or `E` wants more than the usual ones, or `R` would not give
    /// the value back by those.
    pub(super) fn shown(self, x: f64, format: &str) -> usize {
        let mut rest = format.chars();
        let letter = rest.next().map(|letter| letter.to_ascii_uppercase());
        let rest = rest.as_str();
        let wanted = rest.parse::<usize>().ok().filter(|_| rest.len() <= 2);
        let more = match (letter, wanted) {
            (Some('G'), Some(wanted)) => wanted > self.usual,
            // One stands before the point.
            (Some('E'), Some(wanted)) => wanted >= self.usual,
            (Some('R'), None) if rest.is_empty() => {
                let text = format!("{:.*e}", self.usual - 1, x);
                match self.all {
                    9 => text.parse::<f32>().is_ok_and(|back| f64::from(back) != x),
                    _ => text.parse::<f64>().is_ok_and(|back| back != x),
                }
            }
            _ => false,
        };
        if more { self.all } else { self.usual }
    }
}
