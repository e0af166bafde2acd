//! Runs `avocet_net::fuzzing::fuzz_url` on the inputs of the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_net::fuzzing::fuzz_url(data));
