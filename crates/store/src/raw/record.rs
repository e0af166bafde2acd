//! Records: the values of one row ("Record Format").

use rusqlite::types::Value;

/// Reads a variable-length integer. Returns it with its length in bytes.
pub(super) fn read_varint(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(9).enumerate() {
        if index == 8 {
            return Some((((value << 8) | u64::from(*byte)).cast_signed(), 9));
        }
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value.cast_signed(), index + 1));
        }
    }
    None
}

/// Reads the values of a record; `None` if its parts contradict each other, or a text is invalid
/// UTF-8.
pub(super) fn read_values(payload: &[u8]) -> Option<Vec<Value>> {
    let (length, mut at) = read_varint(payload)?;
    let length = usize::try_from(length).ok()?;
    let header = payload.get(..length)?;
    let mut rest = payload.get(length..)?;
    let mut values = Vec::new();
    while at < length {
        let (serial_type, taken) = read_varint(header.get(at..)?)?;
        at += taken;
        let size = size_of_type(serial_type)?;
        let (bytes, after) = rest.split_at_checked(size)?;
        values.push(read_value(serial_type, bytes)?);
        rest = after;
    }
    rest.is_empty().then_some(values)
}

fn size_of_type(serial_type: i64) -> Option<usize> {
    Some(match serial_type {
        0 | 8 | 9 => 0,
        1..=4 => usize::try_from(serial_type).ok()?,
        5 => 6,
        6 | 7 => 8,
        12.. => usize::try_from((serial_type - 12) / 2).ok()?,
        _ => return None,
    })
}

fn read_value(serial_type: i64, bytes: &[u8]) -> Option<Value> {
    Some(match serial_type {
        0 => Value::Null,
        1..=6 => Value::Integer(read_integer(bytes)),
        7 => Value::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        8 => Value::Integer(0),
        9 => Value::Integer(1),
        blob if blob % 2 == 0 => Value::Blob(bytes.to_vec()),
        _ => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
    })
}

/// Reads a big-endian two's complement integer of one to eight bytes.
fn read_integer(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    bytes.iter().fold(if negative { -1 } else { 0 }, |value, byte| (value << 8) | i64::from(*byte))
}
