//! Bytes as hexadecimal digits.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Returns bytes as hexadecimal digits in lower case, two for each byte.
#[must_use]
pub fn in_hexadecimal(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_hexadecimal_gives_two_digits_for_each_byte() {
        assert_eq!(in_hexadecimal(&[0, 9, 10, 0x7f, 0xe3, 255]), "00090a7fe3ff");
        assert_eq!(in_hexadecimal(&[]), "");
    }
}
