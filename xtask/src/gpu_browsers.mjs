// Opens a page in a browser without a window and waits for its title: node gpu_browsers.mjs chrome|firefox PROGRAM PAGE
import fs from 'node:fs';
import http from 'node:http';
import puppeteer from 'puppeteer-core';

const [, , browser, executablePath, page] = process.argv;
const text = fs.readFileSync(page);
const server = http.createServer((_, answer) => answer.setHeader('content-type', 'text/html').end(text));
await new Promise(done => server.listen(0, '127.0.0.1', done));
const opened = await puppeteer.launch({
    browser, executablePath, headless: true,
    args: browser === 'firefox' ? [] : [
        '--no-sandbox', '--disable-background-networking', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader',
        '--enable-features=Vulkan', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
    ],
    extraPrefsFirefox: { 'dom.webgpu.enabled': true, 'gfx.webgpu.ignore-blocklist': true },
});
try {
    const tab = await opened.newPage();
    tab.on('console', message => console.log(message.text()));
    await tab.goto(`http://127.0.0.1:${server.address().port}/`);
    await tab.waitForFunction(() => document.title !== 'sinew: running', { timeout: 300_000 });
    const title = await tab.title();
    console.log(`${browser}: ${title}`);
    process.exitCode = title === 'sinew: same' ? 0 : 1;
} finally {
    await opened.close();
    server.close();
}
