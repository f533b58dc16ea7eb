// Plays a glTF clip with three.js: node three.mjs FILE CLIP TIME… prints one line per time, {time, meshes: {node name: [x, y, z, …]}}.
import { readFileSync } from "node:fs";
import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { MeshoptDecoder } from "meshoptimizer";

globalThis.self = globalThis;
// Pictures are not looked at: an empty one will do.
globalThis.createImageBitmap = async () => ({ width: 1, height: 1, close() {} });

const [file, clip, ...times] = process.argv.slice(2);
const bytes = readFileSync(file);
const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder);
const gltf = await new Promise((done, failed) => loader.parse(buffer, "", done, failed));
const mixer = new THREE.AnimationMixer(gltf.scene);
const animation = gltf.animations[Number(clip)];
if (!animation) throw new Error(`no clip ${clip}`);
const action = mixer.clipAction(animation);
action.setLoop(THREE.LoopOnce);
action.clampWhenFinished = true;
action.play();
for (const time of times) {
  mixer.setTime(Number(time));
  gltf.scene.updateMatrixWorld(true);
  const meshes = [];
  gltf.scene.traverse((object) => {
    if (!object.isMesh) return;
    const association = gltf.parser.associations.get(object);
    const count = object.geometry.attributes.position.count;
    const point = new THREE.Vector3();
    const positions = [];
    for (let vertex = 0; vertex < count; vertex++) {
      object.getVertexPosition(vertex, point).applyMatrix4(object.matrixWorld);
      positions.push(point.x, point.y, point.z);
    }
    meshes.push({ mesh: association?.meshes ?? -1, primitive: association?.primitives ?? 0, positions });
  });
  console.log(JSON.stringify({ time: Number(time), meshes }));
}
