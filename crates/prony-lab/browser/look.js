// What must hold for every page, however it is shown: runs inside the page, and answers what is wrong, a line each.
'use strict';

function look() {
  const found = [];
  const add = (words) => { if (!found.includes(words)) found.push(words); };
  const short = (text) => text.trim().replace(/\s+/g, ' ').slice(0, 50);

  if (document.querySelectorAll('h1').length !== 1) add('has not one h1');
  const { scrollWidth } = document.scrollingElement;
  if (scrollWidth > window.innerWidth) add(`is ${scrollWidth} px wide`);

  // Fields.
  for (const field of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
    const name = field.getAttribute('aria-label') || field.labels?.[0]?.textContent.trim();
    if (!name) add(`field ${field.name} has no name`);
    const ids = (field.getAttribute('aria-describedby') ?? '').split(/\s+/).filter(Boolean);
    if (field.getAttribute('aria-invalid') === 'true' && ids.length === 0) add(`field ${field.name} is wrong without words`);
  }
  for (const words of document.querySelectorAll('p.mistake')) {
    if (!words.id || !document.querySelector(`[aria-describedby~="${words.id}"]`)) add(`a mistake is about no field: ${short(words.textContent)}`);
  }
  for (const described of document.querySelectorAll('[aria-describedby], [aria-labelledby]')) {
    const ids = `${described.getAttribute('aria-describedby') ?? ''} ${described.getAttribute('aria-labelledby') ?? ''}`;
    for (const id of ids.trim().split(/\s+/)) if (!document.getElementById(id)) add(`names #${id}, which is not there`);
  }
  // Links within the page.
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    if (!document.getElementById(link.getAttribute('href').slice(1))) add(`leads to ${link.getAttribute('href')}, which is not there`);
  }
  // A chart that a script drew sets its own styles, as the policy lets a script do.
  const styled = [...document.querySelectorAll('[style], style, script:not([src])')].filter((part) => !part.closest('.zoom'));
  if (styled.length > 0) add('has a style or a script inside');
  for (const word of document.querySelectorAll('.word')) {
    if (!/\p{L}/u.test(word.textContent) || !word.querySelector('[aria-hidden]')) add('has a verdict without word or shape');
  }
  return found;
}

// Text that can't be told from what is behind it: WCAG 2.2, 1.4.3.
function contrast() {
  const RATIO = 4.5;
  const found = new Set();
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const known = new Map();
  const channels = (color) => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      known.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(color);
  };
  const over = (above, below) => above.slice(0, 3).map((value, place) => value * above[3] / 255 + below[place] * (1 - above[3] / 255));
  const luminance = (color) => {
    const [r, g, b] = color.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (part) => {
    const layers = [];
    for (let at = part; at; at = at.parentElement) layers.push(channels(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, above) => over(above, below), channels('Canvas').slice(0, 3));
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const part = walker.currentNode.parentElement;
    if (walker.currentNode.textContent.trim() === '' || seen.has(part) || !part.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
    seen.add(part);
    const style = getComputedStyle(part);
    const text = channels(part.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const below = behind(part);
    const lights = [luminance(over(text, below)), luminance(below)].sort((a, b) => b - a);
    const ratio = (lights[0] + 0.05) / (lights[1] + 0.05);
    if (ratio < RATIO) found.add(`contrast ${ratio.toFixed(2)}: ${part.textContent.trim().slice(0, 50)}`);
  }
  return [...found];
}

// Goes through all that the keyboard reaches; what has the focus must show it, and be in sight. Answers what is wrong.
function focus() {
  const found = [];
  const stops = document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]');
  for (const stop of stops) {
    if (!stop.checkVisibility() || stop.closest('[hidden]')) continue;
    stop.focus({ focusVisible: true });
    if (document.activeElement !== stop) continue;
    const { outlineStyle, outlineWidth } = getComputedStyle(stop);
    if (outlineStyle === 'none' || Number.parseFloat(outlineWidth) < 2) {
      found.push(`no focus to be seen on ${stop.tagName} ${(stop.textContent || stop.name || '').trim().slice(0, 30)}`);
    }
  }
  document.activeElement?.blur();
  return [...new Set(found)];
}

// On a narrow screen a column out of sight must not make its rows higher than those in sight.
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
      // What is folded away has a height of its own, which is none of the row's.
      if (row.getBoundingClientRect().height <= LINES_PX) continue;
      const cells = [...row.cells];
      const inSight = cells.filter((cell) => cell.getBoundingClientRect().left < end);
      const seen = Math.max(LINES_PX, ...inSight.map(height));
      const hidden = cells.find((cell) => !inSight.includes(cell) && height(cell) > seen);
      if (hidden) found.push(`a row is stretched by a hidden cell: ${hidden.textContent.trim().slice(0, 40)}`);
    }
  }
  return found;
}

module.exports = { look, contrast, focus, stretched };
