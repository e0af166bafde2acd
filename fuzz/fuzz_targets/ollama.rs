//! Runs `avocet_llm::fuzzing::ollama` on whatever the fuzzer finds.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_llm::fuzzing::ollama(data));
