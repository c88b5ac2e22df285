//! The age of a login's password: the day on which it was set, whether it expires
//! (CHECK_EXPIRATION), and whether it must be changed at the next login (MUST_CHANGE).
//! Guarantees: a password that expires can be used on the day on which it was set and on the
//! [`MAX_DAYS`] days after it; the bits in which a login's row keeps its password's age are used
//! for nothing else, and reading them back gives the same age.

/// For how many days after the one on which it was set a password that expires can be used: the
/// default of Windows, whose policy SQL Server follows.
pub const MAX_DAYS: i32 = 42;
/// 2000-01-01 in days since 1900-01-01.
const FIRST: i32 = 36_524;

const EXPIRES: i64 = 8;
const MUST_CHANGE: i64 = 16;
/// The first of the 16 bits that have the day.
const SET_ON: u32 = 16;

/// What is known of the age of a password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PasswordAge {
    /// CHECK_EXPIRATION.
    pub expires: bool,
    /// MUST_CHANGE: a client that does not change the password as it logs in is refused.
    pub must_change: bool,
    /// The day on which it was set, in days since 2000-01-01; 0 where that is not known.
    set_on: u16,
}

impl PasswordAge {
    /// The age of a password that is set on this day, in days since 1900-01-01. A day before 2000
    /// or after 2179-06-06 is kept as not known.
    #[must_use]
    pub fn set(self, today: i32, must_change: bool) -> PasswordAge {
        let set_on = u16::try_from(i64::from(today) - i64::from(FIRST)).unwrap_or(0);
        PasswordAge { must_change, set_on, ..self }
    }

    /// CHECK_EXPIRATION is turned on or off. Where it is not known when the password was set it
    /// counts as set on `latest`, the last day on which that can have been.
    #[must_use]
    pub fn expiring(self, expires: bool, latest: i32) -> PasswordAge {
        let known =
            if expires && self.set_on == 0 { self.set(latest, self.must_change) } else { self };
        PasswordAge { expires, ..known }
    }

    /// How many days are left until its last one; 0 on that day and later. `None`: it does not
    /// expire.
    pub fn days_left(self, today: i32) -> Option<i32> {
        self.expires.then(|| (self.last_day() - today).max(0))
    }

    /// Whether it can no longer be used because its last day is over.
    pub fn has_expired(self, today: i32) -> bool {
        self.expires && today > self.last_day()
    }

    /// The last day on which it can be used, in days since 1900-01-01.
    fn last_day(self) -> i32 {
        FIRST + i32::from(self.set_on) + MAX_DAYS
    }

    /// Its bits within the flags of a login's row.
    pub(super) fn bits(self) -> i64 {
        let flag = |on: bool, bit: i64| if on { bit } else { 0 };
        flag(self.expires, EXPIRES)
            | flag(self.must_change, MUST_CHANGE)
            | (i64::from(self.set_on) << SET_ON)
    }

    /// What the flags of a login's row say of it.
    pub(super) fn of_bits(flags: i64) -> PasswordAge {
        PasswordAge {
            expires: flags & EXPIRES != 0,
            must_change: flags & MUST_CHANGE != 0,
            set_on: (flags >> SET_ON) as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_used_until_its_last_day() {
        let today = 46_000;
        let age = PasswordAge::default().set(today, false);
        assert_eq!((age.days_left(today), age.has_expired(today + 1000)), (None, false));
        let age = age.expiring(true, 0);
        assert_eq!(age.days_left(today), Some(MAX_DAYS));
        assert_eq!(age.days_left(today + MAX_DAYS), Some(0));
        assert!(!age.has_expired(today + MAX_DAYS) && age.has_expired(today + MAX_DAYS + 1));
        assert_eq!(age.days_left(today + 1000), Some(0));
        // The days of a new password are counted from its own day.
        assert_eq!(age.set(today + 50, true).days_left(today + 50), Some(MAX_DAYS));
        // Nobody knows when it was set: on the last day on which that can have been.
        let unknown = PasswordAge::default().expiring(true, today - 40);
        assert_eq!(unknown.days_left(today), Some(MAX_DAYS - 40));
        for no_day in [i32::MIN, FIRST - 1, FIRST + 65_536, i32::MAX] {
            assert_eq!(PasswordAge::default().set(no_day, false), PasswordAge::default());
        }
    }

    #[test]
    fn a_row_keeps_it() {
        for (today, expires, must_change) in
            [(FIRST, false, false), (46_000, true, true), (102_000, true, false)]
        {
            let age = PasswordAge::default().set(today, must_change).expiring(expires, today);
            // The flags of a row are an int, in which the day's highest bit is the sign.
            let kept = age.bits() as i32;
            assert_eq!(PasswordAge::of_bits(i64::from(kept)), age);
        }
    }
}
