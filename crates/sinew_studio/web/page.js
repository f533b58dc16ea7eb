// What the module cannot do by itself: it is fetched, shown how far it is, given workers, and a shelf for bytes.
import init from './sinew_studio.js';

const MODULE = '@MODULE@';
const BYTES = Number('@BYTES@');
const before = document.getElementById('before');
const words = document.getElementById('words');
let compiled;

window.sinewWorker = () => {
  const worker = new Worker('worker.js', { type: 'module' });
  worker.postMessage(compiled);
  return worker;
};
const shelf = () => caches.open('sinew-studio-files');
const place = (name) => new URL(`kept/${encodeURIComponent(name)}`, document.baseURI).href;
window.sinewKeep = ([name, bytes]) => { if (window.caches) shelf().then((held) => held.put(place(name), new Response(bytes))).catch(() => {}); };
window.sinewRecall = async (name) => {
  const found = window.caches && await (await shelf()).match(place(name));
  return found ? new Uint8Array(await found.arrayBuffer()) : null;
};
window.sinewFailed = (error) => {
  before.hidden = false;
  words.textContent = `The studio cannot draw here: it needs WebGL2 or WebGPU. (${error?.message ?? error})`;
};
window.sinewReady = () => {
  before.hidden = true;
  performance.mark('ready');
  navigator.serviceWorker?.register('service.js').catch(() => {});
};

async function load() {
  const response = await fetch(MODULE);
  if (!response.ok) throw new Error(`${MODULE}: ${response.status}`);
  let seen = 0;
  const counted = new TransformStream({
    transform(chunk, to) {
      seen += chunk.length;
      document.getElementById('loaded').value = seen / BYTES;
      to.enqueue(chunk);
    },
  });
  // Unpacked here, so that it is as small behind any server.
  const whole = response.body.pipeThrough(counted).pipeThrough(new DecompressionStream('gzip'));
  compiled = await WebAssembly.compileStreaming(new Response(whole, { headers: { 'Content-Type': 'application/wasm' } }));
  words.textContent = 'Starting…';
  await init({ module_or_path: compiled });
}

load().catch(window.sinewFailed);
