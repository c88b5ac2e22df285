//! How files grow.

/// How a file grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthSetting {
    /// Bytes, whole extents; 0 = not at all.
    Bytes(u64),
    /// Percent of the size at the time.
    Percent(u32),
}

impl GrowthSetting {
    /// One number for the boot page: bytes, or minus the percentage.
    pub fn number(self) -> i64 {
        match self {
            GrowthSetting::Bytes(n) => i64::try_from(n).unwrap_or(i64::MAX),
            GrowthSetting::Percent(p) => -i64::from(p),
        }
    }

    /// What [`GrowthSetting::number`] gave.
    pub(crate) fn from_number(n: i64) -> GrowthSetting {
        match u64::try_from(n) {
            Ok(bytes) => GrowthSetting::Bytes(bytes),
            Err(_) => GrowthSetting::Percent(u32::try_from(n.unsigned_abs()).unwrap_or(u32::MAX)),
        }
    }
}
