//! How long the password of a login is good: CHECK_EXPIRATION and MUST_CHANGE.
//! Guarantee: what is kept in an `i32` is found there again.

/// Days for which a password is good where passwords expire: what Windows has without a policy of
/// its own.
pub const MAX_DAYS: i32 = 42;
/// 2000-01-01 in days since 1900-01-01.
const FIRST: i32 = 36_524;

const EXPIRES: i64 = 8;
const MUST_CHANGE: i64 = 16;
const SET_ON: u32 = 16;

/// What is known of the age of a password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PasswordAge {
    /// CHECK_EXPIRATION.
    pub expires: bool,
    /// MUST_CHANGE: with this password nobody logs in, but to change it.
    pub must_change: bool,
    /// The day on which it was set, in days since 2000-01-01; 0 where that is not known.
    set_on: u16,
}

impl PasswordAge {
    /// The password is set on this day, in days since 1900-01-01.
    #[must_use]
    pub fn set(self, today: i32, must_change: bool) -> PasswordAge {
        let set_on = u16::try_from(today - FIRST).unwrap_or(0);
        PasswordAge { must_change, set_on, ..self }
    }

    /// Whether it expires from now on. A password of an unknown day counts as set on `latest`.
    #[must_use]
    pub fn expiring(self, expires: bool, latest: i32) -> PasswordAge {
        let known = if expires && self.set_on == 0 { self.set(latest, self.must_change) } else { self };
        PasswordAge { expires, ..known }
    }

    /// How many days are left, 0 on the last one and behind it; none where it does not expire.
    pub fn days_left(self, today: i32) -> Option<i32> {
        self.expires.then(|| (self.ends() - today).max(0))
    }

    /// Whether its days are over.
    pub fn has_expired(self, today: i32) -> bool {
        self.expires && today > self.ends()
    }

    /// The last day on which it is good, in days since 1900-01-01.
    fn ends(self) -> i32 {
        FIRST + i32::from(self.set_on) + MAX_DAYS
    }

    /// As bits of a principal's flags, which have no others at these places.
    pub(super) fn bits(self) -> i64 {
        let flag = |on: bool, bit: i64| if on { bit } else { 0 };
        flag(self.expires, EXPIRES) | flag(self.must_change, MUST_CHANGE) | (i64::from(self.set_on) << SET_ON)
    }

    /// From those bits.
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
    fn it_is_good_for_its_days() {
        let today = 46_000;
        let age = PasswordAge::default().set(today, false);
        assert_eq!((age.days_left(today), age.has_expired(today + 1000)), (None, false));
        let age = age.expiring(true, 0);
        assert_eq!(age.days_left(today), Some(MAX_DAYS));
        assert_eq!(age.days_left(today + MAX_DAYS), Some(0));
        assert!(!age.has_expired(today + MAX_DAYS) && age.has_expired(today + MAX_DAYS + 1));
        assert_eq!(age.days_left(today + 1000), Some(0));
        // A new one begins anew; one of an unknown day was set on the last day that it can be of.
        assert_eq!(age.set(today + 50, true).days_left(today + 50), Some(MAX_DAYS));
        let unknown = PasswordAge::default().expiring(true, today - 40);
        assert_eq!(unknown.days_left(today), Some(MAX_DAYS - 40));
    }

    #[test]
    fn it_is_found_where_it_was_kept() {
        for (today, expires, must_change) in
            [(FIRST, false, false), (46_000, true, true), (102_000, true, false)]
        {
            let age = PasswordAge::default().set(today, must_change).expiring(expires, today);
            // The flags are kept as an int.
            let kept = age.bits() as i32;
            assert_eq!(PasswordAge::of_bits(i64::from(kept)), age);
        }
    }
}
