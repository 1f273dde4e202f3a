// node pages.js BASE FOLDER PATH…: every page, with scripts and without, wide and narrow, light and dark. What the lab
// sends is kept in FOLDER, for the validator.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { Faults, browse, expect } = require('./rig.js');
const { look, contrast, stretched } = require('./look.js');

const [, , base, folder, ...paths] = process.argv;
const faults = new Faults();

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
      for (const one of [look, contrast]) for (const fault of await page.evaluate(one)) faults.add(`${at} ${name}: ${fault}`);
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
