//! What a conversion of a column keeps of its values: their order, their difference. Guarantee:
//! what is said holds for every two values that can be converted.

use types::DataType;
use types::rounding::{KeptOrder, kept};

/// Whether a conversion keeps the order of numbers or dates and every two of them apart.
pub fn keeps_apart(from: DataType, to: DataType) -> bool {
    kept(from, to) == Some(KeptOrder::Each)
}

/// Whether a conversion keeps the order of numbers or dates; different ones may become one.
pub fn keeps_order(from: DataType, to: DataType) -> bool {
    matches!(kept(from, to), Some(KeptOrder::Each | KeptOrder::Rounded))
}

/// Whether a conversion keeps different values apart as well: rows that are ordered by another
/// column behind the converted one stay so.
pub fn keeps_values(from: DataType, to: DataType) -> bool {
    from == to || keeps_apart(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversion_that_rounds_keeps_no_values() {
        let keeps = |from, to| (keeps_order(from, to), keeps_values(from, to));
        assert_eq!(keeps(DataType::Int, DataType::BigInt), (true, true));
        assert_eq!(keeps(DataType::SmallMoney, DataType::Money), (true, true));
        assert_eq!(keeps(DataType::BigInt, DataType::Float), (true, false));
        assert_eq!(keeps(DataType::Money, DataType::Int), (true, false));
        assert_eq!(keeps(DataType::Date, DataType::DateTime2(0)), (true, true));
        assert_eq!(keeps(DataType::DateTime2(7), DataType::DateTime), (true, false));
        assert_eq!(keeps(DataType::DateTime, DataType::Date), (true, false));
        // Numbers on both sides of 0 become 1.
        assert_eq!(keeps(DataType::Int, DataType::Bit), (false, false));
        // Local times are not in the order of the instants.
        assert_eq!(keeps(DataType::DateTimeOffset(7), DataType::DateTime2(7)), (false, false));
    }
}
