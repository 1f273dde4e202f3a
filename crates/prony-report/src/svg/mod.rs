//! Charts as SVG, made for pages whose style sheet knows the classes: no colour and no font stands in a drawing, so
//! that it follows the reader's light or dark. In reading order: [`Scale`] (values to places), [`Plot`] (axes and
//! what stands between them), [`Drawing`] (elements), [`apart`] (labels that don't overlap), [`decimated`] (fewer points that look the same).

mod decimate;
mod drawing;
mod label;
mod plot;
mod scale;

pub(crate) use decimate::decimated;
pub(crate) use drawing::{Anchor, Drawing, Shape, escaped, text_width};
pub(crate) use label::apart;
pub(crate) use plot::{Area, Axis, Plot};
pub(crate) use scale::Scale;
