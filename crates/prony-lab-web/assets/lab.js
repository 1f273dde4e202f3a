// What pages do beyond what they show: moments in the reader's own zone, live states and outputs, charts to zoom into.
// Every page is whole without it.
'use strict';

const OUTPUT_MOST = 512 * 1024; // characters of one output that a page keeps
// From one tick of a time axis to the next, seconds: points are no nearer to each other than the least.
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  ...[1, 2, 5, 10, 20, 30, 60, 91, 182, 365, 730, 1826].map((days) => days * 86400)];

// `UTC+01:00`, of the reader's own zone at that moment.
function offset(moment) {
  const minutes = -moment.getTimezoneOffset();
  if (minutes === 0) return 'UTC';
  const two = (number) => String(number).padStart(2, '0');
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? '−' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

function localise(root) {
  const two = (number) => String(number).padStart(2, '0');
  const date = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const said = (at) => `${date(at)} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  for (const time of root.querySelectorAll('time[datetime]')) {
    const moment = new Date(time.dateTime);
    if (!isNaN(moment)) time.textContent = said(moment);
  }
  // Above a column the zone by its name, since its offset may change from row to row; behind a moment its offset.
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const zone of root.querySelectorAll('.utc')) {
    const moment = new Date(zone.previousElementSibling?.dateTime);
    if (!isNaN(moment)) zone.textContent = offset(moment);
    else if (name) zone.textContent = `(${name})`;
  }
}

// The `details` inside a part by what their summaries say: those that say the same are told apart by their number.
function detailsOf(part) {
  const found = new Map();
  for (const details of part.querySelectorAll('details')) {
    const words = details.querySelector('summary')?.textContent.trim() ?? '';
    let key = words;
    for (let number = 2; found.has(key); number += 1) key = `${words} ${number}`;
    found.set(key, details);
  }
  return found;
}

// An output opens when its task begins or fails. It is opened once, and never closed: the reader may have closed it, or may
// be reading.
function openOutputs(fresh) {
  for (const now of fresh.querySelectorAll('details[data-opens]')) {
    const old = document.getElementById(now.id);
    if (!old || now.dataset.opens === old.dataset.opens) continue;
    old.dataset.opens = now.dataset.opens;
    if (now.open) old.open = true;
  }
}

// Puts what the server says now in the place of what it said before; what is chosen stays chosen, what is open stays open.
function replaceParts(text) {
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  localise(fresh);
  for (const now of fresh.querySelectorAll('[data-live]')) {
    const old = document.getElementById(now.id);
    if (!old || old.innerHTML === now.innerHTML) continue;
    const chosen = [...old.querySelectorAll('input:checked')].map((input) => input.id);
    const before = detailsOf(old);
    const focused = old.contains(document.activeElement) ? document.activeElement.id : '';
    old.replaceWith(now);
    for (const id of chosen) {
      const input = document.getElementById(id);
      if (input) input.checked = true;
    }
    for (const [key, details] of detailsOf(now)) if (before.has(key)) details.open = before.get(key).open;
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
  openOutputs(fresh);
}

function showLive(words, isLost) {
  for (const live of document.querySelectorAll('.live')) {
    live.hidden = words === '';
    live.textContent = words;
    live.classList.toggle('lost', isLost);
  }
}

function appendOutput(message) {
  const pre = document.querySelector(`pre[data-task="${Number(message.task)}"]`);
  if (!pre) return;
  const isAtEnd = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 8;
  pre.append(message.text + (message.cut ? '\n…\n' : ''));
  if (pre.textContent.length > OUTPUT_MOST) pre.textContent = '…\n' + pre.textContent.slice(-OUTPUT_MOST / 2);
  if (isAtEnd) pre.scrollTop = pre.scrollHeight;
}

// One stream, and only while the page is seen: a browser has few connections for all its pages.
function watch(address) {
  let stream = null;
  let last = null;
  let isOver = false;
  let isBusy = false;
  let isStale = false;
  const refresh = async () => {
    if (isBusy) { isStale = true; return; }
    isBusy = true;
    try {
      do {
        isStale = false;
        const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
        if (answer.ok) replaceParts(await answer.text());
        if (!isOver) showLive('live', false);
      } while (isStale);
    } catch {
      showLive('no connection to the lab', true);
    } finally {
      isBusy = false;
    }
  };
  const open = () => {
    if (stream || isOver) return;
    const from = new URL(address, location.href);
    if (last) from.searchParams.set('after', last);
    stream = new EventSource(from);
    stream.addEventListener('open', () => showLive('live', false));
    stream.addEventListener('error', () => {
      const isRefused = stream?.readyState === EventSource.CLOSED;
      showLive(isRefused ? 'not live: reload by hand' : 'no connection to the lab', true);
    });
    stream.addEventListener('change', (event) => { last = event.lastEventId; refresh(); });
    stream.addEventListener('output', (event) => { last = event.lastEventId; appendOutput(JSON.parse(event.data)); });
    stream.addEventListener('end', () => { isOver = true; close(); showLive('', false); refresh(); });
  };
  const close = () => { stream?.close(); stream = null; };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  window.addEventListener('pagehide', close);
  window.addEventListener('pageshow', open);
  open();
}

// A choice that other choices hang on loads the form anew, with what was typed; without a script there is a button.
function followChoices() {
  for (const choice of document.querySelectorAll('select[data-follow]')) {
    const button = document.getElementById(choice.dataset.follow);
    if (!button) continue;
    button.hidden = true;
    choice.addEventListener('change', () => button.form.requestSubmit(button));
  }
}

// The drawing of the server gives way to one that can be zoomed into.
async function drawChart(figure) {
  if (typeof uPlot === 'undefined') return;
  const answer = await fetch(figure.dataset.points);
  if (!answer.ok) return;
  const { at, build, value, low, high, unused, unit, label, changes } = await answer.json();
  if (at.length < 2) return;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const style = () => ({ ink: colour('--ink'), soft: colour('--soft'), rule: colour('--rule'), line: colour('--s0'), care: colour('--care'), bad: colour('--bad') });
  const good = value.slice();
  const hollow = value.map(() => null);
  for (const place of unused) [good[place], hollow[place]] = [null, value[place]];
  const holder = figure.querySelector('.zoom');
  const draw = () => {
    const now = style();
    const axis = { stroke: now.soft, grid: { stroke: now.rule, width: 0.6 }, ticks: { stroke: now.rule, width: 0.6 } };
    const marks = (plot) => {
      const { ctx, bbox } = plot;
      ctx.save();
      for (const change of changes) {
        const x = plot.valToPos(at[change.place], 'x', true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.strokeStyle = change.confirmed ? now.bad : now.care;
        ctx.setLineDash(change.confirmed ? [] : [5, 3]);
        ctx.lineWidth = 1.5 * devicePixelRatio;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      ctx.restore();
    };
    const two = (part) => String(part).padStart(2, '0');
    const day = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
    const hour = (date) => `${two(date.getHours())}:${two(date.getMinutes())}`;
    const moment = (seconds) => `${day(new Date(seconds * 1000))} ${hour(new Date(seconds * 1000))}`;
    const named = (plot, found, series, place) => (place == null || found == null ? '–' : `build ${build[place]}, ${moment(found)}`);
    // The hour, with seconds where they tell two ticks apart, and the day below it where a new one begins.
    const ticks = (plot, splits, axis, space, step) => splits.map((split, place) => {
      const [date, before] = [new Date(split * 1000), place > 0 ? new Date(splits[place - 1] * 1000) : null];
      const isNew = before === null || day(before) !== day(date);
      if (step >= 86400) return day(date);
      const time = step < 60 ? `${hour(date)}:${two(date.getSeconds())}` : hour(date);
      return isNew ? `${time}\n${day(date)}` : time;
    });
    // As many decimals as the step has: no two ticks have the same label.
    const values = (plot, splits, axis, space, step) => {
      let digits = 0;
      while (digits < 12 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
      return splits.map((split) => split.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }));
    };
    const number = (plot, found) => (found == null ? '–' : `${found.toPrecision(4)} ${unit}`);
    // Beside the cursor: which build it is, and its value.
    const tip = document.createElement('p');
    tip.className = 'tip';
    tip.hidden = true;
    const follow = (plot) => {
      const { idx, left, top } = plot.cursor;
      tip.hidden = idx == null || left < 0;
      if (tip.hidden) return;
      const interval = low[idx] == null || high[idx] == null ? '' : ` (${low[idx].toPrecision(4)} to ${high[idx].toPrecision(4)})`;
      tip.textContent = `build ${build[idx]}, ${moment(at[idx])}: ${number(plot, value[idx])}${interval}`;
      const room = plot.over.clientWidth - tip.offsetWidth;
      tip.style.transform = `translate(${Math.max(0, Math.min(room, left + 12))}px, ${Math.max(0, top - tip.offsetHeight - 8)}px)`;
    };
    const size = () => ({ width: Math.max(280, figure.clientWidth), height: 320 });
    const plot = new uPlot({
      ...size(),
      series: [
        { label: 'Build', value: named },
        { label: 'value', stroke: now.line, width: 1.5, spanGaps: true, value: number, points: { show: at.length < 400, size: 5 } },
        { label: 'low', stroke: 'transparent', value: number, points: { show: false } },
        { label: 'high', stroke: 'transparent', value: number, points: { show: false } },
        { label: 'not used', stroke: now.soft, paths: () => null, value: number, points: { show: true, size: 6, fill: 'transparent' } },
      ],
      bands: [{ series: [3, 2], fill: now.line + '33' }],
      axes: [
        { ...axis, label: `requested, ${Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'local time'}`, incrs: STEPS_S, space: 90, values: ticks },
        { ...axis, label, size: 64, values },
      ],
      hooks: { draw: [marks], setCursor: [follow] },
      cursor: { drag: { x: true, y: false } },
    }, [at, good, low, high, hollow], holder);
    plot.over.append(tip);
    plot.over.addEventListener('dblclick', () => plot.setScale('x', { min: at[0], max: at[at.length - 1] }));
    plot.over.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey) location.assign(`/build/${build[plot.cursor.idx]}`);
    });
    const resize = new ResizeObserver(() => plot.setSize(size()));
    resize.observe(figure);
    return () => { resize.disconnect(); plot.destroy(); };
  };
  let undraw = draw();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { undraw(); undraw = draw(); });
  figure.querySelector('.static').hidden = true;
  holder.hidden = false;
}

document.addEventListener('DOMContentLoaded', () => {
  localise(document);
  followChoices();
  const live = document.querySelector('[data-events]');
  if (live) watch(live.dataset.events);
  for (const figure of document.querySelectorAll('figure[data-points]')) drawChart(figure).catch(() => {});
});
