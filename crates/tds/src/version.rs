//! Protocol versions. Guarantees: they are ordered by age, so `version >= TdsVersion::V7_2` asks
//! for a feature.

/// A version of the protocol that this crate speaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum TdsVersion {
    /// SQL Server 2000: 16-bit user types and line numbers, 32-bit row counts, no ALL_HEADERS, no
    /// MAX types.
    V7_1,
    /// SQL Server 2005: ALL_HEADERS, MAX types, xml.
    V7_2,
    /// SQL Server 2008: date, time, datetime2, datetimeoffset, table-valued parameters.
    V7_3A,
    /// SQL Server 2008 R2: NBCROW.
    V7_3B,
    /// SQL Server 2012 and later: feature extensions.
    V7_4,
    /// Strict encryption; the same messages as 7.4.
    V8_0,
}

impl TdsVersion {
    /// The newest version of the classic (not strict) protocol.
    pub const LATEST: TdsVersion = TdsVersion::V7_4;

    /// The version that a server of up to 7.4 speaks with a client that asked for `number` in
    /// LOGIN7 (8.0 only if the client said so itself). `None` for 7.0 and older, which use other
    /// layouts.
    pub fn negotiate(number: u32) -> Option<TdsVersion> {
        match number {
            0x0800_0000 => Some(TdsVersion::V8_0),
            0x7400_0000.. => Some(TdsVersion::V7_4),
            0x730B_0000.. => Some(TdsVersion::V7_3B),
            0x7300_0000.. => Some(TdsVersion::V7_3A),
            0x7200_0000.. => Some(TdsVersion::V7_2),
            0x7100_0000.. => Some(TdsVersion::V7_1),
            _ => None,
        }
    }

    /// The number in LOGIN7 (little-endian there) and LOGINACK (big-endian there).
    pub fn number(self) -> u32 {
        match self {
            TdsVersion::V7_1 => 0x7100_0001,
            TdsVersion::V7_2 => 0x7209_0002,
            TdsVersion::V7_3A => 0x730A_0003,
            TdsVersion::V7_3B => 0x730B_0003,
            TdsVersion::V7_4 => 0x7400_0004,
            TdsVersion::V8_0 => 0x0800_0000,
        }
    }
}
