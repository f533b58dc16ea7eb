//! A clip's motion against independent truth: differences of composed world positions, direct convolution and
//! integration, the same motion described in another way.
mod scene;

mod edges;
mod filters;
mod flesh_load;
mod loops;
mod rates;
mod relative;
mod wobble;
