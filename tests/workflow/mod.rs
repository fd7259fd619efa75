//! Contract 004.

mod catalogs;
