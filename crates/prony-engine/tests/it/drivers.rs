//! Each test twice: once with epoll, once with io_uring.

use prony_engine::{Control, RunError, run};
use prony_model::DriverChoice;

use crate::plans::plan;

/// Makes of each function that takes a driver two tests: `name::epoll` and `name::io_uring`.
macro_rules! on_both_drivers {
    ($(fn $name:ident($driver:ident) $body:block)*) => {
        $(mod $name {
            #[allow(unused_imports, reason = "what the body needs, differs")]
            use super::*;

            fn body($driver: prony_model::DriverChoice) $body

            #[test]
            fn epoll() {
                body(prony_model::DriverChoice::Epoll);
            }

            #[test]
            fn io_uring() {
                if $crate::drivers::has_io_uring() {
                    body(prony_model::DriverChoice::IoUring);
                } else {
                    let name = concat!(module_path!(), "::io_uring");
                    prony_testing::skip(name, "the kernel has no io_uring, or doesn't let us use it");
                }
            }
        })*
    };
}

/// Whether io_uring can be used here: a run that asks for it and can't have it ends before it looks for its
/// target, which here is not there.
pub(crate) fn has_io_uring() -> bool {
    let mut plan = plan("http://localhost/");
    plan.target.unix = Some("/nobody/listens/here".into());
    plan.driver = DriverChoice::IoUring;
    let error = run(&plan, &Control::default(), &mut |_| {}).expect_err("nobody listens there");
    !matches!(error, RunError::NoUring(_))
}

/// The tests with io_uring must not pass by doing nothing where it ought to be there.
#[test]
fn io_uring_is_there_from_linux_6_1_on() {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split('.').map(|part| part.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let switched_off =
        std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").is_ok_and(|value| value.trim() != "0");
    assert_eq!(has_io_uring(), version >= (6, 1) && !switched_off, "Linux {release}");
}
