//! Reports of constructed results, as people see them.

mod ab;
mod calibration;
mod capacity;
mod overload;
mod compare;
mod exec;
mod exports;
mod fixtures;
mod fleet;
mod hostile;
mod html;
mod html_hostile;
mod html_page;
mod invariants;
mod json_places;
mod junit;
mod live;
mod markdown;
mod probe;
mod scripts;
mod study;
mod study_fixture;
mod study_html;
mod text;
mod truth;
mod wrk;
