//! Runs `avocet_llm::fuzzing::anthropic` on the inputs of the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_llm::fuzzing::anthropic(data));
