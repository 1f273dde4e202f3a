// node visit.js BASE LINK DEFINITION DEAD_URL FOLDER: somebody comes to a new lab by its first link, registers a project, has it
// built twice, watches, compares, is alerted, and leaves. DEFINITION is a file, DEAD_URL an address where nothing answers. Pages
// that only who has logged in may see are kept in FOLDER, for the validator.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { Faults, browse, expect, PATIENCE_MS } = require('./rig.js');

const [, , base, link, definition, dead, folder] = process.argv;
const faults = new Faults();
const PASSWORD = 'correct horse battery staple';

browse(base, faults, async (open) => {
  const context = await open();
  const page = await context.newPage();
  await enter(page);
  await register(page);
  const first = await build(page, true);
  const second = await build(page, false);
  await failing(page);
  await compare(page, first, second);
  await withoutScripts(open, context, second);
  await alert(page);
  await administer(page);
  await account(page);
  await keep(page, first);
  await refusals(page);
  await leave(page);
});

async function enter(page) {
  // Who comes without having logged in is asked to, and then gets where they wanted to.
  await page.goto(base + '/projects');
  expect(faults, new URL(page.url()).pathname === '/login', `${page.url()} is not the way in`);
  await page.goto(link);
  await page.fill('#password', PASSWORD);
  await page.fill('#again', PASSWORD);
  await page.click('main button');
  await page.waitForURL((url) => url.pathname === '/');
  await page.click('.who button');
  await page.goto(base + '/projects');
  await page.fill('#name', 'admin');
  await page.fill('#password', 'wrong, wrong, wrong');
  await page.click('main button');
  await page.waitForSelector('#mistake');
  await page.fill('#name', 'admin');
  await page.fill('#password', PASSWORD);
  await page.click('main button');
  await page.waitForURL((url) => url.pathname === '/projects');
}

async function register(page) {
  await page.fill('#name', 'tiny');
  await page.fill('#definition', 'folder = "elsewhere"');
  await page.click('form[action="/projects"] button');
  const mistake = await page.textContent('#definition-mistake');
  expect(faults, mistake.includes('folder'), `the mistake is not named: ${mistake}`);
  expect(faults, (await page.inputValue('#name')) === 'tiny', 'what was typed is gone');
  // The lab looks into the repository, and proposes what is then registered.
  await page.fill('#address', '/nonexistent/repository.git');
  await page.click('form[action^="/projects/inspect"] button');
  await page.waitForSelector('#address-mistake');
  const text = fs.readFileSync(definition, 'utf8');
  const repository = text.match(/^repository = "(.*)"$/m)[1];
  await page.fill('#address', repository);
  await page.click('form[action^="/projects/inspect"] button');
  const found = await page.textContent('#found');
  expect(faults, found.includes('a study (prony.toml)'), `the lab found: ${found}`);
  const proposed = await page.inputValue('#definition');
  expect(faults, proposed.includes(`repository = "${repository}"`) && proposed.includes('study = "prony.toml"'), `proposed is ${proposed}`);
  await page.fill('#name', 'tiny');
  await page.fill('#definition', text);
  await page.click('form[action="/projects"] button');
  await page.waitForURL((url) => url.pathname === '/project/tiny');
}

// Requests a build, and watches it where `isWatched`: nothing is loaded anew by hand, and yet it is over at the end.
async function build(page, isWatched) {
  await page.goto(base + '/add_job?project=tiny');
  await page.check('#test-test');
  await page.check('#test-study');
  await page.click('#build-form button.main');
  await page.waitForURL(/\/build\/\d+$/);
  const id = Number(page.url().split('/').pop());
  if (isWatched) {
    await page.evaluate(() => { window.isTheSamePage = true; });
    await page.waitForFunction(() => document.querySelector('#output-test')?.textContent.includes('1 test passed'), null, { timeout: PATIENCE_MS });
    // Whoever watches sees the output of what runs open, without a click.
    await page.waitForFunction(() => document.querySelector('#task-study-state').title === 'state: running'
      && document.querySelector('#task-study-output').open, null, { timeout: PATIENCE_MS });
    await page.waitForFunction(() => /completed|degraded/.test(document.querySelector('#state').title), null, { timeout: PATIENCE_MS });
    await page.waitForSelector('#files a[href$="report.html"]');
    expect(faults, await page.evaluate(() => window.isTheSamePage === true), 'the page was loaded anew');
  } else {
    // As without scripts: the same page again and again.
    for (;;) {
      const state = await page.getAttribute('#state', 'title');
      if (/completed|degraded/.test(state)) break;
      if (/failed|cancelled|expired/.test(state)) throw new Error(`build ${id} is ${state}`);
      await page.waitForTimeout(500);
      await page.reload();
    }
  }
  // One figure, by its path, as a script would take it. On a machine busy with other work there may be none, and the
  // page has to say why.
  const rate = page.locator('td[title^="rate of"][id$=-value]');
  if ((await rate.count()) > 0) {
    expect(faults, Number(await rate.first().getAttribute('data-value')) > 0, `build ${id} has no rate`);
  } else {
    const state = await page.getAttribute('#state', 'title');
    expect(faults, state === 'state: degraded', `build ${id} has no rate, and says ${state}`);
    const why = await page.textContent('main');
    expect(faults, /numbers are unusable|INVALID|invalid/.test(why), `build ${id} doesn't say why it has no rate`);
  }
  const text = await page.textContent('main');
  expect(faults, !text.includes('\u001b'), 'codes of a terminal stand on the page');
  return id;
}

// Who watches a build that fails sees the output of what failed, and what they close stays closed.
async function failing(page) {
  await page.goto(base + '/add_job?project=tiny&reference=no-such-branch');
  await page.click('#build-form button.main');
  await page.waitForURL(/\/build\/\d+$/);
  await page.evaluate(() => { window.isTheSamePage = true; });
  await page.waitForFunction(() => document.querySelector('#state').title === 'state: failed', null, { timeout: PATIENCE_MS });
  await page.waitForSelector('#task-checkout-output[open]');
  expect(faults, await page.evaluate(() => window.isTheSamePage === true), 'the page was loaded anew');
  expect(faults, (await page.locator('#task-study-output[open]').count()) === 0, 'the output of a task that never ran is open');
  const closed = await page.evaluate(async () => {
    document.querySelector('#task-checkout-output').open = false;
    replaceParts(await (await fetch(location.href)).text());
    return !document.querySelector('#task-checkout-output').open;
  });
  expect(faults, closed, 'an output that the reader closed is open again');
}

async function compare(page, first, second) {
  await page.goto(base + '/');
  await page.check(`#pick-${first}`);
  await page.check(`#pick-${second}`);
  await page.click('form[action="/compare"] button');
  await page.waitForURL(/\/compare\?/);
  const title = await page.textContent('h1');
  expect(faults, title.includes(String(first)) && title.includes(String(second)), `compares ${title}`);
  await page.goto(base + '/history/tiny');
  const series = page.locator('main tbody a');
  if ((await series.count()) > 0) {
    await series.first().click();
    await page.waitForURL(/\/history\/tiny\/\d+$/);
    await page.waitForSelector('#verdict');
  }
  // The report is a page of its own, with its own origin and no way to the lab's.
  await page.goto(`${base}/build/${first}`);
  await page.click('#files a[href$="report.html"]');
  await page.waitForSelector('#verdict');
  const origin = await page.evaluate(() => window.origin);
  expect(faults, origin === 'null', `a report runs as ${origin}`);
}

async function withoutScripts(open, context, id) {
  const bare = await open({ javaScriptEnabled: false, storageState: await context.storageState() });
  const page = await bare.newPage();
  await page.goto(`${base}/build/${id}`);
  await page.fill('#note-words', 'looked at <b>without</b> scripts');
  await page.click('#notes button');
  await page.waitForSelector('#notes article');
  const note = await page.textContent('#notes article');
  expect(faults, note.includes('<b>without</b>'), `a note is not as it was written: ${note}`);
  await page.goto(`${base}/add_job`);
  await page.fill('#reference', '--upload-pack=x');
  await page.click('#build-form button.main');
  await page.waitForSelector('#reference[aria-invalid=true]');
  expect(faults, (await page.inputValue('#reference')) === '--upload-pack=x', 'what was typed is gone');
  await page.goto(`${base}/add_job`);
  await page.fill('#url', 'http://169.254.169.254/');
  await page.click('#load-form button[name=check]');
  await page.waitForSelector('#url-mistake');
  await bare.close();
}

async function alert(page) {
  await page.goto(base + '/monitors');
  await page.fill('#name', 'dead');
  await page.fill('#url', dead);
  await page.fill('#every', '5s');
  await page.fill('#fail_after', '1');
  await page.click('form[action="/monitors"] button.main');
  await page.waitForSelector('tr[id^="monitor-"]');
  const end = Date.now() + PATIENCE_MS;
  while ((await page.locator('article[id^="alert-"]').count()) === 0) {
    if (Date.now() > end) throw new Error('nobody was alerted');
    await page.waitForTimeout(500);
    await page.goto(base + '/alerts');
  }
  await page.fill('input[name=note]', 'it is off on purpose');
  await page.click('button[value=acknowledged]');
  await page.waitForSelector('text=it is off on purpose');
  expect(faults, (await page.textContent('main')).includes('Acknowledged'), 'the alert is not acknowledged');
}

// What is shown once is shown, what is wrong is said, and all of it stands in the log.
async function administer(page) {
  await page.goto(base + '/admin');
  await page.fill('#token-name', 'laptop');
  await page.selectOption('#token-role', 'runner');
  await page.click('form[action="/admin/tokens"] button');
  const token = await page.textContent('#secret code');
  expect(faults, /^lab_[0-9a-f]+_/.test(token), `a token is ${token}`);
  const answer = await page.request.get(`${base}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
  expect(faults, answer.status() === 200, `the new token: status ${answer.status()}`);
  await page.goto(base + '/admin');
  await page.fill('#policy-text', 'loopback = maybe');
  await page.click('form[action="/admin/policy"] button');
  await page.waitForSelector('#mistake');
  expect(faults, (await page.inputValue('#policy-text')).trim() === 'loopback = maybe', 'what was typed is gone');
  await page.fill('#user-name', 'kim');
  await page.click('form[action="/admin/users"] button');
  await page.waitForSelector('#secret a[href^="/first-login/"]');
  await page.goto(base + '/admin');
  const log = await page.textContent('#audit');
  for (const action of ['token.add', 'user.invite', 'project.register', 'monitor.add']) {
    expect(faults, log.includes(action), `${action} is not in the log`);
  }
  await page.goto(base + '/admin/hooks');
  await page.fill('#url', 'http://169.254.169.254/latest/');
  await page.click('form[action="/admin/hooks"] button.main');
  await page.waitForSelector('#url-mistake');
}

// One's own page: a token that works, another password, and no other session afterwards.
async function account(page) {
  await page.click('.who a');
  await page.waitForURL((url) => url.pathname === '/account');
  await page.fill('#token-name', 'phone');
  await page.click('form[action="/account/tokens"] button');
  const token = await page.textContent('#secret code');
  const answer = await page.request.get(`${base}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
  expect(faults, answer.status() === 200, `one's own token: status ${answer.status()}`);
  const other = 'other horse battery staple';
  for (const [old, fits] of [['wrong, wrong, wrong', false], [PASSWORD, true]]) {
    await page.fill('#old', old);
    await page.fill('#new', other);
    await page.fill('#again', other);
    await page.click('form[action="/account/password"] button');
    await page.waitForSelector(fits ? '#done' : '#mistake');
  }
  const sessions = await page.locator('#sessions tbody tr').count();
  expect(faults, sessions === 1, `there are ${sessions} sessions`);
}

async function keep(page, id) {
  for (const [place, at] of ['/account', '/admin', '/admin/hooks', '/monitors', '/monitor/1', '/alerts', '/projects', '/project/tiny', `/build/${id}`, '/history/tiny', '/agents', '/add_job'].entries()) {
    const answer = await page.goto(base + at, { waitUntil: 'load' });
    expect(faults, answer.status() === 200, `${at}: status ${answer.status()}`);
    fs.writeFileSync(path.join(folder, `${String(place).padStart(2, '0')}.html`), await answer.text());
  }
}

// What nobody of ours sends is refused.
async function refusals(page) {
  await page.goto(base + '/add_job');
  await page.evaluate(() => { document.querySelector('#build-form input[name=csrf]').value = 'forged'; });
  const answer = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.click('#build-form button.main');
  expect(faults, (await answer).status() === 403, `a forged form: status ${(await answer).status()}`);
}

async function leave(page) {
  await page.goto(base + '/');
  await page.click('.who button');
  const answer = await page.goto(base + '/build/1');
  expect(faults, new URL(page.url()).pathname === '/login', `${answer.url()} is shown to nobody`);
}
