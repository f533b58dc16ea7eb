// The same module once more, away from the window. What is sent before it runs waits.
import init from './sinew_studio.js';

const early = [];
self.onmessage = async ({ data: compiled }) => {
  self.onmessage = ({ data }) => early.push(data);
  await init({ module_or_path: compiled });
  for (const data of early) self.onmessage({ data });
};
