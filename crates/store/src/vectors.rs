//! The vectors of memories. A search compares the signs of all of them, which are a tenth of the bytes,
//! and then the vectors with the most equal signs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use async_trait::async_trait;
use avocet_protocol::{FoundMemory, Memory, MemoryId, MemoryVector, MemoryVectors, ScopeFilter};
use rusqlite::params;

use crate::memories::{MEMORY, in_json, memory};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl MemoryVectors for SqliteStore {
    async fn without_vector(&self, model: &str, limit: u32) -> Result<Vec<Memory>> {
        let model = model.to_owned();
        self.read(move |db| {
            db.rows(
                &format!(
                    "SELECT {MEMORY} FROM memories WHERE state = 'active' AND NOT EXISTS \
                         (SELECT 1 FROM memory_vectors \
                          WHERE memory = memories.id AND model = ?1) \
                     ORDER BY id DESC LIMIT ?2"
                ),
                params![model, limit],
                memory,
            )
        })
        .await
    }

    async fn add_vectors(&self, model: &str, vectors: Vec<MemoryVector>) -> Result<()> {
        let model = model.to_owned();
        self.write("add-vectors", Durability::Process, move |tx| {
            vectors.iter().try_for_each(|vector| add(tx, &model, vector))
        })
        .await
    }

    async fn nearest(
        &self,
        scopes: &ScopeFilter,
        model: &str,
        vector: &[f32],
        limit: u32,
    ) -> Result<Vec<FoundMemory>> {
        let (scopes, model) = (in_json(scopes)?, model.to_owned());
        let Some(wanted) = QuantisedVector::of(vector) else { return Ok(Vec::new()) };
        self.read(move |db| nearest(db, scopes.as_deref(), &model, &wanted, limit)).await
    }
}

fn add(tx: &Tx<'_>, model: &str, vector: &MemoryVector) -> Result<()> {
    let MemoryVector { memory, revision, vector } = vector;
    let Some(QuantisedVector { scale, bytes, .. }) = QuantisedVector::of(vector) else {
        return Ok(());
    };
    let signs: Vec<u8> = signs(&bytes).into_iter().flat_map(u64::to_le_bytes).collect();
    let blob: Vec<u8> = bytes.into_iter().map(i8::cast_unsigned).collect();
    let added = tx.insert(
        "INSERT OR REPLACE INTO memory_vectors (memory, model, scale, vector) \
         SELECT id, ?3, ?4, ?5 FROM memories \
         WHERE id = ?1 AND revision = ?2 AND state = 'active'",
        params![memory.0, revision, model, f64::from(scale), blob],
    )?;
    if added.is_some() {
        tx.insert(
            "INSERT OR REPLACE INTO memory_signs (memory, model, signs) VALUES (?1, ?2, ?3)",
            params![memory.0, model, signs],
        )?;
    }
    Ok(())
}

/// Number of vectors that are compared exactly.
const CANDIDATES: usize = 2048;
/// The signs in scopes. CROSS JOIN keeps the order of the tables: an index has the ids of a scope, so
/// no text is read.
const SIGNS_OF_SCOPES: &str = "SELECT memory, signs FROM memories \
    CROSS JOIN memory_signs ON memory_signs.memory = memories.id \
    WHERE memories.scope IN (SELECT value FROM json_each(?1)) AND memories.state = 'active' \
        AND model = ?2";
/// All signs. Only active memories have some.
const ALL_SIGNS: &str = "SELECT memory, signs FROM memory_signs WHERE ?1 IS NULL AND model = ?2";

fn nearest(
    db: Db<'_>,
    scopes: Option<&str>,
    model: &str,
    wanted: &QuantisedVector,
    limit: u32,
) -> Result<Vec<FoundMemory>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let most = limit.max(CANDIDATES);
    let candidates = candidates(db, scopes, model, &signs(&wanted.bytes), most);
    let mut best = Vec::new();
    for id in candidates.map_err(|error| db.error(&error))? {
        let vector = "SELECT scale, vector FROM memory_vectors WHERE memory = ?1 AND model = ?2";
        let similarity = db.row(vector, params![id.0, model], |row| {
            let (scale, vector) = (row.get(0)?, row.get_ref(1)?.as_blob()?);
            Ok((vector.len() == wanted.bytes.len()).then(|| wanted.similarity(scale, vector)))
        })?;
        best.extend(similarity.flatten().map(|similarity| Similar { similarity, memory: id }));
    }
    best.sort_unstable_by(|one, other| other.cmp(one));
    best.truncate(limit);
    let sql = format!("SELECT {MEMORY} FROM memories WHERE id = ?1");
    let found = best.into_iter().map(|Similar { similarity, memory: id }| {
        let memory = db.one(&sql, [id.0], memory)?;
        Ok(FoundMemory { memory, score: 0.0, similarity: Some(similarity) })
    });
    found.collect()
}

/// Returns the memories with the most equal signs, in the order of their ids.
fn candidates(
    db: Db<'_>,
    scopes: Option<&str>,
    model: &str,
    wanted: &[u64],
    most: usize,
) -> rusqlite::Result<Vec<MemoryId>> {
    let sql = if scopes.is_some() { SIGNS_OF_SCOPES } else { ALL_SIGNS };
    let mut statement = db.connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![scopes, model])?;
    let mut nearest = BinaryHeap::with_capacity(most.min(CANDIDATES) + 1);
    while let Some(row) = rows.next()? {
        let signs = row.get_ref(1)?.as_blob()?;
        if signs.len() != size_of_val(wanted) {
            continue;
        }
        let distance = different_bits(wanted, signs);
        let is_farther = |(farthest, _): &(u32, Reverse<MemoryId>)| distance > *farthest;
        if nearest.len() == most && nearest.peek().is_some_and(is_farther) {
            continue;
        }
        nearest.push((distance, Reverse(MemoryId(row.get(0)?))));
        if nearest.len() > most {
            nearest.pop();
        }
    }
    let mut ids: Vec<MemoryId> = nearest.into_iter().map(|(_, Reverse(id))| id).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Returns one bit for each number: 1 if it is negative.
fn signs(bytes: &[i8]) -> Vec<u64> {
    let word = |chunk: &[i8]| {
        chunk.iter().rev().fold(0, |word, byte| word << 1 | u64::from(byte.is_negative()))
    };
    bytes.chunks(64).map(word).collect()
}

fn different_bits(one: &[u64], other: &[u8]) -> u32 {
    let (words, _) = other.as_chunks::<8>();
    let differ = |(one, other): (&u64, &[u8; 8])| (one ^ u64::from_le_bytes(*other)).count_ones();
    one.iter().zip(words).map(differ).sum()
}

/// A memory by its similarity; among equal ones, the newer is better.
struct Similar {
    similarity: f64,
    memory: MemoryId,
}

impl Ord for Similar {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_similarity = self.similarity.total_cmp(&other.similarity);
        by_similarity.then(self.memory.cmp(&other.memory))
    }
}

impl PartialOrd for Similar {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Similar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Similar {}

/// A vector of length 1, with one signed byte for each number: a quarter of the space, and fast to
/// compare.
#[derive(Debug, Clone, PartialEq)]
struct QuantisedVector {
    /// Factor from the bytes to the numbers.
    scale: f32,
    bytes: Vec<i8>,
    /// The bytes, for [`Self::similarity`].
    wide: Vec<i16>,
}

impl QuantisedVector {
    /// Quantises a vector. `None` if it has no direction.
    fn of(vector: &[f32]) -> Option<Self> {
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        let largest = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs())) / length;
        if !largest.is_finite() || largest == 0.0 {
            return None;
        }
        let scale = largest / 127.0;
        #[expect(clippy::cast_possible_truncation, reason = "at most 127 by the scale")]
        let bytes: Vec<i8> =
            vector.iter().map(|value| (value / length / scale).round() as i8).collect();
        let wide = bytes.iter().copied().map(i16::from).collect();
        Some(Self { scale, bytes, wide })
    }

    /// Returns the cosine of the angle to a stored vector of the same length.
    fn similarity(&self, scale: f64, vector: &[u8]) -> f64 {
        // Products of 16-bit numbers, because every x86-64 and ARM64 processor adds them in pairs. At
        // most 8,192 numbers of 14 bits: the sum fits.
        let product =
            |(one, other): (&i16, &u8)| i32::from(*one) * i32::from(i16::from(other.cast_signed()));
        let sum: i32 = self.wide.iter().zip(vector).map(product).sum();
        f64::from(sum) * f64::from(self.scale) * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantised_similarity_is_near_the_cosine() {
        let number =
            |seed: u32| f32::from(u16::try_from(seed * 7919 % 2003).unwrap()) / 1000.0 - 1.0;
        let vector = |first: u32| (first..first + 768).map(number).collect::<Vec<_>>();
        for (one, other) in [(0, 0), (0, 5), (3, 1000), (17, 333)] {
            let (one, other) = (vector(one), vector(other));
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let cosine = dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt();
            let (one, other) =
                (QuantisedVector::of(&one).unwrap(), QuantisedVector::of(&other).unwrap());
            let bytes: Vec<u8> = other.bytes.iter().map(|byte| byte.cast_unsigned()).collect();
            let found = one.similarity(f64::from(other.scale), &bytes);
            assert!((found - f64::from(cosine)).abs() < 0.01, "{found} {cosine}");
        }
    }

    #[test]
    fn different_bits_counts_numbers_with_different_signs() {
        let one: Vec<i8> = (0..130).map(|number| if number % 3 == 0 { -1 } else { 1 }).collect();
        let other: Vec<i8> = (0..130).map(|number| if number % 2 == 0 { -1 } else { 0 }).collect();
        let expected = one.iter().zip(&other).filter(|(a, b)| (**a < 0) != (**b < 0)).count();
        let bytes: Vec<u8> = signs(&other).into_iter().flat_map(u64::to_le_bytes).collect();
        assert_eq!(different_bits(&signs(&one), &bytes) as usize, expected);
        assert_eq!(different_bits(&signs(&other), &bytes), 0);
    }

    #[test]
    fn quantised_vector_without_direction_is_none() {
        for vector in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
            assert_eq!(QuantisedVector::of(vector), None, "{vector:?}");
        }
        let bytes = |vector: &[f32]| QuantisedVector::of(vector).unwrap().bytes;
        assert_eq!(bytes(&[3.0, -4.0]), [95, -127]);
        assert_eq!(bytes(&[1e-20, 0.0]), [127, 0]);
    }
}
