// node pages.js BASE FOLDER PATH…: every page, with scripts and without, wide and narrow, light and dark. What the lab
// sends is kept in FOLDER, for the validator.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { Faults, browse, expect } = require('./rig.js');

const [, , base, folder, ...paths] = process.argv;
const faults = new Faults();

// What must hold for every page; runs inside it.
function look() {
  const found = [];
  if (document.querySelectorAll('h1').length !== 1) found.push('has not one h1');
  if (document.documentElement.scrollWidth > window.innerWidth) found.push(`is ${document.documentElement.scrollWidth} wide`);
  for (const field of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
    const name = field.getAttribute('aria-label') || field.labels?.[0]?.textContent.trim();
    if (!name) found.push(`field ${field.name} has no name`);
  }
  for (const described of document.querySelectorAll('[aria-describedby], [aria-labelledby]')) {
    const ids = `${described.getAttribute('aria-describedby') ?? ''} ${described.getAttribute('aria-labelledby') ?? ''}`;
    for (const id of ids.trim().split(/\s+/)) if (!document.getElementById(id)) found.push(`names #${id}, which is not there`);
  }
  // A chart that a script drew sets its own styles, as the policy lets a script do.
  const styled = [...document.querySelectorAll('[style], style, script:not([src])')].filter((part) => !part.closest('.zoom'));
  if (styled.length > 0) found.push('has a style or a script inside');
  for (const word of document.querySelectorAll('.word')) {
    if (!/\p{L}/u.test(word.textContent) || !word.querySelector('[aria-hidden]')) found.push('has a verdict without word or shape');
  }
  return found;
}

// On a narrow screen a column out of sight must not make its rows higher than those in sight; runs inside the page.
function stretched() {
  const LINES_PX = 56; // two lines of a cell and its padding
  const height = (cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect().height;
  };
  const found = [];
  for (const region of document.querySelectorAll('.scroll')) {
    const end = region.getBoundingClientRect().right;
    for (const row of region.querySelectorAll('tbody tr')) {
      const cells = [...row.cells];
      const inSight = cells.filter((cell) => cell.getBoundingClientRect().left < end);
      const seen = Math.max(LINES_PX, ...inSight.map(height));
      const hidden = cells.find((cell) => !inSight.includes(cell) && height(cell) > seen);
      if (hidden) found.push(`a row is stretched by a hidden cell: ${hidden.textContent.trim().slice(0, 40)}`);
    }
  }
  return found;
}

browse(base, faults, async (open) => {
  const kinds = [
    { name: 'wide', viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
    { name: 'narrow', viewport: { width: 360, height: 800 }, colorScheme: 'dark' },
    { name: 'bare', viewport: { width: 360, height: 800 }, javaScriptEnabled: false },
  ];
  for (const { name, ...options } of kinds) {
    const context = await open(options);
    const page = await context.newPage();
    for (const [place, at] of paths.entries()) {
      const answer = await page.goto(base + at, { waitUntil: 'load' });
      expect(faults, answer.status() === 200, `${at}: status ${answer.status()}`);
      const policy = (await answer.allHeaders())['content-security-policy'] ?? '';
      expect(faults, policy.startsWith("default-src 'none'; script-src 'self'"), `${at}: policy ${policy}`);
      for (const fault of await page.evaluate(look)) faults.add(`${at} ${name}: ${fault}`);
      if (name === 'narrow') for (const fault of await page.evaluate(stretched)) faults.add(`${at}: ${fault}`);
      if (name === 'wide') {
        fs.writeFileSync(path.join(folder, `${String(place).padStart(2, '0')}.html`), await answer.text());
        await page.keyboard.press('Tab');
        const first = await page.evaluate(() => document.activeElement.textContent);
        expect(faults, first === 'Skip to the content', `${at}: the first stop of the keyboard is ${first}`);
      }
    }
    await context.close();
  }
  await charts(open);
});

// The chart gives way to one that can be zoomed into; without scripts the server's stays.
async function charts(open) {
  for (const javaScriptEnabled of [true, false]) {
    const context = await open({ javaScriptEnabled });
    const page = await context.newPage();
    const history = paths.find((at) => /^\/history\/[^/]+\/\d+$/.test(at));
    await page.goto(base + history, { waitUntil: 'load' });
    await page.waitForSelector(javaScriptEnabled ? '.zoom canvas' : '.static svg path.l', { state: 'visible' });
    const isStatic = await page.isVisible('.static svg');
    expect(faults, isStatic !== javaScriptEnabled, `${history}: the wrong chart, scripts ${javaScriptEnabled}`);
    if (javaScriptEnabled) {
      await page.hover('.zoom .u-over', { position: { x: 100, y: 100 } });
      const tip = await page.textContent('.zoom .tip');
      expect(faults, /^build \d+, \d{4}-\d\d-\d\d \d\d:\d\d: /.test(tip), `${history}: the tooltip is ${tip}`);
    }
    await context.close();
  }
}
