// The studio in a tab, driven as a person would: node check.mjs FOLDER PLAYWRIGHT CHROMIUM SCREENS
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { open, page, ready, serve } from './browse.mjs';

const [folder, playwright, chromium, screens] = process.argv.slice(2);
mkdirSync(screens, { recursive: true });
const { server, sent, url } = await serve(folder);
const browser = await open(playwright, chromium);
const { context, page: tab, complaints } = await page(browser, `${url}#zoo:calf`);
const shot = (name) => tab.screenshot({ path: join(screens, `${name}.png`) });
const idle = (title) =>
  tab.waitForFunction(
    (title) => document.title.startsWith(title) && document.getElementById('picture').getAttribute('aria-busy') === 'false',
    title, { timeout: 300000, polling: 250 });
// A software renderer shows few pictures a second, and a click takes two of them.
const click = async (x, y) => {
  await tab.mouse.move(x, y);
  await tab.waitForTimeout(200);
  await tab.mouse.click(x, y, { delay: 200 });
  await tab.waitForTimeout(500);
};
const longest = () => tab.evaluate(() => { const most = Math.max(0, ...(window.tasks ?? [])); window.tasks = []; return most; });

await tab.evaluate(() => {
  new PerformanceObserver((list) => (window.tasks ??= []).push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ entryTypes: ['longtask'] });
});
const times = await ready(tab);
await idle('calf');
await tab.waitForTimeout(1500);
const loaded = sent.bytes;
console.log(`first paint ${times.paint?.toFixed(0)} ms, ready ${times.ready.toFixed(0)} ms, ${(loaded / 1e6).toFixed(2)} MB sent by a server that packs nothing`);
console.log(`longest block while opening ${await longest()} ms`);
await shot('1-calf');

// A style: tried in a worker while the character goes on.
await click(163, 129);
await idle('calf *');
console.log(`longest block while a style was tried ${await longest()} ms`);
await shot('2-cartoon');

// Paint a line over the body, undo it, do it again.
await click(191, 45);
await click(167, 73);
await shot('3-new-map');
for (const [x, y] of [[620, 340], [640, 345], [660, 350], [680, 350]]) {
  await tab.mouse.move(x, y);
  if (x === 620) await tab.mouse.down();
  await tab.waitForTimeout(200);
}
await tab.mouse.up();
await tab.waitForTimeout(300);
await shot('3-paint');

// Strokes: a ridge on the skin, then the outline of the back, seen from the side, redrawn.
const stroke = async (line) => {
  await tab.mouse.move(...line[0]);
  await tab.waitForTimeout(150);
  await tab.mouse.down();
  for (const place of line) {
    await tab.mouse.move(...place);
    await tab.waitForTimeout(150);
  }
  await tab.mouse.up();
  await tab.waitForTimeout(900);
};
await click(220, 708);
await click(233, 45);
await click(206, 104);
await stroke([[590, 340], [620, 345], [650, 347], [680, 345]]);
await shot('3-bulge');
await click(971, 106);
await click(143, 104);
await stroke([[590, 300], [610, 285], [640, 275], [670, 285], [690, 300]]);
await shot('3-outline');

// Export: the recipe and the file are downloads.
await click(1168, 45);
const downloads = [];
tab.on('download', (download) => downloads.push(download));
await click(1030, 233);
for (let i = 0; i < 600 && !downloads.some((download) => download.suggestedFilename().endsWith('.glb')); i++) await tab.waitForTimeout(200);
console.log(`longest block while exporting ${await longest()} ms`);
await shot('4-exported');
const names = downloads.map((download) => download.suggestedFilename());
for (const name of ['calf-lively.glb', 'calf.zip']) {
  assert.ok(names.includes(name), `${name} is not among ${names}`);
}
for (const download of downloads) await download.saveAs(join(screens, download.suggestedFilename()));

// The archive is one of files as they are.
execFileSync('python3', ['-m', 'zipfile', '-e', join(screens, 'calf.zip'), screens]);
const drawn = JSON.parse(readFileSync(join(screens, 'calf.strokes.json')));
assert.deepEqual(drawn.edits.map((edit) => edit.kind), ['bulge', 'silhouette']);

// Without a network: the service worker has it all.
await tab.evaluate(() => navigator.serviceWorker.ready);
await tab.waitForFunction(async () => (await Promise.all((await caches.keys()).map(async (key) => (await (await caches.open(key)).keys()).length))).some((count) => count >= 7));
const before = sent.requests.length;
server.close();
server.closeAllConnections();
await context.setOffline(true);
await tab.goto('about:blank');
await tab.goto(url);
await ready(tab);
assert.equal(sent.requests.length, before);

// A file of one's own, chosen in the dialog; nothing is sent anywhere.
const chooser = tab.waitForEvent('filechooser');
await click(122, 12);
await (await chooser).setFiles(join(screens, 'calf-lively.glb'));
await idle('calf-lively');
await tab.waitForTimeout(800);
await shot('5-own-file-offline');
const errors = complaints.filter((text) => !text.startsWith('warning: No available adapters'));
assert.deepEqual(errors, []);
console.log('no complaints on the console');

// Programs that are not files of the page do not run in it.
const foreign = await tab.evaluate(() => {
  const script = document.createElement('script');
  script.textContent = 'window.foreign = true';
  document.head.append(script);
  return window.foreign ?? false;
});
assert.equal(foreign, false, 'the page lets texts be run as programs');
await browser.close();
