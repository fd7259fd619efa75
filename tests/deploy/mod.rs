//! Contract 000, on scratch homes and roots: the defects of its original by their numbers, its tools, its tokens.

mod evolving;
mod place;
mod places;
mod safety;
mod telling;
mod work;
