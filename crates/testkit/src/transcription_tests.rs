use super::*;

/// The `Content-Disposition` of a part of a form, and its content.
type FormPart<'p> = (&'p str, &'p [u8]);

fn request(parts: &[FormPart<'_>]) -> HttpRequest {
    let mut body = Vec::new();
    for (disposition, bytes) in parts {
        let head = format!("--XX\r\nContent-Disposition: form-data; {disposition}\r\n\r\n");
        body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
    }
    body.extend(b"--XX--\r\n");
    let media_type = "multipart/form-data; boundary=XX".to_owned();
    HttpRequest {
        method: "POST".to_owned(),
        path: "/v1/audio/transcriptions".to_owned(),
        headers: vec![("content-type".to_owned(), media_type)],
        body,
    }
}

const FILE: FormPart<'_> = ("name=\"file\"; filename=\"a.ogg\"", b"OggS");
const MODEL: FormPart<'_> = ("name=\"model\"", b"whisper-1");

#[test]
fn transcription_accepts_a_valid_request() {
    let language: FormPart<'_> = ("name=\"language\"", b"de");
    let call = check(&request(&[FILE, MODEL, language])).unwrap();
    assert_eq!((call.name.as_str(), call.language.as_deref()), ("a.ogg", Some("de")));
}

#[test]
fn transcription_refuses_the_requests_that_the_real_api_refuses() {
    let large = vec![0; AUDIO_LIMIT + 1];
    let (name, empty) = (FILE.0, &b""[..]);
    let cases: [(&[FormPart<'_>], u16, &str); 6] = [
        (&[MODEL], 400, "body -> file\n  field required"),
        (&[FILE], 400, "you must provide a model parameter"),
        (&[FILE, ("name=\"model\"", b"")], 400, "you must provide a model parameter"),
        (&[(name, &large), MODEL], 413, "Maximum content size limit (26214400) exceeded"),
        (
            &[("name=\"file\"; filename=\"a.exe\"", b"MZ"), MODEL],
            400,
            "Invalid file format. Supported formats: ['flac', 'm4a',",
        ),
        (&[(name, empty), MODEL], 400, "Audio file might be corrupted or unsupported"),
    ];
    for (parts, status, message) in cases {
        let refusal = check(&request(parts)).unwrap_err();
        assert!(refusal.status == status && refusal.message.contains(message), "{refusal:?}");
    }
    let mut wrong_key = request(&[FILE, MODEL]);
    wrong_key.headers.push(("authorization".to_owned(), "Bearer sk-no".to_owned()));
    let refusal = check(&wrong_key).unwrap_err();
    assert_eq!((refusal.status, &*refusal.message), (401, "Incorrect API key provided: sk-no."));
    let mut elsewhere = request(&[FILE, MODEL]);
    elsewhere.path = "/v1/audio/speech".to_owned();
    assert_eq!(check(&elsewhere).unwrap_err().status, 404);
    let mut no_form = request(&[FILE, MODEL]);
    no_form.headers.clear();
    assert_eq!(check(&no_form).unwrap_err().message, "Could not parse multipart form");
}
