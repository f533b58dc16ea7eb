// Serves a folder and opens it in headless Chromium: node browse.mjs FOLDER PLAYWRIGHT CHROMIUM
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';

const TYPES = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };

/** Any plain server of files; `sent` counts bytes. */
export async function serve(folder) {
  const sent = { bytes: 0, requests: [] };
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://here').pathname));
    try {
      const bytes = await readFile(join(folder, path.endsWith('/') ? `${path}index.html` : path));
      sent.bytes += bytes.length;
      sent.requests.push(path);
      const type = TYPES[path.endsWith('/') ? 'html' : path.split('.').pop()] ?? 'application/octet-stream';
      response.writeHead(200, { 'Content-Type': type }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { server, sent, url: `http://127.0.0.1:${server.address().port}/` };
}

export async function open(playwright, chromium, more = []) {
  const module = await import(pathToFileURL(join(playwright, 'index.js')));
  const { chromium: launcher } = module.default ?? module;
  return launcher.launch({
    executablePath: chromium,
    headless: true,
    args: [
      '--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run', ...more,
    ],
  });
}

/** A page whose complaints are kept. */
export async function page(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, acceptDownloads: true });
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`); });
  page.on('pageerror', (error) => complaints.push(`page: ${error}`));
  await page.goto(url);
  return { context, page, complaints };
}

/** Waits until the studio stands. */
export async function ready(page) {
  await page.waitForFunction(() => performance.getEntriesByName('ready').length > 0, null, { timeout: 120000 });
  return page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    ready: performance.getEntriesByName('ready')[0].startTime,
  }));
}
