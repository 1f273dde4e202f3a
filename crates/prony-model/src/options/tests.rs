use super::*;

#[test]
fn each_edge_spells_settings_its_way() {
    let options = RunOptions {
        pipeline: Some(2),
        request: RequestOptions { no_keepalive: true, ..RequestOptions::default() },
        ..RunOptions::default()
    };
    let target = Target::parse("http://127.0.0.1/").expect("a URL");
    let error = options.plan(target, 1).expect_err("a contradiction");
    let problem = error.problem(|name| format!("--{name}"));
    assert_eq!(problem.what, "--pipeline needs connections that stay open");
    assert_eq!(problem.advice.as_deref(), Some("leave out --no-keepalive (and --http1.0)"));
    assert_eq!(problem.field.as_deref(), Some("pipeline"));
    assert_eq!(
        error.to_string(),
        "`pipeline` needs connections that stay open: leave out `no-keepalive` (and `http1.0`)"
    );
    let typed = OptionsError::Header("--header: x".to_owned()).problem(|name| format!("`{name}`"));
    assert_eq!(typed.what, "`--header: x` is not a header", "what was typed stays as it is");
}
