//! Tests of whole judgements.

mod vectors;
