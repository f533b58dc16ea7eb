// After the first visit the studio opens without a network. Each version is kept whole, and none beside it.
const VERSION = 'sinew-studio-@VERSION@';
const MODULE = '@MODULE@';
const FILES = ['./', 'page.css', 'icon.svg', 'page.js', 'worker.js', 'sinew_studio.js'];

self.addEventListener('install', (event) => {
  const fill = async () => {
    const held = await caches.open(VERSION);
    const fresh = FILES.map((file) => new Request(file, { cache: 'no-cache' }));
    // Its name says what is in it, so what the page has just loaded will do.
    await held.addAll([...fresh, new Request(MODULE, { cache: 'force-cache' })]);
    await self.skipWaiting();
  };
  event.waitUntil(fill());
});

self.addEventListener('activate', (event) => {
  const clear = async () => {
    const names = (await caches.keys()).filter((name) => name.startsWith('sinew-studio-'));
    const old = names.filter((name) => name !== VERSION && name !== 'sinew-studio-files');
    await Promise.all(old.map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(clear());
});

self.addEventListener('fetch', (event) => {
  if (event.request.method !== 'GET') return;
  const found = async () => (await caches.open(VERSION)).match(event.request, { ignoreSearch: true });
  event.respondWith(found().then((held) => held ?? fetch(event.request)));
});
