//! What a server used, with everything in it that there can be.

use prony_model::{
    CgroupUse, CounterUse, Dependant, Interval, ListenerUse, MemoryGrowth, ProcessesUse, ServerFigure,
    ServerFoundBy, ServerProcess, ServerSampling, ServerSection, ServerThread, ServerUse,
};

pub(crate) fn server() -> ServerUse {
    let interval = Some(Interval { low: 70.0, high: 72.0, indicative: false });
    let figure = Some(ServerFigure { value: 71.3, interval, requests: 70 });
    ServerUse {
        agent: None,
        found_by: ServerFoundBy::ListeningSocket,
        cpus: 2,
        wall_s: 10.0,
        requests: 70,
        own: processes("rudy"),
        dependants: vec![Dependant {
            address: "127.0.0.1:5432".to_owned(),
            is_backend: false,
            processes: processes("postgres"),
        }],
        cpu_per_request_us: figure,
        requests_per_cpu_s: figure,
        cpu_with_dependants_per_request_us: figure,
        instructions_per_request: figure,
        memory_growth_bytes_per_h: Some(MemoryGrowth {
            value: 1e6,
            interval,
            samples: 50,
            bytes_per_request: 12.0,
            is_leak: true,
        }),
        listener: Some(ListenerUse { waiting_max: 3, backlog: 128, samples: 50 }),
        cgroup: Some(CgroupUse {
            path: "/system.slice/rudy.service".to_owned(),
            cpu_s: Some(1.5),
            memory_peak_bytes: Some(1 << 24),
            ..CgroupUse::default()
        }),
        counters: CounterUse { instructions: Some(1_000_000), cycles: Some(2_000_000), absent_because: None },
        sections: vec![ServerSection {
            wall_s: 1.0,
            requests: 7.0,
            cpu_s: 0.15,
            busiest_thread_share: Some(0.1),
            ..ServerSection::default()
        }],
        sampling: ServerSampling { samples: 50, interval_ms: 200.0, cpu_s: 0.004, cpu_share: 0.0004 },
        notes: vec!["its descriptors can't be counted: they belong to another user".to_owned()],
    }
}

fn processes(name: &str) -> ProcessesUse {
    ProcessesUse {
        name: name.to_owned(),
        processes: 1,
        cpu_s: 1.5,
        user_s: Some(1.0),
        system_s: Some(0.5),
        run_queue_wait_s: Some(0.25),
        voluntary_switches: Some(100),
        memory_peak_bytes: Some(18 << 20),
        threads: 2,
        descriptors: Some(60),
        busiest_thread_share: Some(0.1),
        each: vec![ServerProcess {
            pid: 4711,
            name: name.to_owned(),
            cpu_s: 1.5,
            ..ServerProcess::default()
        }],
        busiest_threads: vec![ServerThread { pid: 4711, tid: 4712, cpu_s: 1.0, ..ServerThread::default() }],
        ..ProcessesUse::default()
    }
}
