"""Plays a glTF clip, or a mesh cache on its mesh, in Blender (the module bpy).

    blender.py gltf FILE CLIP TIME…       the clip by its number in the file
    blender.py cache MESH.obj CACHE TIME… PC2 or MDD by its ending

Prints one line per time: {"time", "positions": [x, y, z, …]} in glTF's axes, all meshes one after the other."""

import json
import sys

import bpy
import numpy as np

FPS = 60


def evaluated(objects):
    graph = bpy.context.evaluated_depsgraph_get()
    points = []
    for item in objects:
        shape = item.evaluated_get(graph)
        mesh = shape.to_mesh()
        flat = np.empty(3 * len(mesh.vertices), dtype=np.float64)
        mesh.vertices.foreach_get("co", flat)
        local = np.c_[flat.reshape(-1, 3), np.ones(len(mesh.vertices))]
        world = local @ np.array(shape.matrix_world).T
        # Blender's Z is up, glTF's Y.
        points.append(world[:, [0, 2, 1]] * [1.0, 1.0, -1.0])
        shape.to_mesh_clear()
    return np.concatenate(points)


def at(time):
    frame = time * FPS
    bpy.context.scene.frame_set(int(frame), subframe=frame - int(frame))


def tell(time, points):
    print("RESULT " + json.dumps({"time": time, "positions": points.ravel().tolist()}), flush=True)


def play_gltf(path, clip, times):
    bpy.ops.import_scene.gltf(filepath=path)
    objects = [o for o in bpy.data.objects if o.type == "MESH" and o.name in bpy.context.view_layer.objects]
    objects = [o for o in objects if not o.name.startswith("Icosphere")]
    with open(path, "rb") as file:
        data = file.read()
    document = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    name = document["animations"][clip].get("name", f"Anim_{clip}")
    for item in [*bpy.data.objects, *bpy.data.shape_keys]:
        if not item.animation_data:
            continue
        # Strips are moved to frame 1; the actions themselves keep the file's clock.
        strips = [strip for track in item.animation_data.nla_tracks if track.name == name for strip in track.strips]
        item.animation_data.action = strips[0].action if strips else None
        if strips:
            item.animation_data.action_slot = strips[0].action_slot
    order = {node.get("name"): index for index, node in enumerate(document["nodes"])}
    objects.sort(key=lambda o: order.get(o.name, len(order)))
    for time in times:
        at(time)
        tell(time, evaluated(objects))


def play_cache(mesh, cache, times):
    # As they lie in the files: no axes are exchanged on the way in.
    bpy.ops.wm.obj_import(filepath=mesh, forward_axis="NEGATIVE_Z", up_axis="Y", use_split_objects=False)
    item = bpy.context.selected_objects[0]
    modifier = item.modifiers.new("cache", "MESH_CACHE")
    modifier.cache_format = "PC2" if cache.endswith(".pc2") else "MDD"
    modifier.filepath = cache
    modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
    modifier.play_mode = "SCENE"
    modifier.interpolation = "LINEAR"
    modifier.frame_start = 0
    for time in times:
        at(time)
        tell(time, evaluated([item]))


def main():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = FPS
    kind, path, second, *times = sys.argv[1:]
    times = [float(time) for time in times]
    if kind == "gltf":
        play_gltf(path, int(second), times)
    else:
        play_cache(path, second, times)


main()
