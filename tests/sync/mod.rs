//! What stands here and what stands elsewhere: merged, or proposed to a person.

mod proposals;
