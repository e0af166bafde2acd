use super::*;

#[test]
fn pairing_code_parses_in_any_case_and_with_any_separator() {
    let code = PairingCode::from_bits(0x12_3456_789A);
    assert_eq!(code.to_string().len(), 9);
    let shown = code.to_string();
    for written in
        [&shown, &shown.to_lowercase(), &shown.replace('-', ""), &shown.replace('-', " ")]
    {
        assert_eq!(written.parse::<PairingCode>().as_ref(), Ok(&code), "{written}");
    }
    assert_eq!(PairingCode::from_bits(0).to_string(), "2222-2222");
    assert_eq!(PairingCode::from_bits(u128::MAX).to_string(), "ZZZZ-ZZZZ");
}

#[test]
fn pairing_code_parse_error_shows_the_expected_form() {
    for text in ["", "K7QX", "K7QX-M2PA-2", "K7QX-M2P0", "K7QX-M2PI", "Ä7QX-M2P", "K7QX_M2PA"] {
        let error = text.parse::<PairingCode>().unwrap_err().to_string();
        let expected = format!("code {text:?} is not of the form K7QX-M2PA");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn person_id_is_channel_account_and_sender() {
    let person: PersonId = "terminal:local:uid:1000".parse().unwrap();
    assert_eq!(person.sender.as_str(), "uid:1000");
    assert_eq!(person.to_string(), "terminal:local:uid:1000");
    for text in ["", "telegram", "telegram:main", "telegram:main:", "telegram::7"] {
        assert!(text.parse::<PersonId>().is_err(), "{text}");
    }
}

#[test]
fn role_owner_is_above_user() {
    assert!(Role::User < Role::Owner);
}
