//! Contract 000, on scratch homes and roots: the defects of its original by their numbers, its tools, its tokens.

mod answers;
mod attributes;
mod blocks;
mod conformance;
mod conformance_places;
mod consent;
mod contract_000;
mod evolving;
mod forms;
mod gates;
mod golden;
mod goldens;
mod goldens_repo;
mod guardrails;
mod keeping;
mod odd_texts;
mod outside;
mod place;
mod places;
mod remotes;
mod safety;
mod sources;
mod taken_over;
mod tasks;
mod telling;
mod work;
