//! The vectors of memories. A search compares all of them, without an index.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use async_trait::async_trait;
use avocet_protocol::ids::MemoryId;
use avocet_protocol::store::{FoundMemory, Memory, MemoryVector, MemoryVectors, ScopeFilter};
use rusqlite::params;

use crate::memories::{MEMORY, in_json, memory_from_row};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl MemoryVectors for SqliteStore {
    async fn without_vector(&self, model: &str, limit: u32) -> Result<Vec<Memory>> {
        let model = model.to_owned();
        self.read(move |db| {
            db.query_rows(
                &format!(
                    "SELECT {MEMORY} FROM memories WHERE state = 'active' AND NOT EXISTS \
                         (SELECT 1 FROM memory_vectors \
                          WHERE memory = memories.id AND model = ?1) \
                     ORDER BY id DESC LIMIT ?2"
                ),
                params![model, limit],
                memory_from_row,
            )
        })
        .await
    }

    async fn add_vectors(&self, model: &str, vectors: Vec<MemoryVector>) -> Result<()> {
        let model = model.to_owned();
        self.write("add-vectors", Durability::Process, move |tx| {
            vectors.iter().try_for_each(|vector| add_vector(tx, &model, vector))
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
        let Some(wanted) = QuantisedVector::from_floats(vector) else { return Ok(Vec::new()) };
        self.read(move |db| nearest_memories(db, scopes.as_deref(), &model, &wanted, limit)).await
    }
}

fn add_vector(tx: &Tx<'_>, model: &str, vector: &MemoryVector) -> Result<()> {
    let MemoryVector { memory, revision, vector } = vector;
    let Some(QuantisedVector { scale, bytes, .. }) = QuantisedVector::from_floats(vector) else {
        return Ok(());
    };
    let blob: Vec<u8> = bytes.into_iter().map(i8::cast_unsigned).collect();
    tx.insert(
        "INSERT OR REPLACE INTO memory_vectors (memory, model, scale, vector) \
         SELECT id, ?3, ?4, ?5 FROM memories \
         WHERE id = ?1 AND revision = ?2 AND state = 'active'",
        params![memory.0, revision, model, f64::from(scale), blob],
    )?;
    Ok(())
}

/// The vectors of scopes, in the order of the file. The index has the ids of a scope, so no text is
/// read.
const OF_SCOPES: &str = "SELECT memory, scale, vector FROM memories INDEXED BY memories_scope \
    CROSS JOIN memory_vectors ON memory_vectors.memory = memories.id \
    WHERE memories.scope IN (SELECT value FROM json_each(?1)) AND memories.state = 'active' \
        AND model = ?2";
/// All vectors. Only active memories have one.
const OF_ALL: &str =
    "SELECT memory, scale, vector FROM memory_vectors WHERE ?1 IS NULL AND model = ?2";

fn nearest_memories(
    db: Db<'_>,
    scopes: Option<&str>,
    model: &str,
    wanted: &QuantisedVector,
    limit: u32,
) -> Result<Vec<FoundMemory>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let best = || -> rusqlite::Result<Vec<SimilarMemory>> {
        let sql = if scopes.is_some() { OF_SCOPES } else { OF_ALL };
        let mut statement = db.prepare_cached(sql)?;
        let mut rows = statement.query(params![scopes, model])?;
        let mut best = BinaryHeap::with_capacity(limit.min(1024) + 1);
        while let Some(row) = rows.next()? {
            let (scale, vector): (f64, _) = (row.get(1)?, row.get_ref(2)?);
            let vector = vector.as_blob()?;
            if vector.len() != wanted.bytes.len() {
                continue;
            }
            let similarity = wanted.similarity_to(scale, vector);
            let is_worse = |Reverse(worst): &Reverse<SimilarMemory>| similarity < worst.similarity;
            if best.len() == limit && best.peek().is_some_and(is_worse) {
                continue;
            }
            best.push(Reverse(SimilarMemory { similarity, memory: MemoryId(row.get(0)?) }));
            if best.len() > limit {
                best.pop();
            }
        }
        Ok(best.into_sorted_vec().into_iter().map(|Reverse(similar)| similar).collect())
    };
    let best = best().map_err(|error| db.store_error(&error))?;
    let sql = format!("SELECT {MEMORY} FROM memories WHERE id = ?1");
    let found = best.into_iter().map(|SimilarMemory { similarity, memory: id }| {
        let memory = db.query_one(&sql, [id.0], memory_from_row)?;
        Ok(FoundMemory { memory, score: 0.0, similarity: Some(similarity) })
    });
    found.collect()
}

/// A memory, ordered by its similarity. Among equal ones, the newer is greater.
struct SimilarMemory {
    similarity: f64,
    memory: MemoryId,
}

impl Ord for SimilarMemory {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_similarity = self.similarity.total_cmp(&other.similarity);
        by_similarity.then(self.memory.cmp(&other.memory))
    }
}

impl PartialOrd for SimilarMemory {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SimilarMemory {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SimilarMemory {}

/// A vector of length 1, with one signed byte for each number: a quarter of the space, and fast to
/// compare.
#[derive(Debug, Clone, PartialEq)]
struct QuantisedVector {
    /// Factor from the bytes to the numbers.
    scale: f32,
    bytes: Vec<i8>,
    /// The bytes, for [`Self::similarity_to`].
    wide: Vec<i16>,
}

impl QuantisedVector {
    /// Quantises a vector; `None` if its length is zero or not finite.
    fn from_floats(vector: &[f32]) -> Option<Self> {
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
    fn similarity_to(&self, scale: f64, vector: &[u8]) -> f64 {
        // Processors add products of 16-bit numbers in pairs. The sum of at most 8,192 products of
        // 14 bits fits.
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
            let (one, other) = (
                QuantisedVector::from_floats(&one).unwrap(),
                QuantisedVector::from_floats(&other).unwrap(),
            );
            let bytes: Vec<u8> = other.bytes.iter().map(|byte| byte.cast_unsigned()).collect();
            let found = one.similarity_to(f64::from(other.scale), &bytes);
            assert!((found - f64::from(cosine)).abs() < 0.01, "{found} {cosine}");
        }
    }

    #[test]
    fn quantised_vector_without_direction_is_none() {
        for vector in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
            assert_eq!(QuantisedVector::from_floats(vector), None, "{vector:?}");
        }
        let bytes = |vector: &[f32]| QuantisedVector::from_floats(vector).unwrap().bytes;
        assert_eq!(bytes(&[3.0, -4.0]), [95, -127]);
        assert_eq!(bytes(&[1e-20, 0.0]), [127, 0]);
    }
}
