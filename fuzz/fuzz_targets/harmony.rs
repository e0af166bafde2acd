//! Runs `avocet_llm::fuzzing::harmony` on whatever the fuzzer finds.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_llm::fuzzing::harmony(data));
