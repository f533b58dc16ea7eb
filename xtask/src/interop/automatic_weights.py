"""Blender's automatic weights (the module bpy) for characters as the example bind_table of sinew_gltf writes them.

    automatic_weights.py FILE.json…

Writes FILE.weights.json: per skin and vertex, pairs of joint and weight. Copies of a vertex along seams are joined
first. A bone goes from its joint to the middle of its child joints; the last ones go on in their parent's direction to
nine tenths of the way to the skin."""

import json
import sys

import bpy
from mathutils import Vector


def ends(joints, parents, item):
    children = [[] for _ in joints]
    for joint, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(joints[joint])
    size = max((a - b).length for a in joints for b in joints) or 1.0
    tails = []
    for joint, head in enumerate(joints):
        tail = None
        if children[joint]:
            tail = sum(children[joint], Vector()) / len(children[joint])
        elif parents[joint] is not None:
            direction = (head - joints[parents[joint]]).normalized()
            hit, place, _, _ = item.ray_cast(head, direction)
            tail = head + 0.9 * (place - head) if hit else None
        # Blender forgets bones without length.
        if tail is None or (tail - head).length < 1e-3 * size:
            tail = head + Vector((0.0, 0.01 * size, 0.0))
        tails.append(tail)
    return tails


def bound(skin):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    places = {}
    of_vertex = [places.setdefault(tuple(p), len(places)) for p in skin["points"]]
    # Blender's tolerances are lengths: characters of all sizes become ten high.
    spread = [max(p[a] for p in places) - min(p[a] for p in places) for a in range(3)] if places else [1.0]
    scale = 10.0 / (max(spread) or 1.0)
    points = [Vector(p) * scale for p in places]
    faces = {tuple(of_vertex[v] for v in t) for t in skin["triangles"]}
    faces = sorted(face for face in faces if len(set(face)) == 3)
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata(points, [], faces)
    mesh.update()
    item = bpy.data.objects.new("skin", mesh)
    bpy.context.collection.objects.link(item)
    bpy.context.view_layer.update()
    joints = [Vector(p) * scale for p in skin["joints"]]
    tails = ends(joints, skin["parents"], item)
    armature = bpy.data.armatures.new("rig")
    rig = bpy.data.objects.new("rig", armature)
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for joint, (head, tail) in enumerate(zip(joints, tails)):
        bone = armature.edit_bones.new(f"{joint}")
        bone.head, bone.tail = head, tail
    for joint, parent in enumerate(skin["parents"]):
        if parent is not None:
            armature.edit_bones[f"{joint}"].parent = armature.edit_bones[f"{parent}"]
    bpy.ops.object.mode_set(mode="OBJECT")
    item.select_set(True)
    rig.select_set(True)
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    names = [int(group.name) for group in item.vertex_groups]
    weights = [[(names[g.group], g.weight) for g in vertex.groups] for vertex in mesh.vertices]
    return [weights[point] for point in of_vertex]


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    result = {"skins": [bound(skin) for skin in document["skins"]]}
    with open(path.replace(".json", ".weights.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)
