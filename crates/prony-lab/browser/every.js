// node every.js BASE LINK ROUTE…: an administrator enters by LINK a lab with an example, and looks at every page wide and
// narrow, in light and in dark, with and without mistakes in its forms. ROUTE is each `METHOD PATTERN` that the lab has: one
// that nobody looks at here is an error, too.
'use strict';

const { Faults, browse, expect } = require('./rig.js');
const { look, contrast, focus, stretched } = require('./look.js');

const [, , base, link, ...routes] = process.argv;
const faults = new Faults();
const PASSWORD = 'correct horse battery staple';
const LONG = 'a-name-as-long-as-a-name-may-be-which-no-table-may-be-wider-than'.slice(0, 64);
const SIZES = [{ width: 360, height: 740 }, { width: 1280, height: 900 }];
const REPOSITORY = 'repository = "https://git.example.org/example.git"\nstudy = "prony.toml"\n';

// What is looked at of each route with pages.
const PAGES = {
  '/': ['/', '/?state=failed', '/?project=nothing'],
  '/list_max_id/{id}': ['/list_max_id/20'],
  '/list_min_id/{id}': ['/list_min_id/20'],
  '/build/{id}': ['/build/60', '/build/59', '/build/61', '/build/63', '/build/999'],
  '/bisect/{id}': ['/bisect/1', '/bisect/9'],
  '/search': ['/search', '/search?q=example', '/search?q=nobody', '/search?q=before:maybe'],
  '/compare': ['/compare', '/compare?a=38&b=41&c=45', '/compare?a=1&b=999'],
  '/history/{project}': ['/history/example', `/history/${LONG}`, '/history/nothing'],
  '/history/{project}/{series}': ['/history/example/3'],
  '/alerts': ['/alerts', '/alerts?state=silenced'],
  '/add_job': ['/add_job', `/add_job?project=${LONG}`],
  '/projects': ['/projects'],
  '/project/{name}': ['/project/example', `/project/${LONG}`],
  '/account': ['/account'],
  '/admin': ['/admin'],
  '/admin/hooks': ['/admin/hooks'],
  '/monitors': ['/monitors'],
  '/monitor/{id}': ['/monitor/1'],
  '/agents': ['/agents'],
  '/first-login/{secret}': [`/first-login/${'0'.repeat(64)}`],
};
// Looked at without a session.
const OUTSIDE = ['/login'];
// What answers no page.
const NO_PAGES = ['/events', '/build/{id}/events', '/build/{id}/output/{task}', '/build/{id}/files/{*name}',
  '/history/{project}/{series}/points.json', '/history/{project}/{series}/points.csv', '/monitor/{id}/checks.json',
  '/badge/{project}/{file}', '/assets/{name}', '/metrics', '/healthz'];

// What is typed wrong where, and the ids of the fields that must say so. What was typed must still be there.
const MISTAKES = {
  '/add_job': [
    ['/add_job', '#build-form', { reference: '--x', base: 'a b', email: 'nobody' }, ['reference', 'base', 'email']],
    ['/add_job', '#load-form', { url: 'ftp://x', connections: 'many', rate: 'x', duration: 'long' }, ['url', 'connections', 'rate', 'duration']],
    ['/add_job', '#load-form', { url: 'http://169.254.169.254/' }, ['url']],
  ],
  '/alert/{id}': [
    ['/alerts', 'form[action^="/alert/"]', { note: 'known', days: 'soon' }, ['days-1'], 'silenced'],
    ['/alerts', 'form[action^="/alert/"]', { note: 'known', days: '9999' }, ['days-1'], 'silenced'],
    ['/alerts', 'form[action^="/alert/"]', { note: '', days: '8' }, ['note-1'], 'silenced'],
  ],
  '/projects': [['/projects', 'form[action="/projects"]', { name: 'Not A Name', definition: 'folder = 7' }, ['name', 'definition']]],
  '/projects/inspect': [['/projects', 'form[action^="/projects/inspect"]', { address: '/a', branch: '--x' }, ['branch']]],
  '/project/{name}': [['/project/example', 'form[action="/project/example"]', { definition: 'nonsense =' }, ['definition']]],
  '/account/password': [
    ['/account', 'form[action="/account/password"]', { old: 'x', password: 'a', again: 'b' }, ['again']],
    ['/account', 'form[action="/account/password"]', { old: 'x', password: 'short', again: 'short' }, ['new']],
    ['/account', 'form[action="/account/password"]', { old: 'x', password: 'not the same', again: 'not the same' }, ['old']],
  ],
  '/account/tokens': [
    ['/account', 'form[action="/account/tokens"]', { label: '', days: '7' }, ['token-name']],
    ['/account', 'form[action="/account/tokens"]', { label: 'laptop', days: '999' }, ['token-days']],
  ],
  '/admin/users': [['/admin', 'form[action="/admin/users"]', { name: 'Not A Name' }, ['user-name']]],
  '/admin/tokens': [
    ['/admin', 'form[action="/admin/tokens"]', { label: '', days: '7' }, ['token-name']],
    ['/admin', 'form[action="/admin/tokens"]', { label: 'ci', days: '999' }, ['token-days']],
  ],
  '/admin/policy': [['/admin', 'form[action="/admin/policy"]', { policy: 'loopback = maybe' }, ['policy-text']]],
  '/admin/hooks': [['/admin/hooks', 'form[action="/admin/hooks"]', { url: 'gopher://x', kinds: 'everything' }, ['url', 'kinds']]],
  '/monitors': [['/monitors', 'form[action="/monitors"]',
    { name: 'a b', url: 'nowhere', every: 'soon', timeout: 'x', fail_after: 'none', expected_status: 'ok', email: 'x' },
    ['name', 'url', 'every', 'timeout', 'fail_after', 'expected_status', 'email']]],
};
// Forms in which nothing can be typed wrong, those that are filled in below, and what programs send.
const NO_MISTAKES = ['/build/{id}/cancel', '/build/{id}/retry', '/build/{id}/note', '/build/{id}/commits', '/bisects',
  '/bisect/{id}/cancel', '/project/{name}/archive', '/project/{name}/clear-caches', '/account/token/{id}/revoke',
  '/account/session/{id}/end', '/account/sign-out', '/admin/user/{name}', '/admin/token/{id}/revoke', '/admin/stop',
  '/admin/hook/{id}/remove', '/monitor/{id}/remove', '/push/{project}',
  '/agents/stop', '/agents/lift', '/agent/{name}/drain', '/agent/{name}/resume', '/login', '/logout', '/first-login/{secret}'];

browse(base, faults, async (open) => {
  complete();
  const context = await open({ viewport: SIZES[0] });
  const page = await context.newPage();
  await enter(page);
  await fill(page);
  const links = new Set();
  for (const at of Object.values(PAGES).flat()) {
    await page.goto(base + at, { waitUntil: 'load' });
    await all(page, at);
    for (const found of await page.evaluate(() => [...document.links].filter((one) => !one.getAttribute('href').startsWith('#')).map((one) => one.href))) {
      links.add(found.split('#')[0]);
    }
  }
  for (const [place, all] of Object.entries(MISTAKES)) for (const one of all) await wrong(page, place, ...one);
  await leads(page, links);
  await refused(page);
  await outside(await open({ viewport: SIZES[0] }));
});

// Whether every route is somewhere above, and everything above is a route.
function complete() {
  const known = [...Object.keys(PAGES), ...OUTSIDE, ...NO_PAGES].map((at) => `GET ${at}`)
    .concat([...Object.keys(MISTAKES), ...NO_MISTAKES].map((at) => `POST ${at}`));
  for (const route of routes) expect(faults, known.includes(route), `${route} is not looked at: add it to every.js`);
  for (const route of known) expect(faults, routes.includes(route), `${route} is in every.js, and is no route`);
}

// A page in every form.
async function all(page, name) {
  for (const viewport of SIZES) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      // Colours are the same however wide the page is, and all else is the same in every colour.
      const looks = [...(viewport === SIZES[0] ? [contrast] : []), ...(colorScheme === 'light' ? [look] : [])];
      for (const one of looks) for (const fault of await page.evaluate(one)) faults.add(`${name}, ${viewport.width} px, ${colorScheme}: ${fault}`);
    }
    if (viewport === SIZES[0]) for (const fault of await page.evaluate(stretched)) faults.add(`${name}: ${fault}`);
  }
  for (const fault of await page.evaluate(focus)) faults.add(`${name}: ${fault}`);
  await page.emulateMedia({ colorScheme: null, media: 'print' });
  const isCut = await page.evaluate(() => document.querySelector('h1').checkVisibility() && document.querySelector('.bar').checkVisibility());
  expect(faults, !isCut, `${name}: the navigation is printed`);
  await page.emulateMedia({ media: null });
}

async function enter(page) {
  await page.goto(link);
  await all(page, 'the first login');
  await send(page, 'main form', { password: PASSWORD, again: 'another' });
  await all(page, 'the first login, with a mistake');
  await send(page, 'main form', { password: PASSWORD, again: PASSWORD });
  expect(faults, new URL(page.url()).pathname === '/', `the first login leads to ${page.url()}`);
}

// Gives every kind of page something to show. Nothing is built: the lab has no worker.
async function fill(page) {
  await send(page, 'form[action="/project/example"]', { definition: REPOSITORY }, { at: '/project/example' });
  const title = `title = "${'A title that says more than it has to. '.repeat(4)}"\nbranch = "${'b'.repeat(150)}"\n`;
  await send(page, 'form[action="/projects"]', { name: LONG, definition: title + REPOSITORY }, { at: '/projects' });
  await send(page, '#build-form', { reference: 'main' }, { at: '/add_job?project=example' });
  await send(page, '#build-form', { reference: 'y'.repeat(190) }, { at: `/add_job?project=${LONG}` });
  await send(page, '#load-form', { url: `http://127.0.0.1:9/${'long/'.repeat(60)}` }, { at: '/add_job' });
  await send(page, '#notes form', { words: `looked at it\n\n${'w'.repeat(300)}` }, { at: '/build/60' });
  await send(page, 'form[action="/monitors"]', { name: LONG, url: `http://127.0.0.1:9/${'p/'.repeat(150)}`, every: '1h' }, { at: '/monitors' });
  await send(page, 'form[action="/admin/hooks"]', { url: `http://127.0.0.1:9/${'T0/'.repeat(100)}` }, { at: '/admin/hooks' });
  await send(page, 'form[action="/admin/users"]', { name: 'kim' }, { at: '/admin' });
  await all(page, 'a new user');
  await send(page, 'form[action="/admin/users"]', { name: LONG }, { at: '/admin' });
  await send(page, 'form[action="/account/tokens"]', { label: LONG }, { at: '/account' });
  await all(page, 'a new token');
  // No build of the example is slower than its baseline, after which this form stands on the page of a build.
  await page.goto(base + '/build/60');
  await page.evaluate(() => {
    const form = document.querySelector('#notes form').cloneNode(true);
    form.id = 'bisect-form';
    form.action = '/bisects';
    form.innerHTML += '<input name="good" value="38"><input name="bad" value="45">';
    document.body.append(form);
  });
  await send(page, '#bisect-form', {});
  expect(faults, /\/bisect\/1$/.test(page.url()), `a bisect is requested and leads to ${page.url()}`);
}

// Types wrong what can be, and sends it.
async function wrong(page, place, at, form, fields, ids, button) {
  const name = `${place} with ${JSON.stringify(fields)}`;
  const status = await send(page, form, fields, { at, button });
  expect(faults, status === 422, `${name}: status ${status}`);
  const marked = await page.evaluate(() => [...document.querySelectorAll('[aria-invalid=true]')].map((field) => field.id).sort());
  expect(faults, marked.join() === [...ids].sort().join(), `${name}: marked are ${marked.join()}`);
  const lost = await page.evaluate(([form, fields]) => {
    const found = document.querySelector(form)?.elements ?? {};
    return Object.keys(fields).filter((one) => found[one]?.type !== 'password' && found[one]?.value.trim() !== fields[one]);
  }, [form, fields]);
  expect(faults, lost.length === 0, `${name}: what was typed is gone: ${lost.join()}`);
  await all(page, name);
}

// Fills a form in and sends it, whatever the browser thinks of it; the status of the page that follows.
async function send(page, form, fields, { at, button } = {}) {
  if (at) await page.goto(base + at, { waitUntil: 'load' });
  const answer = page.waitForEvent('response', (response) => response.request().isNavigationRequest() && response.status() !== 303);
  const loaded = page.waitForEvent('load');
  await page.evaluate(([form, fields, button]) => {
    const found = document.querySelector(form);
    found.noValidate = true;
    for (const [name, value] of Object.entries(fields)) {
      const field = found.elements[name];
      if (field.type === 'number') field.type = 'text';
      field.value = value;
    }
    const submit = button ? found.querySelector(`button[value=${button}]`) : found.querySelector('button.main') ?? [...found.querySelectorAll('button')].pop();
    // After this script, which would end with its page.
    setTimeout(() => found.requestSubmit(submit), 0);
  }, [form, fields, button]);
  await loaded;
  return (await answer).status();
}

// No link of the lab leads nowhere.
async function leads(page, links) {
  for (const one of links) {
    const { origin, pathname } = new URL(one);
    if (origin !== new URL(base).origin) continue;
    const answer = await page.request.get(one, { headers: { accept: '*/*' }, maxRedirects: 0 });
    expect(faults, answer.status() < 400, `a link to ${pathname} has the status ${answer.status()}`);
  }
}

// What is refused has the pages' navigation, where the lab knows who asks.
async function refused(page) {
  const status = await send(page, 'form[action^="/build/60/retry"], #notes form', {}, { at: '/build/60' });
  expect(faults, status < 500, `a note without words: status ${status}`);
  for (const [at, wanted] of [['/nothing', 404], ['/build/x', 404], ['/?state=maybe', 400]]) {
    const answer = await page.goto(base + at, { waitUntil: 'load' });
    expect(faults, answer.status() === wanted, `${at}: status ${answer.status()}`);
    expect(faults, (await page.locator('nav a').count()) > 3, `${at} has no navigation`);
    await all(page, at);
  }
}

// What somebody sees who has not logged in, and who tries too often.
async function outside(context) {
  const page = await context.newPage();
  const TRIES = 11;
  let status = 0;
  for (let tries = 0; tries < TRIES; tries += 1) {
    status = await send(page, 'main form', { name: 'ann', password: 'wrong, wrong, wrong' }, { at: '/login' });
    if (tries === 0) await all(page, 'a wrong password');
  }
  expect(faults, status === 429, `after ${TRIES} tries: status ${status}`);
  await all(page, 'too many tries');
  await context.close();
}
