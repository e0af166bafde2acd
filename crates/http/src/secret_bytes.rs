//! Bytes of secrets: a comparison that reveals nothing by its time, and the reading of hexadecimal digits.

/// Compares all bytes, independent of the first difference.
pub(crate) fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |found, (one, other)| found | (one ^ other));
    one.len() == other.len() && differences == 0
}

/// Reads hexadecimal digits; `None` if the text has others.
pub(crate) fn decode_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let pair = |pair: &[u8]| {
        let [high, low] = pair else { return None };
        let digit =
            |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        Some(digit(high)? * 16 + digit(low)?)
    };
    pairs.map(pair).collect()
}
