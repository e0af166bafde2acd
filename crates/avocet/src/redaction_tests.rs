use parking_lot::Mutex;
use proptest::prelude::*;
use tracing_subscriber::fmt::format::FmtSpan;

use super::*;

/// Collects the log of a test.
#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the log output of `log` as text, in colours, and as JSON.
fn logged(secret: &str, log: impl Fn()) -> String {
    let kept = LogBuffer::default();
    let redactor = Arc::new(Redactor::new([Secret::new(secret.to_owned())]));
    for format in 0..3 {
        let to = kept.clone();
        let form = [Form::Plain, Form::Coloured, Form::Json][format];
        let redacting =
            Redacting { to: move || to.clone(), redactor: Some(redactor.clone()), form };
        let builder = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
            .with_ansi(format == 1)
            .with_writer(redacting);
        let run = || log();
        match format {
            2 => {
                tracing::subscriber::with_default(builder.json().flatten_event(true).finish(), run);
            }
            _ => tracing::subscriber::with_default(builder.finish(), run),
        }
    }
    let bytes = kept.0.lock().clone();
    String::from_utf8(bytes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn redaction_removes_a_secret_from_every_field(
        secret in "[!-Z^-~\\\\][ -~é]{6,30}[!-Z^-~\\\\]",
        (before, behind) in ("[ -~\\n]{0,10}", "[ -~\\n]{0,10}"),
    ) {
        let text = format!("{before}{secret}{behind}");
        let error = io::Error::other(text.clone());
        let nested = vec![Some(text.clone())];
        let output = logged(&secret, || {
            let span = tracing::info_span!("span", field = text, shown = ?nested);
            let _inside = span.enter();
            tracing::info!("{text}");
            tracing::warn!(text, ?nested, %error, "it failed: {error}");
            tracing::error!(error = &error as &dyn std::error::Error, debug = ?error);
        });
        prop_assert!(output.contains("[secret]"));
        prop_assert!(!output.contains(&secret), "{secret:?}: {output}");
        let escaped = serde_json::to_string(&secret).unwrap();
        prop_assert!(!output.contains(escaped.trim_matches('"')), "{secret:?}: {output}");
    }
}

#[test]
fn redaction_joins_the_writes_of_one_event() {
    let kept = LogBuffer::default();
    let redactor = Arc::new(Redactor::new([Secret::new("correct horse".to_owned())]));
    let form = Form::Plain;
    let mut event = EventWriter { to: kept.clone(), text: Vec::new(), redactor, form };
    for byte in "é correct horse é".bytes() {
        event.write_all(&[byte]).unwrap();
    }
    event.flush().unwrap();
    drop(event);
    assert_eq!(String::from_utf8(kept.0.lock().clone()).unwrap(), "é [secret] é");
}

#[test]
fn printable_removes_terminal_controls_and_keeps_the_colours_of_the_log() {
    let text = "\u{1b}[2m12:00\u{1b}[0m x\u{1b}[2Jy\u{1b}]0;z\u{7} \u{9b}\u{202e}\r end\n";
    let table = [
        (Form::Plain, "[2m12:00[0m x[2Jy]0;z  end\n"),
        (Form::Coloured, "\u{1b}[2m12:00\u{1b}[0m x2Jy]0;z  end\n"),
    ];
    for (form, expected) in table {
        assert_eq!(form.printable(text), expected, "{form:?}");
    }
    let json = "{\"message\":\"\u{9b}2J\u{202e}\"}\n";
    assert_eq!(Form::Json.printable(json), "{\"message\":\"\\u009b2J\\u202e\"}\n");
}
