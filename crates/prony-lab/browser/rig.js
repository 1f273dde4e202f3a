// What the tests of the pages share: a browser that reports whatever a page should not do.
'use strict';

const { chromium } = require('playwright-core');

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

// A busy machine needs its time; a test that hangs ends all the same.
const PATIENCE_MS = 90_000;

class Faults {
  constructor() { this.found = []; }

  add(what) { this.found.push(what); }

  // Ends the script: with 1 and a line for each fault, if there is one.
  report() {
    for (const fault of this.found) console.error(fault);
    process.exitCode = this.found.length === 0 ? 0 : 1;
  }
}

async function browse(base, faults, work) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: FLAGS });
  try {
    await work((options) => context(browser, base, faults, options));
  } catch (error) {
    faults.add(`stopped: ${error.stack}`);
  } finally {
    await browser.close();
  }
  faults.report();
}

// A context whose pages may ask nobody but the lab, break no policy and say nothing on the console.
async function context(browser, base, faults, options = {}) {
  const made = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  made.setDefaultTimeout(PATIENCE_MS);
  made.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(base).origin) faults.add(`asks elsewhere: ${request.url()}`);
  });
  made.on('page', (page) => {
    const where = () => page.url();
    page.on('console', (message) => {
      // A page that is refused says so with its status, and the browser repeats it.
      if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) faults.add(`${where()}: console: ${message.text()}`);
    });
    page.on('pageerror', (error) => faults.add(`${where()}: script: ${error.message}`));
  });
  return made;
}

function expect(faults, is, what) {
  if (!is) faults.add(what);
}

module.exports = { Faults, browse, expect, PATIENCE_MS };
