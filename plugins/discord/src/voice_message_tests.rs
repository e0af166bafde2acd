use super::*;

/// Returns a page of Ogg with these packets, each shorter than 255 bytes.
fn page(samples: i64, packets: &[&[u8]]) -> Vec<u8> {
    let mut page = b"OggS\0\0".to_vec();
    page.extend(samples.to_le_bytes());
    page.extend([0; 12]);
    page.push(packets.len() as u8);
    page.extend(packets.iter().map(|packet| packet.len() as u8));
    page.extend(packets.concat());
    page
}

fn recording(samples: i64, packets: &[&[u8]]) -> Vec<u8> {
    let head = b"OpusHead\x01\x01\x38\x01\x80\xbb\0\0\0\0\0";
    let mut bytes = page(0, &[head]);
    bytes.extend(page(0, &[b"OpusTags\0\0\0\0\0\0\0\0"]));
    bytes.extend(page(samples, packets));
    bytes
}

#[test]
fn read_returns_the_length_without_the_skipped_samples_and_the_relative_sizes() {
    // 312 samples are skipped.
    let quiet_and_loud = recording(14_712, &[&[0; 10], &[0; 100], &[0; 50]]);
    let expected = OpusRecording { seconds: 0.3, waveform: vec![25, 255, 127] };
    assert_eq!(OpusRecording::read(&quiet_and_loud), Some(expected));
}

#[test]
fn read_keeps_a_long_waveform_below_its_limit() {
    let packet: &[u8] = &[0; 20];
    let bytes = recording(48_000 * 3_600, &[packet; 250]);
    let long: Vec<u8> = bytes.iter().copied().chain(page(48_000 * 7_200, &[packet; 250])).collect();
    for bytes in [bytes, long] {
        let points = OpusRecording::read(&bytes).unwrap().waveform.len();
        assert!((1..=MAX_POINTS).contains(&points), "{points}");
    }
}

#[test]
fn read_refuses_other_and_damaged_files_without_panic() {
    let whole = recording(14_712, &[&[1; 10]]);
    for end in 0..whole.len() {
        let cut = OpusRecording::read(&whole[..end]);
        assert!(cut.is_none(), "{end} of {}: {cut:?}", whole.len());
    }
    for bytes in [b"ID3".to_vec(), recording(0, &[&[1]]), recording(-1, &[&[1]]), recording(9, &[])]
    {
        assert_eq!(OpusRecording::read(&bytes), None);
    }
}
