//! Paths in a tree as SQL Server's hierarchyid has them: `/1/2.1/`, and bytes that compare as the
//! tree is walked, parents first. Guarantees: the bytes are SQL Server's; `to_text` of what `parse`
//! made is the same path; bytes that are no path are none, never a panic.
//!
//! A path is a list of nodes, a node a list of ordinals with points between them. Each ordinal is a
//! pattern of bits that depends on its size, so that patterns compare as the numbers do; the last
//! bit says whether the node ends here. One that does not end is written as its successor, so that
//! what follows it lies between the two.

use std::cmp::Ordering;

/// Bytes of a value at most.
pub const MAX_BYTES: usize = 892;

/// Smallest and greatest ordinal of a pattern, and its bits: `x` are those of the number from the
/// smallest on, high ones first.
const PATTERNS: [(i64, i64, &str); 13] = [
    (
        -281_479_271_682_120,
        -4_294_971_465,
        "000100xxxxxxxxxxxxxx0xxxxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxx",
    ),
    (-4_294_971_464, -4_169, "000101xxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxx"),
    (-4_168, -73, "000110xxxxx0xxx0x1xxx"),
    (-72, -9, "0010xx0x1xxx"),
    (-8, -1, "00111xxx"),
    (0, 3, "01xx"),
    (4, 7, "100xx"),
    (8, 15, "101xxx"),
    (16, 79, "110xx0x1xxx"),
    (80, 1_103, "1110xxx0xxx0x1xxx"),
    (1_104, 5_199, "11110xxxxx0xxx0x1xxx"),
    (5_200, 4_294_972_495, "111110xxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxx"),
    (
        4_294_972_496,
        281_479_271_683_151,
        "111111xxxxxxxxxxxxxx0xxxxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxx",
    ),
];

/// A path: nodes of ordinals, none of them empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Vec<Vec<i64>>);

/// Bits from the highest of the first byte on.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    used: usize,
}

impl Writer {
    fn put(&mut self, bit: bool) {
        if self.used.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if bit && let Some(last) = self.bytes.last_mut() {
            *last |= 0x80 >> (self.used % 8);
        }
        self.used += 1;
    }

    /// An ordinal. None: no pattern has it.
    fn ordinal(&mut self, ordinal: i64, last: bool) -> Option<()> {
        let ordinal = if last { ordinal } else { ordinal.checked_add(1)? };
        let (low, _, pattern) =
            PATTERNS.iter().find(|(low, high, _)| (*low..=*high).contains(&ordinal))?;
        let offset = ordinal - low;
        let mut left = pattern.bytes().filter(|b| *b == b'x').count();
        for bit in pattern.bytes() {
            self.put(match bit {
                b'x' => {
                    left -= 1;
                    offset >> left & 1 == 1
                }
                bit => bit == b'1',
            });
        }
        self.put(last);
        Some(())
    }
}

/// The bit at a place; none behind the end.
fn bit_at(bytes: &[u8], at: usize) -> Option<bool> {
    bytes.get(at / 8).map(|byte| byte & (0x80 >> (at % 8)) != 0)
}

/// The ordinal at a place of bits, whether it is its node's last, and the place behind it.
fn ordinal_at(bytes: &[u8], at: usize) -> Option<(i64, bool, usize)> {
    'patterns: for (low, high, pattern) in PATTERNS {
        let mut offset = 0i64;
        for (i, wanted) in pattern.bytes().enumerate() {
            let Some(bit) = bit_at(bytes, at + i) else { continue 'patterns };
            match wanted {
                b'x' => offset = offset << 1 | i64::from(bit),
                wanted if bit == (wanted == b'1') => {}
                _ => continue 'patterns,
            }
        }
        let last = bit_at(bytes, at + pattern.len())?;
        let ordinal = low + offset;
        return (ordinal <= high).then_some((
            ordinal - i64::from(!last),
            last,
            at + pattern.len() + 1,
        ));
    }
    None
}

impl Path {
    /// The path of a text such as `/1/2.1/`.
    pub fn parse(text: &str) -> Option<Path> {
        let inner = text.strip_prefix('/')?;
        if inner.is_empty() {
            return Some(Path::default());
        }
        let node = |text: &str| text.split('.').map(ordinal_of).collect::<Option<Vec<i64>>>();
        let path = Path(inner.strip_suffix('/')?.split('/').map(node).collect::<Option<_>>()?);
        path.to_bytes().map(|_| path)
    }

    /// The path of bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Path> {
        let (mut path, mut node, mut at) = (Path::default(), Vec::new(), 0);
        // What is left of the last byte is zero.
        while (at..bytes.len() * 8).any(|at| bit_at(bytes, at) == Some(true)) {
            let (ordinal, last, next) = ordinal_at(bytes, at)?;
            node.push(ordinal);
            if last {
                path.0.push(std::mem::take(&mut node));
            }
            at = next;
        }
        (node.is_empty() && at.div_ceil(8) == bytes.len()).then_some(path)
    }

    /// Its bytes. None: an ordinal that is too large, or more than there may be.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut writer = Writer::default();
        for node in &self.0 {
            for (i, ordinal) in node.iter().enumerate() {
                writer.ordinal(*ordinal, i + 1 == node.len())?;
            }
        }
        (writer.bytes.len() <= MAX_BYTES).then_some(writer.bytes)
    }

    /// As it is written.
    pub fn to_text(&self) -> String {
        let mut text = String::from("/");
        for node in &self.0 {
            let ordinals: Vec<String> = node.iter().map(i64::to_string).collect();
            text.push_str(&ordinals.join("."));
            text.push('/');
        }
        text
    }

    /// How far below the root it is.
    pub fn level(&self) -> usize {
        self.0.len()
    }

    /// The path so many levels up.
    pub fn ancestor(&self, up: usize) -> Option<Path> {
        let level = self.level().checked_sub(up)?;
        Some(Path(self.0[..level].to_vec()))
    }

    /// Whether it lies below another path, or is it.
    pub fn is_below(&self, other: &Path) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The same path below another root. None: it is not below the old one.
    pub fn moved(&self, old: &Path, new: &Path) -> Option<Path> {
        let rest = self.0.strip_prefix(&old.0[..])?;
        Some(Path(new.0.iter().chain(rest).cloned().collect()))
    }

    /// A child between two of its children, either of which may be missing.
    ///
    /// # Errors
    /// Which of the two is no child of it, or that they do not stand in this order.
    pub fn child(&self, low: Option<&Path>, high: Option<&Path>) -> Result<Path, Misplaced> {
        let child = |path: &Path| path.level() == self.level() + 1 && path.is_below(self);
        if low.is_some_and(|low| !child(low)) {
            return Err(Misplaced::Low);
        }
        if high.is_some_and(|high| !child(high)) {
            return Err(Misplaced::High);
        }
        let last = |path: Option<&Path>| path.and_then(|path| path.0.last().cloned());
        let node = match (last(low), last(high)) {
            (None, None) => vec![1],
            (Some(low), None) => vec![low[0] + 1],
            (None, Some(high)) => vec![high[0] - 1],
            (Some(low), Some(high)) => between(&low, &high).ok_or(Misplaced::Order)?,
        };
        Ok(Path(self.0.iter().cloned().chain([node]).collect()))
    }
}

/// Why there is no child between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    Low,
    High,
    Order,
}

fn ordinal_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// A node between two. None: the first is not the lesser one. A node comes before what has more
/// ordinals behind the same ones.
fn between(low: &[i64], high: &[i64]) -> Option<Vec<i64>> {
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let mut node = low[..same].to_vec();
    match (low.get(same), high.get(same)) {
        (None, Some(b)) => node.push(b - 1),
        (Some(a), Some(b)) if a + 1 < *b => node.push(a + 1),
        (Some(a), Some(b)) if a.cmp(b) == Ordering::Less => {
            node.push(*a);
            node.push(low.get(same + 1).map_or(1, |next| next + 1));
        }
        _ => return None,
    }
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        Path::parse(text).and_then(|path| path.to_bytes()).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn bytes_are_sql_servers() {
        for (text, expected) in [
            ("/", &[][..]),
            ("/0/", &[0x48]),
            ("/1/", &[0x58]),
            ("/3/", &[0x78]),
            ("/4/", &[0x84]),
            ("/15/", &[0xBE]),
            ("/16/", &[0xC1, 0x10]),
            ("/17/", &[0xC1, 0x30]),
            ("/1/1/", &[0x5A, 0xC0]),
            ("/1.1/", &[0x62, 0xC0]),
            ("/98/", &[0xE0, 0x25, 0x40]),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_come_back_and_compare_as_the_tree_is_walked() {
        let ends = PATTERNS
            .iter()
            .flat_map(|(low, high, _)| [*low, *high])
            .filter(|n| n.unsigned_abs() < 1 << 47);
        let mut ordinals: Vec<i64> = ends.chain([-5, -1, 2, 70, 100, 1_000, 100_000]).collect();
        ordinals.sort_unstable();
        ordinals.dedup();
        let mut all = vec![String::from("/")];
        for n in &ordinals {
            all.push(format!("/{n}/"));
            all.push(format!("/{n}/-3/"));
            all.push(format!("/{n}/7/1.2/"));
            all.push(format!("/{n}.-9/"));
            all.push(format!("/{n}.0.5/"));
        }
        let encoded: Vec<Vec<u8>> = all.iter().map(|text| bytes(text)).collect();
        for (text, encoded) in all.iter().zip(&encoded) {
            assert_eq!(Path::from_bytes(encoded).map(|p| p.to_text()).as_ref(), Some(text));
        }
        assert!(encoded.is_sorted(), "{all:?}");
    }

    #[test]
    fn what_is_no_path() {
        for text in
            ["", "1", "/1", "1/", "//", "/a/", "/1..2/", "/-/", "/1/ /", "/999999999999999999/"]
        {
            assert_eq!(Path::parse(text), None, "{text}");
        }
        for bytes in [&[0x01][..], &[0x50], &[0x58, 0x00], &[0x60], &[0xFF; 20]] {
            assert_eq!(Path::from_bytes(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn children_between_others() {
        let parent = Path::parse("/1/").unwrap();
        let child = |low: &str, high: &str| {
            let given = |text: &str| Path::parse(text);
            parent.child(given(low).as_ref(), given(high).as_ref()).map(|p| p.to_text())
        };
        for (low, high, expected) in [
            ("", "", Ok("/1/1/")),
            ("/1/1/", "", Ok("/1/2/")),
            ("", "/1/1/", Ok("/1/0/")),
            ("/1/1/", "/1/2/", Ok("/1/1.1/")),
            ("/1/1/", "/1/5/", Ok("/1/2/")),
            ("/1/1.1/", "/1/2/", Ok("/1/1.2/")),
            ("/1/1/", "/1/1.1/", Ok("/1/1.0/")),
            ("/1/2/", "/1/1/", Err(Misplaced::Order)),
            ("/2/1/", "", Err(Misplaced::Low)),
            ("", "/1/", Err(Misplaced::High)),
        ] {
            assert_eq!(child(low, high).as_deref().map_err(|e| *e), expected, "{low} {high}");
        }
        let path = Path::parse("/1/2/3/").unwrap();
        assert!(path.is_below(&parent) && !parent.is_below(&path));
        assert_eq!(
            path.moved(&parent, &Path::parse("/9/").unwrap()).map(|p| p.to_text()).as_deref(),
            Some("/9/2/3/")
        );
        assert_eq!(path.ancestor(2), Some(parent));
        assert_eq!(path.ancestor(4), None);
    }
}
