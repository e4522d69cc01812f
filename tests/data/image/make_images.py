#!/usr/bin/env python3
"""Makes the pictures in this folder and what Pillow and transformers make of them.

    python3 make_images.py

Needs numpy, safetensors, torch, torchvision, transformers, and pillow before 13: from 13 on Pillow scales
columns before rows where that is less work, which earlier versions and torchvision do not (a clipping
filter then differs by up to 23 of 255). Everything is drawn from formulas and seeded noise. Writes
  *.png, *.jpg          pictures of every kind that is read
  decoded.safetensors   file name -> Pillow's upright RGB, uint8 [H, W, 3]
  resized.safetensors   "filter HxW" -> Pillow's resize of photo.png, uint8 [H, W, 3]
  processors/*.json     preprocessor_config.json of each class
  pixels.safetensors    "config picture backend" -> what transformers makes of it, float32 [3, H, W]
  defaults.json         class -> what transformers assumes where the file says nothing
  sizes.json            [height, width, shortest edge, longest edge, height, width]
"""
import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps
from safetensors.numpy import save_file

HERE = Path(__file__).resolve().parent
FILTERS = ["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]


def picture(height, width, seed=0):
    """Slopes, hard edges and noise, so that clipping and rounding both occur; uint8 [H, W, 3]"""
    y, x = np.mgrid[0:height, 0:width]
    out = np.stack([x * 255 / max(width - 1, 1), y * 255 / max(height - 1, 1), (x + y) * 7 % 256], -1)
    out[(x // 4 + y // 4) % 5 == 0] = 255
    out[(x // 3 - y // 5) % 7 == 0] = 0
    out += np.random.default_rng(seed).normal(0, 25, out.shape)
    return np.clip(out, 0, 255).astype(np.uint8)


# PNG, written by hand: Pillow writes few of its kinds.
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pack(samples, depth):
    """[W, C] -> the bytes of one row"""
    if depth == 16:
        return samples.astype(">u2").tobytes()
    if depth == 8:
        return samples.astype(np.uint8).tobytes()
    bits = (samples.reshape(-1, 1) >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.reshape(-1).astype(np.uint8)).tobytes()


def scan_lines(samples, depth, interlaced):
    adam7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    for x, y, dx, dy in adam7 if interlaced else [(0, 0, 1, 1)]:
        for row in samples[y::dy, x::dx]:
            if len(row):
                yield b"\0" + pack(row, depth)


def png(samples, depth, colour, interlaced=False, before=b"", after=b""):
    height, width = samples.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    data = zlib.compress(b"".join(scan_lines(samples, depth, interlaced)), 9)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", data) + after
            + chunk(b"IEND", b""))


def exif(orientation, order=">"):
    mark = b"MM\0*" if order == ">" else b"II*\0"
    entries = [(0x0110, 2, 1, 0), (0x0112, 3, 1, None), (0x0128, 3, 1, None)]
    out = mark + struct.pack(order + "IH", 8, len(entries))
    for tag, kind, count, value in entries:
        out += struct.pack(order + "HHI", tag, kind, count)
        short = orientation if tag == 0x0112 else 2
        out += struct.pack(order + "HH", short, 0) if value is None else bytes(4)
    return out + bytes(4)


def png_files():
    rng = np.random.default_rng(1)
    palette = chunk(b"PLTE", rng.integers(0, 256, 48, dtype=np.uint8).tobytes())
    kinds = {"grey": (0, 1, [1, 2, 4, 8, 16]), "rgb": (2, 3, [8, 16]), "palette": (3, 1, [1, 2, 4, 8]),
             "greyalpha": (4, 2, [8, 16]), "rgba": (6, 4, [8, 16])}
    files = {}
    for name, (colour, channels, depths) in kinds.items():
        for depth in depths:
            top = 16 if colour == 3 and depth == 8 else 2 ** depth
            samples = rng.integers(0, top, (9, 11, channels))
            before = palette if colour == 3 else b""
            files[f"{name}{depth}.png"] = png(samples, depth, colour, before=before)
            if (name, depth) in [("grey", 1), ("grey", 16), ("rgb", 8), ("palette", 4), ("rgba", 16)]:
                files[f"{name}{depth}_interlaced.png"] = png(samples, depth, colour, True, before)
    samples = rng.integers(0, 16, (9, 11, 1))
    some = chunk(b"tRNS", bytes([0, 128, 255]))
    files["palette_transparent.png"] = png(samples, 4, 3, before=palette + some)
    files["palette_short.png"] = png(samples, 4, 3, before=chunk(b"PLTE", bytes(range(30, 60))))
    files["grey_transparent.png"] = png(samples, 4, 0, before=chunk(b"tRNS", b"\0\3"))
    colours = rng.integers(0, 256, (9, 11, 3))
    files["rgb_transparent.png"] = png(colours, 8, 2, before=chunk(b"tRNS", struct.pack(">3H", *colours[2, 3])))
    files["rgb_gamma.png"] = png(colours, 8, 2, before=chunk(b"gAMA", struct.pack(">I", 100000)))
    files["oriented.png"] = png(colours, 8, 2, before=chunk(b"eXIf", exif(6)))
    files["oriented_late.png"] = png(colours, 8, 2, after=chunk(b"eXIf", exif(8, "<")))
    photo = io.BytesIO()
    Image.fromarray(picture(45, 61)).save(photo, "PNG", optimize=True)
    files["photo.png"] = photo.getvalue()
    return files


def jpeg(image, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", **{"quality": 90, "optimize": True, **options})
    return out.getvalue()


def with_exif(data, block):
    """The EXIF segment directly behind the start of the picture"""
    segment = b"Exif\0\0" + block
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment + data[2:]


def jpeg_files():
    small = Image.fromarray(picture(13, 18, 2))
    files = {
        "grey.jpg": jpeg(small.convert("L")),
        "colour_444.jpg": jpeg(small, subsampling=0),
        "colour_422.jpg": jpeg(small, subsampling=1),
        "colour_420.jpg": jpeg(small, subsampling=2),
        "progressive.jpg": jpeg(small, progressive=True),
        "restart.jpg": jpeg(small, restart_marker_blocks=1),
        "rgb.jpg": jpeg(small, keep_rgb=True),
        "cmyk.jpg": jpeg(small.convert("CMYK")),
    }
    # The colour transform of Adobe's marker, none -> YCCK: other colours, but the same for every reader.
    cmyk = files["cmyk.jpg"]
    flag = cmyk.index(b"Adobe") + 11
    assert cmyk[flag] == 0
    files["ycck.jpg"] = cmyk[:flag] + b"\2" + cmyk[flag + 1:]
    for orientation in range(1, 9):
        files[f"orientation{orientation}.jpg"] = with_exif(
            files["colour_420.jpg"], exif(orientation, "<>"[orientation % 2]))
    files["orientation_invalid.jpg"] = with_exif(files["colour_420.jpg"], exif(9))
    return files


def decoded(name):
    image = Image.open(HERE / name)
    if image.mode == "I;16":
        # The high byte, as for 16 bits of colour; Pillow would make all above 255 white.
        return np.repeat((np.array(image) >> 8).astype(np.uint8)[..., None], 3, -1)
    return np.array(ImageOps.exif_transpose(image).convert("RGB"))


def resized():
    photo = Image.open(HERE / "photo.png")
    sizes = [(16, 16), (14, 61), (45, 20), (60, 70), (50, 17), (45, 61), (7, 80), (1, 1)]
    return {f"{name} {h}x{w}": np.array(photo.resize((w, h), number))
            for number, name in enumerate(FILTERS) for h, w in sizes}


CONFIGS = {
    "vit": {"image_processor_type": "ViTImageProcessor", "size": {"height": 24, "width": 24}, "resample": 2},
    "vit_legacy": {"feature_extractor_type": "ViTFeatureExtractor", "size": 20, "do_resize": True,
                   "do_normalize": True, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4]},
    "vit_wide": {"image_processor_type": "ViTImageProcessorFast", "size": {"height": 16, "width": 40},
                 "resample": 3},
    "vit_unscaled": {"image_processor_type": "ViTImageProcessor", "size": 20, "do_rescale": False,
                     "image_mean": [100, 110, 120], "image_std": [50, 60, 70]},
    "vit_plain": {"image_processor_type": "ViTImageProcessor", "size": 20, "do_normalize": False,
                  "rescale_factor": 0.0078125},
    "vit_as_is": {"image_processor_type": "ViTImageProcessor", "do_resize": False},
    "vit_nearest": {"image_processor_type": "ViTImageProcessor", "size": 20, "resample": 0},
    "deit": {"image_processor_type": "DeiTImageProcessor", "size": {"height": 30, "width": 30},
             "crop_size": {"height": 24, "width": 24}, "resample": 3},
    "deit_padded": {"image_processor_type": "DeiTImageProcessor", "size": 17, "crop_size": [24, 12]},
    "dinov2": {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 26}, "resample": 3,
               "crop_size": {"height": 24, "width": 24}, "image_mean": [0.485, 0.456, 0.406],
               "image_std": [0.229, 0.224, 0.225], "do_convert_rgb": True},
    "dinov3": {"image_processor_type": "DINOv3ViTImageProcessorFast", "size": {"height": 24, "width": 24}},
    "dinov3_bicubic": {"image_processor_type": "DINOv3ViTImageProcessor", "resample": 3,
                       "size": {"height": 70, "width": 20}},
    "clip": {"feature_extractor_type": "CLIPFeatureExtractor", "size": 24, "crop_size": 24, "resample": 3,
             "do_center_crop": True, "do_normalize": True, "do_resize": True},
    "clip_longest": {"image_processor_type": "CLIPImageProcessor", "do_center_crop": False,
                     "size": {"shortest_edge": 24, "longest_edge": 28}},
    "siglip": {"image_processor_type": "SiglipImageProcessor", "size": {"height": 24, "width": 24},
               "resample": 3, "processor_class": "SiglipProcessor"},
    "siglip_edge": {"image_processor_type": "SiglipImageProcessor", "size": 20},
    "beit": {"feature_extractor_type": "BeitFeatureExtractor", "size": 24, "crop_size": 20, "resample": 2,
             "do_center_crop": True},
    "beit_plain": {"image_processor_type": "BeitImageProcessor", "size": 24, "do_reduce_labels": False},
}
PICTURES = ["photo.png", "orientation6.jpg"]


def processor_of(config, backend):
    import transformers
    name = config.get("image_processor_type") or config["feature_extractor_type"]
    stem = name.replace("Fast", "").replace("FeatureExtractor", "ImageProcessor")
    values = {k: v for k, v in config.items() if not k.endswith("_type") and k != "processor_class"}
    found = getattr(transformers, stem + ("Pil" if backend == "pil" else ""), None)
    return found and found(**values)


def pixels():
    out = {}
    for name, config in CONFIGS.items():
        (HERE / "processors" / f"{name}.json").write_text(json.dumps(config, indent=1) + "\n")
        for backend in ["torchvision", "pil"]:
            processor = processor_of(config, backend)
            # The second picture has odd sizes that border and crop; one backend is enough for it.
            for file in PICTURES[:2 if backend == "torchvision" else 1] if processor else []:
                image = ImageOps.exif_transpose(Image.open(HERE / file)).convert("RGB")
                out[f"{name} {file} {backend}"] = np.array(
                    processor(image, return_tensors="np")["pixel_values"][0], dtype=np.float32)
    return out


def defaults():
    keys = ["do_resize", "size", "resample", "do_center_crop", "crop_size", "do_rescale", "rescale_factor",
            "do_normalize", "image_mean", "image_std"]
    out = {}
    for name in ["ViT", "DeiT", "Bit", "DINOv3ViT", "CLIP", "Siglip", "Beit"]:
        processor = processor_of({"image_processor_type": name + "ImageProcessor"}, "torchvision")
        values = {key: getattr(processor, key) for key in keys}
        out[name] = {k: dict(v) if hasattr(v, "shortest_edge") else v for k, v in values.items()}
    return out


def sizes():
    import torch
    from transformers import CLIPImageProcessor
    rng = np.random.default_rng(3)
    cases = [(1000, 1, 7, 50), (1, 1000, 7, 50), (37, 61, 224, 0), (50, 50, 20, 20), (3, 500, 224, 448)]
    cases += [tuple(int(v) for v in [*rng.integers(1, 600, 2), rng.integers(1, 99), rng.choice([0, 100, 150])])
              for _ in range(45)]
    out = []
    for height, width, shortest, longest in cases:
        size = {"shortest_edge": shortest} | ({"longest_edge": longest} if longest else {})
        processor = CLIPImageProcessor(size=size, do_center_crop=False, do_normalize=False, resample=0)
        try:
            image = processor(torch.zeros(3, height, width, dtype=torch.uint8), return_tensors="pt")
        except (RuntimeError, ValueError):  # a side of no pixel
            continue
        out.append([height, width, shortest, longest, *image["pixel_values"].shape[2:]])
    return out


def main():
    (HERE / "processors").mkdir(exist_ok=True)
    files = png_files() | jpeg_files()
    for name, data in files.items():
        (HERE / name).write_bytes(data)
    save_file({name: decoded(name) for name in files}, HERE / "decoded.safetensors")
    save_file(resized(), HERE / "resized.safetensors")
    save_file(pixels(), HERE / "pixels.safetensors")
    (HERE / "defaults.json").write_text(json.dumps(defaults(), indent=1) + "\n")
    (HERE / "sizes.json").write_text("[" + ",\n ".join(json.dumps(case) for case in sizes()) + "]\n")


if __name__ == "__main__":
    main()
