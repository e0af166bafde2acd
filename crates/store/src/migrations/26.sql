-- From version 25 to 26: the texts of an audit row can be erased, and the chain stays valid. Rows from before keep
-- their hash, which covers the texts themselves. Arguments with secrets are kept until the call has a result.

ALTER TABLE calls ADD COLUMN exact TEXT; -- JSON: the arguments with their secrets, until the call has a result; NULL: no secrets
ALTER TABLE audit ADD COLUMN version INTEGER NOT NULL DEFAULT 1; -- 1: hash of the texts; 2: hash of their digests
ALTER TABLE audit ADD COLUMN salt TEXT; -- random; part of the digests; NULL: version 1, or texts were erased
ALTER TABLE audit ADD COLUMN seals TEXT; -- JSON: the digest of each erased text and the salts of the others
