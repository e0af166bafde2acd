//! Recordings that Discord shows as voice messages (Discord API, "Voice Messages"). Such a message
//! carries its recording only: no text, no buttons.

use avocet_protocol::chat::{AttachmentKind, Delivery};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use serenity::builder::CreateMessage;

/// The flag `IS_VOICE_MESSAGE` (Discord API, "Message Flags").
const IS_VOICE_MESSAGE: u64 = 1 << 13;
/// Samples per second by which Opus counts, whatever its input (RFC 7845, section 4).
const SAMPLES_PER_SECOND: f64 = 48_000.0;
/// Length of a page's header without its segment table (RFC 3533, section 6).
const PAGE_HEADER: usize = 27;
/// Length of a segment that the next one continues.
const FULL_SEGMENT: u8 = 255;
/// Packets before the sound: the identification and the comments (RFC 7845, section 3).
const HEADER_PACKETS: usize = 2;
/// Most points of a waveform, and their number per second.
const MAX_POINTS: usize = 256;
const POINTS_PER_SECOND: f64 = 10.0;

/// A recording in Ogg with Opus.
#[derive(Debug, PartialEq)]
pub(crate) struct OpusRecording {
    seconds: f64,
    /// One byte for the loudness of each moment.
    waveform: Vec<u8>,
}

impl OpusRecording {
    /// Returns the recording if it is all that a delivery has.
    pub(crate) fn from_delivery(delivery: &Delivery, text: &str) -> Option<Self> {
        let ([attachment], [file]) = (&delivery.content.attachments[..], &delivery.files[..])
        else {
            return None;
        };
        let is_alone = text.trim().is_empty() && delivery.content.choices.is_empty();
        let is_voice = is_alone && attachment.kind == AttachmentKind::Voice;
        is_voice.then(|| Self::read(&file.bytes)).flatten()
    }

    /// Reads the length and the waveform; `None` for another or a damaged format. A packet of a
    /// loud moment is larger, so the sizes of packets show the loudness.
    fn read(bytes: &[u8]) -> Option<Self> {
        let head = bytes.get(28..).filter(|head| head.starts_with(b"OpusHead"))?;
        let skipped = u16::from_le_bytes(head.get(10..12)?.try_into().ok()?);
        let (mut rest, mut samples) = (bytes, 0);
        let (mut packets, mut packet) = (Vec::new(), 0_usize);
        while !rest.is_empty() {
            let header = rest.get(..PAGE_HEADER).filter(|page| page.starts_with(b"OggS"))?;
            // A page on which no packet ends has -1.
            samples = samples.max(i64::from_le_bytes(header.get(6..14)?.try_into().ok()?));
            let segments = rest.get(PAGE_HEADER..PAGE_HEADER + usize::from(header[26]))?;
            for segment in segments {
                packet += usize::from(*segment);
                if *segment < FULL_SEGMENT {
                    packets.push(std::mem::take(&mut packet));
                }
            }
            let length: usize = segments.iter().map(|segment| usize::from(*segment)).sum();
            rest = rest.get(PAGE_HEADER + segments.len() + length..)?;
        }
        let heard = u32::try_from(samples.saturating_sub(skipped.into())).ok()?;
        let seconds = f64::from(heard) / SAMPLES_PER_SECOND;
        let waveform = waveform(packets.get(HEADER_PACKETS..)?, seconds);
        (heard > 0 && !waveform.is_empty()).then_some(Self { seconds, waveform })
    }

    /// Returns a message with its recording as a voice message.
    pub(crate) fn body(&self, message: &CreateMessage, name: &str) -> Value {
        let mut body = json!(message);
        if let Some(fields) = body.as_object_mut() {
            fields
                .retain(|field, _| !["content", "components", "embeds"].contains(&field.as_str()));
        }
        body["flags"] = json!(IS_VOICE_MESSAGE);
        body["attachments"] = json!([{ "id": "0", "filename": name, "duration_secs": self.seconds,
            "waveform": STANDARD.encode(&self.waveform) }]);
        body
    }
}

/// Returns the largest packet of each moment, in relation to the largest one of all.
fn waveform(packets: &[usize], seconds: f64) -> Vec<u8> {
    let wanted = (seconds * POINTS_PER_SECOND).clamp(1.0, MAX_POINTS as f64) as usize;
    let largest = packets.iter().copied().max().unwrap_or_default().max(1);
    let moment = packets.len().div_ceil(wanted).max(1);
    let loudness = |packets: &[usize]| {
        let size = packets.iter().copied().max().unwrap_or_default();
        u8::try_from(size * usize::from(u8::MAX) / largest).unwrap_or(u8::MAX)
    };
    packets.chunks(moment).map(loudness).collect()
}

#[cfg(test)]
#[path = "voice_message_tests.rs"]
mod tests;
