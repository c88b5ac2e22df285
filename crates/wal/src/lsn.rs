//! Log sequence numbers: (VLF sequence number, block in units of 512 bytes, slot), ordered, printed
//! as SQL Server does.

use std::fmt;

/// Identifies one log record for ever. LSNs can be compared; arithmetic with them is meaningless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn {
    /// Sequence number of the virtual log file, from 1.
    pub vlf: u32,
    /// Start of the log block in units of 512 bytes; the first block of a VLF is 0x10.
    pub block: u32,
    /// Record within the block, from 1.
    pub slot: u16,
}

impl Lsn {
    /// Before every record; "none".
    pub const ZERO: Lsn = Lsn { vlf: 0, block: 0, slot: 0 };
    /// After every record.
    pub const MAX: Lsn = Lsn { vlf: u32::MAX, block: u32::MAX, slot: u16::MAX };

    /// True for [`Lsn::ZERO`].
    pub fn is_zero(self) -> bool {
        self == Lsn::ZERO
    }

    /// Ten bytes, big-endian: their order is the order of LSNs.
    pub fn to_bytes(self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..4].copy_from_slice(&self.vlf.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.block.to_be_bytes());
        bytes[8..].copy_from_slice(&self.slot.to_be_bytes());
        bytes
    }

    /// The inverse of [`to_bytes`](Self::to_bytes); every value is accepted.
    pub fn from_bytes(bytes: [u8; 10]) -> Lsn {
        let [a, b, c, d, e, f, g, h, i, j] = bytes;
        Lsn {
            vlf: u32::from_be_bytes([a, b, c, d]),
            block: u32::from_be_bytes([e, f, g, h]),
            slot: u16::from_be_bytes([i, j]),
        }
    }

    /// The numeric(25,0) form: `vlf * 10^15 + block * 10^5 + slot`.
    pub fn to_numeric(self) -> u128 {
        u128::from(self.vlf) * 10u128.pow(15)
            + u128::from(self.block) * 10u128.pow(5)
            + u128::from(self.slot)
    }

    /// The decimal colon form, `43:24059:73`.
    pub fn to_decimal(self) -> String {
        format!("{}:{}:{}", self.vlf, self.block, self.slot)
    }

    /// Reads `43:24059:73`.
    pub fn parse_decimal(text: &str) -> Option<Lsn> {
        Self::parse(text, 10)
    }

    /// Reads `0000002b:00005dfb:0049`, with or without `0x` in front.
    pub fn parse_hex(text: &str) -> Option<Lsn> {
        Self::parse(text.strip_prefix("0x").unwrap_or(text), 16)
    }

    fn parse(text: &str, radix: u32) -> Option<Lsn> {
        let mut parts = text.trim().split(':');
        let vlf = u32::from_str_radix(parts.next()?, radix).ok()?;
        let block = u32::from_str_radix(parts.next()?, radix).ok()?;
        let slot = u16::from_str_radix(parts.next()?, radix).ok()?;
        parts.next().is_none().then_some(Lsn { vlf, block, slot })
    }

    /// VLF and block in one number, which is enough to compare blocks and to wait for one: a block
    /// becomes durable as a whole.
    pub fn key(self) -> u64 {
        block_key(self.vlf, self.block)
    }

    /// The first record of the block that [`key`](Self::key) names; [`Lsn::ZERO`] of 0.
    pub fn of_key(key: u64) -> Lsn {
        if key == 0 {
            Lsn::ZERO
        } else {
            Lsn { vlf: (key >> 32) as u32, block: key as u32, slot: 1 }
        }
    }
}

/// The number that orders blocks: VLF, then block.
pub(crate) fn block_key(vlf: u32, block: u32) -> u64 {
    u64::from(vlf) << 32 | u64::from(block)
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}:{:08x}:{:04x}", self.vlf, self.block, self.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn published_examples() {
        let lsn = Lsn { vlf: 0x2b, block: 0x5dfb, slot: 0x49 };
        assert_eq!(lsn.to_string(), "0000002b:00005dfb:0049");
        assert_eq!(lsn.to_decimal(), "43:24059:73");
        assert_eq!(
            Lsn::parse_hex("00000021:00000120:0001").map(Lsn::to_numeric),
            Some(33_000_000_028_800_001)
        );
        assert_eq!(Lsn::parse_decimal("1:2"), None);
    }

    proptest! {
        #[test]
        fn every_form_keeps_value_and_order(a: (u32, u32, u16), b: (u32, u32, u16)) {
            let lsn = |(vlf, block, slot)| Lsn { vlf, block, slot };
            let (a, b) = (lsn(a), lsn(b));
            prop_assert_eq!(Lsn::from_bytes(a.to_bytes()), a);
            prop_assert_eq!(Lsn::parse_hex(&a.to_string()), Some(a));
            prop_assert_eq!(Lsn::parse_decimal(&a.to_decimal()), Some(a));
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
            prop_assert_eq!(a.cmp(&b), a.to_numeric().cmp(&b.to_numeric()));
        }
    }
}
