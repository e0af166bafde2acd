//! Runs `avocet_llm::fuzzing::openai_chat` on the inputs of the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_llm::fuzzing::fuzz_openai_chat(data));
