//! Contract 000, on scratch homes and roots: the defects of its original by their numbers, its tools, its tokens.

mod contract_000;
mod evolving;
mod gates;
mod guardrails;
mod place;
mod places;
mod safety;
mod telling;
mod work;
