//! Contract 000, on scratch homes and roots: the defects of its original by their numbers, its tools, its tokens.

mod answers;
mod conformance;
mod contract_000;
mod evolving;
mod gates;
mod golden;
mod goldens;
mod goldens_repo;
mod guardrails;
mod place;
mod places;
mod safety;
mod taken_over;
mod telling;
mod work;
